/* Gaussian steps on the CPU: which passes run from where to where. */
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/filters/gaussian/gaussian_lines.h"

#include <string.h>

/* A call on one channel. */
typedef struct {
    const lob_gaussian_plan *plan;
    const lob_filter_call *call;
    lob_dims dims;
    int threads;
    lob_progress progress;
    lob_budget *budget;
} run;

/* A sum of weighted voxels: what is read, and what is done with it. */
typedef struct {
    lob_gaussian_source source;
    lob_gaussian_finish finish;
    int order[3];
    lob_edge edge;
    float outside;
    float *out, *between; /* between: voxels, where there are passes along z and another axis, none
                             of them coarse; may be out where finish holds nothing there */
} summing;

static lob_gaussian_source of_floats(const float *data)
{
    return (lob_gaussian_source){
        .data = data, .type = LOB_F32, .finite = true, .before.identity = true};
}

static lob_status no_pass(run *r, const summing *s)
{
    const int64_t n = lob_dims_voxels(r->dims);
    const bool held = lob_gaussian_needs_held(&s->finish);
#pragma omp parallel for num_threads(r->threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        s->out[i] = lob_gaussian_finished(&s->finish, i, lob_gaussian_read(&s->source, i),
                                          held ? s->out[i] : 0.0f);
    return LOB_OK;
}

/* Passes along x and y by planes, then the one along z. */
static lob_status exact_passes(run *r, const summing *s, const lob_gaussian_pass *passes, int count,
                               lob_error *error)
{
    const lob_gaussian_pass *along[3] = {NULL, NULL, NULL};
    for (int i = 0; i < count; i++) along[passes[i].axis] = &passes[i];
    const lob_gaussian_source smoothed = of_floats(s->between);
    lob_gaussian_job job = {&s->source, &s->finish,   r->plan->tables, s->out,
                            r->threads, &r->progress, r->budget};
    if (along[0] || along[1]) {
        if (along[2]) job.finish = NULL, job.out = s->between;
        LOB_TRY(lob_gaussian_planes(&job, along[0], along[1], r->dims, error));
        job.source = &smoothed;
        job.finish = &s->finish;
        job.out = s->out;
    }
    return along[2] ? lob_gaussian_strips(&job, along[2], error) : LOB_OK;
}

/* All passes one after the other, between lattices that are smaller than the volume. */
static lob_status coarse_passes(run *r, const summing *s, const lob_gaussian_pass *passes,
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
        const lob_gaussian_job job = {&source,         last ? &s->finish : NULL,
                                      r->plan->tables, last ? s->out : lattice[i % 2],
                                      r->threads,      &r->progress,
                                      r->budget};
        status = lob_gaussian_strips(&job, &passes[i], error);
        source = of_floats(lattice[i % 2]);
    }
    for (int i = 0; i < 2; i++) lob_budget_free(r->budget, lattice[i], items, sizeof *lattice[i]);
    return status;
}

static lob_status sum_up(run *r, const summing *s, lob_error *error)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int count = lob_gaussian_passes(passes, r->plan, r->dims, s->order, s->edge, s->outside);
    if (count == 0) return no_pass(r, s);
    LOB_TRY(r->plan->coarse ? coarse_passes(r, s, passes, count, error)
                            : exact_passes(r, s, passes, count, error));
    return lob_progress_stopped(&r->progress) ? LOB_ECANCEL : LOB_OK;
}

/* ---- what the steps sum up ---- */

/* Where the volume ends, by the rules of the call. */
static float outside_of(const lob_filter_call *call, bool counts)
{
    if (call->options->edge != LOB_EDGE_CONSTANT) return 0.0f;
    return counts ? 1.0f : (float)call->options->edge_value;
}

/* The sum of values by the sum of weights, finished by what (RATIO or FILL); between: voxels, and
 * may not be out. */
static lob_status normalised(run *r, lob_gaussian_what what, float *out, float *between,
                             const lob_gaussian_source *source, lob_error *error)
{
    summing s = {.source = *source,
                 .finish.what = LOB_GAUSSIAN_SUM,
                 .edge = r->call->options->edge,
                 .outside = outside_of(r->call, false),
                 .out = out,
                 .between = out};
    LOB_TRY(sum_up(r, &s, error));
    s.source.counts = true;
    s.finish = (lob_gaussian_finish){.what = what, .source = *source, .after = r->call->after};
    s.outside = outside_of(r->call, true);
    s.between = between;
    return sum_up(r, &s, error);
}

static lob_status smooth_channel(run *r, float *out, float *between,
                                 const lob_gaussian_source *source, lob_error *error)
{
    if (between) return normalised(r, LOB_GAUSSIAN_RATIO, out, between, source, error);
    const summing s = {
        .source = *source,
        .finish = {.what = LOB_GAUSSIAN_MEAN, .after = r->call->after},
        .edge = r->call->options->edge,
        .outside = outside_of(r->call, false),
        .out = out,
        .between = out
    };
    return sum_up(r, &s, error);
}

/* The derivatives along the axes one after the other, added up in out. */
static lob_status derive_channel(run *r, float *out, float *between,
                                 const lob_gaussian_source *source, lob_error *error)
{
    const bool gradient = r->call->step->kind == LOB_FILTER_GRADIENT;
    const lob_edge edge = r->call->options->edge;
    int left = 0;
    for (int a = 0; a < 3; a++) left += r->plan->axis[a].used;
    summing s = {
        .source = *source,
        .finish = {.what = gradient ? LOB_GAUSSIAN_SQUARE : LOB_GAUSSIAN_ADD,
                   .first = true,
                   .source = {.mask = r->call->mask},
                   .after = r->call->after},
        .edge = edge == LOB_EDGE_RENORMALISE ? LOB_EDGE_NEAREST : edge,
        .outside = outside_of(r->call, false),
        .out = out,
        .between = between
    };
    if (left == 0) {
        s.finish.last = true;
        s.source.counts = true;
        return no_pass(r, &s);
    }
    for (int a = 0; a < 3; a++) {
        if (!r->plan->axis[a].used) continue;
        const double mm = r->call->spacing_mm[a];
        s.finish.last = --left == 0;
        s.finish.factor = (float)(gradient ? 1.0 / mm : 1.0 / (mm * mm));
        for (int b = 0; b < 3; b++) s.order[b] = a == b ? gradient ? 1 : 2 : 0;
        LOB_TRY(sum_up(r, &s, error));
        s.finish.first = false;
    }
    return LOB_OK;
}

/* ---- the call ---- */

/* filled and between: voxels; NULL where the call needs none. */
static lob_status channel(run *r, float *out, float *filled, float *between,
                          const lob_gaussian_source *source, lob_error *error)
{
    if (r->call->step->kind == LOB_FILTER_GAUSSIAN)
        return smooth_channel(r, out, between, source, error);
    if (!filled) return derive_channel(r, out, between, source, error);
    LOB_TRY(normalised(r, LOB_GAUSSIAN_FILL, filled, between, source, error));
    const lob_gaussian_source whole = of_floats(filled);
    return derive_channel(r, out, between, &whole, error);
}

static lob_status channels(run *r, const lob_filter_image *out, const lob_filter_image *in,
                           lob_error *error)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const bool all = r->call->finite && !r->call->mask, derive = r->plan->derivatives;
    float *filled = NULL, *between = NULL;
    lob_status status = LOB_OK;
    if (derive && !all) status = lob_budget_alloc(r->budget, &filled, n, sizeof *filled, error);
    if (status == LOB_OK && (derive || !all))
        status = lob_budget_alloc(r->budget, &between, n, sizeof *between, error);
    for (int c = 0; c < in->channels && status == LOB_OK; c++) {
        const size_t first = (size_t)(n * c) * lob_type_of(in->type)->bytes;
        const lob_gaussian_source source = {.data = (const unsigned char *)in->data + first,
                                            .mask = r->call->mask,
                                            .type = in->type,
                                            .finite = r->call->finite,
                                            .before = r->call->before};
        status = channel(r, (float *)out->data + n * c, filled, between, &source, error);
    }
    lob_budget_free(r->budget, between, n, sizeof *between);
    lob_budget_free(r->budget, filled, n, sizeof *filled);
    return status;
}

/* Rows that all passes of a channel read. */
static int64_t rows_of(const lob_gaussian_plan *plan, lob_dims dims, bool all)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int order[3] = {0, 0, 0};
    const int count = lob_gaussian_passes(passes, plan, dims, order, LOB_EDGE_NEAREST, 0.0f);
    int64_t rows = 0, sums = all ? 0 : 2;
    for (int i = 0; i < count; i++) rows += passes[i].in.ny * passes[i].in.nz;
    for (int a = 0; a < 3; a++) sums += plan->derivatives && plan->axis[a].used;
    return rows * (sums > 0 ? sums : 1);
}

static lob_status run_step(const lob_filter_image *out, const lob_filter_image *in,
                           const lob_filter_call *call, const lob_context *context,
                           lob_budget *budget, lob_error *error)
{
    lob_gaussian_plan plan;
    LOB_TRY(lob_gaussian_plan_make(&plan, in->dims, call, budget, error));
    run r = {&plan, call, in->dims, context->threads, {.context = context}, budget};
    const bool all = call->finite && !call->mask;
    lob_progress_stage(&r.progress, in->channels * rows_of(&plan, in->dims, all), 1.0);
    const lob_status status = channels(&r, out, in, error);
    lob_gaussian_plan_free(&plan, budget);
    return status;
}

lob_status lob_gaussian_cpu(const lob_filter_image *out, const lob_filter_image *in,
                            const lob_filter_call *call, const lob_context *context,
                            lob_budget *budget, lob_error *error)
{
    return run_step(out, in, call, context, budget, error);
}

lob_status lob_gradient_cpu(const lob_filter_image *out, const lob_filter_image *in,
                            const lob_filter_call *call, const lob_context *context,
                            lob_budget *budget, lob_error *error)
{
    return run_step(out, in, call, context, budget, error);
}

lob_status lob_laplacian_cpu(const lob_filter_image *out, const lob_filter_image *in,
                             const lob_filter_call *call, const lob_context *context,
                             lob_budget *budget, lob_error *error)
{
    return run_step(out, in, call, context, budget, error);
}
