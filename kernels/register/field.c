/* Fields of displacements: a point's, as volumes, inverted, one after the other. */
#include "kernels/register/register_voxel.h"

#include <stdlib.h>

void lob_field_free(lob_field *field)
{
    free(field->mm);
    *field = (lob_field){.mm = NULL};
}

/* ---- a point ---- */

/* lob_field_at with the affine to voxels at hand. */
static void at_point(double mm[3], const lob_field *f, const lob_register_affine *to_voxel,
                     const double world[3])
{
    const int64_t voxels = f->dims.nx * f->dims.ny * f->dims.nz;
    int64_t low[3], high[3], stride = 1;
    double part[3];
    for (int a = 0; a < 3; a++) {
        const double *const m = to_voxel->m[a];
        const int64_t side = lob_side(f->dims, a);
        double p = m[0] * world[0] + m[1] * world[1] + m[2] * world[2] + m[3];
        p = p > 0.0 ? p < (double)(side - 1) ? p : (double)(side - 1) : 0.0;
        low[a] = (int64_t)p;
        part[a] = p - (double)low[a];
        high[a] = (low[a] + (low[a] + 1 < side)) * stride;
        low[a] *= stride;
        stride *= side;
    }
    for (int k = 0; k < 3; k++) {
        double line[4];
        for (int j = 0; j < 4; j++) {
            const float *const row =
                f->mm + k * voxels + (j & 1 ? high[1] : low[1]) + (j & 2 ? high[2] : low[2]);
            const double near = (double)row[low[0]], far = (double)row[high[0]];
            line[j] = near + part[0] * (far - near);
        }
        const double near = line[0] + part[1] * (line[1] - line[0]);
        const double far = line[2] + part[1] * (line[3] - line[2]);
        mm[k] = near + part[2] * (far - near);
    }
}

void lob_field_at(double mm[3], const lob_field *field, const double world_mm[3])
{
    const lob_register_affine to_voxel = lob_register_to_voxel(&field->geometry);
    at_point(mm, field, &to_voxel, world_mm);
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
    for (int64_t row = 0; row < 3 * voxels; row += volume->dims.nx)
        for (int64_t i = row; i < row + volume->dims.nx; i++) {
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

/* Call `find` for the world point of each voxel of a new field. */
typedef struct {
    const lob_field *first, *second;
    lob_register_affine to_first, to_second;
} fields;

static lob_status make(lob_field *out, const fields *f, const lob_context *context,
                       void (*find)(double mm[3], const fields *f, const double world[3]),
                       lob_error *error)
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
static void find_inverse(double mm[3], const fields *f, const double world[3])
{
    for (int a = 0; a < 3; a++) mm[a] = 0.0;
    for (int k = 0; k < ITERATIONS; k++) {
        double to[3], there[3];
        for (int a = 0; a < 3; a++) to[a] = world[a] + mm[a];
        at_point(there, f->first, &f->to_first, to);
        for (int a = 0; a < 3; a++) mm[a] = 0.5 * (mm[a] - there[a]);
    }
}

lob_status lob_field_invert(lob_field *out, const lob_field *field, const lob_volume *like,
                            const lob_context *context, lob_error *error)
{
    const fields f = {.first = field, .to_first = lob_register_to_voxel(&field->geometry)};
    const lob_geometry *const g = &field->geometry;
    *out = (lob_field){
        .affine = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
    };
    lob_register_grid(&out->dims, &out->geometry, like,
                      lob_least_spacing(field->dims, g->spacing_mm));
    return make(out, &f, context, find_inverse, error);
}

static void find_composed(double mm[3], const fields *f, const double world[3])
{
    double first[3], to[3];
    at_point(first, f->first, &f->to_first, world);
    for (int a = 0; a < 3; a++) to[a] = world[a] + first[a];
    at_point(mm, f->second, &f->to_second, to);
    for (int a = 0; a < 3; a++) mm[a] += first[a];
}

lob_status lob_field_compose(lob_field *out, const lob_field *first, const lob_field *second,
                             const lob_context *context, lob_error *error)
{
    const fields f = {first, second, lob_register_to_voxel(&first->geometry),
                      lob_register_to_voxel(&second->geometry)};
    const lob_register_affine *const a = (const lob_register_affine *)first->affine;
    const lob_register_affine *const b = (const lob_register_affine *)second->affine;
    const lob_register_affine both = lob_register_after(b, a);
    *out = (lob_field){.dims = first->dims, .geometry = first->geometry};
    memcpy(out->affine, both.m, sizeof out->affine);
    return make(out, &f, context, find_composed, error);
}
