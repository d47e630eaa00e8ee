/*
 * What a tile of voxels adds to regions: a table in shared memory of the labels that occur in it.
 *
 * A tile is 32 x 16 x 16 voxels; a warp takes a plane of it, a lane a column along y, so that
 * stretches of one label along y are added up in registers. Sums in a tile are of places in the
 * tile and fit 32 bits; the table's rows are added to the regions when the tile is done. Labels
 * that find no room in the table are added to their regions at once.
 */
#ifndef LOB_REGIONS_TILES_CUDA_CUH
#define LOB_REGIONS_TILES_CUDA_CUH

#include "kernels/device/hash_table.cuh"
#include "kernels/regions/regions_values_cuda.cuh"
#include "volumes/labels.h"

enum {
    WARP = 32,
    TILE_X = WARP,
    TILE_Y = 16,
    TILE_Z = 16,
    REGION_THREADS = WARP * TILE_Z,
    ROW_BITS = 10,
    ROWS = 1 << ROW_BITS, /* of the table */
    PROBES = 32,
    FIELD_LANES = 16 /* that share the adding of a row */
};

typedef struct {
    const void *labels;
    lob_type type;
    int64_t count;
    int32_t nx, ny, nz;
    int32_t tiles_x, tiles_y;
    int64_t tiles;
    region_image values;
    lob_region *regions;
    value_sums *sums; /* of values */
    wide *wrong;      /* index of the first voxel whose label is out of range */
    wide *crowded;    /* of the first region with too much data */
} scene;

/* Of voxels' places in the tile, and values. */
typedef struct {
    uint32_t voxels, sum_x, sum_y, sum_z;
    uint32_t columns; /* bit x: has a voxel there */
    uint32_t lines;   /* bit y; and bit 16 + z */
    uint32_t first;   /* z << 9 | y << 5 | x of the first */
    value_sums values;
} tile_sums;

/* The table: an array for each field, so that lanes meet different banks. */
typedef struct {
    uint32_t label[ROWS]; /* 0: free */
    uint32_t voxels[ROWS], sum_x[ROWS], sum_y[ROWS], sum_z[ROWS];
    uint32_t columns[ROWS], lines[ROWS], first[ROWS];
} table;

static __device__ inline void add_to_row(table *t, value_sums *values, int row, const tile_sums &s)
{
    atomicAdd(&t->voxels[row], s.voxels);
    atomicAdd(&t->sum_x[row], s.sum_x);
    atomicAdd(&t->sum_y[row], s.sum_y);
    atomicAdd(&t->sum_z[row], s.sum_z);
    if (s.columns & ~t->columns[row]) atomicOr(&t->columns[row], s.columns);
    if (s.lines & ~t->lines[row]) atomicOr(&t->lines[row], s.lines);
    if (s.first < t->first[row]) atomicMin(&t->first[row], s.first);
    if (values) merge_values(&values[row], s.values);
}

/* A tile's origin. */
typedef struct {
    int x, y, z;
} corner;

/* What a field of a region is given: places in the volume. Fields are as in lob_region. */
static __device__ inline wide field_of(const scene &s, const corner &o, const tile_sums &t,
                                       int field)
{
    const uint32_t y = t.lines & 0xffff, z = t.lines >> 16;
    const wide n = t.voxels;
    switch (field) {
    case 0:
        return n;
    case 1: {
        const int fz = o.z + (int)(t.first >> 9), fy = o.y + (int)(t.first >> 5 & 15);
        return (wide)(((int64_t)fz * s.ny + fy) * s.nx + o.x + (int)(t.first & 31));
    }
    case 2:
        return (wide)(o.x + __ffs((int)t.columns) - 1);
    case 3:
        return (wide)(o.y + __ffs((int)y) - 1);
    case 4:
        return (wide)(o.z + __ffs((int)z) - 1);
    case 5:
        return (wide)(o.x + 31 - __clz((int)t.columns));
    case 6:
        return (wide)(o.y + 31 - __clz((int)y));
    case 7:
        return (wide)(o.z + 31 - __clz((int)z));
    case 8:
        return t.sum_x + n * (wide)o.x;
    case 9:
        return t.sum_y + n * (wide)o.y;
    default:
        return t.sum_z + n * (wide)o.z;
    }
}

enum { PLACE_FIELDS = 11 }; /* voxels, first, low, high, sum */

static __device__ inline void add_field(lob_region *region, int field, wide value)
{
    if (field == 0)
        atomicAdd((wide *)&region->voxels, value);
    else if (field > 7)
        atomicAdd((wide *)&region->sum[field - 8], value);
    else if (field == 1) {
        wide *first = (wide *)&region->first;
        if (value < __ldca(first)) atomicMin(first, value);
    } else {
        uint32_t *end = (uint32_t *)region->low + (field - 2); /* high follows low */
        const uint32_t there = __ldca(end);
        if (field < 5 && value < there) atomicMin(end, (uint32_t)value);
        if (field >= 5 && value > there) atomicMax(end, (uint32_t)value);
    }
}

static __device__ inline void add_to_region(const scene &s, const corner &o, int32_t label,
                                            const tile_sums &t)
{
    lob_region *region = &s.regions[label - 1];
    for (int f = 0; f < PLACE_FIELDS; f++) add_field(region, f, field_of(s, o, t, f));
    if (s.values.image.stored) merge_values(&s.sums[label - 1], t.values);
}

static __device__ inline void add_sums(const scene &s, const corner &o, table *t,
                                       value_sums *values, int32_t label, const tile_sums &sums)
{
    const int row = lob::hash_slot<ROW_BITS, PROBES>(t->label, (uint32_t)label);
    if (row >= 0)
        add_to_row(t, values, row, sums);
    else
        add_to_region(s, o, label, sums);
}

/* A large region holds most of a warp: lanes of one label add up before one of them writes. */
static __device__ inline void add_warp_sums(const scene &s, const corner &o, table *t,
                                            value_sums *values, int32_t label, tile_sums sums)
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
            all.columns = __reduce_or_sync(~0u, same ? sums.columns : 0);
            all.lines = __reduce_or_sync(~0u, same ? sums.lines : 0);
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

/* A lane's column of the tile, stretch after stretch; labels are of type T. */
template <typename T>
static __device__ inline void add_column(const scene &s, const corner &o, table *t,
                                         value_sums *values)
{
    const int lane = (int)threadIdx.x % WARP, plane = (int)threadIdx.x / WARP;
    const int x = o.x + lane, z = o.z + plane;
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
            atomicMin(s.wrong, (wide)(first + (int64_t)y * s.nx));
            next = 0;
        }
        const bool last = y == TILE_Y;
        if (last || (next && next != current)) {
            sums.voxels = voxels;
            sums.sum_x = voxels * (uint32_t)lane;
            sums.sum_y = sum_y;
            sums.sum_z = voxels * (uint32_t)plane;
            sums.columns = 1u << lane;
            sums.first = (uint32_t)plane << 9 | from << 5 | (uint32_t)lane;
            sums.lines |= 1u << (16 + plane);
            if (last) break;
            if (current) add_sums(s, o, t, values, current, sums);
            current = next;
            voxels = sum_y = 0;
            from = (uint32_t)y;
            sums.lines = 0;
            if (values) clear_values(&sums.values);
        }
        if (!next) continue;
        voxels++;
        sum_y += (uint32_t)y;
        sums.lines |= 1u << y;
        if (values) add_value(&sums.values, s.values, first + (int64_t)y * s.nx);
    }
    add_warp_sums(s, o, t, values, current, sums);
}

/* Rows of the table to their regions, a field a lane: a region's fields lie side by side. */
static __device__ inline void add_table(const scene &s, const corner &o, const table *t,
                                        const value_sums *values)
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
        sums.columns = t->columns[row];
        sums.lines = t->lines[row];
        sums.first = t->first[row];
        lob_region *region = &s.regions[label - 1];
        if (field < PLACE_FIELDS)
            add_field(region, field, field_of(s, o, sums, field));
        else if (field == PLACE_FIELDS && values)
            merge_values(&s.sums[label - 1], values[row]);
    }
}

/* Shared memory: the table, and with values (VALUES) what adds up these. */
template <typename T, bool VALUES>
static __global__ void __launch_bounds__(REGION_THREADS) regions_kernel(scene s)
{
    extern __shared__ wide shared[];
    table *t = (table *)shared;
    value_sums *values = VALUES ? (value_sums *)(t + 1) : NULL;
    for (int64_t tile = blockIdx.x; tile < s.tiles; tile += gridDim.x) {
        const int64_t rest = tile / s.tiles_x;
        corner o;
        o.x = (int)(tile - rest * s.tiles_x) * TILE_X;
        o.y = (int)(rest % s.tiles_y) * TILE_Y;
        o.z = (int)(rest / s.tiles_y) * TILE_Z;
        for (int i = (int)threadIdx.x; i < ROWS; i += REGION_THREADS) {
            t->label[i] = 0;
            t->voxels[i] = t->sum_x[i] = t->sum_y[i] = t->sum_z[i] = 0;
            t->columns[i] = t->lines[i] = 0;
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

#endif
