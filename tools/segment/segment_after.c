/* Uncertainty, suggested slices and corrections. */
#include "tools/segment/segment_after.h"

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

/* ---- slices ---- */

/* Which slices across an axis have strokes? */
static void find_drawn(bool *drawn, const lob_strokes *strokes, int axis)
{
    for (int64_t i = 0; i < lob_side(strokes->dims, axis); i++) {
        const int64_t *const voxels = lob_strokes_in(strokes, axis, i);
        drawn[i] = false;
        for (int32_t k = 0; k < strokes->labels; k++) drawn[i] = drawn[i] || voxels[k] > 0;
    }
}

/* Count, for each slice, voxels that are uncertain and voxels with a label. */
static void count_slices(lob_segment_slice *rows, const lob_segment_box *box,
                         const lob_volume *uncertain, int axis)
{
    const uint8_t *const unsure = uncertain->data;
    const lob_dims d = box->labels->dims;
    int64_t i = 0;
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++, i++) {
                lob_segment_slice *const row = &rows[axis == 0 ? x : axis == 1 ? y : z];
                const int32_t label = lob_label_at(box->labels->data, box->labels->type, i);
                row->marked += label != box->background;
                row->uncertain += unsure[i];
            }
}

/* The slice with the most to gain, marked as drawn from now on; false: none is left. */
static bool take_best(lob_segment_slice *best, const lob_segment_slice *rows, bool *drawn,
                      int64_t side)
{
    double most = 0;
    int64_t before = -1;
    for (int64_t i = 0; i < side; i++) {
        int64_t after = i;
        if (drawn[i]) before = i;
        while (after < side && !drawn[after]) after++;
        const int64_t below = before < 0 ? side : i - before;
        const int64_t above = after == side ? side : after - i;
        const double distance = (double)(below < above ? below : above);
        const double gain =
            (double)rows[i].uncertain * (double)rows[i].marked * distance * distance;
        if (!(gain > most)) continue;
        most = gain;
        *best = rows[i];
    }
    if (most > 0) drawn[best->slice] = true;
    return most > 0;
}

lob_status lob_segment_suggest(lob_segment_slice *slices, int *count, int n,
                               const lob_segment_box *box, const lob_volume *uncertain, int axis)
{
    const int64_t side = lob_side(box->labels->dims, axis);
    lob_segment_slice *const rows = calloc((size_t)side, sizeof *rows);
    bool *const drawn = calloc((size_t)side, sizeof *drawn);
    const lob_status st = rows && drawn ? LOB_OK : LOB_ENOMEM;
    int found = 0;
    if (st == LOB_OK) {
        for (int64_t i = 0; i < side; i++) rows[i].slice = i;
        count_slices(rows, box, uncertain, axis);
        find_drawn(drawn, &box->strokes, axis);
        while (found < n && take_best(&slices[found], rows, drawn, side)) found++;
    }
    free(rows);
    free(drawn);
    *count = found;
    return st;
}

lob_status lob_segment_drawn(lob_segment_slice *slices, int *count, int n,
                             const lob_segment_box *box, int axis)
{
    const int64_t side = lob_side(box->labels->dims, axis);
    int64_t all = 0, seen = 0;
    int found = 0;
    *count = 0;
    if (n < 1) return LOB_OK;
    bool *const drawn = calloc((size_t)side, sizeof *drawn);
    if (!drawn) return LOB_ENOMEM;
    find_drawn(drawn, &box->strokes, axis);
    for (int64_t i = 0; i < side; i++) all += drawn[i];
    const int64_t most = all < n ? all : n;
    for (int64_t i = 0; i < side; i++)
        if (drawn[i]) {
            if (seen == (2 * found + 1) * all / (2 * most))
                slices[found++] = (lob_segment_slice){.slice = i, .drawn = true};
            seen++;
        }
    free(drawn);
    *count = found;
    return LOB_OK;
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
