/* Refining on the CPU: the call, smoothing, and Gaussians as the steps need them. */
#include "kernels/arrays.h"
#include "kernels/refine/refine_job.h"

#include <math.h>
#include <stdlib.h>

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
    const lob_filter_step step = lob_refine_gaussian_step(image, sigma_mm);
    const lob_filter_options options = lob_refine_gaussian_options();
    const lob_filter_input in = {.image = image, .mask = mask, .steps = &step, .step_count = 1};
    lob_filter_output out = {0};
    *smooth = NULL;
    LOB_TRY(lob_budget_hold(&j->budget, bytes, error));
    const lob_context context = lob_refine_context(j);
    const lob_status st = lob_filter_cpu(&out, &in, &options, &context, error);
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

lob_status lob_refine_smooth(void *job, lob_error *error)
{
    lob_refine_job *const j = job;
    uint8_t *is;
    LOB_TRY(lob_budget_alloc(&j->budget, &is, j->voxels, sizeof *is, error));
    const lob_status st =
        j->in->label_count == 2 ? smooth_one(j, is, error) : smooth_all(j, is, error);
    lob_budget_free(&j->budget, is, j->voxels, sizeof *is);
    return st;
}

/* ---- the call ---- */

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
    const lob_refine_steps steps = {lob_refine_smooth, lob_refine_tidy, lob_refine_edge};
    return lob_refine_run(j, &steps, j->options, j->context, error);
}

lob_status lob_refine_cpu(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                          const lob_refine_options *options, const lob_context *context,
                          lob_error *error)
{
    lob_refine_job j = {
        .in = in,
        .options = options,
        .context = context,
        .budget = {.who = "refining", .limit = context->max_memory},
        .stats = stats,
        .voxels = lob_voxels(in->image),
        .labels = out,
        .type = lob_label_type(in->label_count),
    };
    *stats = (lob_refine_stats){0};
    LOB_TRY(lob_check_memory(in->place, in->image, NULL, error));
    LOB_TRY(lob_refine_check(in, options, error));
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
