/* Progress over stages of rows. */
#include "kernels/progress.h"

#include <omp.h>

void lob_progress_stage(lob_progress *stages, int64_t rows, double to)
{
    stages->from = stages->to;
    stages->to = to;
    stages->rows = rows;
    atomic_store(&stages->done, 0);
}

bool lob_progress_report(lob_progress *stages, int64_t rows)
{
    const int64_t done =
        atomic_fetch_add_explicit(&stages->done, rows, memory_order_relaxed) + rows;
    const lob_context *context = stages->context;
    if (omp_get_thread_num() == 0 && context->progress) {
        const double share = done < stages->rows ? (double)done / (double)stages->rows : 1.0;
        if (context->progress(context->user, stages->from + share * (stages->to - stages->from)))
            atomic_store(&stages->stop, 1);
    }
    return atomic_load_explicit(&stages->stop, memory_order_relaxed);
}
