/* Resampling on the CPU: rows of the new grid, shared among threads. */
#include "kernels/progress.h"
#include "kernels/resample/resample_parts.h"

lob_resample_options lob_resample_defaults(void)
{
    return (lob_resample_options){.method = LOB_RESAMPLE_LINEAR};
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

/* Write one row of one channel. */
static void resample_row(void *out, const void *from, int64_t y, int64_t z,
                         const lob_resample_map *map, const lob_resample_input *in,
                         lob_resample_method method)
{
    const int64_t first = (z * map->dims.ny + y) * map->dims.nx;
    const bool linear = method == LOB_RESAMPLE_LINEAR;
    switch (in->volume->type) {
#define ROW_OF(type, ctype, name, integer, lowest, highest)                                   \
    case type:                                                                                \
        for (int64_t x = 0; x < map->dims.nx; x++) {                                          \
            const int64_t xyz[3] = {x, y, z};                                                 \
            lob_resample_voxel_##type((ctype *)out, (const ctype *)from, first + x, xyz, map, \
                                      linear);                                                \
        }                                                                                     \
        break;
        LOB_TYPE_LIST(ROW_OF)
#undef ROW_OF
    case LOB_TYPES:
        break;
    }
}

/* The same by majority. */
static void majority_row(void *out, const void *from, int64_t y, int64_t z,
                         const lob_resample_map *map, lob_type type)
{
    const int64_t first = (z * map->dims.ny + y) * map->dims.nx;
    for (int64_t x = 0; x < map->dims.nx; x++) {
        lob_resample_window w;
        int32_t label = (int32_t)map->fill;
        if (lob_resample_place(&w, map, x, y, z))
            label = type == LOB_U8    ? lob_resample_most_LOB_U8(from, &w, map)
                    : type == LOB_I16 ? lob_resample_most_LOB_I16(from, &w, map)
                                      : lob_resample_most_LOB_I32(from, &w, map);
        lob_label_put(out, type, first + x, label);
    }
}

lob_status lob_resample_cpu(void *out, const lob_resample_input *in,
                            const lob_resample_options *options, const lob_context *context,
                            lob_error *error)
{
    LOB_TRY(lob_resample_check(in, options, error));
    const lob_volume *v = in->volume;
    const lob_resample_map map = lob_resample_map_of(in, options);
    const int64_t bytes = (int64_t)lob_type_of(v->type)->bytes;
    const int64_t rows = in->dims.ny * in->dims.nz, each = lob_dims_voxels(in->dims);
    lob_progress stages = {.context = context};
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
            majority_row(to, from, y, z, &map, v->type);
        else
            resample_row(to, from, y, z, &map, in, options->method);
        lob_progress_report(&stages, 1);
    }
    return lob_progress_stopped(&stages) ? LOB_ECANCEL : LOB_OK;
}
