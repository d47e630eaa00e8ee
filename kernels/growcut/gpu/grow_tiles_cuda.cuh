/*
 * GrowCut on a GPU: one kernel that grows all tiles to the fixed point, and the host's side of it.
 *
 * Where cells have several levels in a word give_tiles_cuda.cuh has the order of visits. Else the
 * kernel sweeps over the tiles again and again, in two steps with a barrier of the whole grid after
 * each. Select: the tiles whose priority lies below the cost window's end form a list. Visit: warps
 * take tiles from the list, one at a time. The window reaches from the lowest priority of all tiles
 * to that plus a width.
 */
#ifndef LOB_GROW_TILES_CUDA_CUH
#define LOB_GROW_TILES_CUDA_CUH

#include "kernels/growcut/gpu/fill_tiles_cuda.cuh"
#include "kernels/growcut/gpu/give_tiles_cuda.cuh"
#include "kernels/growcut/gpu/grow_seams_cuda.cuh"
#include "kernels/growcut/gpu/visit_flood_cuda.cuh"
#include "volumes/clock.h"

#include <stddef.h>
#include <time.h>

namespace lob::growcut
{

enum {
    MAX_WINDOW_FACTOR = 16
}; /* by which a window, not a flood's, is widened while warps are idle */

/*
 * Wait for all blocks. Before, each adds what it has seen to the counters; afterwards each knows
 * the lowest priority in a slot, the length of a list, and whether to stop.
 */
template <typename K, typename S>
static __device__ void wait_for_grid(const grow_params<K> &g, block_shared<K, S> *b,
                                     uint32_t *passed, int slot, int list)
{
    grow_counters *counters = g.counters;
    __syncthreads();
    ++*passed;
    if (threadIdx.x == 0) {
        if (b->min_priority != keys<K>::none)
            atomicMin(&counters->min_priority[slot], (u64)b->min_priority);
        if (b->reached) atomicAdd(&counters->reached, (u64)b->reached);
        b->min_priority = keys<K>::none;
        b->reached = 0;
        grid_barrier(&counters->arrived, *passed);
        const u64 min_priority = __ldcg(&counters->min_priority[slot]);
        b->lowest_priority = min_priority < keys<K>::end ? (K)min_priority : keys<K>::none;
        b->count = __ldcg(&counters->count[list]);
        b->stop = __ldcg(&counters->stop);
    }
    __syncthreads();
}

/* List the tiles whose priority lies below end; the block notes the lowest of the others. */
template <typename K, typename S>
static __device__ void select_tiles(const grow_params<K> &g, block_shared<K, S> *b, K end, int list,
                                    uint32_t lane)
{
    K min_priority = keys<K>::none;
    const uint32_t all = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x - lane; i < g.tiles; i += all) {
        const uint32_t t = i + lane;
        const K priority = t < g.tiles ? __ldcg(&g.priority[t]) : keys<K>::none;
        const bool chosen = priority < end;
        if (!chosen && priority < min_priority) min_priority = priority;
        const uint32_t who = __ballot_sync(ALL_LANES, chosen);
        if (!who) continue;
        uint32_t at = 0;
        if (lane == 0) at = atomicAdd(&g.counters->count[list], (uint32_t)__popc(who));
        at = __shfl_sync(ALL_LANES, at, 0) + __popc(who & ((1u << lane) - 1));
        if (chosen) {
            g.tile_list[at] = t;
            g.priority[t] = keys<K>::none;
        }
    }
    min_priority = warp_min(min_priority);
    if (lane == 0 && min_priority != keys<K>::none) atomicMin(&b->min_priority, min_priority);
}

/*
 * The cost window's width: window_steps of the mean step sampled, and a level. A flood begins with
 * all costs: its costs say little about how far apart cells are, and the number of tiles that
 * wait soon sets the width.
 */
template <typename K> static __device__ K window_width(const grow_params<K> &g)
{
    if (g.flood) return keys<K>::end / 2;
    const double n = (double)__ldcg(&g.counters->step_samples);
    const double mean = n > 0 ? (double)__ldcg(&g.counters->step_sum) / n : 0;
    const double units = g.window_steps * mean + g.sections[0].unit;
    const int shift = g.sections[0].cost_shift;
    const double max_units = (double)(keys<K>::end >> 6 >> shift);
    const K whole = (K)(units < max_units ? units : max_units);
    const u64 width = (u64)(whole > 0 ? whole : 1) << shift, most = keys<K>::end >> 6;
    return (K)(width < most ? width : most);
}

/* The window after a sweep that visited so many tiles: wider where warps were idle. */
template <typename K>
static __device__ K next_window(const grow_params<K> &g, K window, K narrow, uint32_t count,
                                uint32_t warps)
{
    if (count > 2 * warps && (g.flood ? window > 1 : window > narrow)) return window / 2;
    const bool may_widen =
        g.flood ? window <= keys<K>::end / 4 : window / MAX_WINDOW_FACTOR < narrow;
    return count < (g.flood ? warps : warps / 2) && may_widen ? window * 2 : window;
}

template <typename K, typename S, int N, level_layout L, bool FLOOD>
static __global__ void __launch_bounds__(max_warps<S>() * WARP, 1)
    grow_kernel(const __grid_constant__ grow_params<K> g)
{
    extern __shared__ __align__(16) unsigned char shared[];
    block_shared<K, S> *b = (block_shared<K, S> *)shared;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    void *w = shared + block_bytes<K, S>() + (size_t)warp * g.warp_bytes;
    K *table = (K *)(shared + block_bytes<K, S>() + (size_t)(blockDim.x / WARP) * g.warp_bytes);
    const uint32_t warps = gridDim.x * (blockDim.x / WARP);
    const bool first = blockIdx.x == 0 && threadIdx.x == 0;
    grow_counters *counters = g.counters;
    uint32_t passed = 0, sweep = 0;

    fill_block_shared(g, b, table);
    const K narrow = window_width(g);
    K window = narrow;
    select_tiles(g, b, (K)0, 0, lane);
    wait_for_grid(g, b, &passed, 0, 0);
    while (b->lowest_priority != keys<K>::none && !b->stop) {
        const int slot = (int)(sweep % 3), next_slot = (slot + 1) % 3;
        const K end = (K)(b->lowest_priority + window) < b->lowest_priority
                          ? keys<K>::none
                          : (K)(b->lowest_priority + window);
        if (first) { /* slots whose last readers have passed a barrier */
            counters->min_priority[(slot + 2) % 3] = ~0ull;
            counters->count[next_slot] = counters->taken[next_slot] = 0;
        }
        select_tiles(g, b, end, slot, lane);
        wait_for_grid(g, b, &passed, next_slot, slot);
        const uint32_t count = b->count;
        for (uint32_t i = warp * gridDim.x + blockIdx.x, then; i < count;
             i = __shfl_sync(ALL_LANES, then, 0)) {
            then = lane == 0 ? warps + atomicAdd(&counters->taken[slot], 1u)
                             : 0; /* ready when the visit ends */
            const uint32_t t = __ldcg(&g.tile_list[i]);
            if constexpr (FLOOD)
                visit_flood<K, S, N>(g, b, (flood_shared<K, S> *)w, t, lane);
            else
                visit<K, S, N, L>(g, b, table, (warp_shared<K, S> *)w, t, end, lane);
        }
        if (first && g.mailbox) {
            g.mailbox->done = *(volatile u64 *)&counters->reached;
            if (g.mailbox->stop) counters->stop = 1;
        }
        wait_for_grid(g, b, &passed, next_slot, slot);
        window = next_window(g, window, narrow, count, warps);
        sweep++;
    }
}

/* The same without sweeps. */
template <typename K, typename S, int N>
static __global__ void __launch_bounds__(max_warps<S>() * WARP, 1)
    give_kernel(const __grid_constant__ grow_params<K> g)
{
    extern __shared__ __align__(16) unsigned char shared[];
    block_shared<K, S> *b = (block_shared<K, S> *)shared;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t warps = blockDim.x / WARP;
    void *w = shared + block_bytes<K, S>() + (size_t)warp * g.warp_bytes;
    K *table = (K *)(shared + block_bytes<K, S>() + (size_t)warps * g.warp_bytes);
    fill_block_shared(g, b, table);
    if (blockIdx.x < GIVERS)
        give_all(g, b, window_width(g), (gridDim.x - GIVERS) * warps, lane);
    else
        visit_all<K, S, N, PACKED>(g, b, table, (warp_shared<K, S> *)w, lane);
}

/* ---- the host's side ---- */

enum { TABLE_SHARED = 4096 }; /* weights that fit shared memory: distances of 12 bits */

template <typename K, typename S, int N>
static void (*grow_kernel_of(level_layout layout, bool flood))(const grow_params<K>)
{
    return flood                  ? grow_kernel<K, S, N, ONE_LEVEL, true>
           : layout == ONE_LEVEL  ? grow_kernel<K, S, N, ONE_LEVEL, false>
           : layout == BY_CHANNEL ? grow_kernel<K, S, N, BY_CHANNEL, false>
                                  : give_kernel<K, S, N>;
}

template <typename K, typename S>
static void (*grow_kernel_of(int neighbours, level_layout layout, bool flood))(const grow_params<K>)
{
    if constexpr (S::flat)
        return neighbours == 4 ? grow_kernel_of<K, S, 4>(layout, flood)
                               : grow_kernel_of<K, S, 8>(layout, flood);
    else
        return neighbours == 6    ? grow_kernel_of<K, S, 6>(layout, flood)
               : neighbours == 18 ? grow_kernel_of<K, S, 18>(layout, flood)
                                  : grow_kernel_of<K, S, 26>(layout, flood);
}

/*
 * With progress asked for: report it until the kernel has ended; a cancel ends it soon. Without:
 * return at once, as the next download waits. For the first milliseconds the host does not sleep,
 * because that would lengthen a short call noticeably.
 */
template <typename K> static lob_status wait_for_kernel(grow_state<K> *state)
{
    lob_device *device = state->batch->device;
    lob_device_mailbox *mailbox = state->g.mailbox;
    const double begin_s = lob_clock_s(), awake_s = 2e-3, interval_s = 2e-4;
    const struct timespec nap = {0, 50000};
    double reported_s = begin_s;
    bool cancelled = false;
    if (!mailbox) return LOB_OK;
    for (;;) {
        const cudaError_t result = cudaStreamQuery(lob_device_cuda_stream(device));
        if (result != cudaErrorNotReady) {
            const lob_status st = lob_device_check(result, "growing", state->error);
            return st != LOB_OK ? st : cancelled ? LOB_ECANCEL : LOB_OK;
        }
        const double time_s = lob_clock_s();
        if (time_s - begin_s >= awake_s) nanosleep(&nap, NULL);
        if (time_s - reported_s < interval_s) continue;
        reported_s = time_s;
        if (report_progress(state, mailbox->done)) {
            cancelled = true;
            mailbox->stop = 1;
        }
    }
}

/* Let the kernel have as many warps as fit the block's shared memory; returns the warps, 0: none.
 */
template <typename K, typename S>
static int share_memory(grow_state<K> *state, size_t *shared_bytes)
{
    const section_batch *batch = state->batch;
    const int64_t capacity = lob_device_shared_bytes(batch->device);
    const bool one_table = batch->sections == 1 && has_table(batch, 0);
    grow_params<K> *g = &state->g;
    const size_t cell_bytes =
        g->layout == PACKED ? sizeof(uint2) : sizeof(uint16_t) * (size_t)batch->image.channels;
    const size_t bytes =
        g->flood ? sizeof(flood_shared<K, S>) : sizeof(warp_shared<K, S>) + cell_bytes * S::padded;
    g->warp_bytes = (uint32_t)((bytes + 15) / 16 * 16);
    g->table_shared = !one_table                      ? 0
                      : state->table_n < TABLE_SHARED ? (uint32_t)state->table_n
                                                      : (uint32_t)TABLE_SHARED;
    const int64_t common = (int64_t)(block_bytes<K, S>() + g->table_shared * sizeof(K));
    int64_t warps = (capacity - common) / g->warp_bytes;
    if (warps > max_warps<S>()) warps = max_warps<S>();
    *shared_bytes = (size_t)(common + (warps < 1 ? 1 : warps) * g->warp_bytes);
    return warps < 1 ? 0 : (int)warps;
}

/* An empty ring, from which no warp has asked. */
template <typename K> static lob_status empty_ring(grow_state<K> *state)
{
    lob_device *device = state->batch->device;
    const int64_t from = (int64_t)offsetof(grow_counters, apart_0);
    unsigned char *const counters = (unsigned char *)state->g.counters + from;
    LOB_TRY(
        lob_device_fill(device, counters, 0, (int64_t)sizeof(grow_counters) - from, state->error));
    return lob_device_fill(device, state->g.ring, 0, RING * (int64_t)sizeof *state->g.ring,
                           state->error);
}

/* Launch the kernel that grows all tiles, and wait for it. */
template <typename K, typename S> static lob_status grow_to_the_end(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    lob_device *device = batch->device;
    lob_error *error = state->error;
    grow_params<K> *g = &state->g;
    lob_device_mailbox *mailbox = lob_device_mailbox_of(device);
    void (*kernel)(const grow_params<K>) = grow_kernel_of<K, S>(g->neighbours, g->layout, g->flood);
    size_t shared = 0;
    const int warps = share_memory<K, S>(state, &shared);
    if (warps == 0)
        return lob_fail_hint(
            error, LOB_ENOMEM, LOB_HINT_USE_CPU,
            "an image of %d channels needs %lld KiB of the GPU's shared memory, and it has %lld",
            batch->image.channels, (long long)shared / 1024,
            (long long)lob_device_shared_bytes(device) / 1024);
    const int64_t needed = (g->tiles + warps - 1) / warps;
    const int multiprocessors = lob_device_multiprocessors(device);
    const int64_t wanted = needed + (g->ring ? GIVERS : 0);
    const int blocks = wanted < multiprocessors ? (int)wanted : multiprocessors;
    if (g->ring && blocks <= GIVERS)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "growing over several channels takes a GPU of %d multiprocessors",
                             GIVERS + 1);
    if (g->ring) LOB_TRY(empty_ring(state));
    LOB_TRY(lob_allow_shared(kernel, shared, error));
    mailbox->stop = 0;
    mailbox->done = 0;
    LOB_TRY(
        lob_launch_cooperative(device, kernel, "growing", blocks, warps * WARP, shared, *g, error));
    return wait_for_kernel(state);
}

/* Grow on from the cells that are pending. */
template <typename K, typename S> static lob_status grow_again(grow_state<K> *state)
{
    lob_device *device = state->batch->device;
    grow_counters *const counters = state->g.counters;
    const size_t turns = offsetof(grow_counters, reached) - offsetof(grow_counters, count);
    LOB_TRY(lob_device_fill(device, counters->min_priority, 0xff, sizeof counters->min_priority,
                            state->error));
    LOB_TRY(lob_device_fill(device, counters->count, 0, (int64_t)turns, state->error));
    return grow_to_the_end<K, S>(state);
}

/* From the seeds on to the fixed point, of all slabs. */
template <typename K, typename S> static lob_status grow_tiles(grow_state<K> *state)
{
    const grow_params<K> *g = &state->g;
    bool any = state->batch->slab != NULL;
    LOB_TRY((begin_seams<K, S>(state)));
    LOB_TRY(launch(state, hard_seed_kernel<K, S>, "seeds", g->cells, *g));
    LOB_TRY(launch(state, sample_kernel<K, S>, "sampling steps", g->cells / SAMPLED, *g));
    LOB_TRY((grow_to_the_end<K, S>(state)));
    while (any) {
        LOB_TRY((exchange<K, S>(state, &any)));
        if (any) LOB_TRY((grow_again<K, S>(state)));
    }
    return LOB_OK;
}

/* The same in a flood. */
template <typename K, typename S> static lob_status flood_tiles(grow_state<K> *state)
{
    flood_seed_params<K> seeds = {state->g, false};
    LOB_TRY(launch(state, flood_seed_kernel<K, S>, "seeds", seeds.g.cells, seeds));
    LOB_TRY((grow_to_the_end<K, S>(state)));
    seeds.end = true;
    return launch(state, flood_seed_kernel<K, S>, "seeds", seeds.g.cells, seeds);
}

} /* namespace lob::growcut */

#endif
