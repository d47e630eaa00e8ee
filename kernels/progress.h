/* Progress and cancelling of work on the CPU that goes over a volume's rows several times. */
#ifndef LOB_PROGRESS_H
#define LOB_PROGRESS_H

#include "kernels/context.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Progress over stages: rows done of those of this stage, which ends at share `to` of the whole. */
typedef struct {
    const lob_context *context;
    double from, to;
    int64_t rows;
    atomic_llong done;
    atomic_int stop;
} lob_progress;

/* Begin a stage of so many rows that ends at this share of the whole. */
void lob_progress_stage(lob_progress *stages, int64_t rows, double to);

/* Tell of rows done; any thread may, and thread 0 passes it on. Returns whether to stop. */
bool lob_progress_report(lob_progress *stages, int64_t rows);

/* Whether progress has asked to stop. */
static inline bool lob_progress_stopped(lob_progress *stages)
{
    return atomic_load_explicit(&stages->stop, memory_order_relaxed);
}

#endif
