/*
 * Maxima that are far enough apart: the highest first, each is compared with those taken in the
 * cells around its own, whose sides are at least the distance.
 */
#include "kernels/maxima/maxima_steps.h"

#include <stdlib.h>

typedef struct {
    double value;
    int64_t number;
} rank;

static int by_rank(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Cells of `size` voxels; of each, the maximum taken last, and from each the one before it. */
typedef struct {
    int64_t size[3], cells[3];
    int32_t *last, *before; /* number + 1; 0: none */
} grid;

static void position_of(int64_t at[3], lob_dims d, int64_t voxel)
{
    at[0] = voxel % d.nx;
    at[1] = voxel / d.nx % d.ny;
    at[2] = voxel / d.nx / d.ny;
}

static bool too_near(const lob_maxima_call *c, const int64_t a[3], const int64_t b[3])
{
    double squared = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double away = (double)(a[axis] - b[axis]) * c->options->spacing[axis];
        if (axis == c->options->slice_axis && a[axis] != b[axis]) return false;
        squared += away * away;
    }
    /* One that is nearer by rounding only is far enough. */
    return squared < c->options->apart * c->options->apart * (1 - 1e-6);
}

static int64_t cell_of(const grid *g, const int64_t at[3])
{
    return (at[2] / g->size[2] * g->cells[1] + at[1] / g->size[1]) * g->cells[0] +
           at[0] / g->size[0];
}

static bool is_free(const grid *g, const lob_maxima_call *c, const lob_maximum *maxima,
                    const int64_t at[3])
{
    int64_t lo[3], hi[3], other[3];
    for (int a = 0; a < 3; a++) {
        const int64_t cell = at[a] / g->size[a];
        lo[a] = cell > 0 ? cell - 1 : 0;
        hi[a] = cell + 1 < g->cells[a] ? cell + 1 : cell;
    }
    for (int64_t z = lo[2]; z <= hi[2]; z++)
        for (int64_t y = lo[1]; y <= hi[1]; y++)
            for (int64_t x = lo[0]; x <= hi[0]; x++) {
                int32_t m = g->last[(z * g->cells[1] + y) * g->cells[0] + x];
                for (; m; m = g->before[m - 1]) {
                    position_of(other, c->in->image->dims, maxima[m - 1].first);
                    if (too_near(c, at, other)) return false;
                }
            }
    return true;
}

static void thin(uint8_t *keep, const grid *g, const rank *ranks, int64_t n,
                 const lob_maximum *maxima, const lob_maxima_call *c)
{
    for (int64_t r = 0; r < n; r++) {
        const int64_t m = ranks[r].number;
        int64_t at[3];
        position_of(at, c->in->image->dims, maxima[m].first);
        keep[m] = is_free(g, c, maxima, at);
        if (!keep[m]) continue;
        int32_t *const last = &g->last[cell_of(g, at)];
        g->before[m] = *last;
        *last = (int32_t)m + 1;
    }
}

lob_status lob_maxima_thin(uint8_t *keep, const lob_maximum *maxima, int64_t count,
                           lob_maxima_call *c)
{
    grid g = {0};
    rank *ranks = NULL;
    int64_t n = 0, cells = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(c->in->image->dims, a);
        const double voxels = ceil(c->options->apart / c->options->spacing[a]);
        g.size[a] = voxels < (double)side ? (int64_t)fmax(voxels, 1) : side;
        g.cells[a] = (side + g.size[a] - 1) / g.size[a];
        cells *= g.cells[a];
    }
    lob_status st = lob_budget_calloc(&c->budget, &g.last, cells, sizeof *g.last, c->error);
    if (st == LOB_OK)
        st = lob_budget_calloc(&c->budget, &g.before, count, sizeof *g.before, c->error);
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &ranks, count, sizeof *ranks, c->error);
    if (st == LOB_OK) {
        for (int64_t m = 0; m < count; m++)
            if (keep[m]) ranks[n++] = (rank){maxima[m].value, m};
        qsort(ranks, (size_t)n, sizeof *ranks, by_rank);
        thin(keep, &g, ranks, n, maxima, c);
    }
    lob_budget_free(&c->budget, ranks, count, sizeof *ranks);
    lob_budget_free(&c->budget, g.before, count, sizeof *g.before);
    lob_budget_free(&c->budget, g.last, cells, sizeof *g.last);
    return st;
}
