/* Flips and exchanges of a volume's axes. */
#include "volumes/reorient.h"

#include "volumes/blocks.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 6, FLIPS = LOB_TURNS / ORDERS };

static const int orders[ORDERS][3] = {
    {0, 1, 2},
    {0, 2, 1},
    {1, 0, 2},
    {1, 2, 0},
    {2, 0, 1},
    {2, 1, 0}
};

lob_turn lob_turn_of(int number)
{
    lob_turn turn;
    for (int a = 0; a < 3; a++) {
        turn.axis[a] = orders[number / FLIPS][a];
        turn.backwards[a] = number >> a & 1;
    }
    return turn;
}

lob_dims lob_turned_dims(lob_dims dims, const lob_turn *turn)
{
    return (lob_dims){lob_side(dims, turn->axis[0]), lob_side(dims, turn->axis[1]),
                      lob_side(dims, turn->axis[2])};
}

lob_geometry lob_turned_geometry(const lob_geometry *geometry, lob_dims dims, const lob_turn *turn)
{
    lob_geometry out = *geometry;
    for (int a = 0; a < 3; a++) {
        const int old = turn->axis[a];
        out.spacing_mm[a] = geometry->spacing_mm[old];
        for (int row = 0; row < 3; row++) {
            const double step = geometry->affine[row][old];
            out.affine[row][a] = turn->backwards[a] ? -step : step;
            if (turn->backwards[a]) out.affine[row][3] += step * (double)(lob_side(dims, old) - 1);
        }
    }
    return out;
}

bool lob_turn_onto(lob_turn *turn, const lob_volume *volume, const lob_volume *onto)
{
    const lob_dims want = onto->dims;
    double closest_mm = INFINITY;
    for (int number = 0; number < LOB_TURNS; number++) {
        const lob_turn one = lob_turn_of(number);
        const lob_dims dims = lob_turned_dims(volume->dims, &one);
        if (!lob_same_dims(dims, want)) continue;
        const lob_geometry turned = lob_turned_geometry(&volume->geometry, volume->dims, &one);
        const double apart_mm = lob_corners_apart_mm(&turned, &onto->geometry, want);
        if (!(apart_mm <= lob_grid_tolerance_mm(&turned, &onto->geometry)) ||
            apart_mm >= closest_mm)
            continue;
        closest_mm = apart_mm;
        *turn = one;
    }
    return closest_mm < INFINITY;
}

/* How the new grid lies in the old one: the voxel at (0,0,0), and the steps along the new axes. */
typedef struct {
    int64_t start, step[3];
} walk;

static walk walk_of(lob_dims dims, const lob_turn *turn)
{
    const int64_t strides[3] = {1, dims.nx, dims.nx * dims.ny};
    walk w = {.start = 0};
    for (int a = 0; a < 3; a++) {
        const int64_t stride = strides[turn->axis[a]];
        w.step[a] = turn->backwards[a] ? -stride : stride;
        if (turn->backwards[a]) w.start += stride * (lob_side(dims, turn->axis[a]) - 1);
    }
    return w;
}

/*
 * Copy one channel, n being its new dims. If the old x becomes y or z, that loop is the middle one,
 * so that the cache lines that a row touches serve the next rows too.
 */
static void copy_turned(void *to, const void *from, size_t bytes, lob_dims n, const walk *w,
                        int old_x)
{
    const int middle = old_x == 2 ? 2 : 1, outer = 3 - middle;
    const int64_t rows[3] = {1, n.nx, n.nx * n.ny};
    for (int64_t o = 0; o < lob_side(n, outer); o++)
        for (int64_t m = 0; m < lob_side(n, middle); m++) {
            const int64_t row = o * rows[outer] + m * rows[middle], step = w->step[0];
            const int64_t first = w->start + o * w->step[outer] + m * w->step[middle];
            lob_copy_strided((char *)to + row * (int64_t)bytes, (int64_t)bytes,
                             (const char *)from + first * (int64_t)bytes, step * (int64_t)bytes,
                             n.nx, bytes);
        }
}

lob_status lob_volume_reorient(lob_volume *volume, const lob_turn *turn)
{
    const size_t bytes = lob_type_of(volume->type)->bytes;
    const size_t each = (size_t)lob_voxels(volume) * bytes;
    unsigned char *const data = lob_voxel_memory((int64_t)each * volume->channels);
    if (!data) return LOB_ENOMEM;

    const lob_dims dims = lob_turned_dims(volume->dims, turn);
    const walk w = walk_of(volume->dims, turn);
    int old_x = 0;
    while (turn->axis[old_x] != 0) old_x++;
    for (int c = 0; c < volume->channels; c++)
        copy_turned(data + (size_t)c * each, (unsigned char *)volume->data + (size_t)c * each,
                    bytes, dims, &w, old_x);

    const lob_geometry geometry = lob_turned_geometry(&volume->geometry, volume->dims, turn);
    lob_volume turned = *volume;
    turned.data = data;
    turned.dims = dims;
    turned.geometry = geometry;
    turned.header = (lob_header){.format = NULL};
    volume->names = (lob_label_names){0}; /* they are turned's now */
    lob_volume_free(volume);
    *volume = turned;
    return LOB_OK;
}
