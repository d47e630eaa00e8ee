/* Resampling on the CPU: rows of the new grid, shared among threads. */
#include "kernels/arrays.h"
#include "kernels/progress.h"
#include "kernels/resample/resample_voxel.h"
#include "kernels/simd_clones.h"

#include <stdlib.h>

lob_resample_options lob_resample_defaults(void)
{
    return (lob_resample_options){.method = LOB_RESAMPLE_LINEAR};
}

void lob_resample_respace(lob_geometry *geometry, lob_dims *dims, const double spacing_mm[3])
{
    lob_geometry *const g = geometry;
    int64_t side[3];
    double shift[3], world[3], ratio[3];
    for (int a = 0; a < 3; a++) {
        ratio[a] = spacing_mm[a] > 0.0 ? spacing_mm[a] / g->spacing_mm[a] : 1.0;
        const double fit = (double)lob_side(*dims, a) / ratio[a];
        side[a] = fit < 1.5 ? 1 : (int64_t)floor(fit + 0.5);
        shift[a] = (ratio[a] - 1.0) / 2.0;
    }
    lob_voxel_to_world(world, g, shift);
    for (int row = 0; row < 3; row++) {
        for (int a = 0; a < 3; a++) g->affine[row][a] *= ratio[a];
        g->affine[row][3] = world[row];
    }
    for (int a = 0; a < 3; a++)
        if (spacing_mm[a] > 0.0) g->spacing_mm[a] = spacing_mm[a];
    *dims = (lob_dims){side[0], side[1], side[2]};
}

/* Axes of parallel grids depend on each other by rounding alone: by far less than what counts as a
 * whole number. */
static void clear_rounding(double row[4], lob_dims dims)
{
    for (int c = 0; c < 3; c++)
        if (fabs(row[c]) * (double)lob_side(dims, c) < 1e-9) row[c] = 0.0;
}

lob_resample_map lob_resample_map_of(const lob_resample_input *in,
                                     const lob_resample_options *options)
{
    lob_resample_map map = {.old = in->volume->dims,
                            .dims = in->dims,
                            .fill = options->fill,
                            .strokes = options->method == LOB_RESAMPLE_STROKES};
    double column[4][3];
    for (int c = 0; c < 4; c++) {
        double voxel[3] = {c == 0, c == 1, c == 2}, world[3];
        lob_voxel_to_world(world, &in->geometry, voxel);
        lob_world_to_voxel(column[c], &in->volume->geometry, world);
    }
    for (int row = 0; row < 3; row++) {
        double square = 0.0;
        for (int c = 0; c < 3; c++) {
            map.to_old[row][c] = column[c][row] - column[3][row];
            square += map.to_old[row][c] * map.to_old[row][c];
        }
        map.to_old[row][3] = column[3][row];
        clear_rounding(map.to_old[row], in->dims);
        map.half[row] = square > 1.0 + 2e-3 ? sqrt(square) : 1.0;
    }
    return map;
}

lob_status lob_resample_check(const lob_resample_input *in, const lob_resample_options *options,
                              lob_error *error)
{
    const lob_volume *v = in->volume;
    if (lob_dims_voxels(in->dims) < 0)
        return lob_fail(error, LOB_EARG, "the new grid has no voxels, or too many");
    if (options->method < LOB_RESAMPLE_MAJORITY) return LOB_OK;
    if (v->channels == 1 && (v->type == LOB_U8 || v->type == LOB_I16 || v->type == LOB_I32))
        return LOB_OK;
    return lob_fail(error, LOB_EARG,
                    "a majority of labels is of uint8, int16 or int32 in one "
                    "channel, not of %s in %d",
                    lob_type_of(v->type)->name, v->channels);
}

/* ---- parallel grids ---- */

/* Does each old axis depend on one new axis alone? */
static bool find_axes(lob_resample_lines *l, const lob_resample_map *map)
{
    const int64_t stride[3] = {1, map->old.nx, map->old.nx * map->old.ny};
    bool taken[3] = {false, false, false};
    for (int old = 0; old < 3; old++) {
        int found = -1;
        for (int axis = 0; axis < 3; axis++) {
            if (map->to_old[old][axis] == 0.0) continue;
            if (found >= 0 || taken[axis]) return false;
            found = axis;
        }
        if (found < 0) return false;
        taken[found] = true;
        l->old[found] = old;
        l->stride[found] = stride[old];
    }
    return true;
}

lob_status lob_resample_lines_make(lob_resample_lines *l, const lob_resample_map *map,
                                   lob_error *error)
{
    const int64_t all = map->dims.nx + map->dims.ny + map->dims.nz;
    *l = (lob_resample_lines){
        .along = {NULL, NULL, NULL}
    };
    if (!find_axes(l, map)) return LOB_OK;
    lob_resample_along *const places = malloc((size_t)all * sizeof *places);
    if (!places) return lob_fail(error, LOB_ENOMEM, "no memory left for resampling");
    l->along[0] = places;
    l->along[1] = places + map->dims.nx;
    l->along[2] = l->along[1] + map->dims.ny;
    for (int axis = 0; axis < 3; axis++)
        for (int64_t i = 0; i < lob_side(map->dims, axis); i++) {
            const int old = l->old[axis];
            lob_resample_window w = {
                .at = {0, 0, 0}
            };
            lob_resample_along *const p = &l->along[axis][i];
            p->inside = lob_resample_place_along(&w, map, old, axis == 0 ? i : 0, axis == 1 ? i : 0,
                                                 axis == 2 ? i : 0);
            /* Of strokes what lies outside of the new voxel does not count. */
            while (map->strokes && p->inside && !lob_resample_inside(&w, map, old, w.first[old]))
                w.first[old]++;
            while (map->strokes && p->inside && !lob_resample_inside(&w, map, old, w.last[old]))
                w.last[old]--;
            p->at = w.at[old];
            p->first = w.first[old];
            p->last = w.last[old];
            p->nearest = lob_resample_nearest_along(&w, map, old);
        }
    return LOB_OK;
}

/* What lob_resample_place gives. */
static bool place(lob_resample_window *w, const lob_resample_map *map, const lob_resample_lines *l,
                  int64_t x, int64_t y, int64_t z)
{
    if (!l->along[0]) return lob_resample_place(w, map, x, y, z);
    const lob_resample_along *const p[3] = {&l->along[0][x], &l->along[1][y], &l->along[2][z]};
    for (int axis = 0; axis < 3; axis++) {
        if (!p[axis]->inside) return false;
        w->at[l->old[axis]] = p[axis]->at;
        w->first[l->old[axis]] = p[axis]->first;
        w->last[l->old[axis]] = p[axis]->last;
    }
    return true;
}

/* A row of nearest voxels: a copy through a table. */
#define NEAREST_ROW(type, ctype, name, integer, lowest, highest)                             \
    static void nearest_row_##type(ctype *to, const ctype *from, int64_t y, int64_t z,       \
                                   const lob_resample_map *map, const lob_resample_lines *l) \
    {                                                                                        \
        const lob_resample_along *const at_x = l->along[0], *at_y = &l->along[1][y],         \
                                        *at_z = &l->along[2][z];                             \
        const int64_t n = map->dims.nx, step = l->stride[0];                                 \
        const bool inside = at_y->inside && at_z->inside;                                    \
        ctype fill;                                                                          \
        lob_filter_store(&fill, type, 0, map->fill);                                         \
        if (inside) from += at_y->nearest * l->stride[1] + at_z->nearest * l->stride[2];     \
        for (int64_t x = 0; !inside && x < n; x++) to[x] = fill;                             \
        for (int64_t x = 0; inside && x < n; x++)                                            \
            to[x] = at_x[x].inside ? from[at_x[x].nearest * step] : fill;                    \
    }
LOB_TYPE_LIST(NEAREST_ROW)
#undef NEAREST_ROW

/* ---- several means ---- */

enum { AT_ONCE = 4 };

/* Windows of voxels that follow one another along x: are there so many means of windows that are
 * equally long? */
static bool place_several(lob_resample_window w[AT_ONCE], const lob_resample_map *map,
                          const lob_resample_lines *l, int64_t x, int64_t y, int64_t z)
{
    if (!l->along[0] || l->old[0] != 0 || x + AT_ONCE > map->dims.nx) return false;
    for (int k = 0; k < AT_ONCE; k++) {
        if (!place(&w[k], map, l, x + k, y, z)) return false;
        const int64_t n = w[k].last[0] - w[k].first[0];
        if (n == 0 || n >= LOB_RESAMPLE_ROW || n != w[0].last[0] - w[0].first[0]) return false;
    }
    return true;
}

/* What lob_resample_mean gives of each. A sum waits for the one before it: sums of several voxels
 * at once take little longer than of one. */
#define SEVERAL_MEANS(type, ctype, name, integer, lowest, highest)                                 \
    LOB_SIMD_CLONES(void, means_##type, (to, from, w, map), ctype *to, const ctype *from,          \
                    const lob_resample_window *w, const lob_resample_map *map)                     \
    {                                                                                              \
        double sum[AT_ONCE] = {0}, weights[AT_ONCE] = {0}, wx[LOB_RESAMPLE_ROW][AT_ONCE];          \
        const int64_t n = w->last[0] - w->first[0] + 1;                                            \
        for (int64_t x = 0; x < n; x++)                                                            \
            _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++) wx[x][k] =                   \
                lob_resample_weight(&w[k], map, 0, w[k].first[0] + x);                             \
        for (int64_t z = w->first[2]; z <= w->last[2]; z++) {                                      \
            const double wz = lob_resample_weight(w, map, 2, z);                                   \
            for (int64_t y = w->first[1]; y <= w->last[1]; y++) {                                  \
                const double wyz = wz * lob_resample_weight(w, map, 1, y);                         \
                const ctype *const row = from + (z * map->old.ny + y) * map->old.nx, *at[AT_ONCE]; \
                _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++) at[k] =                  \
                    row + w[k].first[0];                                                           \
                for (int64_t x = 0; x < n; x++)                                                    \
                    _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++)                      \
                    {                                                                              \
                        const double value = (double)at[k][x], weight = wyz * wx[x][k];            \
                        if (!integer && !(value - value == 0.0)) continue;                         \
                        sum[k] = sum[k] + weight * value;                                          \
                        weights[k] = weights[k] + weight;                                          \
                    }                                                                              \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++)                                  \
            lob_filter_store(to, type, k, weights[k] > 0.0 ? sum[k] / weights[k] : (double)NAN);   \
    }
LOB_TYPE_LIST(SEVERAL_MEANS)
#undef SEVERAL_MEANS

/* ---- rows ---- */

#define ROW_OF(type, ctype, name, integer, lowest, highest)                              \
    case type:                                                                           \
        if (!linear && l->along[0]) {                                                    \
            nearest_row_##type((ctype *)out + first, (const ctype *)from, y, z, map, l); \
            break;                                                                       \
        }                                                                                \
        for (int64_t x = 0; x < map->dims.nx; x++) {                                     \
            lob_resample_window w[AT_ONCE];                                              \
            if (linear && place_several(w, map, l, x, y, z)) {                           \
                means_##type((ctype *)out + first + x, (const ctype *)from, w, map);     \
                x += AT_ONCE - 1;                                                        \
                continue;                                                                \
            }                                                                            \
            const bool inside = place(w, map, l, x, y, z);                               \
            lob_resample_voxel_##type((ctype *)out, (const ctype *)from, first + x,      \
                                      inside ? w : NULL, map, linear);                   \
        }                                                                                \
        break;

/* Write one row of one channel. */
static void resample_row(void *out, const void *from, int64_t y, int64_t z,
                         const lob_resample_map *map, const lob_resample_lines *l, lob_type of,
                         lob_resample_method method)
{
    const int64_t first = (z * map->dims.ny + y) * map->dims.nx;
    const bool linear = method == LOB_RESAMPLE_LINEAR;
    LOB_TYPE_SWITCH(of, ROW_OF)
}

/*
 * Is any voxel that a row looks at not 0? Looked for where rows lie along old ones; else it may be.
 *
 *   first, last  in/out  planes along the old axis of z that the row looks at: narrowed to those
 *                        where one is not 0
 */
static bool reads_any(int64_t *first, int64_t *last, const unsigned char *from,
                      const lob_resample_along *at_y, const lob_resample_map *map,
                      const lob_resample_lines *l, lob_type type)
{
    const int64_t bytes = (int64_t)lob_type_of(type)->bytes, planes[2] = {*first, *last};
    *first = planes[1] + 1;
    *last = planes[0] - 1;
    for (int64_t k = planes[0]; k <= planes[1]; k++) {
        bool any = false;
        for (int64_t j = at_y->first; j <= at_y->last && !any; j++)
            any = !lob_all_zero(from + (j * l->stride[1] + k * l->stride[2]) * bytes,
                                (size_t)(map->old.nx * bytes));
        if (any && *first > planes[1]) *first = k;
        if (any) *last = k;
    }
    return *first <= *last;
}

/* The same by majority. */
static void majority_row(void *out, const void *from, int64_t y, int64_t z,
                         const lob_resample_map *map, const lob_resample_lines *l, lob_type type)
{
    const int64_t first = (z * map->dims.ny + y) * map->dims.nx;
    const size_t bytes = lob_type_of(type)->bytes;
    const bool looked = l->along[0] && l->old[0] == 0 && map->fill == 0;
    int64_t planes[2] = {0, -1};
    if (looked && l->along[1][y].inside && l->along[2][z].inside) {
        planes[0] = l->along[2][z].first;
        planes[1] = l->along[2][z].last;
    }
    if (looked && !reads_any(&planes[0], &planes[1], from, &l->along[1][y], map, l, type)) {
        memset((unsigned char *)out + (size_t)first * bytes, 0, (size_t)map->dims.nx * bytes);
        return;
    }
    for (int64_t x = 0; x < map->dims.nx; x++) {
        lob_resample_window w;
        int32_t label = (int32_t)map->fill;
        if (place(&w, map, l, x, y, z)) {
            if (looked && map->strokes) { /* what is not drawn does not count */
                w.first[l->old[2]] = planes[0];
                w.last[l->old[2]] = planes[1];
            }
            label = type == LOB_U8    ? lob_resample_most_LOB_U8(from, &w, map)
                    : type == LOB_I16 ? lob_resample_most_LOB_I16(from, &w, map)
                                      : lob_resample_most_LOB_I32(from, &w, map);
        }
        lob_label_put(out, type, first + x, label);
    }
}

lob_status lob_resample_cpu(void *out, const lob_resample_input *in,
                            const lob_resample_options *options, const lob_context *context,
                            lob_error *error)
{
    lob_error_begin(error);
    LOB_TRY(lob_check_memory(in->place, in->volume, NULL, error));
    LOB_TRY(lob_resample_check(in, options, error));
    const lob_volume *v = in->volume;
    const lob_resample_map map = lob_resample_map_of(in, options);
    const int64_t bytes = (int64_t)lob_type_of(v->type)->bytes;
    const int64_t rows = in->dims.ny * in->dims.nz, each = lob_dims_voxels(in->dims);
    lob_progress stages = {.context = context};
    lob_resample_lines l;
    LOB_TRY(lob_resample_lines_make(&l, &map, error));
    lob_progress_stage(&stages, rows * v->channels, 1.0);
#pragma omp parallel for schedule(dynamic, 64) num_threads(context->threads)
    for (int64_t at = 0; at < rows * v->channels; at++) {
        if (lob_progress_stopped(&stages)) continue;
        const int64_t channel = at / rows, row = at % rows;
        unsigned char *to = (unsigned char *)out + channel * each * bytes;
        const unsigned char *from =
            (const unsigned char *)v->data + channel * lob_voxels(v) * bytes;
        const int64_t y = row % in->dims.ny, z = row / in->dims.ny;
        if (options->method >= LOB_RESAMPLE_MAJORITY)
            majority_row(to, from, y, z, &map, &l, v->type);
        else
            resample_row(to, from, y, z, &map, &l, v->type, options->method);
        lob_progress_report(&stages, 1);
    }
    free(l.along[0]);
    return lob_error_end(error, lob_progress_stopped(&stages) ? LOB_ECANCEL : LOB_OK);
}
