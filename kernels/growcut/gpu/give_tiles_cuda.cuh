/*
 * GrowCut on a GPU: one kernel that grows all tiles to the fixed point, where cells have several
 * levels in a word, so that a visit is short and waiting for the longest of a sweep would cost
 * most.
 *
 * No warp waits for others. The first block looks over all tiles again and again and gives those
 * whose priority lies below the cost window's end to a ring, from which the warps of the other
 * blocks take them, one at a time. The window ends a width above the lowest priority, and moves on
 * when too few tiles are under way to keep the warps busy until the block has looked again. What is
 * visited too early is visited again: the order decides the time, not the result.
 */
#ifndef LOB_GIVE_TILES_CUDA_CUH
#define LOB_GIVE_TILES_CUDA_CUH

#include "kernels/growcut/gpu/visit_tile_cuda.cuh"

namespace lob::growcut
{

enum { GIVERS = 1 }; /* blocks that give tiles, and visit none */
enum : uint32_t { NO_MORE = ~0u };

/* The window moves on when fewer tiles than this share of the visiting warps are under way. */
static constexpr float UNDER_WAY = 1.25f;

/* Put an entry into the ring, when a warp has taken what lies in its place. Another thread may wait
 * for the same place. */
static __device__ inline void give(uint32_t *ring, uint32_t at, uint32_t entry)
{
    while (atomicCAS(ring + at % RING, 0u, entry) != 0) __nanosleep(100);
}

/* A lane waits for its warp's next entry. */
static __device__ inline uint32_t take(uint32_t *ring, uint32_t at)
{
    enum { NAP = 50, LONGEST_NAP = 800 }; /* ns */
    uint32_t *const place = ring + at % RING;
    uint32_t entry = 0;
    for (uint32_t nap = NAP; entry == 0; nap = min(2 * nap, (uint32_t)LONGEST_NAP))
        if (*(volatile uint32_t *)place == 0)
            __nanosleep(nap);
        else
            entry = atomicExch(place, 0u);
    return entry;
}

/* Give all tiles whose priority lies below end: b->count is how many were given, in all. The block
 * notes the lowest priority of the others. */
template <typename K, typename S>
static __device__ void give_below(const grow_params<K> &g, block_shared<K, S> *b, K end,
                                  uint32_t lane)
{
    K min_priority = keys<K>::none;
    for (uint32_t first = threadIdx.x - lane; first < g.tiles; first += LOADS * blockDim.x) {
        K priority[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const uint32_t t = first + j * blockDim.x + lane;
            priority[j] = t < g.tiles ? __ldcg(&g.priority[t]) : keys<K>::none;
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const uint32_t t = first + j * blockDim.x + lane;
            const bool chosen = priority[j] < end;
            if (!chosen && priority[j] < min_priority) min_priority = priority[j];
            const uint32_t who = __ballot_sync(ALL_LANES, chosen);
            if (!who) continue;
            uint32_t at = 0;
            if (lane == 0) at = atomicAdd(&b->count, (uint32_t)__popc(who));
            at = __shfl_sync(ALL_LANES, at, 0) + __popc(who & ((1u << lane) - 1));
            if (!chosen) continue;
            atomicExch(&g.priority[t], keys<K>::none);
            memory_fence(); /* the tile's bits, which came before its priority, before the tile */
            give(g.ring, at, t + 1);
        }
    }
    min_priority = warp_min(min_priority);
    if (lane == 0 && min_priority != keys<K>::none) atomicMin(&b->min_priority, min_priority);
}

/* Give tiles until none waits and none is visited, and then every warp the end. */
template <typename K, typename S>
static __device__ void give_all(const grow_params<K> &g, block_shared<K, S> *b, K width,
                                uint32_t warps, uint32_t lane)
{
    grow_counters *const counters = g.counters;
    const bool first = threadIdx.x == 0;
    const uint32_t enough = (uint32_t)((float)warps * UNDER_WAY);
    K end = 0;
    for (bool more = true; more;) {
        if (first) {
            const uint32_t under_way = b->count - *(volatile uint32_t *)&counters->ended;
            const K lowest = b->min_priority;
            memory_fence(); /* the end of visits before the priorities that they left */
            if (under_way < enough && lowest != keys<K>::none) {
                end = (K)(lowest + width) < lowest ? keys<K>::none : (K)(lowest + width);
                *(volatile u64 *)&counters->end = end;
            }
            b->lowest_priority = end;
            b->min_priority = keys<K>::none;
            b->idle = under_way == 0;
            b->stop = 0;
            if (g.mailbox) {
                g.mailbox->done = *(volatile u64 *)&counters->reached;
                if (g.mailbox->stop) b->stop = 1;
            }
        }
        __syncthreads();
        const uint32_t before = b->count;
        __syncthreads(); /* all threads know it */
        give_below(g, b, b->lowest_priority, lane);
        __syncthreads();
        const bool none = b->count == before && b->min_priority == keys<K>::none;
        more = !b->stop && !(b->idle && none);
        __syncthreads(); /* likewise */
    }
    if (!first) return;
    for (uint32_t i = 0; i < warps; i++) give(g.ring, b->count + i, NO_MORE);
}

/* Visit tiles until there are no more. */
template <typename K, typename S, int N, level_layout L>
static __device__ void visit_all(const grow_params<K> &g, block_shared<K, S> *b, const K *table,
                                 warp_shared<K, S> *w, uint32_t lane)
{
    grow_counters *const counters = g.counters;
    for (;;) {
        uint32_t entry = 0;
        K end = 0;
        if (lane == 0) {
            entry = take(g.ring, atomicAdd(&counters->asked, 1u));
            memory_fence(); /* the tile before its bits */
            end = (K) * (volatile u64 *)&counters->end;
        }
        entry = __shfl_sync(ALL_LANES, entry, 0);
        end = __shfl_sync(ALL_LANES, end, 0);
        if (entry == NO_MORE) break;
        visit<K, S, N, L>(g, b, table, w, entry - 1, end, lane);
        memory_fence(); /* priorities before the end of the visit */
        __syncwarp();
        if (lane != 0) continue;
        const uint32_t reached = atomicExch(&b->reached, 0u);
        if (reached) atomicAdd(&counters->reached, (u64)reached);
        atomicAdd(&counters->ended, 1u);
    }
}

} /* namespace lob::growcut */

#endif
