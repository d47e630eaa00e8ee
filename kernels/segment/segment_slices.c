/* Slices on which a further stroke would help most. */
#include "kernels/segment/segment_slices.h"

#include "volumes/labels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Which slices across an axis have strokes? Returns how many. */
static int64_t find_drawn(bool *drawn, const lob_strokes *strokes, int axis)
{
    int64_t all = 0;
    for (int64_t i = 0; i < lob_side(strokes->dims, axis); i++) {
        drawn[i] = lob_strokes_labels_in(strokes, axis, i) > 0;
        all += drawn[i];
    }
    return all;
}

/* ---- what is at stake ---- */

/* Does a voxel have another label on one of its six sides? */
static bool on_border(const lob_volume *labels, const int64_t at[3], int64_t i)
{
    const lob_dims d = labels->dims;
    const int64_t step[3] = {1, d.nx, d.nx * d.ny};
    const int32_t label = lob_label_at(labels->data, labels->type, i);
    for (int k = 0; k < 3; k++) {
        if (at[k] > 0 && lob_label_at(labels->data, labels->type, i - step[k]) != label)
            return true;
        if (at[k] + 1 < lob_side(d, k) &&
            lob_label_at(labels->data, labels->type, i + step[k]) != label)
            return true;
    }
    return false;
}

/* Count the voxels of slice row->slice that are uncertain, labelled and at a border. */
static void count_slice(lob_segment_slice *row, const lob_volume *labels, int32_t background,
                        const uint8_t *unsure, int axis)
{
    const lob_dims d = labels->dims;
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    int64_t at[3] = {0, 0, 0};
    at[axis] = row->slice;
    for (at[v] = 0; at[v] < lob_side(d, v); at[v]++)
        for (at[u] = 0; at[u] < lob_side(d, u); at[u]++) {
            const int64_t i = (at[2] * d.ny + at[1]) * d.nx + at[0];
            const int32_t label = lob_label_at(labels->data, labels->type, i);
            row->marked += label != background;
            row->uncertain += unsure[i];
            row->border += on_border(labels, at, i);
        }
}

/* ---- what a stroke would bring ---- */

/* Slices without strokes between two with them; below -1 or above the last: none on that side. */
typedef struct {
    int64_t below, above;
    int64_t side; /* slices of the box */
} gap;

static double deviation(gap g, int64_t slice)
{
    const double down = (double)(slice - g.below), up = (double)(g.above - slice);
    if (g.below < 0) return sqrt(up);
    if (g.above == g.side) return sqrt(down);
    return sqrt(down * up / (down + up));
}

/* By how much the wrong voxels of a gap that are expected become fewer with strokes on a slice. */
static double gain_of(const lob_segment_slice *rows, gap g, int64_t slice)
{
    const gap lower = {g.below, slice, g.side}, upper = {slice, g.above, g.side};
    double gain = 0;
    for (int64_t i = g.below + 1; i < g.above; i++) {
        const double after = i < slice ? deviation(lower, i) : i > slice ? deviation(upper, i) : 0;
        gain += (double)(rows[i].border + rows[i].uncertain) * (deviation(g, i) - after);
    }
    return gain;
}

/* The slice with the most to gain, marked as drawn from now on; false: none is left. */
static bool take_best(lob_segment_slice *best, const lob_segment_slice *rows, bool *drawn,
                      int64_t side)
{
    gap g = {.below = -1, .above = -1, .side = side};
    double most = 0;
    for (int64_t i = 0; i < side; i++) {
        if (drawn[i]) g.below = i;
        if (drawn[i] || rows[i].marked == 0) continue;
        if (g.above < i) {
            g.above = i;
            while (g.above < side && !drawn[g.above]) g.above++;
        }
        const double gain = gain_of(rows, g, i);
        /* Equal gains, summed in another order, differ by rounding. */
        if (!(gain > most * (1 + 1e-9))) continue;
        most = gain;
        *best = rows[i];
    }
    if (most > 0) drawn[best->slice] = true;
    return most > 0;
}

lob_status lob_segment_suggest(lob_segment_slice *slices, int *count, int n,
                               const lob_volume *labels, int32_t background,
                               const lob_strokes *strokes, const uint8_t *uncertain, int axis,
                               int threads)
{
    const int64_t side = lob_side(labels->dims, axis);
    lob_segment_slice *const rows = calloc((size_t)side, sizeof *rows);
    bool *const drawn = calloc((size_t)side, sizeof *drawn);
    const lob_status st = rows && drawn ? LOB_OK : LOB_ENOMEM;
    int found = 0;
    if (st == LOB_OK) {
        const int64_t all = find_drawn(drawn, strokes, axis);
        assert(all > 0);
        (void)all;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < side; i++) {
            rows[i].slice = i;
            count_slice(&rows[i], labels, background, uncertain, axis);
        }
        while (found < n && take_best(&slices[found], rows, drawn, side)) found++;
    }
    free(rows);
    free(drawn);
    *count = found;
    return st;
}
