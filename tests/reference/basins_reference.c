/* Of all pairs of basins that have not been looked at, the one with the lowest saddle comes next.
 */
#include "tests/reference/basins_reference.h"

#include "volumes/labels.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct {
    const lob_label_grid *grid;
    const lob_volume *image;
    int64_t labels; /* and 0 */
} world;

static double value_at(const world *w, int64_t v)
{
    double value;
    lob_values(&value, w->image->data, w->image->type, v, 1);
    return w->image->slope * value + w->image->inter;
}

/* The lowest pass between two labels; INFINITY: none. Also, do they share a face at all? */
static double saddle_of(const world *w, int32_t a, int32_t b, bool *touch)
{
    const lob_dims d = w->grid->dims;
    const int64_t stride[3] = {1, d.nx, d.nx * d.ny};
    double lowest = INFINITY;
    for (int64_t v = 0; v < d.nx * d.ny * d.nz; v++) {
        const int64_t at[3] = {v % d.nx, v / d.nx % d.ny, v / d.nx / d.ny};
        for (int k = 0; k < 3; k++) {
            if (at[k] + 1 == lob_side(d, k)) continue;
            const int32_t p = lob_label_at(w->grid->labels, w->grid->type, v);
            const int32_t q = lob_label_at(w->grid->labels, w->grid->type, v + stride[k]);
            const double x = value_at(w, v), y = value_at(w, v + stride[k]);
            const bool pair = (p == a && q == b) || (p == b && q == a);
            *touch = *touch || pair;
            if (pair && isfinite(x) && isfinite(y)) lowest = fmin(lowest, fmax(x, y));
        }
    }
    return lowest;
}

/* The lowest value of all labels that have become one. */
static double bottom_of(const world *w, const int32_t *to, int32_t one)
{
    double lowest = INFINITY;
    for (int64_t v = 0; v < lob_voxels(w->image); v++) {
        const int32_t label = lob_label_at(w->grid->labels, w->grid->type, v);
        if (label && to[label] == one && isfinite(value_at(w, v)))
            lowest = fmin(lowest, value_at(w, v));
    }
    return lowest;
}

static void meet(const world *w, int32_t *to, int32_t a, int32_t b, double saddle,
                 const lob_basins_options *o)
{
    const int32_t p = to[a], q = to[b];
    const double upper = fmax(bottom_of(w, to, p), bottom_of(w, to, q));
    const double share = o->share > 0 ? o->share * (o->level - upper) : 0;
    if (p == q || !(saddle - upper < fmax(o->height, share))) return;
    for (int64_t i = 1; i < w->labels; i++)
        if (to[i] == p || to[i] == q) to[i] = p < q ? p : q;
}

static bool occurs(const world *w, int32_t label)
{
    for (int64_t v = 0; v < lob_voxels(w->image); v++)
        if (lob_label_at(w->grid->labels, w->grid->type, v) == label) return true;
    return false;
}

/* Labels that occur, and what is left of them. */
static void count(lob_basins_stats *stats, const world *w, const int32_t *to)
{
    for (int32_t a = 1; a < w->labels; a++) {
        bool left = false;
        for (int32_t b = 1; b < w->labels; b++) {
            left = left || (to[b] == a && occurs(w, b));
        }
        stats->basins += occurs(w, a);
        stats->left += left;
    }
}

void basins_reference(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                      const lob_volume *image, const lob_basins_options *options)
{
    const world w = {grid, image, grid->count + 1};
    const int32_t n = (int32_t)w.labels;
    double *saddle = malloc((size_t)(n * n) * sizeof *saddle);
    *stats = (lob_basins_stats){.basins = 0};
    for (int32_t a = 0; a < n; a++) {
        to[a] = a;
        for (int32_t b = 0; b < n; b++) {
            bool touch = false;
            saddle[a * n + b] = a > 0 && a < b ? saddle_of(&w, a, b, &touch) : INFINITY;
            stats->contacts += touch;
        }
    }
    for (;;) {
        int32_t next = 0;
        for (int32_t i = 1; i < n * n; i++)
            if (saddle[i] < saddle[next]) next = i;
        if (saddle[next] == INFINITY) break;
        meet(&w, to, next / n, next % n, saddle[next], options);
        saddle[next] = INFINITY;
    }
    free(saddle);
    count(stats, &w, to);
}
