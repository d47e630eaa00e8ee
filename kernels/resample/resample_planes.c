/* Linear resampling plane by plane. A mean's terms are added in the order of lob_resample_mean. */
#include "kernels/resample/resample_planes.h"

#include "kernels/simd_clones.h"

#include <stdlib.h>
#include <string.h>

/* Four lanes; a row of these belongs to a voxel. */
typedef double sums __attribute__((vector_size(32)));
typedef float values __attribute__((vector_size(16)));

/* ---- the grids ---- */

static bool axis_by_axis(const lob_resample_planes *p)
{
    bool same = p->lines.along[0] != NULL;
    for (int a = 0; same && a < 3; a++) same = p->lines.old[a] == a && p->map.to_old[a][a] > 0;
    return same;
}

static int64_t window_of(const lob_resample_along *at)
{
    return at->inside ? at->last - at->first + 1 : 0;
}

/* How many new planes the window of one overlaps, from this one on. */
static int64_t deepest(const lob_resample_along *at, int64_t n)
{
    int64_t depth = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = i; at[i].inside && k < n; k++)
            if (at[k].inside && at[k].first <= at[i].last && k - i + 1 > depth) depth = k - i + 1;
    return depth;
}

static void make_weights(lob_resample_planes *p, double *all)
{
    for (int a = 0; a < 3; a++) {
        p->weight[a] = all;
        for (int64_t i = 0; i < lob_side(p->map.dims, a); i++) {
            const lob_resample_along *const at = &p->lines.along[a][i];
            lob_resample_window w = {
                .at = {at->at, at->at, at->at}
            };
            for (int64_t t = 0; t < window_of(at); t++)
                all[t] = lob_resample_weight(&w, &p->map, a, at->first + t);
            all += p->window[a];
        }
    }
}

/* Numbers of a new voxel in the ring. */
static int64_t numbers_of(const lob_resample_planes *p)
{
    return p->lanes + LOB_RESAMPLE_LANES / 2; /* the sum of weights, and room */
}

lob_status lob_resample_planes_begin(lob_resample_planes *p, bool *possible, float *out,
                                     const lob_resample_input *in, lob_budget *budget,
                                     lob_error *error)
{
    const lob_resample_options options = lob_resample_defaults();
    const int channels = in->volume->channels;
    *possible = false;
    *p = (lob_resample_planes){
        .map = lob_resample_map_of(in, &options),
        .channels = channels,
        .lanes = (channels + LOB_RESAMPLE_LANES - 1) / LOB_RESAMPLE_LANES * LOB_RESAMPLE_LANES,
        .out = out,
        .budget = budget,
    };
    LOB_TRY(lob_resample_lines_make(&p->lines, &p->map, error));
    if (!axis_by_axis(p)) return LOB_OK;
    double *all = NULL;
    for (int a = 0; a < 3; a++) {
        const int64_t n = lob_side(in->dims, a);
        for (int64_t i = 0; i < n; i++) {
            const int64_t window = window_of(&p->lines.along[a][i]);
            if (window > p->window[a]) p->window[a] = window;
        }
        p->bytes[0] += n * p->window[a] * (int64_t)sizeof *all;
    }
    p->depth = deepest(p->lines.along[2], in->dims.nz);
    p->bytes[1] = p->depth * in->dims.nx * in->dims.ny * numbers_of(p) * (int64_t)sizeof *p->sum;
    LOB_TRY(lob_budget_alloc(budget, &all, p->bytes[0], 1, error));
    p->weight[0] = all;
    LOB_TRY(lob_budget_calloc(budget, &p->sum, p->bytes[1], 1, error));
    make_weights(p, all);
    *possible = true;
    return LOB_OK;
}

void lob_resample_planes_free(lob_resample_planes *p)
{
    free(p->lines.along[0]);
    lob_budget_free(p->budget, p->weight[0], p->bytes[0], 1);
    lob_budget_free(p->budget, p->sum, p->bytes[1], 1);
}

/* ---- sums ---- */

static double *sums_of(const lob_resample_planes *p, int64_t z)
{
    const lob_dims d = p->map.dims;
    return p->sum + z % p->depth * d.nx * d.ny * numbers_of(p);
}

/* Add what the windows of voxels in `count` new planes hold of an old one to LOB_RESAMPLE_LANES
 * sums of each, and to those of the weights. Sums wait for the one before them: those of two planes
 * at once take little longer than of one. */
static inline __attribute__((always_inline)) void add_window(
    double *const *to, int lane, int count, const float *plane, const lob_resample_planes *p,
    const lob_resample_along *at_x, const lob_resample_along *at_y, const double *wx,
    const double *wy, const double *wz)
{
    sums low[2], high[2];
    double all[2], wyz[2];
#pragma GCC unroll 2
    for (int k = 0; k < count; k++) {
        memcpy(&low[k], to[k] + lane, sizeof low[k]);
        memcpy(&high[k], to[k] + lane + 4, sizeof high[k]);
        all[k] = to[k][p->lanes]; /* of every lane the same */
    }
    for (int64_t y = at_y->first; y <= at_y->last; y++) {
        const float *from = plane + (y * p->map.old.nx + at_x->first) * p->lanes + lane;
#pragma GCC unroll 2
        for (int k = 0; k < count; k++) wyz[k] = wz[k] * wy[y - at_y->first];
        for (int64_t x = 0; x <= at_x->last - at_x->first; x++, from += p->lanes) {
            values near, far;
            memcpy(&near, from, sizeof near);
            memcpy(&far, from + 4, sizeof far);
#pragma GCC unroll 2
            for (int k = 0; k < count; k++) {
                const double weight = wyz[k] * wx[x];
                low[k] = low[k] + weight * __builtin_convertvector(near, sums);
                high[k] = high[k] + weight * __builtin_convertvector(far, sums);
                all[k] = all[k] + weight;
            }
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < count; k++) {
        memcpy(to[k] + lane, &low[k], sizeof low[k]);
        memcpy(to[k] + lane + 4, &high[k], sizeof high[k]);
        if (lane + LOB_RESAMPLE_LANES == p->lanes) to[k][p->lanes] = all[k];
    }
}

/* Rows y of `count` new planes from z on, with their weights. */
static inline __attribute__((always_inline)) void add_rows_of(const lob_resample_planes *p,
                                                              const float *plane, int64_t y,
                                                              int64_t z, const double *wz,
                                                              int count)
{
    const lob_dims d = p->map.dims;
    const lob_resample_along *const at_y = &p->lines.along[1][y];
    double *to[2];
    for (int k = 0; k < count; k++) to[k] = sums_of(p, z + k) + y * d.nx * numbers_of(p);
    for (int64_t x = 0; x < d.nx; x++) {
        const lob_resample_along *const at_x = &p->lines.along[0][x];
        for (int lane = 0; at_x->inside && lane < p->lanes; lane += LOB_RESAMPLE_LANES)
            add_window(to, lane, count, plane, p, at_x, at_y, p->weight[0] + x * p->window[0],
                       p->weight[1] + y * p->window[1], wz);
        for (int k = 0; k < count; k++) to[k] += numbers_of(p);
    }
}

LOB_SIMD_CLONES(void, add_rows, (p, plane, y, z, wz, count), const lob_resample_planes *p,
                const float *plane, int64_t y, int64_t z, const double *wz, int count)
{
    if (count == 2)
        add_rows_of(p, plane, y, z, wz, 2);
    else
        add_rows_of(p, plane, y, z, wz, 1);
}

/* Write a new plane, and clear its sums for the one that comes in its place. */
static void write_plane(lob_resample_planes *p, int64_t z, int threads)
{
    const lob_dims d = p->map.dims;
    const int64_t n = d.nx * d.ny, numbers = numbers_of(p);
    double *const from = sums_of(p, z);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int c = 0; c < p->channels; c++)
        for (int64_t i = 0; i < n; i++) {
            const double weights = from[i * numbers + p->lanes];
            const double mean = weights > 0.0 ? from[i * numbers + c] / weights : p->map.fill;
            p->out[(c * d.nz + z) * n + i] = lob_filter_quiet((float)mean);
        }
    memset(from, 0, (size_t)(n * numbers) * sizeof *from);
}

/* Does a new plane read an old one? */
static bool reads(const lob_resample_along *at, int64_t z)
{
    return at->inside && at->first <= z && at->last >= z;
}

void lob_resample_planes_add(lob_resample_planes *p, const float *plane, int64_t z, int threads)
{
    const lob_dims d = p->map.dims;
    const lob_resample_along *const at = p->lines.along[2];
    const bool last = z + 1 == p->map.old.nz;
    int64_t end = p->next;
    while (end < d.nz && (!at[end].inside || at[end].first <= z) && end - p->next < p->depth) end++;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t y = 0; y < d.ny; y++) {
        if (!p->lines.along[1][y].inside) continue;
        for (int64_t to = p->next, next; to < end; to = next) {
            double wz[2];
            int count = 0;
            for (next = to; count < 2 && next < end && reads(&at[next], z); next++)
                wz[count++] = p->weight[2][next * p->window[2] + z - at[next].first];
            if (count > 0) add_rows(p, plane, y, to, wz, count);
            next += count == 0;
        }
    }
    while (p->next < d.nz &&
           (last || (p->next < end && (!at[p->next].inside || at[p->next].last <= z))))
        write_plane(p, p->next++, threads);
}
