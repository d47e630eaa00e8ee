/* Gaussian steps on the CPU: their memory, and which loop runs a pass. */
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/filters/gaussian/gaussian_lines.h"
#include "kernels/filters/gaussian/gaussian_sums.h"

typedef struct {
    lob_gaussian_run step;
    int threads;
    lob_progress progress;
    lob_budget *budget;
} run;

static lob_status run_passes(void *backend, const lob_gaussian_io *io,
                             const lob_gaussian_pass *passes, int count, lob_error *error)
{
    run *const r = backend;
    const lob_gaussian_job job = {&io->source, &io->finish, r->step.plan->tables,
                                  io->out,     r->threads,  &r->progress,
                                  r->budget};
    const lob_gaussian_pass *const last = &passes[count - 1];
    LOB_TRY(r->step.planes && last->axis < 2
                ? lob_gaussian_planes(&job, passes->axis == 0 ? passes : NULL,
                                      last->axis == 1 ? last : NULL, r->step.dims, error)
                : lob_gaussian_strips(&job, passes, error));
    return lob_progress_stopped(&r->progress) ? LOB_ECANCEL : LOB_OK;
}

/* Rows that all passes of a channel read. */
static int64_t rows_of(const lob_gaussian_plan *plan, lob_dims dims, bool normalises)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int order[3] = {0, 0, 0};
    const int count = lob_gaussian_passes(passes, plan, dims, order, LOB_EDGE_NEAREST, 0.0f);
    int64_t rows = 0, sums = normalises ? 2 : 0;
    for (int i = 0; i < count; i++) rows += passes[i].in.ny * passes[i].in.nz;
    for (int a = 0; a < 3; a++) sums += plan->derivatives && plan->axis[a].used;
    return rows * (sums > 0 ? sums : 1);
}

lob_status lob_gaussian_cpu(const lob_filter_image *out, const lob_filter_image *in,
                            const lob_filter_call *call, const lob_context *context,
                            lob_budget *budget, lob_error *error)
{
    lob_gaussian_plan plan;
    LOB_TRY(lob_gaussian_plan_make(&plan, in->dims, call, budget, error));
    run r = {
        .step = {.plan = &plan,
                 .call = call,
                 .dims = in->dims,
                 .planes = !plan.coarse,
                 .run = run_passes},
        .threads = context->threads,
        .progress = {.context = context},
        .budget = budget
    };
    const int64_t n = lob_dims_voxels(in->dims);
    const bool normalises = lob_gaussian_normalises(call);
    lob_status st = LOB_OK;
    int64_t between[2];
    r.step.backend = &r;
    lob_gaussian_between(between, &r.step);
    if (r.step.planes && !plan.derivatives && !normalises) between[0] = 0; /* in the output */
    lob_progress_stage(&r.progress, in->channels * rows_of(&plan, in->dims, normalises), 1.0);
    if (lob_gaussian_fills(call))
        st = lob_budget_alloc(budget, &r.step.filled, n, sizeof *r.step.filled, error);
    for (int i = 0; i < 2 && st == LOB_OK; i++)
        if (between[i] > 0)
            st = lob_budget_alloc(budget, &r.step.between[i], between[i], sizeof(float), error);
    if (st == LOB_OK) st = lob_gaussian_channels(&r.step, out, in, error);
    for (int i = 0; i < 2; i++)
        lob_budget_free(budget, r.step.between[i], between[i], sizeof(float));
    lob_budget_free(budget, r.step.filled, n, sizeof *r.step.filled);
    lob_gaussian_plan_free(&plan, budget);
    return st;
}
