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

/* A block fills a multiprocessor, so that all blocks run at once. */
enum {
    BORUVKA_THREADS = 1024,
    BATCH = 4 /* list entries that a thread takes at once, so that it waits for memory less often */
};

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

/* A thread's small sets from number k on; 0 behind the last. */
static __device__ inline void read_small(int32_t (&set)[BATCH], const connect_params &p,
                                         const thread_lists &own, int64_t k)
{
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        set[i] = k + i < own.small ? p.small[grid_first() + (k + i) * grid_step()] : 0;
}

/* The other ends of the edges that sets picked; the set itself if it has no edge. */
static __device__ inline void read_picks(int32_t (&pick)[BATCH], const connect_params &p,
                                         const int32_t (&set)[BATCH])
{
    u64 key[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) key[i] = set[i] ? p.key[set[i]] : NO_EDGE;
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        pick[i] = key[i] == NO_EDGE ? set[i] : (int32_t)(uint32_t)key[i];
}

/* ---- contracting picked edges ---- */

/* find_root for a batch. */
static __device__ inline void find_roots(const connect_params &p, int32_t (&i)[BATCH])
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

/* Join the trees of each a and b: climb from both, and link the higher root to the lower. */
static __device__ inline void join_trees(const connect_params &p, int32_t (&a)[BATCH],
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
            const bool roots = of_a[k] == 0 && of_b[k] == 0;
            if (of_a[k] == 0) of_a[k] = a[k];
            if (of_b[k] == 0) of_b[k] = b[k];
            a[k] = max(of_a[k], of_b[k]);
            b[k] = min(of_a[k], of_b[k]);
            was[k] = roots && a[k] != b[k] ? atomicCAS(&p.link[a[k]], 0, b[k]) : -1;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (was[k] == 0)
                a[k] = b[k];
            else if (was[k] > 0)
                a[k] = was[k]; /* another thread linked it: go on from its parent */
            any = any || a[k] != b[k];
        }
    }
}

/* Sets that did not pick have no contact, and leave the list. */
static __device__ inline void contract_picks(const connect_params &p, thread_lists *own)
{
    int64_t left = 0;
    for (int64_t k = 0; k < own->small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH];
        read_small(set, p, *own, k);
        read_picks(pick, p, set);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (pick[i] != set[i]) p.small[grid_first() + left++ * grid_step()] = set[i];
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
    const int64_t from = (int64_t)former * channels, to = (int64_t)root * channels;
    p.link[former] = root;
    atomicAdd(&p.size[root], size);
#pragma unroll 1
    for (int c = 0; c < channels; c += BATCH) {
        u64 sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) sum[i] = c + i < channels ? sum_of(p, from + c + i) : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (c + i < channels) {
                add_sum(p, to + c + i, sum[i]);
                p.mean[to + c + i] = STALE_MEAN;
            }
    }
}

/*
 * Only sets that picked or were picked can have got another root. A small set that was picked has
 * picked as well. So each listed set moves its own sums, and those of a large set that was picked
 * are moved by the first thread that takes its size.
 */
static __device__ inline void flatten(const connect_params &p, const thread_lists &own)
{
    const int64_t small = p.s.rule.small;
    for (int64_t k = 0; k < own.small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH], root[BATCH];
        uint32_t size[BATCH], pick_size[BATCH];
        read_small(set, p, own, k);
        read_picks(pick, p, set);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            root[i] = set[i];
            size[i] = set[i] ? *(volatile uint32_t *)&p.size[set[i]] : 0;
            pick_size[i] = set[i] ? *(volatile uint32_t *)&p.size[pick[i]] : 0;
        }
        find_roots(p, root);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (set[i] == 0) continue;
            p.key[set[i]] = NO_EDGE;
            if (root[i] != set[i]) move_sums(p, set[i], root[i], size[i]);
            if (root[i] == pick[i] || (int64_t)pick_size[i] < small) continue;
            const uint32_t taken = atomicExch(&p.size[pick[i]], 0u);
            if (taken) move_sums(p, pick[i], root[i], taken);
        }
    }
}

/* ---- picking ---- */

static __device__ __noinline__ uint32_t compute_mean(uint32_t *mean, u64 sum, uint32_t size)
{
    return *mean = lob_fragment_mean((int64_t)sum, size);
}

/* Several threads may find a mean stale, of a set that grew: they compute the same. */
static __device__ inline uint32_t fresh_mean(const connect_params &p, uint32_t mean, int32_t set,
                                             int channel)
{
    const int64_t i = (int64_t)set * p.s.rule.channels + channel;
    return mean == STALE_MEAN ? compute_mean(&p.mean[i], sum_of(p, i), p.size[set]) : mean;
}

/* compare_edge for a batch; a and b both 0: none. */
static __device__ inline void compare_edges(const connect_params &p, const int32_t (&a)[BATCH],
                                            const int32_t (&b)[BATCH])
{
    const int channels = p.s.rule.channels;
    uint64_t difference[BATCH] = {};
    u64 key_before[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) key_before[i] = a[i] ? *(volatile u64 *)&p.key[a[i]] : 0;
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
            difference[i] += lob_fragment_difference(fresh_mean(p, of_a[i], a[i], c),
                                                     fresh_mean(p, of_b[i], b[i], c));
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        if (a[i]) compare_edge(p, a[i], b[i], difference[i], key_before[i]);
}

/* Contacts that other ranks have found, before any set is joined. */
static __device__ inline void compare_gathered(const connect_params &p, int64_t contacts)
{
    for (int64_t from = p.own_contacts + grid_first(); from < contacts;
         from += BATCH * grid_step()) {
        int32_t a[BATCH], b[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const int64_t at = from + i * grid_step();
            const u64 contact = at < contacts ? p.contacts[at] : 0;
            a[i] = (int32_t)(contact >> 32), b[i] = (int32_t)(uint32_t)contact;
        }
        compare_edges(p, a, b);
    }
}

/* Contacts of sets that are still small stay listed and are compared. Returns whether there is
 * one. */
static __device__ inline bool pick_again(const connect_params &p, thread_lists *own)
{
    u64 *const list = p.contacts + grid_first();
    int64_t left = 0;
    for (int64_t k = 0; k < own->contacts; k += BATCH) {
        u64 contact[BATCH];
        int32_t a[BATCH], b[BATCH];
        bool small[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            contact[i] = k + i < own->contacts ? list[(k + i) * grid_step()] : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            a[i] = set_of(p, (int64_t)(contact[i] >> 32)), b[i] = set_of(p, (uint32_t)contact[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++) small[i] = a[i] != b[i] && is_small(p, a[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (small[i])
                list[left++ * grid_step()] = (u64)(uint32_t)a[i] << 32 | (uint32_t)b[i];
            else
                a[i] = b[i] = 0;
        compare_edges(p, a, b);
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
    for (int64_t from = p.before + grid_first(); from <= last; from += BATCH * grid_step()) {
        int32_t fragment[BATCH], root[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int64_t i = from + k * grid_step();
            root[k] = fragment[k] = i <= last ? (int32_t)i : 0;
        }
        find_roots(p, root); /* or a fragment on the way whose link is replaced already */
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (root[k] != fragment[k]) p.link[fragment[k]] = link_now(p, root[k]);
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
