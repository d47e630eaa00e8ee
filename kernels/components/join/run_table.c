/* The run table once it is made: visiting its rows, and its memory. */
#include "kernels/components/join/run_table.h"

#include <omp.h>

/* runs: max_row_runs per thread, or NULL. */
static lob_status visit_rows(const lob_run_table *t, lob_run *runs, lob_row_visit *visit,
                             void *user, double share)
{
    lob_progress_stage(t->stages, t->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(lob_run_table_threads(t))
    for (int64_t s = 0; s < t->slabs; s++) {
        lob_run *const mine = runs ? runs + omp_get_thread_num() * t->max_row_runs : NULL;
        for (int64_t row = t->slab[s].row; row < t->slab[s].row_end; row++) {
            const lob_row_runs here = lob_run_table_row(mine, t, row);
            visit(t, &here, user);
            if (row % LOB_REPORT_ROWS == 0 && lob_progress_report(t->stages, LOB_REPORT_ROWS))
                break;
        }
    }
    return atomic_load(&t->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_run_table_visit(const lob_run_table *t, lob_row_visit *visit, void *user,
                               double share, lob_error *error)
{
    const int64_t capacity = t->max_row_runs * lob_run_table_threads(t);
    lob_run *runs;
    LOB_TRY(lob_budget_alloc(t->budget, &runs, capacity, sizeof *runs, error));
    lob_status st = visit_rows(t, runs, visit, user, share);
    lob_budget_free(t->budget, runs, capacity, sizeof *runs);
    return st;
}

lob_status lob_run_table_visit_bits(const lob_run_table *t, lob_row_visit *visit, void *user,
                                    double share)
{
    return visit_rows(t, NULL, visit, user, share);
}

void lob_run_table_detach(lob_run_table *t)
{
    lob_budget_release(t->budget, t->runs * (int64_t)sizeof *t->run_piece);
    t->run_piece = NULL;
}

void lob_run_table_free(lob_run_table *t)
{
    const size_t row_bytes = (size_t)t->words * 8;
    if (t->starts != t->foreground) lob_budget_free(t->budget, t->starts, t->rows, row_bytes);
    lob_budget_free(t->budget, t->foreground, t->rows, row_bytes);
    lob_budget_free(t->budget, t->row_run, t->rows, sizeof *t->row_run);
    lob_budget_free(t->budget, t->slab, t->slabs, sizeof *t->slab);
    lob_budget_free(t->budget, t->run_piece, t->runs, sizeof *t->run_piece);
    lob_budget_free(t->budget, t->number, t->pieces, sizeof *t->number);
    t->starts = t->foreground = NULL;
    t->row_run = t->run_piece = t->number = NULL;
    t->slab = NULL;
}
