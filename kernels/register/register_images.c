/* Scans of a registration as levels on a grid. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/device.h"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/register/register_voxel.h"
#include "volumes/bytes.h"

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

/* ---- room ---- */

lob_status lob_register_room(lob_register_call *c, void *block, int64_t bytes)
{
    if (bytes > c->room_bytes) {
        lob_budget_free_at(&c->budget, c->device, c->room, c->room_bytes);
        c->room_bytes = 0;
        LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &c->room, bytes, c->error));
        c->room_bytes = bytes;
    }
    *(void **)block = c->room;
    return LOB_OK;
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

/* The values that become the lowest and highest level: those that a thousandth is below, and above.
 * Nearly all voxels have one value: then the others are what there is to see. */
static lob_status find_range(lob_register_call *c, lob_register_pass *p, const char *name)
{
    const double percent[] = {0, 0.1, 99.9, 100}, spacing_mm[3] = {1, 1, 1};
    double value[4];
    const lob_volume image = lob_volume_wrap((void *)p->data, p->type, p->dims, 1, spacing_mm,
                                             lob_context_place(c->context));
    const lob_status st =
        lob_percentiles_at(value, percent, 4, &image, &c->budget, c->context, c->error);
    if (st == LOB_EDATA) return lob_fail(c->error, st, "the %s scan has no finite value", name);
    LOB_TRY(st);
    if (!(value[3] > value[0]))
        return lob_fail(c->error, LOB_EDATA, "the %s scan holds one value alone, %g", name,
                        value[0]);
    const double largest = fmax(fabs(value[1]), fabs(value[2]));
    const bool few = !(value[2] - value[1] > largest * 1e-6);
    p->low = value[few ? 0 : 1];
    p->high = value[few ? 3 : 2];
    return LOB_OK;
}

/* A scan's values on the grid, where the call is. */
static lob_status resample(void *data, lob_register_call *c, lob_resample_input in)
{
    lob_resample_options options = lob_resample_defaults();
    lob_context context = *c->context;
    context.progress = NULL;
    options.fill = NAN;
    in.place = lob_context_place(c->context);
#ifdef LOB_WITH_CUDA
    if (c->device) return lob_resample_cuda(data, &in, &options, &context, c->error);
#endif
    return lob_resample_cpu(data, &in, &options, &context, c->error);
}

static lob_status make_levels(lob_register_image *image, lob_register_call *c,
                              const lob_resample_input *in, const char *name)
{
    const lob_type type = in->volume->type;
    const int64_t bytes = image->voxels * (int64_t)lob_type_of(type)->bytes;
    void *data;
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &data, bytes, c->error));
    lob_register_pass pass = {
        .n = image->voxels, .data = data, .type = type, .dims = image->dims, .level = image->level};
    lob_status st = resample(data, c, *in);
    if (st == LOB_OK) st = find_range(c, &pass, name);
    pass.kind = LOB_REGISTER_LEVELS;
    if (st == LOB_OK) st = c->loops->pass(NULL, c, &pass);
    lob_budget_free_at(&c->budget, c->device, data, bytes);
    return st;
}

/* The part of a scan that counts, in ordinary memory, and counted; all of it: nothing. */
static lob_status take_view(lob_volume *part, lob_box *view, lob_register_call *c,
                            const lob_volume *scan)
{
    const int64_t bytes = lob_volume_bytes(scan);
    const lob_box all = lob_box_whole(scan->dims);
    *view = all;
    if (c->in->whole) return LOB_OK;
    const bool away = scan->place.kind != LOB_PLACE_MEMORY;
    lob_volume seen = *scan, header = lob_volume_empty();
    lob_status st = LOB_OK;
    if (away) LOB_TRY(lob_budget_alloc(&c->budget, &seen.data, bytes, 1, c->error));
    if (away) st = lob_device_download(c->device, seen.data, scan->data, bytes, c->error);
    if (st == LOB_OK) *view = lob_field_of_view(&seen, c->context->threads);
    if (st == LOB_OK && memcmp(view, &all, sizeof all) != 0) {
        const int64_t first[3] = {-view->first[0], -view->first[1], -view->first[2]};
        header.dims = lob_box_dims(view);
        header.geometry = lob_box_geometry(&scan->geometry, view);
        if (lob_volume_like(part, &header, scan->type, 1) != LOB_OK)
            st = lob_fail(c->error, LOB_ENOMEM, "no memory left for a part of a scan");
        else
            lob_volume_put(part, &seen, first);
        if (st == LOB_OK) st = lob_budget_hold(&c->budget, lob_volume_bytes(part), c->error);
        if (st != LOB_OK) lob_volume_free(part);
    }
    if (away) lob_budget_free(&c->budget, seen.data, bytes, 1);
    return st;
}

/* All of the fixed scan in voxels of the grid over its field of view. */
static lob_box all_of(const lob_volume *scan, const lob_box *view, const lob_register_image *image)
{
    lob_box all = lob_box_whole(image->dims);
    for (int a = 0; a < 3; a++) {
        const double ratio = scan->geometry.spacing_mm[a] / image->geometry.spacing_mm[a];
        const int64_t low = view->first[a], high = lob_side(scan->dims, a) - low - view->size[a];
        const int64_t below = (int64_t)ceil(ratio * (double)low - 1e-6);
        all.first[a] = -below;
        all.size[a] += below + (int64_t)ceil(ratio * (double)high - 1e-6);
    }
    return all;
}

static lob_status make_image(lob_register_image *image, lob_register_call *c,
                             const lob_volume *scan, const char *name)
{
    lob_resample_input in = {.volume = scan};
    lob_register_grid(&in.dims, &in.geometry, scan, c->spacing_mm);
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
            c->spacing_mm, name, LOB_REGISTER_MOST_SIDE);
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &image->level,
                                image->voxels * (int64_t)sizeof *image->level, c->error));
    return make_levels(image, c, &in, name);
}

lob_status lob_register_image_make(lob_register_image *image, lob_register_call *c,
                                   const lob_volume *scan, int which)
{
    lob_volume part = lob_volume_empty();
    lob_box view;
    LOB_TRY(take_view(&part, &view, c, scan));
    const lob_status st =
        make_image(image, c, part.data ? &part : scan, which == 0 ? "fixed" : "moving");
    const lob_dims seen = lob_box_dims(&view);
    c->stats.view[which] = (double)lob_dims_voxels(seen) / (double)lob_voxels(scan);
    if (which == 0) c->all = all_of(scan, &view, image);
    if (part.data) lob_budget_release(&c->budget, lob_volume_bytes(&part));
    lob_volume_free(&part);
    return st;
}
