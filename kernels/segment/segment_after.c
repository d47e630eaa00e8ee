/* After the growth: where it is unsure, and what a correction may change. */
#include "kernels/segment/segment_job.h"

#include "kernels/arrays.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- uncertainty ---- */

/* Costs this near to each other, as a share of their sum, are a toss-up; the last of these, of the
 * range of the shares, keeps what costs next to nothing from being one. */
static const double near_share = 0.1, least_cost = 1.0 / 128;

/* Arrays of the box's size in ordinary memory. */
typedef struct {
    lob_volume only;
    uint8_t *reached;
    float *strength; /* of one label, */
    float *best;     /* the largest of all, */
    float *second;   /* and the next */
} scratch;

/* Grow the strokes of one label alone. */
static lob_status grow_one(lob_segment_job *j, scratch *w, int32_t label, double share,
                           lob_error *error)
{
    const int64_t n = lob_voxels(&j->strokes);
    const uint8_t *const seeds = j->plan->areas ? j->agreeing.data : lob_segment_starts(j)->data;
    uint8_t *const to = w->only.data;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) to[i] = seeds[i] == label;
    const lob_growcut_options options = lob_segment_growcut(j->plan);
    const lob_growcut_input in = {.image = &j->shares, .seeds = &w->only, .labels = 1};
    const lob_growcut_output out = {.labels = w->reached, .strength = w->strength};
    lob_segment_turn turn;
    return j->backend->growcut(&out, NULL, &in, &options, lob_segment_begin(j, &turn, share),
                               error);
}

/* strength = exp(-cost): the largest strength has the least cost. */
static void keep_best(const scratch *w, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const float strength = w->strength[i], best = w->best[i];
        w->best[i] = strength > best ? strength : best;
        if (strength > best)
            w->second[i] = best;
        else if (strength > w->second[i])
            w->second[i] = strength;
    }
}

static void mark_near(const scratch *w, uint8_t *out, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double a = -log(fmax((double)w->best[i], FLT_MIN));
        const double b = -log(fmax((double)w->second[i], FLT_MIN));
        out[i] = b - a < near_share * (b + a + least_cost);
    }
}

lob_status lob_segment_doubt(lob_segment_job *j, lob_volume *uncertain, lob_error *error)
{
    const lob_volume *const grid = &j->strokes;
    const char *const what = "uncertain voxels";
    const int64_t n = lob_voxels(grid);
    const double share = fmax(0, 0.95 - j->done);
    scratch w = {.only = lob_volume_empty()};
    lob_budget *const budget = &j->budget;
    lob_status st = lob_segment_make_here(j, uncertain, grid, what, error);
    if (st == LOB_OK) st = lob_segment_make_here(j, &w.only, grid, what, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.reached, n, 1, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.strength, n, sizeof(float), error);
    if (st == LOB_OK) st = lob_budget_calloc(budget, &w.best, n, sizeof(float), error);
    if (st == LOB_OK) st = lob_budget_calloc(budget, &w.second, n, sizeof(float), error);
    for (int32_t k = 1; k <= j->plan->count && st == LOB_OK; k++) {
        st = grow_one(j, &w, k, share / j->plan->count, error);
        if (st == LOB_OK) keep_best(&w, n, j->context->threads);
    }
    if (st == LOB_OK) mark_near(&w, uncertain->data, n, j->context->threads);
    lob_segment_drop(j, &w.only);
    lob_budget_free(budget, w.reached, n, 1);
    lob_budget_free(budget, w.strength, n, sizeof(float));
    lob_budget_free(budget, w.best, n, sizeof(float));
    lob_budget_free(budget, w.second, n, sizeof(float));
    return st;
}

/* ---- corrections ---- */

/* A copy of labels in the type of their largest, which is returned too. */
static lob_status packed(lob_volume *out, int32_t *largest, const lob_volume *labels,
                         const char *name, const lob_context *context, lob_error *error)
{
    lob_label_set set = {0};
    LOB_TRY(lob_volume_move(out, labels, (lob_place){0}, context, error));
    lob_status st = lob_labels_dense(out, &set, name, error);
    if (st == LOB_OK && lob_labels_restore(out, &set) != LOB_OK)
        st = lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    *largest = set.count > 0 ? set.values[set.count - 1] : 0;
    lob_label_set_free(&set);
    return st;
}

/* Distances squared to the strokes that say otherwise; *said counts these. */
static lob_status find_corrections(float *squared, int64_t *said, const lob_volume *before,
                                   const lob_volume *strokes, int32_t background,
                                   const double spacing[3], int threads)
{
    const int64_t n = lob_voxels(before);
    uint8_t *const says = calloc((size_t)n, 1);
    if (!says) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        const int32_t stroke = lob_label_at(strokes->data, strokes->type, i);
        const int32_t wanted = stroke == background ? 0 : stroke;
        says[i] = stroke != 0 && wanted != lob_label_at(before->data, before->type, i);
        *said += says[i];
    }
    const lob_status st = lob_distance_squared(squared, says, before->dims, spacing, threads);
    free(says);
    return st;
}

static lob_status correct(lob_volume *labels, lob_segment_corrected *corrected,
                          const lob_volume *before, const lob_volume *strokes, int32_t background,
                          double reach, bool voxels, int threads)
{
    const int64_t n = lob_voxels(labels);
    double spacing[3] = {1, 1, 1};
    float *const squared = malloc((size_t)n * sizeof *squared);
    if (!squared) return LOB_ENOMEM;
    if (!voxels) memcpy(spacing, labels->geometry.spacing_mm, sizeof spacing);
    const lob_status st =
        find_corrections(squared, &corrected->said, before, strokes, background, spacing, threads);
    /* A distance that exceeds the limit by rounding only is within it. */
    const double limit = reach * reach * (1 + 1e-6);
    for (int64_t i = 0; i < n && st == LOB_OK; i++) {
        const int32_t old = lob_label_at(before->data, before->type, i);
        if (corrected->said == 0 || (double)squared[i] > limit)
            lob_label_put(labels->data, labels->type, i, old);
        corrected->changed += lob_label_at(labels->data, labels->type, i) != old;
    }
    free(squared);
    return st;
}

lob_status lob_segment_correct(lob_volume *labels, lob_segment_corrected *corrected,
                               const lob_volume *before, const lob_volume *strokes,
                               int32_t background, double reach, bool voxels,
                               const lob_context *context, lob_error *error)
{
    lob_volume old = lob_volume_empty(), drawn = lob_volume_empty();
    int32_t largest_old = 0, largest_drawn = 0, largest = 0;
    const int64_t n = lob_voxels(labels);
    *corrected = (lob_segment_corrected){0};
    lob_error_begin(error);
    LOB_TRY(lob_check_memory(labels->place, before, strokes, error));
    LOB_TRY(lob_same_grid(labels, "the labels", before, "those before", error));
    LOB_TRY(lob_same_grid(labels, "the labels", strokes, "the strokes", error));
    for (int64_t i = 0; i < n; i++) {
        const int32_t label = lob_label_at(labels->data, labels->type, i);
        largest = label > largest ? label : largest;
    }
    lob_status st = packed(&old, &largest_old, before, "labels before", context, error);
    if (st == LOB_OK) st = packed(&drawn, &largest_drawn, strokes, "strokes", context, error);
    if (st == LOB_OK) {
        st = lob_labels_pack(labels, largest > largest_old ? largest : largest_old);
        if (st == LOB_OK)
            st = correct(labels, corrected, &old, &drawn, background, reach, voxels,
                         context->threads);
        if (st != LOB_OK) lob_fail(error, st, "no memory left for corrections");
    }
    lob_volume_free(&old);
    lob_volume_free(&drawn);
    return st;
}
