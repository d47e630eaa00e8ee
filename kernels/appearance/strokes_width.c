/* How far apart strokes of different labels are, and on which slices labels are not. */
#include "kernels/appearance/strokes.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of more stroke voxels in a plane only so many are looked at, at even steps. */
enum { MOST_OWN = 256, MOST_OTHERS = 2048 };

typedef struct {
    double u, v; /* mm */
    int32_t label;
} point;

/* Points of a plane, and distances of all; room: for points of the fullest plane so far. */
typedef struct {
    point *points;
    int64_t count, room;
    double *distances;
    int64_t found;
} work;

static bool take_points(work *w, const void *seeds, lob_type type, lob_dims d,
                        const double spacing_mm[3], int axis, int64_t slice)
{
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    int64_t at[3] = {0, 0, 0};
    at[axis] = slice;
    w->count = 0;
    for (at[b] = 0; at[b] < lob_side(d, b); at[b]++)
        for (at[a] = 0; at[a] < lob_side(d, a); at[a]++) {
            const int64_t row = (at[2] * d.ny + at[1]) * d.nx;
            if (a == 0) at[0] = lob_next_label(seeds, type, row + at[0], row + d.nx) - row;
            if (at[0] == d.nx) break;
            const int32_t label = lob_label_at(seeds, type, row + at[0]);
            if (label == 0) continue;
            if (w->count == w->room && !lob_grow(&w->points, w->room++, sizeof *w->points))
                return false;
            w->points[w->count++] =
                (point){(double)at[a] * spacing_mm[a], (double)at[b] * spacing_mm[b], label};
        }
    return true;
}

/* The least of `least` and the squares of a point's distances to those of other labels, from number
 * k on, by `step`. v ascends with the number: what is farther in v alone need not be looked at. */
static double nearest(const work *w, point p, int64_t k, int64_t step, double least)
{
    for (; k >= 0 && k < w->count; k += step) {
        const point q = w->points[k];
        const double in_v = (p.v - q.v) * (p.v - q.v);
        if (in_v >= least) break;
        const double squared = (p.u - q.u) * (p.u - q.u) + in_v;
        if (q.label != p.label && squared < least) least = squared;
    }
    return least;
}

/* Distances of a plane's points to those of other labels, but of points of the background. */
static bool take_distances(work *w, int32_t background)
{
    const int64_t step = 1 + w->count / MOST_OWN, other_step = 1 + w->count / MOST_OTHERS;
    for (int64_t i = 0; i < w->count; i += step) {
        const point p = w->points[i];
        if (p.label == background) continue;
        const int64_t from = (i + other_step - 1) / other_step * other_step;
        double least = nearest(w, p, from, other_step, INFINITY);
        least = nearest(w, p, from - other_step, -other_step, least);
        if (!isfinite(least)) continue;
        if (!lob_grow(&w->distances, w->found, sizeof *w->distances)) return false;
        w->distances[w->found++] = sqrt(least);
    }
    return true;
}

void lob_strokes_absent(uint8_t *absent, const lob_strokes *strokes, int axis, int32_t background)
{
    const int32_t labels = strokes->labels;
    memset(absent, 0, (size_t)(lob_side(strokes->dims, axis) * (labels + 1)));
    for (int64_t s = 0; s < lob_side(strokes->dims, axis); s++) {
        const int64_t *const voxels = lob_strokes_in(strokes, axis, s);
        bool others = false;
        for (int32_t l = 1; l <= labels; l++)
            others = others || (l != background && voxels[l - 1] > 0);
        for (int32_t l = 1; others && voxels[background - 1] > 0 && l <= labels; l++)
            absent[s * (labels + 1) + l] = voxels[l - 1] == 0;
    }
}

/* Take over what another found. */
static bool join(work *w, const work *other)
{
    for (int64_t i = 0; i < other->found; i++) {
        if (!lob_grow(&w->distances, w->found, sizeof *w->distances)) return false;
        w->distances[w->found++] = other->distances[i];
    }
    return true;
}

lob_status lob_strokes_width(double *width_mm, const lob_strokes *strokes, const void *seeds,
                             lob_type type, const double spacing_mm[3], int32_t background,
                             int threads, lob_error *error)
{
    const int axis = lob_strokes_axis(strokes) >= 0 ? lob_strokes_axis(strokes)
                     : strokes->dims.nx == 1        ? 0
                     : strokes->dims.ny == 1        ? 1
                                                    : 2;
    work w = {0};
    bool good = true;
    *width_mm = 0;
#pragma omp parallel num_threads(threads)
    {
        work own = {0};
        bool fine = true;
#pragma omp for schedule(dynamic)
        for (int64_t s = 0; s < lob_side(strokes->dims, axis); s++)
            if (fine && lob_strokes_labels_in(strokes, axis, s) > 1)
                fine = take_points(&own, seeds, type, strokes->dims, spacing_mm, axis, s) &&
                       take_distances(&own, background);
#pragma omp critical(lob_strokes_sum)
        good = good && fine && join(&w, &own);
        free(own.points);
        free(own.distances);
    }
    if (good && w.found > 0) {
        qsort(w.distances, (size_t)w.found, sizeof *w.distances, lob_by_real);
        *width_mm = w.distances[w.found / 2];
    }
    free(w.distances);
    return good ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left to measure strokes");
}
