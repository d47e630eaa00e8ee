/* Scans of a registration as levels on a grid. */
#include "kernels/device/device.h"
#include "kernels/register/register_voxel.h"
#include "kernels/resample/resample.h"

#include <float.h>
#include <stdlib.h>

/* ---- affines ---- */

lob_register_affine lob_register_after(const lob_register_affine *a, const lob_register_affine *b)
{
    lob_register_affine r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            r.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] +
                        a->m[i][2] * b->m[2][j] + (j == 3 ? a->m[i][3] : 0.0);
    return r;
}

lob_register_affine lob_register_to_world(const lob_geometry *geometry)
{
    lob_register_affine r;
    memcpy(r.m, geometry->affine, sizeof r.m);
    return r;
}

lob_register_affine lob_register_inverse(const lob_register_affine *a)
{
    lob_geometry as_geometry = {
        .spacing_mm = {1, 1, 1}
    };
    memcpy(as_geometry.affine, a->m, sizeof a->m);
    return lob_register_to_voxel(&as_geometry);
}

lob_register_affine lob_register_to_voxel(const lob_geometry *geometry)
{
    lob_register_affine r;
    double column[4][3];
    for (int c = 0; c < 4; c++) {
        const double world[3] = {c == 0, c == 1, c == 2};
        lob_world_to_voxel(column[c], geometry, world);
    }
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 3; c++) r.m[i][c] = column[c][i] - column[3][i];
        r.m[i][3] = column[3][i];
    }
    return r;
}

/* ---- grids ---- */

void lob_register_grid(lob_dims *dims, lob_geometry *geometry, const lob_volume *scan,
                       double spacing_mm)
{
    int64_t side[3];
    double ratio[3], first[3], world[3];
    *geometry = scan->geometry;
    for (int a = 0; a < 3; a++) {
        const double voxel = scan->geometry.spacing_mm[a];
        const double length = (double)lob_side(scan->dims, a);
        ratio[a] = lob_side(scan->dims, a) > 1 ? spacing_mm / voxel : 1.0;
        side[a] = (int64_t)ceil(length / ratio[a] - 1e-6);
        if (side[a] < 1) side[a] = 1;
        first[a] = (length - 1.0) / 2.0 - ((double)side[a] - 1.0) / 2.0 * ratio[a];
    }
    lob_voxel_to_world(world, &scan->geometry, first);
    for (int i = 0; i < 3; i++) {
        for (int a = 0; a < 3; a++) geometry->affine[i][a] *= ratio[a];
        geometry->affine[i][3] = world[i];
    }
    for (int a = 0; a < 3; a++) geometry->spacing_mm[a] *= ratio[a];
    *dims = (lob_dims){side[0], side[1], side[2]};
}

/* ---- levels ---- */

/* The values of a volume's rows one after the other. */
enum { BINS = 4096, ROUNDS = 3 };

typedef struct {
    double low, high; /* values */
    int64_t count;    /* finite ones in this range */
} range;

static range find_ends(const void *data, lob_type type, int64_t nx, int64_t rows, double *row)
{
    range r = {INFINITY, -INFINITY, 0};
    for (int64_t y = 0; y < rows; y++) {
        lob_values(row, data, type, y * nx, nx);
        for (int64_t x = 0; x < nx; x++) {
            if (!isfinite(row[x])) continue;
            if (row[x] < r.low) r.low = row[x];
            if (row[x] > r.high) r.high = row[x];
            r.count++;
        }
    }
    return r;
}

/* Narrow a range to the bins that hold the lowest and the highest thousandth; `out` values lie
 * below it already. */
static range narrow(range r, int64_t all, int64_t below[2], const void *data, lob_type type,
                    int64_t nx, int64_t rows, double *row)
{
    int64_t bin[BINS] = {0};
    const double width = (r.high / BINS - r.low / BINS), cut = (double)all / 1000.0;
    if (!(width > 0.0) || !isfinite(width)) return r;
    for (int64_t y = 0; y < rows; y++) {
        lob_values(row, data, type, y * nx, nx);
        for (int64_t x = 0; x < nx; x++)
            if (row[x] >= r.low && row[x] <= r.high) {
                const double at = row[x] / width - r.low / width;
                bin[at < BINS - 1 ? (int)at : BINS - 1]++;
            }
    }
    int first = 0, last = BINS - 1;
    while (first < last && (double)(below[0] + bin[first]) <= cut) below[0] += bin[first++];
    while (last > first && (double)(below[1] + bin[last]) <= cut) below[1] += bin[last--];
    const range to = {r.low + first * width, r.low + (last + 1) * width, r.count};
    return to;
}

/* The values that become the lowest and highest level. */
static lob_status find_range(range *r, const void *data, lob_type type, lob_dims d, double *row,
                             const char *name, lob_error *error)
{
    int64_t below[2] = {0, 0};
    *r = find_ends(data, type, d.nx, d.ny * d.nz, row);
    if (r->count == 0) return lob_fail(error, LOB_EDATA, "the %s scan has no finite value", name);
    if (!(r->high > r->low))
        return lob_fail(error, LOB_EDATA, "the %s scan holds one value alone, %g", name, r->low);
    const range ends = *r;
    for (int k = 0; k < ROUNDS; k++)
        *r = narrow(*r, ends.count, below, data, type, d.nx, d.ny * d.nz, row);
    if (r->low < ends.low) r->low = ends.low;
    if (r->high > ends.high) r->high = ends.high;
    /* Nearly all voxels have one value: then the others are what there is to see. */
    if (!(r->high - r->low > (ends.high - ends.low) * 1e-6)) *r = ends;
    return LOB_OK;
}

static int16_t level_of(double value, const range *r)
{
    if (isnan(value)) return LOB_REGISTER_NONE;
    if (!(value > r->low)) return 0;
    if (value >= r->high) return LOB_REGISTER_TOP;
    return (int16_t)(LOB_REGISTER_TOP * ((value - r->low) / (r->high - r->low)) + 0.5);
}

static lob_status fill_levels(lob_register_image *image, const void *data, lob_type type,
                              const char *name, lob_error *error)
{
    const lob_dims d = image->dims;
    range r;
    double *row = malloc((size_t)d.nx * sizeof *row);
    if (!row) return lob_fail(error, LOB_ENOMEM, "no memory left for registering");
    const lob_status st = find_range(&r, data, type, d, row, name, error);
    for (int64_t y = 0; st == LOB_OK && y < d.ny * d.nz; y++) {
        lob_values(row, data, type, y * d.nx, d.nx);
        for (int64_t x = 0; x < d.nx; x++) image->level[y * d.nx + x] = level_of(row[x], &r);
    }
    free(row);
    return st;
}

lob_status lob_register_to_device(lob_register_call *c, void **array, int64_t bytes, lob_status st)
{
    void *const from = *array;
    if (!from || !c->device) return st;
    *array = NULL;
    if (st == LOB_OK) st = lob_budget_alloc_at(&c->budget, c->device, array, bytes, c->error);
    if (st == LOB_OK) st = lob_device_upload(c->device, *array, from, bytes, c->error);
    lob_budget_free_at(&c->budget, NULL, from, bytes);
    return st;
}

lob_status lob_register_image_make(lob_register_image *image, lob_register_call *c,
                                   const lob_volume *scan, double spacing_mm, const char *name)
{
    const size_t bytes = lob_type_of(scan->type)->bytes;
    lob_resample_input in = {.volume = scan};
    lob_resample_options options = lob_resample_defaults();
    lob_context context = *c->context;
    void *data = NULL;
    context.progress = NULL;
    options.fill = NAN;
    lob_register_grid(&in.dims, &in.geometry, scan, spacing_mm);
    image->dims = in.dims;
    image->geometry = in.geometry;
    image->voxels = lob_dims_voxels(in.dims);
    bool fits = image->voxels > 0 && image->voxels <= INT32_MAX;
    for (int a = 0; a < 3; a++) fits = fits && lob_side(in.dims, a) <= LOB_REGISTER_MOST_SIDE;
    if (!fits)
        return lob_fail(
            c->error, LOB_EARG,
            "a grid of %g mm has too many voxels over the %s scan; %d along an axis are "
            "the most",
            spacing_mm, name, LOB_REGISTER_MOST_SIDE);
    const int64_t level_bytes = image->voxels * (int64_t)sizeof *image->level;
    LOB_TRY(lob_budget_alloc_at(&c->budget, NULL, &image->level, level_bytes, c->error));
    lob_status st = lob_budget_alloc(&c->budget, &data, image->voxels, bytes, c->error);
    if (st == LOB_OK) st = lob_resample_cpu(data, &in, &options, &context, c->error);
    if (st == LOB_OK) st = fill_levels(image, data, scan->type, name, c->error);
    lob_budget_free(&c->budget, data, image->voxels, bytes);
    return lob_register_to_device(c, (void **)&image->level, level_bytes, st);
}

void lob_register_image_free(lob_register_image *image, lob_register_call *c)
{
    lob_budget_free_at(&c->budget, c->device, image->level,
                       image->voxels * (int64_t)sizeof *image->level);
    image->level = NULL;
}
