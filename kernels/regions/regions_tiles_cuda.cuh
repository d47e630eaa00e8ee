/*
 * Regions on the GPU: what a tile of voxels adds to them.
 *
 * A thread block takes a tile of 32 x 16 x 64 voxels, a warp every 16th of its z-slices, a lane a
 * column along y of these. A lane finds the bits of its column where a label lies; sums follow from
 * them, and lanes of one label add up. The sums go to a hash table in shared memory with one row
 * per label of the tile. At the end of the tile, and before where rows get scarce, the rows are
 * added to the regions in device memory by atomics. A label that finds no free row is added to its
 * region at once. Sums in a tile count positions inside the tile and fit 32 bits.
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
    TILE_Z = 64,
    REGION_WARPS = 16,
    REGION_THREADS = WARP * REGION_WARPS,
    ROW_BITS = 10,
    ROWS = 1 << ROW_BITS, /* of the tile_table */
    PROBES = 32,
    SCARCE = REGION_THREADS / 4, /* rows taken of the first REGION_THREADS */
    FIELD_LANES = 16             /* lanes that add one row to its region, a field each */
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
    uint32_t x_bits, y_bits; /* bit x, bit y: a voxel lies there */
    uint32_t z_high;
    uint32_t first; /* z << 9 | y << 5 | x of the first voxel */
    value_sums values;
} tile_sums;

/* The hash table: an array for each field, so that lanes access different banks. */
typedef struct {
    uint32_t label[ROWS]; /* 0: free */
    uint32_t voxels[ROWS], sum_x[ROWS], sum_y[ROWS], sum_z[ROWS];
    uint32_t x_bits[ROWS], y_bits[ROWS], z_high[ROWS], first[ROWS];
} tile_table;

static __device__ inline void clear_row(tile_table *t, value_sums *values, int row)
{
    t->label[row] = 0;
    t->voxels[row] = t->sum_x[row] = t->sum_y[row] = t->sum_z[row] = 0;
    t->x_bits[row] = t->y_bits[row] = t->z_high[row] = 0;
    t->first[row] = ~0u;
    if (values) clear_values(&values[row]);
}

static __device__ inline void add_to_row(tile_table *t, value_sums *values, int row,
                                         const tile_sums &s)
{
    atomicAdd(&t->voxels[row], s.voxels);
    atomicAdd(&t->sum_x[row], s.sum_x);
    atomicAdd(&t->sum_y[row], s.sum_y);
    atomicAdd(&t->sum_z[row], s.sum_z);
    if (s.x_bits & ~t->x_bits[row]) atomicOr(&t->x_bits[row], s.x_bits);
    if (s.y_bits & ~t->y_bits[row]) atomicOr(&t->y_bits[row], s.y_bits);
    if (s.z_high > t->z_high[row]) atomicMax(&t->z_high[row], s.z_high);
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
        return (u64)(o.y + __ffs((int)t.y_bits) - 1);
    case 4:
        return (u64)(o.z + (int)(t.first >> 9));
    case 5:
        return (u64)(o.x + 31 - __clz((int)t.x_bits));
    case 6:
        return (u64)(o.y + 31 - __clz((int)t.y_bits));
    case 7:
        return (u64)(o.z + (int)t.z_high);
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
#pragma unroll 1
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

/*
 * Lanes of one label add up before one of them writes: a large region covers most of a warp. Where
 * a label turns up that one lane has, the lanes that are left write each for itself.
 */
static __device__ inline void add_warp_sums(const regions_params &s, const tile_origin &o,
                                            tile_table *t, value_sums *values, int32_t label,
                                            tile_sums sums)
{
    uint32_t lanes = __ballot_sync(~0u, label > 0);
#pragma unroll 1
    while (lanes) {
        const int leader = __ffs((int)lanes) - 1;
        const bool same = label == __shfl_sync(~0u, label, leader);
        const uint32_t group = __ballot_sync(~0u, same);
        if (!(group & (group - 1))) break;
        tile_sums all = sums;
        all.voxels = __reduce_add_sync(~0u, same ? sums.voxels : 0);
        all.sum_x = __reduce_add_sync(~0u, same ? sums.sum_x : 0);
        all.sum_y = __reduce_add_sync(~0u, same ? sums.sum_y : 0);
        all.sum_z = __reduce_add_sync(~0u, same ? sums.sum_z : 0);
        all.x_bits = __reduce_or_sync(~0u, same ? sums.x_bits : 0);
        all.y_bits = __reduce_or_sync(~0u, same ? sums.y_bits : 0);
        all.first = __reduce_min_sync(~0u, same ? sums.first : ~0u);
        if (values) {
            value_sums mine = sums.values;
            if (!same) clear_values(&mine);
            all.values = warp_values(mine);
        }
        if (same) sums = all;
        if (same && (int)(threadIdx.x % WARP) != leader) label = 0;
        lanes &= ~group;
    }
    if (label) add_sums(s, o, t, values, label, sums);
}

/* The sum of the numbers of the bits that are set, of 16. */
static __device__ inline uint32_t sum_of_bits(uint32_t bits)
{
    return (uint32_t)(__popc(bits & 0xaaaa) + 2 * __popc(bits & 0xcccc) +
                      4 * __popc(bits & 0xf0f0) + 8 * __popc(bits & 0xff00));
}

/* A lane's column of slice z of the tile, label by label. Labels are of type T. */
template <typename T>
static __device__ inline void add_column(const regions_params &s, const tile_origin &o, int z,
                                         tile_table *t, value_sums *values)
{
    const int x = (int)threadIdx.x % WARP;
    const bool inside = o.x + x < s.nx && o.z + z < s.nz;
    const int64_t first = ((int64_t)(o.z + z) * s.ny + o.y) * s.nx + o.x + x;
    const T *const column = (const T *)s.labels + first;
    int32_t label[TILE_Y];
    uint32_t rest = 0; /* bit y: a label lies there and is not added yet */
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
        label[y] = inside && o.y + y < s.ny ? column[(int64_t)y * s.nx] : 0;
#pragma unroll
    for (int y = 0; y < TILE_Y; y++)
        if (label[y]) rest |= 1u << y;
#pragma unroll 1
    while (__any_sync(~0u, rest)) {
        const int from = __ffs((int)rest) - 1;
        int32_t current = rest ? column[(int64_t)from * s.nx] : 0; /* registers have no index */
        uint32_t there = 0;
#pragma unroll
        for (int y = 0; y < TILE_Y; y++)
            if (label[y] == current) there |= 1u << y;
        there &= rest;
        rest ^= there;
        if ((uint32_t)current > (uint32_t)s.count) {
            atomicMin(s.bad_label, (u64)(first + (int64_t)from * s.nx));
            current = 0;
        }
        tile_sums sums;
        sums.voxels = (uint32_t)__popc(there);
        sums.sum_x = sums.voxels * (uint32_t)x;
        sums.sum_y = sum_of_bits(there);
        sums.sum_z = sums.voxels * (uint32_t)z;
        sums.x_bits = 1u << x;
        sums.y_bits = there;
        sums.z_high = (uint32_t)z;
        sums.first = (uint32_t)z << 9 | (uint32_t)from << 5 | (uint32_t)x;
        if (values) {
            clear_values(&sums.values);
#pragma unroll 4
            for (int y = 0; y < TILE_Y; y++)
                if (current && there >> y & 1)
                    add_value(&sums.values, s.values, first + (int64_t)y * s.nx);
        }
        add_warp_sums(s, o, t, values, current, sums);
    }
}

/* Add the table's rows to their regions, two rows by a warp at once, a lane a field: a region's
 * fields are adjacent. It leaves the table empty. */
static __device__ inline void add_table(const regions_params &s, const tile_origin &o,
                                        tile_table *t, value_sums *values)
{
    const int lane = (int)threadIdx.x % WARP, field = lane % FIELD_LANES;
    for (int first = (int)threadIdx.x - lane; first < ROWS; first += REGION_THREADS) {
        const bool used = t->label[first + lane] != 0;
        for (uint32_t rows = __ballot_sync(~0u, used); rows;) {
            const int one = __ffs((int)rows) - 1;
            rows &= rows - 1;
            const int two = __ffs((int)rows) - 1; /* -1: none */
            rows &= rows - 1;
            const int mine = lane < FIELD_LANES ? one : two;
            if (mine < 0) continue;
            const int row = first + mine;
            tile_sums sums;
            sums.voxels = t->voxels[row];
            sums.sum_x = t->sum_x[row];
            sums.sum_y = t->sum_y[row];
            sums.sum_z = t->sum_z[row];
            sums.x_bits = t->x_bits[row];
            sums.y_bits = t->y_bits[row];
            sums.z_high = t->z_high[row];
            sums.first = t->first[row];
            const uint32_t label = t->label[row];
            if (field < POSITION_FIELDS)
                add_field(&s.regions[label - 1], field, field_of(s, o, sums, field));
            else if (field == POSITION_FIELDS && values)
                add_values_atomic(&s.sums[label - 1], values[row]);
        }
        __syncwarp();
        if (used) clear_row(t, values, first + lane);
    }
}

/* Dynamic shared memory: the table, and with VALUES the value_sums of its rows. Of two blocks on a
 * multiprocessor one works while the other waits at a barrier. */
template <typename T, bool VALUES>
static __global__ void __launch_bounds__(REGION_THREADS, 2) regions_kernel(regions_params s)
{
    extern __shared__ u64 shared[];
    tile_table *t = (tile_table *)shared;
    value_sums *values = VALUES ? (value_sums *)(t + 1) : NULL;
    const int id = (int)threadIdx.x;
    for (int row = id; row < ROWS; row += REGION_THREADS) clear_row(t, values, row);
    __syncthreads();
    for (int64_t tile = blockIdx.x; tile < s.tiles; tile += gridDim.x) {
        const int64_t rest = tile / s.tiles_x;
        tile_origin o;
        o.x = (int)(tile - rest * s.tiles_x) * TILE_X;
        o.y = (int)(rest % s.tiles_y) * TILE_Y;
        o.z = (int)(rest / s.tiles_y) * TILE_Z;
        const int depth = min(TILE_Z, s.nz - o.z);
        for (int z = 0; z < depth; z += REGION_WARPS) {
            add_column<T>(s, o, z + id / WARP, t, values);
            const int taken = __syncthreads_count(t->label[id] != 0);
            if (taken <= SCARCE && z + REGION_WARPS < depth) continue;
            add_table(s, o, t, values);
            __syncthreads();
        }
    }
}

} /* namespace lob::regions */

#endif
