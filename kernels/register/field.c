/* Fields of displacements: a point's, as volumes, inverted, one after the other; a volume through
 * one. */
#include "kernels/arrays.h"
#include "kernels/progress.h"
#include "kernels/register/warp_voxel.h"

#include <stdlib.h>

void lob_field_free(lob_field *field)
{
    lob_array_free(field->device, field->mm);
    *field = (lob_field){.mm = NULL};
}

/* ---- a point ---- */

/* A field, with the affine to its voxels at hand. */
static lob_warp_field with_affine(const lob_field *f)
{
    return (lob_warp_field){f->mm, f->dims, lob_register_to_voxel(&f->geometry)};
}

void lob_field_at(double mm[3], const lob_field *field, const double world_mm[3])
{
    const lob_warp_field f = with_affine(field);
    lob_warp_field_at(mm, &f, world_mm);
}

/* ---- volumes ---- */

lob_status lob_field_to_volume(lob_volume *out, const lob_field *field, const lob_volume *like)
{
    const int64_t voxels = lob_dims_voxels(field->dims);
    lob_volume header = like ? *like : lob_volume_empty();
    header.dims = field->dims;
    header.geometry = field->geometry;
    header.data = NULL;
    header.names = (lob_label_names){0};
    LOB_TRY(lob_volume_like(out, &header, LOB_F32, 3));
    float *const to = out->data;
    for (int64_t i = 0; i < 3 * voxels; i++)
        to[i] = i < 2 * voxels ? -field->mm[i] : field->mm[i]; /* L and P point against R and A */
    return LOB_OK;
}

lob_status lob_field_of_volume(lob_field *out, const lob_volume *volume, lob_error *error)
{
    const int64_t voxels = lob_voxels(volume);
    *out = (lob_field){
        .dims = volume->dims,
        .geometry = volume->geometry,
        .affine = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
    };
    if (volume->channels != 3)
        return lob_fail(error, LOB_EDATA,
                        "a field has three channels, the displacements along three axes; this has "
                        "%d",
                        volume->channels);
    out->mm = malloc(3 * (size_t)voxels * sizeof *out->mm);
    if (!out->mm) return lob_fail(error, LOB_ENOMEM, "no memory left for the field");
    for (int64_t i = 0; i < 3 * voxels; i++) {
        double value;
        lob_values(&value, volume->data, volume->type, i, 1);
        value = volume->slope * value + volume->inter;
        if (!isfinite((float)value)) {
            lob_field_free(out);
            return lob_fail(error, LOB_EDATA, "a displacement is not finite");
        }
        out->mm[i] = (float)(i < 2 * voxels ? -value : value);
    }
    return LOB_OK;
}

/* ---- inverse, composition ---- */

/* A new field's displacement at a point of the world, from one or two fields. */
typedef void find_mm(double mm[3], const lob_warp_field f[2], const double world[3]);

/* Fill in the field of out's grid. */
static lob_status make(lob_field *out, const lob_warp_field f[2], find_mm *find,
                       const lob_context *context, lob_error *error)
{
    const lob_dims d = out->dims;
    const int64_t voxels = lob_dims_voxels(d);
    out->mm = voxels > 0 ? malloc(3 * (size_t)voxels * sizeof *out->mm) : NULL;
    if (!out->mm) return lob_fail(error, LOB_ENOMEM, "no memory left for the field");
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t i = 0; i < voxels; i++) {
        double at[3], world[3], mm[3];
        lob_register_voxel(at, d, i);
        lob_voxel_to_world(world, &out->geometry, at);
        find(mm, f, world);
        for (int a = 0; a < 3; a++) out->mm[a * voxels + i] = (float)mm[a];
    }
    return LOB_OK;
}

enum { ITERATIONS = 40 };

/* Of the inverse: mm = -field(world + mm), half-way from step to step, which goes on well also
 * where the field is steep. */
static void find_inverse(double mm[3], const lob_warp_field f[2], const double world[3])
{
    for (int a = 0; a < 3; a++) mm[a] = 0.0;
    for (int k = 0; k < ITERATIONS; k++) {
        double to[3], there[3];
        for (int a = 0; a < 3; a++) to[a] = world[a] + mm[a];
        lob_warp_field_at(there, &f[0], to);
        for (int a = 0; a < 3; a++) mm[a] = 0.5 * (mm[a] - there[a]);
    }
}

lob_status lob_field_invert(lob_field *out, const lob_field *field, const lob_volume *like,
                            const lob_context *context, lob_error *error)
{
    const lob_warp_field f[2] = {with_affine(field)};
    const lob_geometry *const g = &field->geometry;
    *out = (lob_field){
        .affine = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
    };
    lob_register_grid(&out->dims, &out->geometry, like,
                      lob_least_spacing(field->dims, g->spacing_mm));
    return make(out, f, find_inverse, context, error);
}

static void find_composed(double mm[3], const lob_warp_field f[2], const double world[3])
{
    double first[3], to[3];
    lob_warp_field_at(first, &f[0], world);
    for (int a = 0; a < 3; a++) to[a] = world[a] + first[a];
    lob_warp_field_at(mm, &f[1], to);
    for (int a = 0; a < 3; a++) mm[a] += first[a];
}

lob_status lob_field_compose(lob_field *out, const lob_field *first, const lob_field *second,
                             const lob_context *context, lob_error *error)
{
    const lob_warp_field f[2] = {with_affine(first), with_affine(second)};
    const lob_register_affine *const a = (const lob_register_affine *)first->affine;
    const lob_register_affine *const b = (const lob_register_affine *)second->affine;
    const lob_register_affine both = lob_register_after(b, a);
    *out = (lob_field){.dims = first->dims, .geometry = first->geometry};
    memcpy(out->affine, both.m, sizeof out->affine);
    return make(out, f, find_composed, context, error);
}

/* ---- a volume through a field ---- */

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
        .field = with_affine(field),
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
