/*
 * What listed pieces add to the rows of the table.
 *
 * A block takes a share of the list: pieces of neighbouring lines, so that a component mostly has
 * several of them there. What each adds goes to the warp's registers if the warp met its component
 * often, else to a table of the block's, and to the row itself where all places for it are taken;
 * the rows get the rest at the end. Components that are most of a volume have pieces in every tile,
 * and would have all blocks wait for each other at few rows.
 */
#ifndef LOB_COMPONENTS_ADD_CUDA_CUH
#define LOB_COMPONENTS_ADD_CUDA_CUH

#include "kernels/components/measure/measure_tiles_cuda.cuh"
#include "kernels/device/hash_table.cuh"

enum {
    ADD_THREADS = 256,
    ADD_BLOCKS = 4,        /* on a multiprocessor of 227 KiB: smaller ones take fewer, */
    ADD_BLOCKS_VALUES = 2, /* and with values registers allow no more */
    ADD_PROBES = 8,
    FAR_ENDS = 5
};

/* What pieces of one component add, in places of the volume. */
template <bool VALUES> struct added {
    uint32_t label; /* 0: nothing */
    uint32_t voxels;
    wide sum[3];
    uint32_t end[FAR_ENDS]; /* of x, y, z the highest; complements of the lowest x and y */
    value_sums values[1];   /* with VALUES alone */
};

/* What a block adds up by itself. */
template <bool VALUES> struct added_table {
    static constexpr int bits = VALUES ? 9 : 10, slots = 1 << bits;
    /* Pieces of a block, more than slots: often half of them are of components met before. */
    static constexpr int most = slots / 2 * 3;
    static_assert((uint64_t)most << VOXELS_BITS <= UINT32_MAX, "their voxels fit 32 bits");
    static_assert(most % ADD_THREADS == 0, "a share is a whole number of steps");

    uint32_t label[slots]; /* 0: free */
    uint32_t voxels[slots];
    uint32_t low[3][slots], high[3][slots]; /* halves of sums */
    uint32_t end[FAR_ENDS][slots];
    value_sums values[VALUES ? slots : 1];
};

static_assert(ADD_BLOCKS * (sizeof(added_table<false>) + 1024) <= 227 * 1024 &&
                  sizeof(added_table<true>) <= 99 * 1024,
              "tables fit a multiprocessor, of which each block takes 1 KiB besides");

typedef struct {
    measuring m;
    int64_t share; /* pieces of a block */
} adding;

/* All but the values. */
template <bool VALUES>
static __device__ inline added<VALUES> added_of(const measuring &m, const listed_piece &piece)
{
    const place p = place_of_tile(m.r, piece.tile >> 2 * LISTED_X_BITS);
    const uint32_t x = (uint32_t)p.tile_x * TILE_WORDS * WORD;
    const uint32_t y = ((uint32_t)p.tile_y << m.r.tile_y_bits) * (uint32_t)m.r.by;
    const uint32_t z = ((uint32_t)p.tile_z << m.r.tile_z_bits) * (uint32_t)m.r.bz;
    const uint32_t last = (1u << LISTED_X_BITS) - 1;
    const wide voxels = piece.voxels;
    added<VALUES> a;
    a.label = piece.label;
    a.voxels = piece.voxels;
    a.sum[0] = piece.sum[0] + voxels * x;
    a.sum[1] = piece.sum[1] + voxels * y;
    a.sum[2] = piece.sum[2] + voxels * z;
    a.end[0] = x + (piece.tile & last);
    a.end[1] = y + span_high(piece.span[0]);
    a.end[2] = z + span_high(piece.span[1]);
    a.end[3] = ~(x + (piece.tile >> LISTED_X_BITS & last));
    a.end[4] = ~(y + span_low(piece.span[0]));
    return a;
}

/* One thread alone. */
template <bool VALUES>
static __device__ inline void join_added(added<VALUES> *to, const added<VALUES> &a)
{
    to->voxels += a.voxels;
#pragma unroll
    for (int k = 0; k < 3; k++) to->sum[k] += a.sum[k];
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) to->end[k] = max(to->end[k], a.end[k]);
    if constexpr (VALUES) add_values(to->values, a.values[0]);
}

/* Of all lanes of a warp, which call this together. */
template <bool VALUES> static __device__ inline added<VALUES> warp_added(const added<VALUES> &a)
{
    added<VALUES> all;
    all.label = a.label;
    all.voxels = __reduce_add_sync(~0u, a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) all.sum[k] = lob::warp_sum(a.sum[k]);
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) all.end[k] = __reduce_max_sync(~0u, a.end[k]);
    if constexpr (VALUES) all.values[0] = warp_values(a.values[0]);
    return all;
}

/* To the row itself; nothing waits for it. A component's lowest z is its root's. */
template <bool VALUES>
static __device__ inline void add_to_row(const measuring &m, const added<VALUES> &a)
{
    lob_region *region = &m.regions[a.label - 1];
    uint32_t *low = (uint32_t *)region->low, *high = (uint32_t *)region->high;
    atomicAdd((wide *)&region->voxels, (wide)a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        atomicAdd((wide *)&region->sum[k], a.sum[k]);
        atomicMax(&high[k], a.end[k]);
    }
#pragma unroll
    for (int k = 0; k < 2; k++) atomicMin(&low[k], ~a.end[3 + k]);
    if constexpr (VALUES) add_values_atomic(&m.sums[a.label - 1], a.values[0]);
}

/* In two halves: sums of 64 bits would be tried again and again where many lanes add to one. */
static __device__ inline void add_halves(uint32_t *low, uint32_t *high, wide value)
{
    const uint32_t by = (uint32_t)value, before = atomicAdd(low, by);
    const uint32_t more = (uint32_t)(value >> 32) + (before + by < before);
    if (more) atomicAdd(high, more);
}

/* The lanes together, which part while they look for a place. */
template <bool VALUES>
static __device__ inline void keep_added(const measuring &m, added_table<VALUES> *t,
                                         const added<VALUES> &a, uint32_t lanes)
{
    const int slot = lob::hash_slot<added_table<VALUES>::bits, ADD_PROBES>(t->label, a.label);
    __syncwarp(lanes);
    if (slot < 0) {
        add_to_row(m, a);
        return;
    }
    atomicAdd(&t->voxels[slot], a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) add_halves(&t->low[k][slot], &t->high[k][slot], a.sum[k]);
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++)
        if (a.end[k] > *(volatile uint32_t *)&t->end[k][slot])
            atomicMax(&t->end[k][slot], a.end[k]);
    if constexpr (VALUES) add_values_atomic(&t->values[slot], a.values[0]);
}

template <bool VALUES>
static __device__ inline added<VALUES> kept_at(const added_table<VALUES> &t, int slot)
{
    added<VALUES> a;
    a.label = t.label[slot];
    a.voxels = t.voxels[slot];
#pragma unroll
    for (int k = 0; k < 3; k++) a.sum[k] = (wide)t.high[k][slot] << 32 | t.low[k][slot];
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) a.end[k] = t.end[k][slot];
    if constexpr (VALUES) a.values[0] = t.values[slot];
    return a;
}

template <bool VALUES>
static __global__ void __launch_bounds__(ADD_THREADS, VALUES ? ADD_BLOCKS_VALUES : ADD_BLOCKS)
    add_kernel(adding work)
{
    extern __shared__ uint4 shared[];
    added_table<VALUES> &t = *(added_table<VALUES> *)shared;
    const measuring &m = work.m;
    const uint32_t lane = threadIdx.x % WORD;
    const int64_t begin = blockIdx.x * work.share, end = min(begin + work.share, m.listed);
    int64_t i = begin + threadIdx.x;
    listed_piece next = m.list[min(i, end - 1)]; /* is on its way while other work is done */
    for (int slot = (int)threadIdx.x; slot < t.slots; slot += ADD_THREADS) {
        t.label[slot] = t.voxels[slot] = 0;
#pragma unroll
        for (int k = 0; k < 3; k++) t.low[k][slot] = t.high[k][slot] = 0;
#pragma unroll
        for (int k = 0; k < FAR_ENDS; k++) t.end[k][slot] = 0;
        if constexpr (VALUES) clear_values(&t.values[slot]);
    }
    __syncthreads();
    added<VALUES> often = {};
    if constexpr (VALUES) clear_values(often.values);
    for (; i - lane < end; i += ADD_THREADS) {
        added<VALUES> a = added_of<VALUES>(m, next);
        if constexpr (VALUES) a.values[0] = m.list_values[min(i, end - 1)];
        next = m.list[min(i + ADD_THREADS, end - 1)];
        const uint32_t label = i < end ? a.label : 0;
        if (often.label == 0) often.label = often_met(label, 0);
        const uint32_t others = __ballot_sync(~0u, label != 0 && label != often.label);
        if (others >> lane & 1)
            keep_added(m, &t, a, others);
        else if (label != 0)
            join_added(&often, a);
        __syncwarp();
    }
    if (often.label != 0) {
        const added<VALUES> all = warp_added(often);
        if (lane == 0) keep_added(m, &t, all, 1);
    }
    __syncthreads();
    for (int slot = (int)threadIdx.x; slot < t.slots; slot += ADD_THREADS)
        if (t.label[slot] != 0) add_to_row(m, kept_at(t, slot));
}

#endif
