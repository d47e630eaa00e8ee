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

/* Add what a new voxel's window holds of a plane to LOB_RESAMPLE_LANES sums, and to that of the
 * weights. */
static inline __attribute__((always_inline)) void add_window(
    double *to, double *weights, const float *plane, const lob_resample_planes *p,
    const lob_resample_along *at_x, const lob_resample_along *at_y, const double *wx,
    const double *wy, double wz)
{
    sums low, high;
    double all = *weights;
    memcpy(&low, to, sizeof low);
    memcpy(&high, to + 4, sizeof high);
    for (int64_t y = at_y->first; y <= at_y->last; y++) {
        const double wyz = wz * wy[y - at_y->first];
        const float *from = plane + (y * p->map.old.nx + at_x->first) * p->lanes;
        for (int64_t x = 0; x <= at_x->last - at_x->first; x++, from += p->lanes) {
            const double weight = wyz * wx[x];
            values near, far;
            memcpy(&near, from, sizeof near);
            memcpy(&far, from + 4, sizeof far);
            low = low + weight * __builtin_convertvector(near, sums);
            high = high + weight * __builtin_convertvector(far, sums);
            all = all + weight;
        }
    }
    memcpy(to, &low, sizeof low);
    memcpy(to + 4, &high, sizeof high);
    *weights = all;
}

LOB_SIMD_CLONES(void, add_row, (p, plane, y, z, wz), const lob_resample_planes *p,
                const float *plane, int64_t y, int64_t z, double wz)
{
    const lob_dims d = p->map.dims;
    const lob_resample_along *const at_y = &p->lines.along[1][y];
    double *to = sums_of(p, z) + y * d.nx * numbers_of(p);
    if (!at_y->inside) return;
    for (int64_t x = 0; x < d.nx; x++, to += numbers_of(p)) {
        const lob_resample_along *const at_x = &p->lines.along[0][x];
        if (!at_x->inside) continue;
        double weights = 0;
        for (int lane = 0; lane < p->lanes; lane += LOB_RESAMPLE_LANES) {
            weights = to[p->lanes]; /* of every lane the same */
            add_window(to + lane, &weights, plane + lane, p, at_x, at_y,
                       p->weight[0] + x * p->window[0], p->weight[1] + y * p->window[1], wz);
        }
        to[p->lanes] = weights;
    }
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

void lob_resample_planes_add(lob_resample_planes *p, const float *plane, int64_t z, int threads)
{
    const lob_dims d = p->map.dims;
    const lob_resample_along *const at = p->lines.along[2];
    const bool last = z + 1 == p->map.old.nz;
    int64_t end = p->next;
    while (end < d.nz && (!at[end].inside || at[end].first <= z) && end - p->next < p->depth) end++;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int64_t row = p->next * d.ny; row < end * d.ny; row++) {
        const int64_t to = row / d.ny;
        if (at[to].inside && at[to].first <= z && at[to].last >= z)
            add_row(p, plane, row % d.ny, to, p->weight[2][to * p->window[2] + z - at[to].first]);
    }
    while (p->next < d.nz &&
           (last || (p->next < end && (!at[p->next].inside || at[p->next].last <= z))))
        write_plane(p, p->next++, threads);
}
