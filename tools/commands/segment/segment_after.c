/* Uncertainty and corrections. */
#include "tools/commands/segment/segment_after.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- uncertainty ---- */

/* Costs this near to each other, as a share of their sum, are a toss-up; the last of these, of the
 * range of the shares, keeps what costs next to nothing from being one. */
static const double near_share = 0.1, least_cost = 1.0 / 128;

/* Grow the strokes of one label alone. */
static lob_status grow_one(lob_session *s, float *strength, const lob_segment_box *box,
                           lob_volume *only, uint8_t *reached, int32_t label)
{
    const int64_t n = lob_voxels(box->seeds);
    uint8_t *const to = only->data;
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        to[i] = lob_label_at(box->seeds->data, box->seeds->type, i) == label;
    lob_growcut_options options = lob_growcut_defaults();
    options.rule = LOB_RULE_DISTANCE;
    options.norm = LOB_NORM_LINF;
    const lob_growcut_input in = {.image = box->shares, .seeds = only, .labels = 1};
    const lob_growcut_output out = {.labels = reached, .strength = strength};
    return s->backend->growcut(&out, NULL, &in, &options, &s->context, &s->error);
}

/* Arrays of a box's size, freed together. */
typedef struct {
    lob_volume only;
    uint8_t *reached;
    float *strength; /* of one label, */
    float *best;     /* the largest of all, */
    float *second;   /* and the next */
} scratch;

/* strength = exp(-cost): the largest strength has the least cost. */
static void keep_best(lob_session *s, const scratch *w, int64_t n)
{
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const float strength = w->strength[i], best = w->best[i];
        w->best[i] = strength > best ? strength : best;
        if (strength > best)
            w->second[i] = best;
        else if (strength > w->second[i])
            w->second[i] = strength;
    }
}

static void mark_near(lob_session *s, const scratch *w, uint8_t *out, int64_t n)
{
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double a = -log(fmax((double)w->best[i], FLT_MIN));
        const double b = -log(fmax((double)w->second[i], FLT_MIN));
        out[i] = b - a < near_share * (b + a + least_cost);
    }
}

lob_status lob_segment_uncertain(lob_session *s, lob_volume *out, const lob_segment_box *box,
                                 const char *path)
{
    const int64_t n = lob_voxels(box->seeds);
    const int64_t bytes = lob_product(n, 3 + 3 * (int64_t)sizeof(float), 1, 1);
    scratch w = {.only = lob_volume_empty()};
    *out = lob_volume_empty();
    lob_status st = lob_session_take(s, bytes, path);
    if (st != LOB_OK) return st;
    lob_session_compute(s, "looking for doubt");
    w.reached = malloc((size_t)n);
    w.strength = malloc((size_t)n * sizeof(float));
    w.best = calloc((size_t)n, sizeof(float));
    w.second = calloc((size_t)n, sizeof(float));
    if (!w.reached || !w.strength || !w.best || !w.second ||
        lob_volume_like(&w.only, box->seeds, LOB_U8, 1) != LOB_OK ||
        lob_volume_like(out, box->seeds, LOB_U8, 1) != LOB_OK)
        st = lob_session_no_memory(s, path);
    for (int32_t k = 1; k <= box->set.count && st == LOB_OK; k++) {
        st = grow_one(s, w.strength, box, &w.only, w.reached, k);
        if (st == LOB_OK) keep_best(s, &w, n);
    }
    if (st == LOB_OK) mark_near(s, &w, out->data, n);
    if (st == LOB_OK) lob_session_computed(s);
    lob_volume_free(&w.only);
    free(w.reached);
    free(w.strength);
    free(w.best);
    free(w.second);
    lob_session_give(s, bytes);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

/* ---- corrections ---- */

lob_status lob_segment_correct(lob_session *s, lob_volume *result, const lob_volume *before,
                               const lob_volume *seeds, int32_t background, lob_size reach,
                               int64_t *changed, int64_t *said)
{
    const int64_t n = lob_voxels(result);
    double spacing[3] = {1, 1, 1};
    uint8_t *const says = calloc((size_t)n, 1);
    float *const squared = malloc((size_t)n * sizeof *squared);
    int64_t otherwise = 0, differ = 0;
    lob_status st = says && squared ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < n && st == LOB_OK; i++) {
        const int32_t stroke = lob_label_at(seeds->data, seeds->type, i);
        const int32_t wanted = stroke == background ? 0 : stroke;
        says[i] = stroke != 0 && wanted != lob_label_at(before->data, before->type, i);
        otherwise += says[i];
    }
    if (!reach.voxels) memcpy(spacing, result->geometry.spacing_mm, sizeof spacing);
    if (st == LOB_OK)
        st = lob_distance_squared(squared, says, result->dims, spacing, s->context.threads);
    /* A distance that exceeds the limit by rounding only is within it. */
    const double limit = reach.value * reach.value * (1 + 1e-6);
    for (int64_t i = 0; i < n && st == LOB_OK; i++) {
        const int32_t old = lob_label_at(before->data, before->type, i);
        if (otherwise == 0 || squared[i] > limit) lob_label_put(result->data, result->type, i, old);
        differ += lob_label_at(result->data, result->type, i) != old;
    }
    *changed = differ;
    *said = otherwise;
    free(says);
    free(squared);
    return st;
}
