/*
 * Regions on the GPU: what a tile of voxels adds to them.
 *
 * A thread block takes a tile of 32 x 16 x 16 voxels, a warp a z-slice of it, a lane a column along
 * y. A lane adds up the voxels of one label that follow each other along y in registers. These sums
 * go to a hash table in shared memory with one row per label of the tile; at the end of the tile
 * the rows are added to the regions in device memory by atomics. A label that finds no free row is
 * added to its region at once. Sums in a tile count positions inside the tile and fit 32 bits.
 */
#ifndef LOB_REGIONS_TILES_CUDA_CUH
#define LOB_REGIONS_TILES_CUDA_CUH

#include "kernels/device/hash_table.cuh"
#include "kernels/regions/regions_values_cuda.cuh"
#include "volumes/labels.h"

namespace lob::regions
{

enum {
    TILE_X = WARP,
    TILE_Y = 16,
    TILE_Z = 16,
    REGION_THREADS = WARP * TILE_Z,
    ROW_BITS = 10,
    ROWS = 1 << ROW_BITS, /* of the tile_table */
    PROBES = 32,
    FIELD_LANES = 16 /* lanes that add one row to its region, a field each */
};

typedef struct {
    const void *labels;
    lob_type type;
    int64_t count;
    int32_t nx, ny, nz;
    int32_t tiles_x, tiles_y;
    int64_t tiles;
    region_intensities values;
    lob_region *regions;
    value_sums *sums; /* of values */
    u64 *bad_label;   /* index of the first voxel whose label is out of range */
    u64 *overfull;    /* of the first region with too much data */
} regions_params;

/* What voxels of one label add up to; positions are relative to the tile. */
typedef struct {
    uint32_t voxels, sum_x, sum_y, sum_z;
    uint32_t x_bits;   /* bit x: a voxel lies there */
    uint32_t y_z_bits; /* bit y, and bit 16 + z: a voxel lies there */
    uint32_t first;    /* z << 9 | y << 5 | x of the first voxel */
    value_sums values;
} tile_sums;

/* The hash table: an array for each field, so that lanes access different banks. */
typedef struct {
    uint32_t label[ROWS]; /* 0: free */
    uint32_t voxels[ROWS], sum_x[ROWS], sum_y[ROWS], sum_z[ROWS];
    uint32_t x_bits[ROWS], y_z_bits[ROWS], first[ROWS];
} tile_table;

static __device__ inline void add_to_row(tile_table *t, value_sums *values, int row,
                                         const tile_sums &s)
{
    atomicAdd(&t->voxels[row], s.voxels);
    atomicAdd(&t->sum_x[row], s.sum_x);
    atomicAdd(&t->sum_y[row], s.sum_y);
    atomicAdd(&t->sum_z[row], s.sum_z);
    if (s.x_bits & ~t->x_bits[row]) atomicOr(&t->x_bits[row], s.x_bits);
    if (s.y_z_bits & ~t->y_z_bits[row]) atomicOr(&t->y_z_bits[row], s.y_z_bits);
    if (s.first < t->first[row]) atomicMin(&t->first[row], s.first);
    if (values) add_values_atomic(&values[row], s.values);
}

/* A tile's first voxel. */
typedef struct {
    int x, y, z;
} tile_origin;

/* What sums of a tile add to a field of lob_region, in positions of the volume. */
static __device__ inline u64 field_of(const regions_params &s, const tile_origin &o,
                                      const tile_sums &t, int field)
{
    const uint32_t y = t.y_z_bits & 0xffff, z = t.y_z_bits >> 16;
    const u64 n = t.voxels;
    switch (field) {
    case 0:
        return n;
    case 1: {
        const int fz = o.z + (int)(t.first >> 9), fy = o.y + (int)(t.first >> 5 & 15);
        return (u64)(((int64_t)fz * s.ny + fy) * s.nx + o.x + (int)(t.first & 31));
    }
    case 2:
        return (u64)(o.x + __ffs((int)t.x_bits) - 1);
    case 3:
        return (u64)(o.y + __ffs((int)y) - 1);
    case 4:
        return (u64)(o.z + __ffs((int)z) - 1);
    case 5:
        return (u64)(o.x + 31 - __clz((int)t.x_bits));
    case 6:
        return (u64)(o.y + 31 - __clz((int)y));
    case 7:
        return (u64)(o.z + 31 - __clz((int)z));
    case 8:
        return t.sum_x + n * (u64)o.x;
    case 9:
        return t.sum_y + n * (u64)o.y;
    default:
        return t.sum_z + n * (u64)o.z;
    }
}

enum { POSITION_FIELDS = 11 }; /* voxels, first, low, high, sum */

static __device__ inline void add_field(lob_region *region, int field, u64 value)
{
    if (field == 0)
        atomicAdd((u64 *)&region->voxels, value);
    else if (field > 7)
        atomicAdd((u64 *)&region->sum[field - 8], value);
    else if (field == 1) {
        u64 *first = (u64 *)&region->first;
        if (value < __ldca(first)) atomicMin(first, value);
    } else {
        uint32_t *end = (uint32_t *)region->low + (field - 2); /* high follows low */
        const uint32_t there = __ldca(end);
        if (field < 5 && value < there) atomicMin(end, (uint32_t)value);
        if (field >= 5 && value > there) atomicMax(end, (uint32_t)value);
    }
}

static __device__ inline void add_to_region(const regions_params &s, const tile_origin &o,
                                            int32_t label, const tile_sums &t)
{
    lob_region *region = &s.regions[label - 1];
    for (int f = 0; f < POSITION_FIELDS; f++) add_field(region, f, field_of(s, o, t, f));
    if (s.values.image.stored) add_values_atomic(&s.sums[label - 1], t.values);
}

static __device__ inline void add_sums(const regions_params &s, const tile_origin &o, tile_table *t,
                                       value_sums *values, int32_t label, const tile_sums &sums)
{
    const int row = hash_slot<ROW_BITS, PROBES>(t->label, (uint32_t)label);
    if (row >= 0)
        add_to_row(t, values, row, sums);
    else
        add_to_region(s, o, label, sums);
}

/* Lanes of one label add up before one of them writes: a large region covers most of a warp. */
static __device__ inline void add_warp_sums(const regions_params &s, const tile_origin &o,
                                            tile_table *t, value_sums *values, int32_t label,
                                            tile_sums sums)
{
    uint32_t lanes = __ballot_sync(~0u, label > 0);
    while (lanes) {
        const int leader = __ffs((int)lanes) - 1;
        const int32_t chosen = __shfl_sync(~0u, label, leader);
        const bool same = label == chosen;
        const uint32_t group = __ballot_sync(~0u, same);
        tile_sums all = sums;
        if (group & (group - 1)) { /* more than one */
            all.voxels = __reduce_add_sync(~0u, same ? sums.voxels : 0);
            all.sum_x = __reduce_add_sync(~0u, same ? sums.sum_x : 0);
            all.sum_y = __reduce_add_sync(~0u, same ? sums.sum_y : 0);
            all.sum_z = __reduce_add_sync(~0u, same ? sums.sum_z : 0);
            all.x_bits = __reduce_or_sync(~0u, same ? sums.x_bits : 0);
            all.y_z_bits = __reduce_or_sync(~0u, same ? sums.y_z_bits : 0);
            all.first = __reduce_min_sync(~0u, same ? sums.first : ~0u);
            if (values) {
                value_sums mine = sums.values;
                if (!same) clear_values(&mine);
                all.values = warp_values(mine);
            }
        }
        if ((int)(threadIdx.x % WARP) == leader) add_sums(s, o, t, values, chosen, all);
        lanes &= ~group;
    }
}

/* A lane's column of the tile: consecutive voxels of one label together. Labels are of type T. */
template <typename T>
static __device__ inline void add_column(const regions_params &s, const tile_origin &o,
                                         tile_table *t, value_sums *values)
{
    const int lane = (int)threadIdx.x % WARP, z_in_tile = (int)threadIdx.x / WARP;
    const int x = o.x + lane, z = o.z + z_in_tile;
    const bool inside = x < s.nx && z < s.nz;
    const int64_t first = ((int64_t)z * s.ny + o.y) * s.nx + x;
    int32_t label[TILE_Y], current = 0;
    uint32_t voxels = 0, sum_y = 0, from = 0;
    tile_sums sums = {};
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
        label[y] = inside && o.y + y < s.ny ? ((const T *)s.labels)[first + (int64_t)y * s.nx] : 0;
#pragma unroll
    for (int y = 0; y <= TILE_Y; y++) {
        int32_t next = y < TILE_Y ? label[y] : 0;
        if (next < 0 || next > s.count) {
            atomicMin(s.bad_label, (u64)(first + (int64_t)y * s.nx));
            next = 0;
        }
        const bool last = y == TILE_Y;
        if (last || (next && next != current)) {
            sums.voxels = voxels;
            sums.sum_x = voxels * (uint32_t)lane;
            sums.sum_y = sum_y;
            sums.sum_z = voxels * (uint32_t)z_in_tile;
            sums.x_bits = 1u << lane;
            sums.first = (uint32_t)z_in_tile << 9 | from << 5 | (uint32_t)lane;
            sums.y_z_bits |= 1u << (16 + z_in_tile);
            if (last) break;
            if (current) add_sums(s, o, t, values, current, sums);
            current = next;
            voxels = sum_y = 0;
            from = (uint32_t)y;
            sums.y_z_bits = 0;
            if (values) clear_values(&sums.values);
        }
        if (!next) continue;
        voxels++;
        sum_y += (uint32_t)y;
        sums.y_z_bits |= 1u << y;
        if (values) add_value(&sums.values, s.values, first + (int64_t)y * s.nx);
    }
    add_warp_sums(s, o, t, values, current, sums);
}

/* Add the table's rows to their regions, a lane a field: a region's fields are adjacent. */
static __device__ inline void add_table(const regions_params &s, const tile_origin &o,
                                        const tile_table *t, const value_sums *values)
{
    const int field = (int)threadIdx.x % FIELD_LANES;
    for (int row = (int)threadIdx.x / FIELD_LANES; row < ROWS;
         row += REGION_THREADS / FIELD_LANES) {
        const int32_t label = t->label[row];
        if (label == 0) continue;
        tile_sums sums;
        sums.voxels = t->voxels[row];
        sums.sum_x = t->sum_x[row];
        sums.sum_y = t->sum_y[row];
        sums.sum_z = t->sum_z[row];
        sums.x_bits = t->x_bits[row];
        sums.y_z_bits = t->y_z_bits[row];
        sums.first = t->first[row];
        lob_region *region = &s.regions[label - 1];
        if (field < POSITION_FIELDS)
            add_field(region, field, field_of(s, o, sums, field));
        else if (field == POSITION_FIELDS && values)
            add_values_atomic(&s.sums[label - 1], values[row]);
    }
}

/* Dynamic shared memory: the table, and with VALUES the value_sums of its rows. */
template <typename T, bool VALUES>
static __global__ void __launch_bounds__(REGION_THREADS) regions_kernel(regions_params s)
{
    extern __shared__ u64 shared[];
    tile_table *t = (tile_table *)shared;
    value_sums *values = VALUES ? (value_sums *)(t + 1) : NULL;
    for (int64_t tile = blockIdx.x; tile < s.tiles; tile += gridDim.x) {
        const int64_t rest = tile / s.tiles_x;
        tile_origin o;
        o.x = (int)(tile - rest * s.tiles_x) * TILE_X;
        o.y = (int)(rest % s.tiles_y) * TILE_Y;
        o.z = (int)(rest / s.tiles_y) * TILE_Z;
        for (int i = (int)threadIdx.x; i < ROWS; i += REGION_THREADS) {
            t->label[i] = 0;
            t->voxels[i] = t->sum_x[i] = t->sum_y[i] = t->sum_z[i] = 0;
            t->x_bits[i] = t->y_z_bits[i] = 0;
            t->first[i] = ~0u;
            if (VALUES) clear_values(&values[i]);
        }
        __syncthreads();
        add_column<T>(s, o, t, values);
        __syncthreads();
        add_table(s, o, t, values);
        __syncthreads();
    }
}

} /* namespace lob::regions */

#endif
