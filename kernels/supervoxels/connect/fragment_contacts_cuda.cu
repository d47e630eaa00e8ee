/*
 * Small sets and their contacts. A kernel reads the volume in tiles; a warp collects the voxels of
 * small sets, then the contacts of these, in two queues in shared memory, so that all its lanes
 * have work. Few contacts occur in a tile, many times each: a table of the latest ones in shared
 * memory drops most repetitions.
 */
#include "kernels/supervoxels/connect/fragment_tiles_cuda.cuh"

namespace lob::supervoxels
{

/* ---- small sets ---- */

static __device__ inline uint32_t mean_of(const connect_params &p, int64_t set, int channel)
{
    return lob_fragment_mean((int64_t)sum_of(p, set * p.s.rule.channels + channel), p.size[set]);
}

/* LISTED: sets get their means, and small ones are listed. */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS)
    small_kernel(const __grid_constant__ connect_params p)
{
    const int64_t fragments = *p.fragments, lane = threadIdx.x % WARP;
    const int64_t own_end = p.gathered ? (int64_t)p.before + p.own_fragments : fragments;
    const int64_t lead = -p.before & (WARP - 1); /* the slab's fragment 0 is a warp's first */
    for (int64_t i = grid_first() - lead; i - lane <= fragments; i += grid_step()) {
        const bool single = LISTED && p.singletons, any = i >= 0 && i <= fragments;
        const int32_t set = !any ? 0 : single ? (int32_t)i : set_of(p, i);
        const bool small = set != 0 && is_small(p, set);
        const unsigned bits = __ballot_sync(ALL_LANES, small && i != p.before);
        if (lane == 0 && i >= p.before && i <= own_end) p.small_bits[(i - p.before) / WARP] = bits;
        if (!LISTED) continue;
        if (any) p.key[i] = NO_EDGE;
        if (set != 0 && set == i)
#pragma unroll 1
            for (int c = 0; c < p.s.rule.channels; c++)
                p.mean[i * p.s.rule.channels + c] = mean_of(p, i, c);
        uint32_t at = 0;
        const unsigned roots = __ballot_sync(ALL_LANES, small && set == i);
        if (lane == 0 && roots) at = atomicAdd(&p.counters->small_sets, (uint32_t)__popc(roots));
        at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(roots & ((1u << lane) - 1));
        if (roots >> lane & 1) p.small[at] = set;
    }
}

/* ---- picks without a list: in links ---- */

static __device__ __noinline__ uint64_t key_of(const connect_params &p, int32_t a, int32_t b)
{
    uint64_t difference = 0;
    for (int c = 0; c < p.s.rule.channels; c++)
        difference += lob_fragment_difference(mean_of(p, a, c), mean_of(p, b, c));
    return lob_fragment_key(difference, (uint32_t)b);
}

/* Small set a picks b unless its pick is cheaper. */
static __device__ inline void pick(const connect_params &p, int32_t a, int32_t b)
{
    int32_t link = link_now(p, a);
    if (link == -b) return;
    const uint64_t key = key_of(p, a, b);
    while (link == 0 || key < key_of(p, a, -link)) {
        const int32_t was = atomicCAS(&p.link[a], link, -b);
        if (was == link) return;
        link = was;
    }
}

static __global__ void __launch_bounds__(THREADS)
    picks_kernel(const __grid_constant__ connect_params p)
{
    const int64_t fragments = *p.fragments;
    for (int64_t i = grid_first(); i <= fragments; i += grid_step())
        if (p.theirs[i] < 0) pick(p, (int32_t)i, -p.theirs[i]);
}

/* ---- contacts ---- */

/* Contacts that a warp may have: fewer than WARP are left, and WARP voxels add up to six each. */
enum { CACHE_BITS = 11, MAX_QUEUED = WARP - 1 + 6 * WARP };

/* A contact is small set << 32 | other set; 0: none. */
typedef struct {
    u64 latest[1 << CACHE_BITS];                /* the latest contact of each hash value */
    u64 contact[WARPS][MAX_QUEUED];             /* queues of contacts */
    uint16_t voxel[WARPS][WARP * STRIP + WARP]; /* and of voxels of small sets */
    int contacts[WARPS], voxels[WARPS];         /* their lengths */
} block_shared;

static __device__ inline uint32_t hash_of(u64 contact)
{
    const uint32_t a = (uint32_t)(contact >> 32), b = (uint32_t)contact;
    return (a * 2654435761u ^ b * 2246822519u) >> (32 - CACHE_BITS);
}

/* List and compare the last n of a warp's queued contacts. */
static __device__ inline void list_contacts(const connect_params &p, block_shared *t, int queued,
                                            int n)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int channels = p.s.rule.channels;
    u64 at = 0, contact = 0;
    if (lane == 0) at = atomicAdd(&p.counters->contacts, (u64)n); /* waited for at the shuffle */
    if (lane < n) {
        contact = t->contact[warp][queued - n + lane];
        const int64_t a = (int64_t)(contact >> 32), b = (uint32_t)contact;
        const u64 key_before = *(volatile u64 *)&p.key[a];
        uint64_t difference = 0;
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            difference +=
                lob_fragment_difference(p.mean[a * channels + c], p.mean[b * channels + c]);
        compare_edge(p, (int32_t)a, (int32_t)b, difference, key_before);
    }
    at = __shfl_sync(ALL_LANES, at, 0) + (u64)lane;
    if (lane < n && at < (u64)p.contacts_capacity) p.contacts[at] = contact;
}

/* The same without a list. */
static __device__ inline void pick_contacts(const connect_params &p, const block_shared *t,
                                            int queued, int n)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    if (lane >= n) return;
    const u64 contact = t->contact[warp][queued - n + lane];
    pick(p, (int32_t)(contact >> 32), (int32_t)(uint32_t)contact);
}

/* The sets beyond the faces of a voxel; 0: none. Returns the voxel's own set. */
static __device__ inline int32_t sets_around(int32_t *beyond, const connect_params &p,
                                             voxel_position c)
{
    const int32_t *at = p.s.labels + voxel_at(p, c);
    const int64_t row = p.nx, plane = (int64_t)p.nx * p.ny;
    const int slice_axis = p.s.rule.slice_axis;
    int32_t a = *at;
    beyond[0] = slice_axis != 0 && c.x > 0 ? at[-1] : 0;
    beyond[1] = slice_axis != 0 && c.x + 1 < p.nx ? at[1] : 0;
    beyond[2] = slice_axis != 1 && c.y > 0 ? at[-row] : 0;
    beyond[3] = slice_axis != 1 && c.y + 1 < p.ny ? at[row] : 0;
    beyond[4] = slice_axis != 2 && c.z > 0 ? at[-plane] : 0;
    beyond[5] = slice_axis != 2 && c.z + 1 < p.nz ? at[plane] : 0;
    if (p.gathered) {
        a = fragment_of(a, p.before);
#pragma unroll
        for (int i = 0; i < 6; i++) beyond[i] = fragment_of(beyond[i], p.before);
        const int64_t in_plane = (int64_t)c.y * p.nx + c.x;
        if (c.z == 0 && p.beside[0])
            beyond[4] = fragment_of(p.beside[0][in_plane], p.before_beside[0]);
        if (c.z + 1 == p.nz && p.beside[1])
            beyond[5] = fragment_of(p.beside[1][in_plane], p.before_beside[1]);
    }
    if (!p.singletons) {
        a = set_of(p, a);
#pragma unroll
        for (int i = 0; i < 6; i++) beyond[i] = set_of(p, beyond[i]);
    }
    return a;
}

/* Queue the contacts of a small set's voxel that are not among the latest. */
static __device__ inline void queue_contacts(const connect_params &p, block_shared *t,
                                             voxel_position c)
{
    const int warp = (int)threadIdx.x / WARP;
    int32_t beyond[6];
    const int32_t a = sets_around(beyond, p, c);
    u64 there[6];
    unsigned fresh = 0;
#pragma unroll
    for (int i = 0; i < 6; i++) {
        bool known = beyond[i] == 0 || beyond[i] == a;
        for (int k = 0; k < i; k++) known = known || beyond[k] == beyond[i];
        const u64 contact = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
        there[i] = known ? contact : *(volatile u64 *)&t->latest[hash_of(contact)];
    }
#pragma unroll
    for (int i = 0; i < 6; i++) {
        const u64 contact = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
        if (there[i] == contact) continue;
        if (atomicCAS(&t->latest[hash_of(contact)], there[i], contact) != contact) fresh |= 1u << i;
    }
    if (!fresh) return;
    int at = atomicAdd(&t->contacts[warp], __popc(fresh));
#pragma unroll
    for (int i = 0; i < 6; i++)
        if (fresh >> i & 1) t->contact[warp][at++] = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
}

/* The voxels of a strip that lie in small sets. Only the first of a run reads its bit. */
static __device__ inline unsigned small_voxels(const connect_params &p, const label_strip &r)
{
    const unsigned changes = changes_of(r);
    uint32_t word[STRIP];
    unsigned small = 0;
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        word[j] = (changes | 1) >> j & 1 ? p.small_bits[(uint32_t)r.label[j] / 32] : 0;
#pragma unroll
    for (int j = 0; j < STRIP; j++) small |= (word[j] >> (uint32_t)r.label[j] % 32 & 1) << j;
    return voxels_from(small, changes);
}

static __device__ inline voxel_position queued_voxel(const connect_params &p, const block_shared *t,
                                                     voxel_position corner, int i)
{
    const int warp = (int)threadIdx.x / WARP, voxel = t->voxel[warp][i], strip = voxel / STRIP;
    voxel_position c = strip_position(p, corner, warp, strip % WARP, strip / WARP);
    c.x += voxel % STRIP;
    return c;
}

/* Take voxels and contacts from a warp's queues, one per lane, as long as a queue has one for every
 * lane; last: until both are empty. */
template <bool LISTED>
static __device__ inline void drain_queues(const connect_params &p, block_shared *t,
                                           voxel_position corner, bool last)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int voxels = *(volatile int *)&t->voxels[warp];
    for (bool more = true; more;) {
        more = voxels >= (last ? 1 : WARP);
        const int taken = more ? min(voxels, (int)WARP) : 0;
        voxels -= taken;
        if (lane < taken) queue_contacts(p, t, queued_voxel(p, t, corner, voxels + lane));
        __syncwarp();
        int contacts = *(volatile int *)&t->contacts[warp];
        const int min_contacts = last && !more ? 1 : WARP;
        while (contacts >= min_contacts) {
            const int n = min(contacts, (int)WARP);
            if (LISTED)
                list_contacts(p, t, contacts, n);
            else
                pick_contacts(p, t, contacts, n);
            contacts -= n;
        }
        __syncwarp();
        if (lane == 0) t->contacts[warp] = contacts, t->voxels[warp] = voxels;
        __syncwarp();
    }
}

template <bool LISTED>
static __global__ void __launch_bounds__(THREADS, LISTED ? 5 : 3) /* key_of takes registers */
    contacts_kernel(const __grid_constant__ connect_params p)
{
    __shared__ block_shared shared;
    block_shared *const t = &shared;
    const voxel_position corner = tile_corner(p, blockIdx.x);
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int i = (int)threadIdx.x; i < 1 << CACHE_BITS; i += THREADS) t->latest[i] = 0;
    if (lane == 0) t->contacts[warp] = t->voxels[warp] = 0;
    const strip_column column = column_of(p, corner);
    label_strip next = strip_of_column(p, column, 0);
    __syncthreads();
    for (int step = 0; step <= p.steps; step++) {
        const bool last = step == p.steps;
        const label_strip r = next;
        if (step + 1 < p.steps) next = strip_of_column(p, column, step + 1);
        const unsigned small = last ? 0 : small_voxels(p, r);
        if (!last && !__any_sync(ALL_LANES, small != 0)) continue;
        if (small) {
            int at = atomicAdd(&t->voxels[warp], __popc(small));
            for (unsigned left = small; left; left &= left - 1)
                t->voxel[warp][at++] =
                    (uint16_t)((step * WARP + lane) * STRIP + __ffs((int)left) - 1);
        }
        __syncwarp();
        drain_queues<LISTED>(p, t, corner, last);
    }
}

lob_status find_small_sets(lob_device *device, const connect_params *p, lob_error *error)
{
    return lob_launch(device, p->listed ? small_kernel<true> : small_kernel<false>, "small sets",
                      lob_grid_blocks(device, p->max_fragments + 1, THREADS), THREADS, 0, *p,
                      error);
}

lob_status find_contacts(lob_device *device, const connect_params *p, lob_error *error)
{
    return lob_launch(device, p->listed ? contacts_kernel<true> : contacts_kernel<false>,
                      "contacts of small sets", (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2],
                      THREADS, 0, *p, error);
}

lob_status compare_picks(lob_device *device, const connect_params *p, lob_error *error)
{
    return lob_launch_over(device, picks_kernel, "picks of other ranks", p->max_fragments + 1,
                           THREADS, *p, error);
}

} /* namespace lob::supervoxels */
