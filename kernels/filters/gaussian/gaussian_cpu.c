/* Gaussian steps on the CPU: which passes run from where to where. */
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/filters/gaussian/gaussian_lines.h"
#include "kernels/filters/gaussian/gaussian_sums.h"

typedef struct {
    lob_gaussian_run step;
    float *between; /* voxels; NULL where no sum holds anything in its output */
    int threads;
    lob_progress progress;
    lob_budget *budget;
} run;

/* Of all passes but the last. */
static const lob_gaussian_finish plain = {.what = LOB_GAUSSIAN_SUM};

/* Passes along x and y by planes, then the one along z. What lies between them is put into the
 * output unless that holds a sum already. */
static lob_status exact_passes(run *r, const lob_gaussian_sum *s, const lob_gaussian_pass *passes,
                               int count, lob_error *error)
{
    const lob_gaussian_pass *along[3] = {NULL, NULL, NULL};
    for (int i = 0; i < count; i++) along[passes[i].axis] = &passes[i];
    float *const between = lob_gaussian_needs_held(&s->finish) ? r->between : s->out;
    const lob_gaussian_source smoothed = lob_gaussian_of_floats(between);
    lob_gaussian_job job = {&s->source,   &s->finish, r->step.plan->tables, s->out, r->threads,
                            &r->progress, r->budget};
    if (along[0] || along[1]) {
        if (along[2]) job.finish = &plain, job.out = between;
        LOB_TRY(lob_gaussian_planes(&job, along[0], along[1], r->step.dims, error));
        job.source = &smoothed;
        job.finish = &s->finish;
        job.out = s->out;
    }
    return along[2] ? lob_gaussian_strips(&job, along[2], error) : LOB_OK;
}

/* All passes one after the other, between lattices that are smaller than the volume. */
static lob_status coarse_passes(run *r, const lob_gaussian_sum *s, const lob_gaussian_pass *passes,
                                int count, lob_error *error)
{
    const int64_t items = lob_gaussian_largest_between(passes, count);
    float *lattice[2] = {NULL, NULL};
    lob_status status = LOB_OK;
    for (int i = 0; i < 2 && status == LOB_OK; i++)
        status = lob_budget_alloc(r->budget, &lattice[i], items, sizeof *lattice[i], error);
    lob_gaussian_source source = s->source;
    for (int i = 0; i < count && status == LOB_OK; i++) {
        const bool last = i == count - 1;
        const lob_gaussian_job job = {&source,
                                      last ? &s->finish : &plain,
                                      r->step.plan->tables,
                                      last ? s->out : lattice[i % 2],
                                      r->threads,
                                      &r->progress,
                                      r->budget};
        status = lob_gaussian_strips(&job, &passes[i], error);
        source = lob_gaussian_of_floats(lattice[i % 2]);
    }
    for (int i = 0; i < 2; i++) lob_budget_free(r->budget, lattice[i], items, sizeof *lattice[i]);
    return status;
}

static lob_status add_up(void *backend, const lob_gaussian_sum *s, const lob_gaussian_pass *passes,
                         int count, lob_error *error)
{
    run *const r = backend;
    LOB_TRY(r->step.plan->coarse ? coarse_passes(r, s, passes, count, error)
                                 : exact_passes(r, s, passes, count, error));
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
        .step = {.plan = &plan,     .call = call, .dims = in->dims, .add_up = add_up},
        .threads = context->threads,
        .progress = {.context = context},
        .budget = budget
    };
    const int64_t n = lob_dims_voxels(in->dims);
    const bool normalises = lob_gaussian_normalises(call);
    lob_status st = LOB_OK;
    r.step.backend = &r;
    lob_progress_stage(&r.progress, in->channels * rows_of(&plan, in->dims, normalises), 1.0);
    if (lob_gaussian_fills(call))
        st = lob_budget_alloc(budget, &r.step.filled, n, sizeof *r.step.filled, error);
    if (st == LOB_OK && (plan.derivatives || normalises))
        st = lob_budget_alloc(budget, &r.between, n, sizeof *r.between, error);
    if (st == LOB_OK) st = lob_gaussian_channels(&r.step, out, in, error);
    lob_budget_free(budget, r.between, n, sizeof *r.between);
    lob_budget_free(budget, r.step.filled, n, sizeof *r.step.filled);
    lob_gaussian_plan_free(&plan, budget);
    return st;
}
