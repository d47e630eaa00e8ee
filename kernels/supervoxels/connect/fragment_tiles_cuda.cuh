/*
 * The order in which kernels read fragments. A block takes a tile of rows of 64 voxels, a thread a
 * strip of 8 voxels of a row in each step. The rows of a warp lie far apart in the tile, so that
 * its lanes rarely meet the same fragment and rarely wait for one another's atomics. Tiles and
 * strips here are not those of assign/: these strips lie along x.
 */
#ifndef LOB_FRAGMENT_TILES_CUDA_H
#define LOB_FRAGMENT_TILES_CUDA_H

#include "kernels/supervoxels/connect/connect_params_cuda.cuh"
#include "kernels/supervoxels/stored_levels_cuda.cuh"

namespace lob::supervoxels
{

enum {
    WARPS = THREADS / WARP,
    TILE_STRIPS = 8,                   /* strips of a tile's row */
    STEP_ROWS = THREADS / TILE_STRIPS, /* rows that a block reads in a step */
    LANES_BITS = 2,                    /* log2 of the rows that a warp reads in a step */
    MAX_STEPS = 8
};
static_assert(WARP / TILE_STRIPS == 1 << LANES_BITS, "a warp takes whole rows");
static_assert(MAX_STEPS * THREADS * STRIP <= UINT32_MAX / UINT16_MAX, "sums of tiles fit 32 bits");

/* ---- strips ---- */

typedef struct {
    int32_t x;
    int64_t voxel;
    int32_t label[STRIP]; /* fragments of the slab; 0 beyond the row */
} label_strip;

static __device__ inline void read_labels(const connect_params &p, label_strip *r)
{
    const int32_t *from = p.s.labels + r->voxel;
    if (p.s.aligned) {
#pragma unroll
        for (int j = 0; j < STRIP; j += 4) {
            const int4 four = r->x + j < p.nx ? *(const int4 *)(from + j) : make_int4(0, 0, 0, 0);
            r->label[j] = four.x, r->label[j + 1] = four.y;
            r->label[j + 2] = four.z, r->label[j + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < STRIP; j++) r->label[j] = r->x + j < p.nx ? from[j] : 0;
    }
}

/* The voxels whose label differs from the voxel before; a bit per voxel, never the first. */
static __device__ inline unsigned changes_of(const label_strip &r)
{
    unsigned changes = 0;
#pragma unroll
    for (int j = 1; j < STRIP; j++) changes |= r.label[j] != r.label[j - 1] ? 1u << j : 0;
    return changes;
}

/* All voxels of the runs that start at the voxels `starts`; these are among changes and the first.
 * Adding a bit behind each start carries through the voxels up to the next change. */
static __device__ inline unsigned voxels_from(unsigned starts, unsigned changes)
{
    const unsigned others = ALL_VOXELS & ~(changes | 1);
    return starts | (others & ~(others + (starts << 1)));
}

/* ---- tiles ---- */

typedef struct {
    int32_t x, y, z;
} voxel_position;

static __device__ inline voxel_position tile_corner(const connect_params &p, uint32_t tile)
{
    voxel_position c;
    const uint32_t row = tile / p.tiles[0], layer = row / p.tiles[1];
    c.x = (int32_t)(tile - row * p.tiles[0]) * (TILE_STRIPS * STRIP);
    c.y = (int32_t)(row - layer * p.tiles[1]) << p.tile_y_bits;
    c.z = (int32_t)layer << p.tile_z_bits;
    return c;
}

/* The first voxel of a lane's strip in a step of its warp; the next step is mostly the next row. It
 * may lie beyond the volume. */
static __device__ inline voxel_position strip_position(const connect_params &p,
                                                       voxel_position corner, int warp, int lane,
                                                       int step)
{
    const int near = warp * p.steps + step, far = lane / TILE_STRIPS;
    const int y_near = p.tile_y_bits - p.lanes_y_bits, z_near = p.tile_z_bits - p.lanes_z_bits;
    voxel_position c;
    c.x = corner.x + lane % TILE_STRIPS * STRIP;
    c.y = corner.y + ((far & ((1 << p.lanes_y_bits) - 1)) << y_near | (near & ((1 << y_near) - 1)));
    c.z = corner.z + (far >> p.lanes_y_bits << z_near | near >> y_near);
    return c;
}

static __device__ inline int64_t voxel_at(const connect_params &p, voxel_position c)
{
    return ((int64_t)c.z * p.ny + c.y) * p.nx + c.x;
}

/* A thread's strips in a tile: consecutive along y, or along z in tiles of one y. A warp has no
 * more steps than that. */
typedef struct {
    int32_t x;
    int rows;              /* up to the end of the volume */
    int64_t voxel, stride; /* the first voxel of the first strip, and voxels to the next strip */
} strip_column;

static __device__ inline strip_column column_of(const connect_params &p, voxel_position corner)
{
    const int thread = (int)threadIdx.x;
    const voxel_position c = strip_position(p, corner, thread / WARP, thread % WARP, 0);
    const bool along_y = p.tile_y_bits > p.lanes_y_bits;
    const bool inside = c.x < p.nx && (along_y ? c.z < p.nz : c.y < p.ny);
    strip_column column;
    column.x = c.x;
    column.rows = inside ? along_y ? p.ny - c.y : p.nz - c.z : 0;
    column.voxel = voxel_at(p, c);
    column.stride = along_y ? p.nx : (int64_t)p.nx * p.ny;
    return column;
}

static __device__ inline label_strip strip_of_column(const connect_params &p,
                                                     const strip_column &column, int step)
{
    label_strip r = {};
    r.x = column.x;
    r.voxel = column.voxel + step * column.stride;
    if (step < column.rows) read_labels(p, &r);
    return r;
}

} /* namespace lob::supervoxels */

#endif
