/* A volume through a field. */
#include "kernels/arrays.h"
#include "kernels/progress.h"
#include "kernels/register/warp_voxel.h"

static lob_status warp_rows(const lob_warp_map *map, const lob_context *context)
{
    const int64_t nx = map->dims.nx;
    lob_progress progress = {.context = context};
    lob_progress_stage(&progress, map->voxels / nx, 1.0);
#pragma omp parallel for schedule(dynamic, 16) num_threads(context->threads)
    for (int64_t row = 0; row < map->voxels / nx; row++) {
        if (lob_progress_stopped(&progress)) continue;
        for (int64_t x = 0; x < nx; x++) lob_warp_voxel(map, row * nx + x);
        lob_progress_report(&progress, 1);
    }
    return lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
}

static lob_status check(const lob_volume *moving, const lob_field *field, lob_warp_method method,
                        const lob_context *context, lob_error *error)
{
    if (method == LOB_WARP_LABELS && !lob_type_of(moving->type)->is_integer)
        return lob_fail(error, LOB_EARG, "labels are whole numbers, not %s",
                        lob_type_of(moving->type)->name);
    if (context->device) return LOB_OK;
    LOB_TRY(lob_check_memory((lob_place){0}, moving, NULL, error));
    return field->device ? lob_fail(error, LOB_EARG, "a field on a GPU was given to the CPU")
                         : LOB_OK;
}

static lob_warp_map map_of(lob_volume *out, const lob_volume *moving, const lob_field *field,
                           lob_warp_method method)
{
    return (lob_warp_map){
        .to = out->data,
        .from = moving->data,
        .dims = out->dims,
        .moving = moving->dims,
        .to_world = lob_register_to_world(&out->geometry),
        .to_moving = lob_voxel_finder_of(moving->geometry.affine, moving->geometry.spacing_mm),
        .field = {field->mm, field->dims, lob_register_to_voxel(&field->geometry)},
        .method = method,
        .type = moving->type,
        .slope = moving->slope,
        .inter = moving->inter,
        .voxels = lob_voxels(out),
        .apart = lob_voxels(moving),
        .channels = moving->channels,
    };
}

lob_status lob_warp(lob_volume *out, const lob_volume *moving, const lob_field *field,
                    const lob_volume *like, lob_warp_method method, const lob_context *context,
                    lob_error *error)
{
    lob_context there = *context;
    if (moving->place.kind == LOB_PLACE_MEMORY) there.device = NULL;
    lob_error_begin(error);
    *out = lob_volume_empty();
    LOB_TRY(check(moving, field, method, context, error));
    lob_volume header = *like;
    header.data = NULL;
    header.names = moving->names;
    lob_status st = lob_volume_at(out, &header, method == LOB_WARP_VALUES ? LOB_F32 : moving->type,
                                  moving->channels, &there, error);
    if (st == LOB_OK) {
        lob_warp_map map = map_of(out, moving, field, method);
        if (method != LOB_WARP_VALUES) {
            out->slope = moving->slope;
            out->inter = moving->inter;
        }
#ifdef LOB_WITH_CUDA
        st = context->device ? lob_warp_on_cuda(&map, out, moving, field, context, error)
                             : warp_rows(&map, context);
#else
        st = warp_rows(&map, context);
#endif
    }
    if (st != LOB_OK) lob_volume_free(out);
    return lob_error_end(error, st);
}
