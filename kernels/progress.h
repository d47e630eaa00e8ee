/*
 * Progress and cancelling of CPU work that visits a volume's rows in several stages. Any thread
 * counts rows; only thread 0, the calling thread, calls context->progress.
 */
#ifndef LOB_PROGRESS_H
#define LOB_PROGRESS_H

#include "kernels/context.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Set context, the rest is 0. A stage takes the shares from .. to of the whole call's progress. */
typedef struct lob_progress {
    const lob_context *context;
    double from, to;
    int64_t rows;      /* of this stage */
    atomic_llong done; /* rows */
    atomic_int stop;
} lob_progress;

/* Begin a stage of rows that ends at share `to` of the whole. */
void lob_progress_stage(lob_progress *stages, int64_t rows, double to);

/* Count rows as done. Returns whether the caller wants to stop. */
bool lob_progress_report(lob_progress *stages, int64_t rows);

/* Whether the caller wants to stop: context->progress returned nonzero. */
static inline bool lob_progress_stopped(lob_progress *stages)
{
    return atomic_load_explicit(&stages->stop, memory_order_relaxed);
}

#endif
