/* Where labels fade: beyond the slices with their strokes they end when too little of their border
 * is seen. */
#include "kernels/refine/refine_measured.h"

#include "kernels/filters/pointwise_voxel.h"

#include <math.h>
#include <string.h>

/* A border is seen where the image changes by this share of what it does on drawn slices; a label
 * ends where less than this share of what is seen there is. */
static const double seen_share = 0.2, least_share = 0.5;

/* A label in its slices across an axis. */
typedef struct {
    const lob_refine_measured *m;
    int32_t label;
    int axis;
    int64_t count, width, height;       /* slices, and their sides */
    int64_t step, along[2];             /* from slice to slice, and along these sides */
    double at[LOB_REFINE_MAX_CHANNELS]; /* the mean change on drawn slices */
} slices;

/* A slice's border. */
typedef struct {
    double sum[LOB_REFINE_MAX_CHANNELS]; /* of changes */
    int64_t voxels, seen;
    bool drawn;
} slice;

static slices slices_of(const lob_refine_measured *m, int32_t label, int axis)
{
    const int64_t step[3] = {1, m->dims.nx, m->dims.nx * m->dims.ny};
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    return (slices){
        .m = m,
        .label = label,
        .axis = axis,
        .count = lob_side(m->dims, axis),
        .width = lob_side(m->dims, u),
        .height = lob_side(m->dims, v),
        .step = step[axis],
        .along = {step[u], step[v]}
    };
}

static bool is(const slices *s, int64_t voxel)
{
    return lob_label_at(s->m->labels, s->m->type, voxel) == s->label;
}

static bool on_border(const slices *s, int64_t voxel, int64_t x, int64_t y)
{
    return (x > 0 && !is(s, voxel - s->along[0])) ||
           (x + 1 < s->width && !is(s, voxel + s->along[0])) ||
           (y > 0 && !is(s, voxel - s->along[1])) ||
           (y + 1 < s->height && !is(s, voxel + s->along[1]));
}

/* By how much the mean of a channel over the label is above that over the rest, in a voxel's 3 x 3
 * of its slice; 0 where one of them has no number. */
static double change_at(const slices *s, int64_t voxel, int64_t x, int64_t y, int channel)
{
    const lob_volume *const image = &s->m->image;
    const int64_t from = channel * lob_voxels(image);
    double sum[2] = {0, 0};
    int n[2] = {0, 0};
    for (int64_t v = y > 0 ? -1 : 0; v <= (y + 1 < s->height); v++)
        for (int64_t u = x > 0 ? -1 : 0; u <= (x + 1 < s->width); u++) {
            const int64_t i = voxel + u * s->along[0] + v * s->along[1];
            const double stored = lob_filter_load(image->data, image->type, from + i);
            const double value = image->slope * stored + image->inter;
            const bool own = is(s, i);
            if (!isfinite(value)) continue;
            sum[own] += value;
            n[own]++;
        }
    return n[0] > 0 && n[1] > 0 ? sum[1] / n[1] - sum[0] / n[0] : 0;
}

/* Look at a slice's border; with `seen`, at what of it is. */
static void look(slice *to, const slices *s, int64_t k, bool seen)
{
    const int channels = s->m->image.channels;
    double all = 0;
    *to = (slice){.drawn = to->drawn};
    for (int c = 0; seen && c < channels; c++) all += s->at[c] * s->at[c];
    for (int64_t y = 0; y < s->height; y++)
        for (int64_t x = 0; x < s->width; x++) {
            const int64_t voxel = k * s->step + x * s->along[0] + y * s->along[1];
            double like = 0;
            const int32_t seed = lob_label_at(s->m->seeds, s->m->seed_type, voxel);
            to->drawn = to->drawn || seed == s->label;
            if (!is(s, voxel) || !on_border(s, voxel, x, y)) continue;
            to->voxels++;
            for (int c = 0; c < channels; c++) {
                const double change = change_at(s, voxel, x, y, c);
                to->sum[c] += change;
                like += s->at[c] * change;
            }
            to->seen += seen && like > seen_share * all;
        }
}

/* The label becomes background on slices from one on, in steps of 1 or -1. */
static int64_t clear(const slices *s, int64_t from, int64_t to, int step, int32_t background)
{
    int64_t cleared = 0;
    for (int64_t k = from; k != to; k += step)
        for (int64_t y = 0; y < s->height; y++)
            for (int64_t x = 0; x < s->width; x++) {
                const int64_t voxel = k * s->step + x * s->along[0] + y * s->along[1];
                if (!is(s, voxel)) continue;
                lob_label_put(s->m->labels, s->m->type, voxel, background);
                cleared++;
            }
    return cleared;
}

/* Beyond the first or the last slice with strokes the first on which the label fades is its last.
 */
static int64_t end(const slices *s, const slice *each, const slice *drawn, int64_t last, int step,
                   int32_t background)
{
    const int64_t beyond = step > 0 ? s->count : -1;
    for (int64_t k = last + step; k != beyond; k += step)
        if ((double)each[k].seen * (double)drawn->voxels <
            least_share * (double)drawn->seen * (double)each[k].voxels)
            return clear(s, k + step, beyond, step, background);
    return 0;
}

/* What drawn slices sum to. */
static slice sum_up(const slice *each, int64_t count, int channels)
{
    slice drawn = {0};
    for (int64_t k = 0; k < count; k++) {
        if (!each[k].drawn) continue;
        drawn.drawn = true;
        drawn.voxels += each[k].voxels;
        drawn.seen += each[k].seen;
        for (int c = 0; c < channels; c++) drawn.sum[c] += each[k].sum[c];
    }
    return drawn;
}

static int64_t fade(slices *s, slice *each, int32_t background, int threads)
{
    const int channels = s->m->image.channels;
    slice drawn;
    memset(each, 0, (size_t)s->count * sizeof *each);
    for (int seen = 0; seen < 2; seen++) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (int64_t k = 0; k < s->count; k++) look(&each[k], s, k, seen);
        drawn = sum_up(each, s->count, channels);
        if (drawn.voxels == 0) return 0;
        for (int c = 0; c < channels; c++) s->at[c] = drawn.sum[c] / (double)drawn.voxels;
    }
    int64_t first = 0, last = s->count - 1;
    while (!each[first].drawn) first++;
    while (!each[last].drawn) last--;
    return end(s, each, &drawn, first, -1, background) + end(s, each, &drawn, last, 1, background);
}

lob_status lob_refine_fade(lob_refine_job *j, int64_t *cleared)
{
    const lob_refine_input *const in = j->in;
    const int64_t count = lob_side(j->image.dims, j->options->fade_axis);
    lob_refine_measured m;
    slice *each;
    *cleared = 0;
    LOB_TRY(lob_budget_alloc(&j->budget, &each, count, sizeof *each, j->error));
    lob_status st = lob_refine_measure(&m, j, true);
    if (st == LOB_OK) st = lob_refine_take_labels(&m, j);
    for (int32_t l = 1; st == LOB_OK && l <= in->label_count; l++) {
        slices s = slices_of(&m, l, j->options->fade_axis);
        if (l != in->background) *cleared += fade(&s, each, in->background, j->context->threads);
    }
    if (st == LOB_OK && *cleared > 0) st = lob_refine_give_labels(&m, j);
    lob_refine_measured_free(&m, j);
    lob_budget_free(&j->budget, each, count, sizeof *each);
    return st;
}
