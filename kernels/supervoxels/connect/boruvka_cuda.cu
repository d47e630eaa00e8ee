/*
 * Boruvka's algorithm on lists of small sets and of their contacts, and the numbers of sets; one
 * kernel, whose blocks wait for one another between the steps of a phase:
 *
 *   contract_picks   both ends of each picked edge become one tree, by union-find
 *   flatten          former roots point at their new root, which gets their sizes and sums; its
 *                    means are stale
 *   pick_again       contacts of sets that are still small are compared for the next phase
 *
 * The first picks are made by fragment_contacts_cuda.cu, and here of contacts that other ranks have
 * found. The lists only ever get shorter, since a set that is small is made of sets that were small
 * and whose contacts are listed.
 */
#include "kernels/supervoxels/connect/connect_params_cuda.cuh"

#include <cub/block/block_scan.cuh>

namespace lob::supervoxels
{

enum { BORUVKA_THREADS = 1024 }; /* a block fills a multiprocessor, so that all run at once */

/* All blocks wait; what each wrote before, all see after. flag: set if any is true in a thread. */
static __device__ inline void wait_for_all(const connect_params &p, uint32_t *passed,
                                           bool any = false, uint32_t *flag = NULL)
{
    any = __syncthreads_or(any);
    ++*passed;
    if (threadIdx.x == 0) {
        if (any && flag) *flag = 1;
        grid_barrier(&p.counters->arrived, *passed);
    }
    __syncthreads();
}

/* ---- lists ---- */

/*
 * A thread owns every grid_step()-th entry of a list, from grid_first() on: here are the numbers of
 * its entries. Those that it keeps move up among its own.
 */
typedef struct {
    int64_t small, contacts;
} thread_lists;

static __device__ inline int64_t entries_of(int64_t n)
{
    const int64_t first = grid_first();
    return n > first ? (n - first + grid_step() - 1) / grid_step() : 0;
}

static __device__ inline int32_t &small_at(const connect_params &p, int64_t k)
{
    return p.small[grid_first() + k * grid_step()];
}

/* The other end of the edge that a set picked; the set itself if it has no edge. */
static __device__ inline int32_t pick_of(const connect_params &p, int32_t set)
{
    const u64 key = p.key[set];
    return key == NO_EDGE ? set : (int32_t)(uint32_t)key;
}

/* ---- contracting picked edges ---- */

/* Join the trees of a and b: climb from both, and link the higher root to the lower. */
static __device__ inline void join_trees(const connect_params &p, int32_t a, int32_t b)
{
    while (a != b) {
        int32_t of_a = link_now(p, a), of_b = link_now(p, b);
        const bool roots = of_a == 0 && of_b == 0;
        if (of_a == 0) of_a = a;
        if (of_b == 0) of_b = b;
        a = max(of_a, of_b);
        b = min(of_a, of_b);
        if (!roots) continue;
        const int32_t was = atomicCAS(&p.link[a], 0, b);
        if (was == 0) return;
        a = was; /* another thread linked it: go on from its parent */
    }
}

/* Sets that did not pick have no contact, and leave the list. */
static __device__ inline void contract_picks(const connect_params &p, thread_lists *own)
{
    int64_t left = 0;
    for (int64_t k = 0; k < own->small; k++) {
        const int32_t set = small_at(p, k), pick = pick_of(p, set);
        if (pick != set) small_at(p, left++) = set;
        join_trees(p, set, pick);
    }
    own->small = left;
}

/* ---- flattening ---- */

/* Link a former root to its new root, and add its size and sums there. */
static __device__ inline void move_sums(const connect_params &p, int32_t former, int32_t root,
                                        uint32_t size)
{
    const int channels = p.s.rule.channels;
    p.link[former] = root;
    atomicAdd(&p.size[root], size);
#pragma unroll 1
    for (int c = 0; c < channels; c++) {
        const int64_t to = (int64_t)root * channels + c;
        add_sum(p, to, sum_of(p, (int64_t)former * channels + c));
        p.mean[to] = STALE_MEAN;
    }
}

/*
 * Only sets that picked or were picked can have got another root. A small set that was picked has
 * picked as well. So each listed set moves its own sums, and those of a large set that was picked
 * are moved by the first thread that takes its size.
 */
static __device__ inline void flatten(const connect_params &p, const thread_lists &own)
{
    for (int64_t k = 0; k < own.small; k++) {
        const int32_t set = small_at(p, k), pick = pick_of(p, set);
        const uint32_t size = *(volatile uint32_t *)&p.size[set];
        const uint32_t pick_size = *(volatile uint32_t *)&p.size[pick];
        const int32_t root = find_root(p, set);
        p.key[set] = NO_EDGE;
        if (root != set) move_sums(p, set, root, size);
        if (root == pick || (int64_t)pick_size < p.s.rule.small) continue;
        const uint32_t taken = atomicExch(&p.size[pick], 0u);
        if (taken) move_sums(p, pick, root, taken);
    }
}

/* ---- picking ---- */

static __device__ __noinline__ uint32_t compute_mean(uint32_t *mean, u64 sum, uint32_t size)
{
    return *mean = lob_fragment_mean((int64_t)sum, size);
}

/* Several threads may find a mean stale, of a set that grew: they compute the same. */
static __device__ inline uint32_t fresh_mean(const connect_params &p, int32_t set, int channel)
{
    const int64_t i = (int64_t)set * p.s.rule.channels + channel;
    const uint32_t mean = p.mean[i];
    return mean == STALE_MEAN ? compute_mean(&p.mean[i], sum_of(p, i), p.size[set]) : mean;
}

static __device__ inline void measure_edge(const connect_params &p, int32_t a, int32_t b)
{
    const u64 key_before = *(volatile u64 *)&p.key[a];
    uint64_t difference = 0;
#pragma unroll 1
    for (int c = 0; c < p.s.rule.channels; c++)
        difference += lob_fragment_difference(fresh_mean(p, a, c), fresh_mean(p, b, c));
    compare_edge(p, a, b, difference, key_before);
}

/* Contacts that other ranks have found, before any set is joined. */
static __device__ inline void compare_gathered(const connect_params &p, int64_t contacts)
{
    for (int64_t i = p.own_contacts + grid_first(); i < contacts; i += grid_step())
        measure_edge(p, (int32_t)(p.contacts[i] >> 32), (int32_t)(uint32_t)p.contacts[i]);
}

/* Contacts of sets that are still small stay listed and are compared. Returns whether there is
 * one. */
static __device__ inline bool pick_again(const connect_params &p, thread_lists *own)
{
    u64 *const list = p.contacts + grid_first();
    int64_t left = 0;
    for (int64_t k = 0; k < own->contacts; k++) {
        const u64 contact = list[k * grid_step()];
        const int32_t a = set_of(p, (int64_t)(contact >> 32)), b = set_of(p, (uint32_t)contact);
        if (a == b || !is_small(p, a)) continue;
        list[left++ * grid_step()] = (u64)(uint32_t)a << 32 | (uint32_t)b;
        measure_edge(p, a, b);
    }
    own->contacts = left;
    return left > 0;
}

/* ---- numbering sets ---- */

typedef cub::BlockScan<uint32_t, BORUVKA_THREADS, cub::BLOCK_SCAN_WARP_SCANS> block_scan;

/* The sum over the block's threads before this one; total: over all of them. */
static __device__ inline uint32_t sum_before(uint32_t value, uint32_t *total,
                                             block_scan::TempStorage &shared)
{
    uint32_t before;
    block_scan(shared).ExclusiveSum(value, before, *total);
    __syncthreads();
    return before;
}

/* Number the roots in order, then replace every link, of the slab's fragments, by minus the number
 * of its set. A block counts the roots of its range of fragments, and starts behind those of the
 * blocks before. */
static __device__ inline void number_sets(const connect_params &p, block_scan::TempStorage &shared,
                                          uint32_t *passed)
{
    const int64_t fragments = *p.fragments;
    const int64_t range = (fragments + gridDim.x - 1) / gridDim.x;
    const int64_t first = 1 + blockIdx.x * range;
    const int64_t end = min(first + range, fragments + 1);
    uint32_t roots = 0, before = 0;
    for (int64_t i = first + threadIdx.x; i < end; i += BORUVKA_THREADS) roots += p.link[i] <= 0;
    sum_before(roots, &roots, shared);
    if (threadIdx.x == 0) p.roots[blockIdx.x] = roots;
    wait_for_all(p, passed);
    for (uint32_t b = threadIdx.x; b < blockIdx.x; b += BORUVKA_THREADS) before += p.roots[b];
    sum_before(before, &before, shared);
    for (int64_t from = first; from < end; from += BORUVKA_THREADS) {
        const int64_t i = from + threadIdx.x;
        const bool root = i < end && p.link[i] <= 0;
        uint32_t total;
        const uint32_t rank = sum_before(root, &total, shared);
        if (root) p.link[i] = -(int32_t)(before + rank + 1);
        before += total;
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
        p.counters->supervoxels = (int32_t)before;
        p.counters->fragments = (int32_t)(fragments - p.counters->joined);
        p.counters->finished = 1;
    }
    wait_for_all(p, passed);
    const int64_t last = p.gathered ? (int64_t)p.before + p.own_fragments : fragments;
    for (int64_t i = p.before + grid_first(); i <= last; i += grid_step()) {
        const int32_t root = find_root(p, (int32_t)i); /* or one on the way that has its number */
        if (root != i) p.link[i] = link_now(p, root);
    }
}

static __global__ void __launch_bounds__(BORUVKA_THREADS, 1)
    boruvka_kernel(const __grid_constant__ connect_params p)
{
    __shared__ block_scan::TempStorage shared;
    const int64_t contacts = (int64_t)p.counters->contacts;
    thread_lists own = {entries_of(p.counters->small_sets), entries_of(contacts)};
    uint32_t passed = 0;
    bool any = contacts > 0;
    if (contacts > p.contacts_capacity) return;
    if (p.gathered) {
        compare_gathered(p, contacts);
        wait_for_all(p, &passed);
    }
    for (int phase = 0; any; phase++) {
        contract_picks(p, &own);
        wait_for_all(p, &passed);
        flatten(p, own);
        wait_for_all(p, &passed);
        any = pick_again(p, &own);
        wait_for_all(p, &passed, any, &p.counters->more[phase]);
        any = *(volatile uint32_t *)&p.counters->more[phase];
    }
    number_sets(p, shared, &passed);
}

lob_status join_listed(lob_device *device, const connect_params *p, lob_error *error)
{
    /* fewer blocks for few fragments, since blocks wait for one another */
    const int64_t blocks = (p->max_fragments + THREADS) / THREADS;
    const int64_t max_blocks = lob_device_multiprocessors(device);
    return lob_launch_cooperative(device, boruvka_kernel, "joining small fragments",
                                  (int)(blocks < max_blocks ? blocks : max_blocks), BORUVKA_THREADS,
                                  0, *p, error);
}

} /* namespace lob::supervoxels */
