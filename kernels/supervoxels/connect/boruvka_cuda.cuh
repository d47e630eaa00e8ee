/*
 * Rounds in which small sets join what they picked, all in one kernel whose blocks wait for each
 * other. They work on lists of small sets and of contacts: what touches a small set is known from
 * its own side, and a set that is small yet is made of sets that were. So no list ever needs more
 * than the first look found. And numbers of sets.
 */
#ifndef LOB_SUPERVOXELS_ROUNDS_CUDA_CUH
#define LOB_SUPERVOXELS_ROUNDS_CUDA_CUH

#include "kernels/supervoxels/connect/fragment_contacts_cuda.cuh"

namespace lob::supervoxels
{

/* A block of the rounds has a multiprocessor to itself, so that all of them run at once. */
enum {
    ROUND_THREADS = 1024,
    ROUND_WARPS = ROUND_THREADS / WARP,
    BATCH = 4 /* entries of a list that a thread takes at once */
};

/* ---- rounds ---- */

/* What came before it is seen by who sees what comes after it; __threadfence also orders all such
 * fences among each other, which nobody needs here. */
static __device__ inline void order_memory()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* All blocks meet: what each wrote before, all see after. flag: set if any thread says so. */
static __device__ inline void meet(const connect_params &p, uint32_t *met, bool any = false,
                                   uint32_t *flag = NULL)
{
    any = __syncthreads_or(any);
    ++*met;
    if (threadIdx.x == 0) {
        if (any && flag) *flag = 1;
        order_memory();
        atomicAdd(&p.counters->arrived, 1u);
        while (*(volatile uint32_t *)&p.counters->arrived < *met * gridDim.x) __nanosleep(20);
        order_memory();
    }
    __syncthreads();
}

static __device__ inline int64_t first_of_thread()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t all_threads()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* lowest_of for a batch, side by side: a step takes as long as memory does. 0 is no piece. */
static __device__ inline void find_lowest(const connect_params &p, int32_t (&i)[BATCH])
{
    bool on[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) on[k] = i[k] != 0;
    for (bool any = true; any;) {
        int32_t next[BATCH];
        any = false;
#pragma unroll
        for (int k = 0; k < BATCH; k++) next[k] = on[k] ? link_now(p, i[k]) : 0;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            on[k] = next[k] > 0;
            i[k] = on[k] ? next[k] : i[k];
            any = any || on[k];
        }
    }
}

/* Join each a with its b; where they are equal nothing is to be done. */
static __device__ inline void unite(const connect_params &p, int32_t (&a)[BATCH],
                                    int32_t (&b)[BATCH])
{
    for (bool any = true; any;) {
        int32_t of_a[BATCH], of_b[BATCH], was[BATCH];
        any = false;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            of_a[k] = a[k] != b[k] ? link_now(p, a[k]) : 0;
            of_b[k] = a[k] != b[k] ? link_now(p, b[k]) : 0;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const bool found = of_a[k] == 0 && of_b[k] == 0;
            if (of_a[k] == 0) of_a[k] = a[k];
            if (of_b[k] == 0) of_b[k] = b[k];
            a[k] = max(of_a[k], of_b[k]);
            b[k] = min(of_a[k], of_b[k]);
            was[k] = found && a[k] != b[k] ? atomicCAS(&p.link[a[k]], 0, b[k]) : -1;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (was[k] == 0)
                a[k] = b[k];
            else if (was[k] > 0)
                a[k] = was[k]; /* somebody else joined it: try again from there */
            any = any || a[k] != b[k];
        }
    }
}

/*
 * How many entries a thread has of the two lists: every so-manieth is its own, and what is left of
 * them moves up among these.
 */
typedef struct {
    int64_t small, pairs;
} share;

static __device__ inline int64_t share_of(int64_t n)
{
    const int64_t first = first_of_thread();
    return n > first ? (n - first + all_threads() - 1) / all_threads() : 0;
}

/* Small sets of a thread's from number k on; 0, which is none, behind the last. */
static __device__ inline void read_small(int32_t (&set)[BATCH], const connect_params &p,
                                         const share &own, int64_t k)
{
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        set[i] = k + i < own.small ? p.small[first_of_thread() + (k + i) * all_threads()] : 0;
}

/* What sets have picked; themselves where there was nothing. */
static __device__ inline void read_picks(int32_t (&pick)[BATCH], const connect_params &p,
                                         const int32_t (&set)[BATCH])
{
    u64 key[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) key[i] = set[i] ? p.key[set[i]] : NO_NEIGHBOUR;
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        pick[i] = key[i] == NO_NEIGHBOUR ? set[i] : (int32_t)(uint32_t)key[i];
}

/* What picked joins what it picked. What did not is small no more, or touches nothing: it is listed
 * no longer. */
static __device__ inline void join_sets(const connect_params &p, share *own)
{
    int64_t left = 0;
    for (int64_t k = 0; k < own->small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH];
        read_small(set, p, *own, k);
        read_picks(pick, p, set);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (pick[i] != set[i]) p.small[first_of_thread() + left++ * all_threads()] = set[i];
        unite(p, set, pick);
    }
    own->small = left;
}

/* A set that is none any more points at the one it is part of, and gives it its sums. */
static __device__ inline void give_sums(const connect_params &p, int32_t piece, int32_t set,
                                        uint32_t n)
{
    const int channels = p.s.rule.channels;
    const int64_t from = (int64_t)piece * channels, to = (int64_t)set * channels;
    p.link[piece] = set;
    atomicAdd(&p.n[set], n);
#pragma unroll 1
    for (int c = 0; c < channels; c += BATCH) {
        u64 sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) sum[i] = c + i < channels ? p.sums[from + c + i] : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (c + i < channels) {
                atomicAdd(&p.sums[to + c + i], sum[i]);
                p.mean[to + c + i] = STALE_MEAN;
            }
    }
}

/*
 * Only what picked or was picked can have become part of another set. What is small has picked
 * where it was picked: so each small set gives its own sums, and those of a large one are given by
 * the first of those that picked it.
 */
static __device__ inline void gather_sets(const connect_params &p, const share &own)
{
    const int64_t small = p.s.rule.small;
    for (int64_t k = 0; k < own.small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH], lowest[BATCH];
        uint32_t n[BATCH], of_pick[BATCH];
        read_small(set, p, own, k);
        read_picks(pick, p, set);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            lowest[i] = set[i];
            n[i] = set[i] ? *(volatile uint32_t *)&p.n[set[i]] : 0;
            of_pick[i] = set[i] ? *(volatile uint32_t *)&p.n[pick[i]] : 0;
        }
        find_lowest(p, lowest);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (set[i] == 0) continue;
            p.key[set[i]] = NO_NEIGHBOUR;
            if (lowest[i] != set[i]) give_sums(p, set[i], lowest[i], n[i]);
            if (lowest[i] == pick[i] || (int64_t)of_pick[i] < small) continue;
            const uint32_t given = atomicExch(&p.n[pick[i]], 0u);
            if (given) give_sums(p, pick[i], lowest[i], given);
        }
    }
}

static __device__ __noinline__ uint32_t mean_again(uint32_t *mean, u64 sum, uint32_t n)
{
    return *mean = lob_fragment_mean((int64_t)sum, n);
}

/*
 * Means of sets that others have become part of: each has some that picked. Who offers next does
 * not wait for these: what is stale yet is worked out there, but a warp with one such mean waits
 * for it with all its lanes.
 */
static __device__ inline void renew_means(const connect_params &p, const share &own)
{
    const int channels = p.s.rule.channels;
    for (int64_t k = 0; k < own.small; k += BATCH) {
        int32_t set[BATCH];
        read_small(set, p, own, k);
#pragma unroll
        for (int i = 0; i < BATCH; i++) set[i] = set[i] ? set_of(p, set[i]) : 0;
#pragma unroll 1
        for (int c = 0; c < channels; c++) {
            uint32_t n[BATCH];
            u64 sum[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                const int64_t at = (int64_t)set[i] * channels + c;
                const bool stale = set[i] && *(volatile uint32_t *)&p.mean[at] == STALE_MEAN;
                n[i] = stale ? p.n[set[i]] : 0;
                sum[i] = stale ? p.sums[at] : 0;
            }
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                if (n[i]) mean_again(&p.mean[(int64_t)set[i] * channels + c], sum[i], n[i]);
        }
    }
}

/* A mean that many threads may find stale: they all work out the same. */
static __device__ inline uint32_t fresh_mean(const connect_params &p, uint32_t mean, int32_t set,
                                             int channel)
{
    const int64_t i = (int64_t)set * p.s.rule.channels + channel;
    return mean == STALE_MEAN ? mean_again(&p.mean[i], p.sums[i], p.n[set]) : mean;
}

/* Offer each a its b; both 0: nothing. */
static __device__ inline void offer(const connect_params &p, const int32_t (&a)[BATCH],
                                    const int32_t (&b)[BATCH])
{
    const int channels = p.s.rule.channels;
    uint64_t apart[BATCH] = {};
    u64 least[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) least[i] = a[i] ? *(volatile u64 *)&p.key[a[i]] : 0;
#pragma unroll 1
    for (int c = 0; c < channels; c++) {
        uint32_t of_a[BATCH], of_b[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            of_a[i] = a[i] ? p.mean[(int64_t)a[i] * channels + c] : 0;
            of_b[i] = a[i] ? p.mean[(int64_t)b[i] * channels + c] : 0;
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            apart[i] += lob_fragment_difference(fresh_mean(p, of_a[i], a[i], c),
                                                fresh_mean(p, of_b[i], b[i], c));
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        if (a[i]) keep_least(p, a[i], b[i], apart[i], least[i]);
}

/* Contacts of sets that are small still stay listed, and are offered again. Are there any? */
static __device__ inline bool offer_again(const connect_params &p, share *own)
{
    u64 *const list = p.list + first_of_thread();
    int64_t left = 0;
    for (int64_t k = 0; k < own->pairs; k += BATCH) {
        u64 pair[BATCH];
        int32_t a[BATCH], b[BATCH];
        bool small[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            pair[i] = k + i < own->pairs ? list[(k + i) * all_threads()] : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            a[i] = set_of(p, (int64_t)(pair[i] >> 32)), b[i] = set_of(p, (uint32_t)pair[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++) small[i] = a[i] != b[i] && is_small(p, a[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (small[i])
                list[left++ * all_threads()] = (u64)(uint32_t)a[i] << 32 | (uint32_t)b[i];
            else
                a[i] = b[i] = 0;
        offer(p, a, b);
    }
    own->pairs = left;
    return left > 0;
}

/* ---- numbers ---- */

/* How many threads of the block before this one say yes; all: how many do. */
static __device__ inline uint32_t rank_in_block(bool yes, uint32_t *of_warp, uint32_t *all)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const unsigned lanes = __ballot_sync(ALL_LANES, yes);
    uint32_t before = (uint32_t)__popc(lanes & ((1u << lane) - 1));
    if (lane == 0) of_warp[warp] = (uint32_t)__popc(lanes);
    __syncthreads();
    *all = 0;
    for (int i = 0; i < ROUND_WARPS; i++) {
        if (i < warp) before += of_warp[i];
        *all += of_warp[i];
    }
    __syncthreads();
    return before;
}

static __device__ inline uint32_t sum_of_block(uint32_t mine, uint32_t *of_warp)
{
    uint32_t sum = __reduce_add_sync(ALL_LANES, mine);
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < ROUND_WARPS; i++) sum += of_warp[i];
    __syncthreads();
    return sum;
}

/* A set's lowest piece comes first: sets are counted in the order of these. Pieces' labels, below
 * 0, take the place of their links. */
static __device__ inline void number_sets(const connect_params &p, uint32_t *of_warp, uint32_t *met)
{
    const int64_t pieces = *p.pieces;
    const int64_t share = (pieces + gridDim.x - 1) / gridDim.x;
    const int64_t first = 1 + blockIdx.x * share;
    const int64_t end = min(first + share, pieces + 1);
    uint32_t roots = 0, before = 0;
    for (int64_t i = first + threadIdx.x; i < end; i += ROUND_THREADS) roots += p.link[i] <= 0;
    roots = sum_of_block(roots, of_warp);
    if (threadIdx.x == 0) p.roots[blockIdx.x] = roots;
    meet(p, met);
    for (uint32_t b = threadIdx.x; b < blockIdx.x; b += ROUND_THREADS) before += p.roots[b];
    before = sum_of_block(before, of_warp);
    for (int64_t from = first; from < end; from += ROUND_THREADS) {
        const int64_t i = from + threadIdx.x;
        const bool root = i < end && p.link[i] <= 0;
        uint32_t all = 0;
        const uint32_t rank = rank_in_block(root, of_warp, &all);
        if (root) p.link[i] = -(int32_t)(before + rank + 1);
        before += all;
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
        p.counters->count = (int32_t)before;
        p.counters->pieces = (int32_t)pieces;
        p.counters->finished = 1;
    }
    meet(p, met);
    for (int64_t from = first_of_thread(); from <= pieces; from += BATCH * all_threads()) {
        int32_t piece[BATCH], lowest[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int64_t i = from + k * all_threads();
            lowest[k] = piece[k] = i <= pieces ? (int32_t)i : 0;
        }
        find_lowest(p, lowest); /* or one on the way that has its label */
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (lowest[k] != piece[k]) p.link[piece[k]] = link_now(p, lowest[k]);
    }
}

/* Rounds as long as there are contacts, then numbers; nothing where the list is not complete. */
static __global__ void __launch_bounds__(ROUND_THREADS, 1)
    rounds_kernel(const __grid_constant__ connect_params p)
{
    extern __shared__ uint32_t of_warp[];
    const int64_t listed = (int64_t)p.counters->listed;
    share own = {share_of(p.counters->small), share_of(listed)};
    uint32_t met = 0;
    bool any = listed > 0;
    if (listed > p.list_capacity) return;
    for (int round = 0; any; round++) {
        join_sets(p, &own);
        meet(p, &met);
        gather_sets(p, own);
        meet(p, &met);
        renew_means(p, own);
        any = offer_again(p, &own);
        meet(p, &met, any, &p.counters->going[round]);
        any = *(volatile uint32_t *)&p.counters->going[round];
    }
    number_sets(p, of_warp, &met);
}

} /* namespace lob::supervoxels */

#endif
