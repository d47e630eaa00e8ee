/* Refining labels: the order of the steps, smoothing, and Gaussians as the steps need them. */
#include "kernels/refine/refine_job.h"

#include <math.h>
#include <stdlib.h>

static double least_spacing(lob_dims dims, const double spacing[3])
{
    double least = INFINITY, any = INFINITY;
    for (int a = 0; a < 3; a++) {
        if (lob_side(dims, a) > 1 && spacing[a] < least) least = spacing[a];
        if (spacing[a] < any) any = spacing[a];
    }
    return isfinite(least) ? least : any;
}

lob_refine_options lob_refine_defaults(lob_dims dims, const double spacing_mm[3])
{
    const double h = least_spacing(dims, spacing_mm);
    return (lob_refine_options){.smooth_mm = h, .edge = 1, .edge_mm = h, .edge_smooth_mm = 0.7 * h};
}

lob_context lob_refine_context(const lob_refine_job *j)
{
    lob_context context = *j->context;
    context.progress = NULL;
    if (context.max_memory > 0) {
        context.max_memory -= j->budget.held;
        if (context.max_memory < 1) context.max_memory = 1;
    }
    return context;
}

lob_volume lob_refine_volume(const lob_refine_job *j, void *data, lob_type type, int channels)
{
    lob_volume v = lob_volume_empty();
    v.data = data;
    v.type = type;
    v.dims = j->in->image->dims;
    v.geometry = j->in->image->geometry;
    v.channels = channels;
    return v;
}

lob_status lob_refine_gaussian(lob_refine_job *j, float **smooth, const lob_volume *image,
                               const uint8_t *mask, double sigma_mm, lob_error *error)
{
    const int64_t bytes = lob_product(j->voxels, image->channels, sizeof(float), 1);
    lob_filter_step step = {.kind = LOB_FILTER_GAUSSIAN};
    lob_filter_options options = lob_filter_defaults();
    const lob_filter_input in = {.image = image, .mask = mask, .steps = &step, .step_count = 1};
    lob_filter_output out = {0};
    options.edge = LOB_EDGE_NEAREST;
    *smooth = NULL;
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > 1) step.along[a] = sigma_mm / image->geometry.spacing_mm[a];
    LOB_TRY(lob_budget_hold(&j->budget, bytes, error));
    const lob_context context = lob_refine_context(j);
    const lob_status st = j->backend->filter(&out, &in, &options, &context, error);
    if (st != LOB_OK) {
        lob_budget_release(&j->budget, bytes);
        return st;
    }
    *smooth = out.data;
    return LOB_OK;
}

void lob_refine_drop(lob_refine_job *j, float *smooth, int channels)
{
    if (!smooth) return;
    lob_budget_release(&j->budget, j->voxels * channels * (int64_t)sizeof *smooth);
    free(smooth);
}

/* ---- smooth ---- */

/* Take a label where its share is the largest so far; shares of labels come in ascending order. */
static void take_larger(const lob_refine_job *j, void *labels, float *best, const float *share,
                        int32_t label)
{
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) {
        if (label > 1 && !(share[i] > best[i])) continue;
        best[i] = share[i];
        lob_label_put(labels, j->type, i, label);
    }
}

/* Smooth the indicator of a label. */
static lob_status share_of(lob_refine_job *j, float **share, uint8_t *is, int32_t label,
                           lob_error *error)
{
    const lob_volume image = lob_refine_volume(j, is, LOB_U8, 1);
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) is[i] = lob_refine_label(j, i) == label;
    return lob_refine_gaussian(j, share, &image, NULL, j->options->smooth_mm, error);
}

/* One label and the background: the label where its share is above 1/2. */
static lob_status smooth_one(lob_refine_job *j, uint8_t *is, lob_error *error)
{
    const int32_t background = j->in->background, label = 3 - background;
    float *share;
    LOB_TRY(share_of(j, &share, is, label, error));
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++)
        lob_refine_put(j, i, share[i] > 0.5F ? label : background);
    lob_refine_drop(j, share, 1);
    return LOB_OK;
}

static lob_status smooth_all(lob_refine_job *j, uint8_t *is, lob_error *error)
{
    const size_t bytes = lob_type_of(j->type)->bytes;
    float *best = NULL;
    void *labels = NULL;
    lob_status st = lob_budget_alloc(&j->budget, &best, j->voxels, sizeof *best, error);
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &labels, j->voxels, bytes, error);
    for (int32_t l = 1; st == LOB_OK && l <= j->in->label_count; l++) {
        float *share;
        st = share_of(j, &share, is, l, error);
        if (st != LOB_OK) break;
        take_larger(j, labels, best, share, l);
        lob_refine_drop(j, share, 1);
    }
    for (int64_t i = 0; st == LOB_OK && i < j->voxels; i++)
        lob_refine_put(j, i, lob_label_at(labels, j->type, i));
    lob_budget_free(&j->budget, labels, j->voxels, bytes);
    lob_budget_free(&j->budget, best, j->voxels, sizeof *best);
    return st;
}

lob_status lob_refine_smooth(lob_refine_job *j, lob_error *error)
{
    uint8_t *is;
    LOB_TRY(lob_budget_alloc(&j->budget, &is, j->voxels, sizeof *is, error));
    const lob_status st =
        j->in->label_count == 2 ? smooth_one(j, is, error) : smooth_all(j, is, error);
    lob_budget_free(&j->budget, is, j->voxels, sizeof *is);
    return st;
}

/* ---- the call ---- */

static lob_status check(const lob_refine_input *in, const lob_refine_options *o, lob_error *error)
{
    const double lengths[] = {o->smooth_mm, o->edge_mm, o->edge_smooth_mm};
    for (int i = 0; i < 3; i++)
        if (!(lengths[i] >= 0 && lengths[i] <= 1e6))
            return lob_fail(error, LOB_EARG, "refining: the length %g is out of its range",
                            lengths[i]);
    if (!(o->edge >= 0 && o->edge <= 1))
        return lob_fail(error, LOB_EARG, "refining: the image's share %g is not in 0..1", o->edge);
    if (o->edge > 0 && o->edge_mm == 0)
        return lob_fail(error, LOB_EARG, "refining: means need a length above 0");
    if (in->label_count < 2 || in->background < 1 || in->background > in->label_count)
        return lob_fail(error, LOB_EARG, "refining: %d labels with background %d", in->label_count,
                        in->background);
    if (in->image->channels < 1 || in->image->channels > LOB_REFINE_MAX_CHANNELS)
        return lob_fail(error, LOB_EARG, "refining: an image of %d channels, at most %d",
                        in->image->channels, LOB_REFINE_MAX_CHANNELS);
    return LOB_OK;
}

/* The label that a voxel came with. */
static int32_t before(const lob_refine_job *j, int64_t i)
{
    const int32_t label = lob_label_at(j->in->labels, j->in->labels_type, i);
    return label ? label : j->in->background;
}

static int64_t count_changed(const lob_refine_job *j)
{
    int64_t changed = 0;
#pragma omp parallel for num_threads(j->context->threads) schedule(static) reduction(+ : changed)
    for (int64_t i = 0; i < j->voxels; i++) changed += lob_refine_label(j, i) != before(j, i);
    return changed;
}

static lob_status run_steps(lob_refine_job *j, lob_error *error)
{
    const lob_context *const context = j->context;
    const bool smooth = j->options->smooth_mm > 0, edge = j->options->edge > 0;
    const struct {
        bool wanted;
        lob_status (*run)(lob_refine_job *j, lob_error *error);
        double done;
    } steps[] = {
        {smooth, lob_refine_smooth, 0.2},
        {true,   lob_refine_tidy,   0.5},
        {edge,   lob_refine_edge,   0.8},
        {edge,   lob_refine_tidy,   1.0},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].wanted) LOB_TRY(steps[i].run(j, error));
        if (context->progress && context->progress(context->user, steps[i].done))
            return LOB_ECANCEL;
    }
    return LOB_OK;
}

lob_status lob_refine(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                      const lob_refine_options *options, const lob_backend *backend,
                      const lob_context *context, lob_error *error)
{
    lob_refine_job j = {
        .in = in,
        .options = options,
        .backend = backend,
        .context = context,
        .budget = {.who = "refining", .limit = context->max_memory},
        .stats = stats,
        .voxels = lob_voxels(in->image),
        .labels = out,
        .type = lob_label_type(in->label_count),
    };
    *stats = (lob_refine_stats){0};
    LOB_TRY(check(in, options, error));
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int64_t i = 0; i < j.voxels; i++) lob_refine_put(&j, i, before(&j, i));
    lob_box box;
    if (lob_refine_part_of(&box, &j))
        LOB_TRY(lob_refine_in_part(&j, &box, run_steps, error));
    else
        LOB_TRY(run_steps(&j, error));
    stats->changed = count_changed(&j);
    stats->working_bytes = j.budget.peak;
    return LOB_OK;
}
