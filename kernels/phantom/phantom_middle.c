/* Drawing a line along the middle of a region in a slice. */
#include "kernels/phantom/phantom_middle.h"

#include <stddef.h>

enum { WAYS = 8 };

/* The ways to the voxels around, in order around the circle. */
static const int ways[WAYS][2] = {
    {1,  0 },
    {1,  1 },
    {0,  1 },
    {-1, 1 },
    {-1, 0 },
    {-1, -1},
    {0,  -1},
    {1,  -1}
};

/* The deepest voxel of a label among those up to `turn` ways beside a way; NULL: there is none. */
static phantom_voxel *next(phantom_voxel *slice, lob_dims dims, const phantom_voxel *from, int way,
                           int turn)
{
    const int64_t at = from - slice, x = at % dims.nx, y = at / dims.nx;
    phantom_voxel *best = NULL;
    for (int t = -turn; t <= turn; t++) {
        const int *const step = ways[(way + t + WAYS) % WAYS];
        const int64_t u = x + step[0], v = y + step[1];
        if (u < 0 || v < 0 || u >= dims.nx || v >= dims.ny) continue;
        phantom_voxel *const to = slice + u + v * dims.nx;
        if (to->label == from->label && (!best || to->depth > best->depth)) best = to;
    }
    return best;
}

/* How far it goes on one way and the way back while it is this deep, in voxels. */
static int64_t room(phantom_voxel *slice, lob_dims dims, phantom_voxel *from, int way, float least)
{
    int64_t steps = 0;
    for (int side = 0; side < 2; side++)
        for (phantom_voxel *v = from; v && v->depth >= least; steps++)
            v = next(slice, dims, v, way + side * WAYS / 2, 0);
    return steps;
}

void lob_phantom_draw_middle(phantom_voxel *slice, lob_dims dims, int32_t label, float least)
{
    phantom_voxel *deepest = NULL;
    for (int64_t i = 0; i < dims.nx * dims.ny; i++)
        if (slice[i].label == label && (!deepest || slice[i].depth > deepest->depth))
            deepest = slice + i;
    if (!deepest || deepest->depth < least) return;
    if (0.4f * deepest->depth > least) least = 0.4f * deepest->depth;
    int along = 0;
    for (int way = 1; way < WAYS / 2; way++)
        if (room(slice, dims, deepest, way, least) > room(slice, dims, deepest, along, least))
            along = way;
    for (int side = 0; side < 2; side++)
        for (phantom_voxel *v = deepest; v && v->depth >= least;) {
            v->seed = true;
            v = next(slice, dims, v, along + side * WAYS / 2, 1);
        }
}
