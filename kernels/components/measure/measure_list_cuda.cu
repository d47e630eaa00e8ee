/*
 * Listed pieces are added to the rows of their components.
 *
 * A block takes a share of the list: pieces of neighbouring merged rows, so that a component mostly
 * has several there. A component that at least MIN_SHARED lanes of a warp share is added up in the
 * warp's registers; others in a hash table of the block's; and where no slot is free, in the row
 * itself. In the end both go to the rows. Without this, all blocks would wait for each other at the
 * few rows of components that have pieces in every tile.
 */
#include "kernels/components/measure/measure_params_cuda.cuh"
#include "kernels/device/hash_table.cuh"

namespace lob::components
{

enum {
    ADD_THREADS = 256,
    ADD_BLOCKS = 4,        /* of a multiprocessor with 227 KiB; of a smaller one fewer */
    ADD_BLOCKS_VALUES = 2, /* with intensities, which take more registers */
    ADD_PROBES = 8,
    FAR_ENDS = 5
};

/* What pieces of one component add, in positions in the volume. */
template <bool VALUES> struct contribution {
    uint32_t label; /* 0: nothing */
    uint32_t voxels;
    u64 sum[3];
    uint32_t end[FAR_ENDS]; /* the highest x, y, z; complements of the lowest x and y */
    value_sums values[1];   /* used with VALUES */
};

/* A block's hash table. */
template <bool VALUES> struct contribution_table {
    static constexpr int bits = VALUES ? 9 : 10, slots = 1 << bits;
    /* Pieces of a block, more than slots: often half are of components that are in the table. */
    static constexpr int max_pieces = slots / 2 * 3;
    static_assert((uint64_t)max_pieces << VOXELS_BITS <= UINT32_MAX, "their voxels fit 32 bits");
    static_assert(max_pieces % ADD_THREADS == 0, "a share is a whole number of steps");

    uint32_t label[slots]; /* 0: free */
    uint32_t voxels[slots];
    uint32_t low[3][slots], high[3][slots]; /* halves of sums */
    uint32_t end[FAR_ENDS][slots];
    value_sums values[VALUES ? slots : 1];
};

static_assert(ADD_BLOCKS * (sizeof(contribution_table<false>) + 1024) <= 227 * 1024 &&
                  sizeof(contribution_table<true>) <= 99 * 1024,
              "tables fit a multiprocessor, of which each block takes 1 KiB besides");

typedef struct {
    measure_params m;
    int64_t share; /* pieces of a block */
} add_params;

/* All but the intensities. */
template <bool VALUES>
static __device__ inline contribution<VALUES> contribution_of(const measure_params &m,
                                                              const listed_piece &piece)
{
    const tile_position at = position_of_tile(m.join, piece.tile >> 2 * LISTED_X_BITS);
    const uint32_t x = (uint32_t)at.tile_x * TILE_WORDS * WORD;
    const uint32_t y = ((uint32_t)at.tile_y << m.join.tile_y_bits) * (uint32_t)m.join.merge_y;
    const uint32_t z = ((uint32_t)at.tile_z << m.join.tile_z_bits) * (uint32_t)m.join.merge_z;
    const uint32_t last = (1u << LISTED_X_BITS) - 1;
    const u64 voxels = piece.voxels;
    contribution<VALUES> a;
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

/* Of sums that no other thread adds to. */
template <bool VALUES>
static __device__ inline void add_contribution(contribution<VALUES> *to,
                                               const contribution<VALUES> &a)
{
    to->voxels += a.voxels;
#pragma unroll
    for (int k = 0; k < 3; k++) to->sum[k] += a.sum[k];
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) to->end[k] = max(to->end[k], a.end[k]);
    if constexpr (VALUES) regions::add_values(to->values, a.values[0]);
}

/* Over all lanes of a warp, which call this together. */
template <bool VALUES>
static __device__ inline contribution<VALUES> warp_contribution(const contribution<VALUES> &a)
{
    contribution<VALUES> all;
    all.label = a.label;
    all.voxels = __reduce_add_sync(ALL_LANES, a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) all.sum[k] = warp_sum(a.sum[k]);
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) all.end[k] = __reduce_max_sync(ALL_LANES, a.end[k]);
    if constexpr (VALUES) all.values[0] = regions::warp_values(a.values[0]);
    return all;
}

/* To the row itself. A component's lowest z is its root's. */
template <bool VALUES>
static __device__ inline void add_to_row(const measure_params &m, const contribution<VALUES> &a)
{
    lob_region *region = &m.regions[a.label - 1];
    uint32_t *low = (uint32_t *)region->low, *high = (uint32_t *)region->high;
    atomicAdd((u64 *)&region->voxels, (u64)a.voxels);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        atomicAdd((u64 *)&region->sum[k], a.sum[k]);
        atomicMax(&high[k], a.end[k]);
    }
#pragma unroll
    for (int k = 0; k < 2; k++) atomicMin(&low[k], ~a.end[3 + k]);
    if constexpr (VALUES) regions::add_values_atomic(&m.sums[a.label - 1], a.values[0]);
}

/* In two halves: atomics on 64 bits of shared memory are retried where many lanes add to one. */
static __device__ inline void add_halves(uint32_t *low, uint32_t *high, u64 value)
{
    const uint32_t by = (uint32_t)value, before = atomicAdd(low, by);
    const uint32_t more = (uint32_t)(value >> 32) + (before + by < before);
    if (more) atomicAdd(high, more);
}

/* These lanes together; they diverge while they look for a slot. */
template <bool VALUES>
static __device__ inline void add_to_table(const measure_params &m, contribution_table<VALUES> *t,
                                           const contribution<VALUES> &a, uint32_t lanes)
{
    const int slot = hash_slot<contribution_table<VALUES>::bits, ADD_PROBES>(t->label, a.label);
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
    if constexpr (VALUES) regions::add_values_atomic(&t->values[slot], a.values[0]);
}

template <bool VALUES>
static __device__ inline contribution<VALUES> contribution_at(const contribution_table<VALUES> &t,
                                                              int slot)
{
    contribution<VALUES> a;
    a.label = t.label[slot];
    a.voxels = t.voxels[slot];
#pragma unroll
    for (int k = 0; k < 3; k++) a.sum[k] = (u64)t.high[k][slot] << 32 | t.low[k][slot];
#pragma unroll
    for (int k = 0; k < FAR_ENDS; k++) a.end[k] = t.end[k][slot];
    if constexpr (VALUES) a.values[0] = t.values[slot];
    return a;
}

template <bool VALUES>
static __global__ void __launch_bounds__(ADD_THREADS, VALUES ? ADD_BLOCKS_VALUES : ADD_BLOCKS)
    add_kernel(add_params work)
{
    extern __shared__ uint4 shared[];
    contribution_table<VALUES> &t = *(contribution_table<VALUES> *)shared;
    const measure_params &m = work.m;
    const uint32_t lane = threadIdx.x % WARP;
    const int64_t begin = blockIdx.x * work.share, end = min(begin + work.share, m.listed);
    int64_t i = begin + threadIdx.x;
    listed_piece next = m.list[min(i, end - 1)]; /* is loaded while other work is done */
    for (int slot = (int)threadIdx.x; slot < t.slots; slot += ADD_THREADS) {
        t.label[slot] = t.voxels[slot] = 0;
#pragma unroll
        for (int k = 0; k < 3; k++) t.low[k][slot] = t.high[k][slot] = 0;
#pragma unroll
        for (int k = 0; k < FAR_ENDS; k++) t.end[k][slot] = 0;
        if constexpr (VALUES) regions::clear_values(&t.values[slot]);
    }
    __syncthreads();
    contribution<VALUES> frequent = {};
    if constexpr (VALUES) regions::clear_values(frequent.values);
    for (; i - lane < end; i += ADD_THREADS) {
        contribution<VALUES> a = contribution_of<VALUES>(m, next);
        if constexpr (VALUES) a.values[0] = m.list_values[min(i, end - 1)];
        next = m.list[min(i + ADD_THREADS, end - 1)];
        const uint32_t label = i < end ? a.label : 0;
        if (frequent.label == 0) frequent.label = shared_key(label, 0);
        const uint32_t others = __ballot_sync(ALL_LANES, label != 0 && label != frequent.label);
        if (others >> lane & 1)
            add_to_table(m, &t, a, others);
        else if (label != 0)
            add_contribution(&frequent, a);
        __syncwarp();
    }
    if (frequent.label != 0) {
        const contribution<VALUES> all = warp_contribution(frequent);
        if (lane == 0) add_to_table(m, &t, all, 1);
    }
    __syncthreads();
    for (int slot = (int)threadIdx.x; slot < t.slots; slot += ADD_THREADS)
        if (t.label[slot] != 0) add_to_row(m, contribution_at(t, slot));
}

/* ---- the step ---- */

/* A short list is cut into no more shares than the device works on at once. */
template <bool VALUES>
static lob_status launch_add(call *c, const measure_params &m, lob_error *error)
{
    const size_t shared = sizeof(contribution_table<VALUES>);
    const int64_t blocks = (int64_t)lob_device_multiprocessors(c->device) * ADD_BLOCKS;
    const int64_t even = (m.listed / blocks / ADD_THREADS + 1) * ADD_THREADS;
    const int64_t max = contribution_table<VALUES>::max_pieces;
    const add_params a = {m, even < max ? even : max};
    LOB_TRY(lob_allow_shared(add_kernel<VALUES>, shared, error));
    return lob_launch(c->device, add_kernel<VALUES>, "adding pieces",
                      (m.listed + a.share - 1) / a.share, ADD_THREADS, shared, a, error);
}

lob_status add_listed_pieces(call *c, const measure_params &m, lob_error *error)
{
    return m.sums ? launch_add<true>(c, m, error) : launch_add<false>(c, m, error);
}

} /* namespace lob::components */
