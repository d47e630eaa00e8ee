/* One voxel of a resampled volume, for both compilers, and what the backends share on the host:
 * checks, and how the grids lie in one another. */
#ifndef LOB_RESAMPLE_VOXEL_H
#define LOB_RESAMPLE_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/resample/resample.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

/* How new voxels lie in the old grid. */
typedef struct {
    double to_old[3][4]; /* old voxel position = to_old * (x, y, z, 1) of the new voxel */
    double half[3];      /* half-width of the window along each old axis, in old voxels, >= 1 */
    lob_dims old, dims;
    double fill;
    bool strokes; /* of labels, 0 does not count, nor does what lies outside of the new voxel */
} lob_resample_map;

/* The old voxels that one window touches: per axis first .. last, around a position. */
typedef struct {
    double at[3];
    int64_t first[3], last[3];
} lob_resample_window;

enum { LOB_RESAMPLE_UNIT = 1 << 16 }; /* the weight, along one axis, of a voxel at the position */

/*
 * Find the window of a new voxel along one old axis; false when its centre is outside of the old
 * volume. A position within 1e-3 of a whole number is that number, so rounded affines copy exactly.
 */
LOB_BOTH bool lob_resample_place_along(lob_resample_window *w, const lob_resample_map *map, int a,
                                       int64_t x, int64_t y, int64_t z)
{
    const int64_t side = lob_side(map->old, a);
    const double *row = map->to_old[a];
    double at = row[0] * (double)x + row[1] * (double)y + row[2] * (double)z + row[3];
    const double whole = floor(at + 0.5);
    if (fabs(at - whole) < 1e-3) at = whole;
    if (!(at >= -0.5 && at <= (double)side - 0.5)) return false;
    if (at < 0.0) at = 0.0;
    if (at > (double)(side - 1)) at = (double)(side - 1);
    w->at[a] = at;
    /* Voxels at exactly the half-width have weight 0. */
    const int64_t first = (int64_t)floor(at - map->half[a]) + 1;
    const int64_t last = (int64_t)ceil(at + map->half[a]) - 1;
    w->first[a] = first < 0 ? 0 : first;
    w->last[a] = last >= side ? side - 1 : last;
    return true;
}

/* The same along all axes. */
LOB_BOTH bool lob_resample_place(lob_resample_window *w, const lob_resample_map *map, int64_t x,
                                 int64_t y, int64_t z)
{
    for (int a = 0; a < 3; a++)
        if (!lob_resample_place_along(w, map, a, x, y, z)) return false;
    return true;
}

/* The weight of an old voxel along one axis, 0..1. */
LOB_BOTH double lob_resample_weight(const lob_resample_window *w, const lob_resample_map *map,
                                    int axis, int64_t i)
{
    return 1.0 - fabs((double)i - w->at[axis]) / map->half[axis];
}

/* The old voxel closest to the window's position, along one axis, and in the volume. */
LOB_BOTH int64_t lob_resample_nearest_along(const lob_resample_window *w,
                                            const lob_resample_map *map, int a)
{
    const int64_t side = lob_side(map->old, a);
    const int64_t i = (int64_t)floor(w->at[a] + 0.5);
    return i >= side ? side - 1 : i;
}

LOB_BOTH int64_t lob_resample_nearest(const lob_resample_window *w, const lob_resample_map *map)
{
    int64_t i = 0;
    for (int a = 2; a >= 0; a--)
        i = i * lob_side(map->old, a) + lob_resample_nearest_along(w, map, a);
    return i;
}

/* ---- linear ---- */

enum { LOB_RESAMPLE_ROW = 16 }; /* weights of a window along x that are found once */

/* lob_resample_mean_NAME: the weighted mean of one channel; NaN where the window holds only NaN. */
#define LOB_RESAMPLE_MEAN(type, ctype, name, integer, lowest, highest)                           \
    LOB_BOTH double lob_resample_mean_##type(const ctype *from, const lob_resample_window *w,    \
                                             const lob_resample_map *map)                        \
    {                                                                                            \
        double sum = 0.0, weights = 0.0, wx[LOB_RESAMPLE_ROW];                                   \
        const int64_t x0 = w->first[0], n = w->last[0] - x0 + 1;                                 \
        for (int64_t x = 0; x < n && x < LOB_RESAMPLE_ROW; x++)                                  \
            wx[x] = lob_resample_weight(w, map, 0, x0 + x);                                      \
        for (int64_t z = w->first[2]; z <= w->last[2]; z++) {                                    \
            const double wz = lob_resample_weight(w, map, 2, z);                                 \
            for (int64_t y = w->first[1]; y <= w->last[1]; y++) {                                \
                const double wyz = wz * lob_resample_weight(w, map, 1, y);                       \
                const ctype *row = from + (z * map->old.ny + y) * map->old.nx + x0;              \
                for (int64_t x = 0; x < n; x++) {                                                \
                    const double value = (double)row[x];                                         \
                    const double weight =                                                        \
                        wyz *                                                                    \
                        (x < LOB_RESAMPLE_ROW ? wx[x] : lob_resample_weight(w, map, 0, x0 + x)); \
                    if (!integer && !(value - value == 0.0)) continue;                           \
                    sum = sum + weight * value;                                                  \
                    weights = weights + weight;                                                  \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
        return weights > 0.0 ? sum / weights : (double)NAN;                                      \
    }
LOB_TYPE_LIST(LOB_RESAMPLE_MEAN)
#undef LOB_RESAMPLE_MEAN

/* ---- majority ---- */

/* Does an old voxel lie in the new one, along this axis? */
LOB_BOTH bool lob_resample_inside(const lob_resample_window *w, const lob_resample_map *map,
                                  int axis, int64_t i)
{
    return fabs((double)i - w->at[axis]) <= 0.5 * map->half[axis];
}

/* lob_resample_most_TYPE: the label with the largest sum of weights, the smallest of equals. */
#define LOB_RESAMPLE_MOST(type, ctype)                                                             \
    LOB_BOTH ctype lob_resample_most_##type(const ctype *from, const lob_resample_window *w,       \
                                            const lob_resample_map *map)                           \
    {                                                                                              \
        ctype label[LOB_RESAMPLE_MAX_LABELS];                                                      \
        uint64_t sum[LOB_RESAMPLE_MAX_LABELS];                                                     \
        int count = 0;                                                                             \
        for (int64_t z = w->first[2]; z <= w->last[2]; z++) {                                      \
            if (map->strokes && !lob_resample_inside(w, map, 2, z)) continue;                      \
            const uint64_t wz = (uint64_t)(lob_resample_weight(w, map, 2, z) * LOB_RESAMPLE_UNIT); \
            for (int64_t y = w->first[1]; y <= w->last[1]; y++) {                                  \
                if (map->strokes && !lob_resample_inside(w, map, 1, y)) continue;                  \
                const uint64_t wy =                                                                \
                    (uint64_t)(lob_resample_weight(w, map, 1, y) * LOB_RESAMPLE_UNIT);             \
                const ctype *row = from + (z * map->old.ny + y) * map->old.nx;                     \
                for (int64_t x = w->first[0]; x <= w->last[0]; x++) {                              \
                    if (map->strokes && (row[x] == 0 || !lob_resample_inside(w, map, 0, x)))       \
                        continue;                                                                  \
                    const uint64_t wx =                                                            \
                        (uint64_t)(lob_resample_weight(w, map, 0, x) * LOB_RESAMPLE_UNIT);         \
                    int k = 0;                                                                     \
                    while (k < count && label[k] != row[x]) k++;                                   \
                    if (k == LOB_RESAMPLE_MAX_LABELS) continue;                                    \
                    if (k == count) {                                                              \
                        label[count] = row[x];                                                     \
                        sum[count++] = 0;                                                          \
                    }                                                                              \
                    sum[k] += ((wx * wy) >> 16) * wz;                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        int best = 0;                                                                              \
        for (int k = 1; k < count; k++)                                                            \
            if (sum[k] > sum[best] || (sum[k] == sum[best] && label[k] < label[best])) best = k;   \
        return count > 0 ? label[best] : 0;                                                        \
    }
LOB_RESAMPLE_MOST(LOB_U8, uint8_t)
LOB_RESAMPLE_MOST(LOB_I16, int16_t)
LOB_RESAMPLE_MOST(LOB_I32, int32_t)
#undef LOB_RESAMPLE_MOST

/* ---- a voxel, all channels ---- */

/* lob_resample_voxel_TYPE: write new voxel i, whose window is w; NULL: it lies outside. */
#define LOB_RESAMPLE_VOXEL(type, ctype, name, integer, lowest, highest)               \
    LOB_BOTH void lob_resample_voxel_##type(ctype *to, const ctype *from, int64_t i,  \
                                            const lob_resample_window *w,             \
                                            const lob_resample_map *map, bool linear) \
    {                                                                                 \
        if (!w)                                                                       \
            lob_filter_store(to, type, i, map->fill);                                 \
        else if (linear && (w->first[0] < w->last[0] || w->first[1] < w->last[1] ||   \
                            w->first[2] < w->last[2]))                                \
            lob_filter_store(to, type, i, lob_resample_mean_##type(from, w, map));    \
        else                                                                          \
            to[i] = from[lob_resample_nearest(w, map)];                               \
    }
LOB_TYPE_LIST(LOB_RESAMPLE_VOXEL)
#undef LOB_RESAMPLE_VOXEL

/* ---- on the host ---- */

lob_resample_map lob_resample_map_of(const lob_resample_input *in,
                                     const lob_resample_options *options);

/* Returns LOB_OK or LOB_EARG, as lob_resample_cpu says. */
lob_status lob_resample_check(const lob_resample_input *in, const lob_resample_options *options,
                              lob_error *error);

/* ---- parallel grids ---- */

/* What lob_resample_place gives for a position along a new axis that runs along one of the old. */
typedef struct {
    bool inside;
    double at;
    int64_t first, last, nearest;
} lob_resample_along;

typedef struct {
    lob_resample_along *along[3]; /* by new axis; along[0] is NULL where grids are not parallel */
    int old[3];                   /* old axis of each new one */
    int64_t stride[3];            /* from old voxel to old voxel along it */
} lob_resample_lines;

/* Free along[0], which holds all three. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_resample_lines_make(lob_resample_lines *l, const lob_resample_map *map,
                                   lob_error *error);

LOB_END_DECLS

#endif
