/* Boxes of a volume, and cutting one out. */
#include "volumes/crop.h"

#include "volumes/blocks.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Widen the box, of first and last voxels here, by what a row holds. */
static void take_row(int64_t first[3], int64_t last[3], const double *values, int64_t x, int64_t n,
                     int64_t y, int64_t z)
{
    for (int64_t i = 0; i < n; i++) {
        if (values[i] == 0.0 || isnan(values[i])) continue;
        const int64_t at[3] = {x + i, y, z};
        for (int a = 0; a < 3; a++) {
            if (at[a] < first[a]) first[a] = at[a];
            if (at[a] > last[a]) last[a] = at[a];
        }
    }
}

bool lob_box_of(lob_box *box, const lob_volume *volume)
{
    enum { BLOCK = 2048 };
    const lob_dims d = volume->dims;
    int64_t first[3] = {d.nx, d.ny, d.nz}, last[3] = {-1, -1, -1};
    double values[BLOCK];
    const int64_t rows = d.ny * d.nz * volume->channels;
    const size_t bytes = (size_t)d.nx * lob_type_of(volume->type)->bytes;
    for (int64_t row = 0; row < rows; row++) {
        const char *const from = (const char *)volume->data + (size_t)row * bytes;
        if (volume->inter == 0.0 && lob_all_zero(from, bytes)) continue;
        for (int64_t x = 0; x < d.nx; x += BLOCK) {
            const int64_t n = d.nx - x < BLOCK ? d.nx - x : BLOCK;
            lob_values(values, volume->data, volume->type, row * d.nx + x, n);
            for (int64_t i = 0; i < n; i++) values[i] = volume->slope * values[i] + volume->inter;
            take_row(first, last, values, x, n, row % d.ny, row / d.ny % d.nz);
        }
    }
    if (last[0] < 0) return false;
    for (int a = 0; a < 3; a++) {
        box->first[a] = first[a];
        box->size[a] = last[a] - first[a] + 1;
    }
    return true;
}

/* How a box's first voxel is stored. */
static double first_of(const lob_volume *scan, const lob_box *box)
{
    const int64_t *const at = box->first;
    double value;
    lob_values(&value, scan->data, scan->type,
               (at[2] * scan->dims.ny + at[1]) * scan->dims.nx + at[0], 1);
    return value;
}

/* Voxels of a box that are stored as another value than `fill`, which may be NaN; no longer counted
 * once there are `enough`. */
static int64_t count_others(const lob_volume *scan, const lob_box *box, double fill, int64_t enough,
                            int threads)
{
    enum { BLOCK = 512, TURN = 1 << 20 /* voxels between looks at whether there are enough */ };
    const int64_t rows = box->size[1] * box->size[2], each = TURN / box->size[0] + 1;
    int64_t others = 0;
    for (int64_t from = 0; from < rows && others < enough; from += each) {
        const int64_t end = rows - from < each ? rows : from + each;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : others)
        for (int64_t row = from; row < end; row++) {
            const int64_t y = box->first[1] + row % box->size[1];
            const int64_t z = box->first[2] + row / box->size[1];
            const int64_t first = (z * scan->dims.ny + y) * scan->dims.nx + box->first[0];
            double values[BLOCK];
            for (int64_t x = 0; x < box->size[0]; x += BLOCK) {
                const int64_t n = box->size[0] - x < BLOCK ? box->size[0] - x : BLOCK;
                lob_values(values, scan->data, scan->type, first + x, n);
                for (int64_t i = 0; i < n; i++)
                    others += values[i] != fill && !(isnan(values[i]) && isnan(fill));
            }
        }
    }
    return others;
}

/* So many planes of a box, after those that are passed over, from an end of an axis on. */
static lob_box planes_of(const lob_box *box, int axis, bool low, int64_t passed, int64_t planes)
{
    lob_box part = *box;
    part.size[axis] = planes;
    part.first[axis] += low ? passed : box->size[axis] - passed - planes;
    return part;
}

lob_box lob_field_of_view(const lob_volume *scan, int threads)
{
    lob_box box = lob_box_whole(scan->dims);
    for (int end = 0; end < 6; end++) {
        const int axis = end / 2;
        const bool low = end % 2 == 0;
        const int64_t size = box.size[axis];
        lob_box part = planes_of(&box, axis, low, 0, 1);
        const double fill = first_of(scan, &part);
        /* first the quarter that has to be filled, then as many more planes as are */
        int64_t filled = 0;
        for (int64_t step = (lob_side(scan->dims, axis) + 3) / 4; step > 0;
             step = filled > 0 ? step / 2 : 0)
            for (; filled + step <= size; filled += step) {
                part = planes_of(&box, axis, low, filled, step);
                if (count_others(scan, &part, fill, 1, threads) > 0) break;
            }
        if (filled == size) break; /* a constant scan: what is left by a cut holds two values */
        if (filled == 0) continue;
        part = planes_of(&box, axis, low, filled, 1);
        const int64_t others = count_others(scan, &part, fill, INT64_MAX, threads);
        if (4 * others < part.size[0] * part.size[1] * part.size[2]) continue;
        part = planes_of(&box, axis, low, filled, size - filled);
        if (count_others(scan, &part, first_of(scan, &part), 1, threads) > 0) box = part;
    }
    return box;
}

void lob_box_widen(lob_box *box, const int64_t margin[3], lob_dims dims)
{
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(dims, a), end = box->first[a] + box->size[a];
        const int64_t first = box->first[a] > margin[a] ? box->first[a] - margin[a] : 0;
        const int64_t last = side - end > margin[a] ? end + margin[a] : side;
        box->first[a] = first;
        box->size[a] = last - first;
    }
}

static bool is_empty(const lob_box *box)
{
    return box->size[0] <= 0 || box->size[1] <= 0 || box->size[2] <= 0;
}

void lob_box_join(lob_box *box, const lob_box *other)
{
    if (is_empty(other)) return;
    if (is_empty(box)) *box = *other;
    for (int a = 0; a < 3; a++) {
        const int64_t first = box->first[a] < other->first[a] ? box->first[a] : other->first[a];
        const int64_t end = box->first[a] + box->size[a], end_2 = other->first[a] + other->size[a];
        box->size[a] = (end > end_2 ? end : end_2) - first;
        box->first[a] = first;
    }
}

lob_box lob_box_meet(const lob_box *box, const lob_box *other)
{
    lob_box both;
    for (int a = 0; a < 3; a++) {
        const int64_t end = box->first[a] + box->size[a], end_2 = other->first[a] + other->size[a];
        both.first[a] = box->first[a] > other->first[a] ? box->first[a] : other->first[a];
        both.size[a] = (end < end_2 ? end : end_2) - both.first[a];
    }
    return is_empty(&both) ? (lob_box){.size = {0}} : both;
}

lob_geometry lob_box_geometry(const lob_geometry *geometry, const lob_box *box)
{
    lob_geometry out = *geometry;
    const double corner[3] = {(double)box->first[0], (double)box->first[1], (double)box->first[2]};
    double world[3];
    lob_voxel_to_world(world, geometry, corner);
    for (int row = 0; row < 3; row++) out.affine[row][3] = world[row];
    return out;
}

lob_status lob_volume_crop(lob_volume *volume, const lob_box *box)
{
    const int64_t bytes = (int64_t)lob_type_of(volume->type)->bytes;
    const int64_t first[3] = {-box->first[0], -box->first[1], -box->first[2]};
    lob_volume cut = {.dims = lob_box_dims(box)};
    cut.data = lob_voxel_memory(lob_voxels(&cut) * volume->channels * bytes);
    if (!cut.data) return LOB_ENOMEM;
    lob_volume_put(&cut, volume, first);
    free(volume->data);
    volume->data = cut.data;
    volume->geometry = lob_box_geometry(&volume->geometry, box);
    volume->dims = cut.dims;
    return LOB_OK;
}

bool lob_place_in(int64_t first[3], const lob_volume *volume, const lob_volume *onto)
{
    const double none[3] = {0, 0, 0};
    double world[3], at[3];
    int64_t offset[3];
    lob_box box = lob_box_whole(volume->dims);
    lob_voxel_to_world(world, &volume->geometry, none);
    lob_world_to_voxel(at, &onto->geometry, world);
    for (int a = 0; a < 3; a++) {
        if (!(fabs(at[a]) < 0x1p31)) return false;
        box.first[a] = offset[a] = (int64_t)floor(at[a] + 0.5);
    }
    const lob_geometry there = lob_box_geometry(&onto->geometry, &box);
    if (!(lob_corners_apart_mm(&there, &volume->geometry, volume->dims) <=
          lob_grid_tolerance_mm(&there, &volume->geometry)))
        return false;
    memcpy(first, offset, sizeof offset);
    return true;
}

void lob_volume_put(lob_volume *onto, const lob_volume *part, const int64_t first[3])
{
    const lob_dims from = part->dims, to = onto->dims;
    const lob_block there = {
        onto->data, {0     },
         { part->channels, to.nz, to.ny, to.nx}
    };
    const lob_block here = {
        part->data, {0,              first[2], first[1], first[0]},
         {part->channels, from.nz,  from.ny,  from.nx }
    };
    lob_block_copy(&there, &here, 4, lob_type_of(part->type)->bytes, NULL);
}

lob_status lob_volume_place(lob_volume *volume, const int64_t first[3], const lob_volume *onto)
{
    const int64_t bytes = (int64_t)lob_type_of(volume->type)->bytes;
    lob_volume whole = {.dims = onto->dims};
    whole.data = lob_voxel_memory_zero(lob_voxels(onto) * volume->channels * bytes);
    if (!whole.data) return LOB_ENOMEM;
    lob_volume_put(&whole, volume, first);
    free(volume->data);
    free(volume->header.bytes);
    free(volume->header.extensions);
    volume->header = (lob_header){.format = NULL};
    volume->data = whole.data;
    volume->dims = onto->dims;
    volume->geometry = onto->geometry;
    return LOB_OK;
}
