/*
 * Boruvka's algorithm without lists, for more fragments or contacts than lists have memory for.
 * Each phase finds the contacts in the volume again, and a set's pick is kept in its link.
 */
#include "kernels/supervoxels/connect/connect_params_cuda.cuh"

#include <stddef.h>

namespace lob::supervoxels
{

/* With path halving. */
static __device__ inline int32_t find_root_halving(const connect_params &p, int32_t i)
{
    for (int32_t next; (next = link_now(p, i)) > 0; i = next) {
        const int32_t after = link_now(p, next);
        if (after > 0) *(volatile int32_t *)&p.link[i] = after;
    }
    return i;
}

/* Join the trees of a set and its pick. Linking the higher root to the lower takes the place of the
 * higher one's own pick, which is the joined set's by then: so the thread goes on with it. Returns
 * how many roots were linked. */
static __device__ inline uint32_t join_pick(const connect_params &p, int32_t set, int32_t pick)
{
    uint32_t joined = 0;
    while (pick != 0) {
        const int32_t a = find_root_halving(p, set), b = find_root_halving(p, pick);
        if (a == b) break;
        const int32_t low = min(a, b), high = max(a, b), link = link_now(p, high);
        if (link > 0 || atomicCAS(&p.link[high], link, low) != link) continue;
        joined++;
        set = low;
        pick = -link;
    }
    return joined;
}

static __global__ void __launch_bounds__(THREADS)
    contract_kernel(const __grid_constant__ connect_params p)
{
    const int64_t fragments = *p.fragments;
    for (int64_t i = grid_first(); i <= fragments; i += grid_step()) {
        const int32_t link = link_now(p, (int32_t)i);
        if (link >= 0) continue;
        p.counters->more[0] = 1;
        if (atomicCAS(&p.link[i], link, 0) == link) join_pick(p, (int32_t)i, -link);
    }
}

/* Link every fragment to its root, and add the sizes and sums of former roots there. */
static __global__ void __launch_bounds__(THREADS)
    flatten_kernel(const __grid_constant__ connect_params p)
{
    const int channels = p.s.rule.channels;
    const int64_t fragments = *p.fragments;
    for (int64_t i = grid_first(); i <= fragments; i += grid_step()) {
        const int32_t link = link_now(p, (int32_t)i);
        if (link <= 0) continue;
        const int32_t root = find_root(p, link);
        const uint32_t size = p.size[i];
        p.link[i] = root;
        if (size == 0) continue; /* added in an earlier phase */
        p.size[i] = 0;
        atomicAdd(&p.size[root], size);
        for (int c = 0; c < channels; c++)
            add_sum(p, (int64_t)root * channels + c, sum_of(p, i * channels + c));
    }
}

typedef struct {
    connect_params p;
    const uint2 *pairs;
    int64_t n;
    uint2 before;
} pair_params;

static __global__ void __launch_bounds__(THREADS)
    pairs_kernel(const __grid_constant__ pair_params k)
{
    for (int64_t i = grid_first(); i < k.n; i += grid_step()) {
        const uint32_t joined = join_pick(k.p, (int32_t)(k.pairs[i].x + k.before.x),
                                          (int32_t)(k.pairs[i].y + k.before.y));
        if (joined) atomicAdd(&k.p.counters->joined, joined);
    }
}

lob_status join_pairs(lob_device *device, const connect_params *p, const uint2 *pairs, int64_t n,
                      uint2 before, lob_error *error)
{
    const pair_params k = {*p, pairs, n, before};
    if (n == 0) return LOB_OK;
    return lob_launch_over(device, pairs_kernel, "joining across seams", n, THREADS, k, error);
}

lob_status sum_sets(lob_device *device, const connect_params *p, lob_error *error)
{
    return lob_launch_over(device, flatten_kernel, "sums of sets", p->max_fragments + 1, THREADS,
                           *p, error);
}

/* The cheapest picks of all ranks: links go round. */
static lob_status share_picks(lob_device *device, const connect_params *p, lob_team *team,
                              lob_error *error)
{
    const int me = lob_team_rank(team), size = lob_team_size(team);
    const int64_t bytes = (p->max_fragments + 1) * (int64_t)sizeof *p->theirs;
    for (int away = 1; away < size; away++) {
        const int to = (me + away) % size, from = (me + size - away) % size;
        const bool same = to == from;
        const lob_letter letters[2] = {
            {to,   p->link, bytes, same ? p->theirs : NULL, same ? bytes : 0, device},
            {from, NULL,    0,     p->theirs,               bytes,            device}
        };
        LOB_TRY(lob_team_send(team, letters, same ? 1 : 2, error));
        LOB_TRY(compare_picks(device, p, error));
    }
    return LOB_OK;
}

lob_status join_by_rescans(lob_device *device, connect_params *p, lob_team *team, lob_error *error)
{
    connect_counters counters = {};
    const int64_t blocks = lob_grid_blocks(device, p->max_fragments + 1, THREADS);
    p->listed = false;
    do {
        LOB_TRY(lob_device_fill(device, p->counters, 0, offsetof(connect_counters, joined), error));
        LOB_TRY(find_small_sets(device, p, error));
        LOB_TRY(find_contacts(device, p, error));
        LOB_TRY(share_picks(device, p, team, error));
        LOB_TRY(
            lob_launch(device, contract_kernel, "joining picks", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_launch(device, flatten_kernel, "sums of sets", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_device_download(device, &counters, p->counters, sizeof counters, error));
        p->singletons = false;
    } while (counters.more[0]);
    return LOB_OK;
}

} /* namespace lob::supervoxels */
