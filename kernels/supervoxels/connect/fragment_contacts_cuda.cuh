/*
 * Which pieces touch small ones. Few contacts meet in a tile, so that a table in shared memory
 * tells most that were seen before; voxels and contacts are taken by full warps.
 */
#ifndef LOB_SUPERVOXELS_CONTACTS_CUDA_CUH
#define LOB_SUPERVOXELS_CONTACTS_CUDA_CUH

#include "kernels/supervoxels/connect/boruvka_rescan_cuda.cuh"

namespace lob::supervoxels
{

enum { PAIR_BITS = 11 }; /* logarithm of places for contacts */

/* ---- means of sets ---- */

/* A mean that has to be worked out again; real ones take 20 bits. */
static constexpr uint32_t STALE_MEAN = ~0u;

/* b, which small a touches, is the best for a so far if no other key is lower. `least` is one that
 * a had before: a stale one only costs an atomic too many. */
static __device__ inline void keep_least(const connect_params &p, int32_t a, int32_t b,
                                         uint64_t apart, u64 least)
{
    const u64 key = lob_fragment_key(apart, (uint32_t)b);
    if (key < least) atomicMin(&p.key[a], key);
}

/*
 * What a block knows of the contacts in its tile. A small voxel meets at most six sets. Contacts
 * that share a place push each other out, and may be offered twice.
 */
enum { FRESH_PAIRS = WARP - 1 + 6 * WARP };
typedef struct {
    u64 seen[1 << PAIR_BITS];      /* the last contact of each place; 0: none */
    u64 fresh[WARPS][FRESH_PAIRS]; /* contacts that a warp has yet to offer */
    uint16_t small[WARPS]
                  [WARP * STRIP + WARP]; /* voxels of small sets that it has yet to look at */
    int pairs[WARPS], voxels[WARPS];     /* how many of both */
} contact_table;

static __device__ inline uint32_t place_of_pair(u64 pair)
{
    const uint32_t a = (uint32_t)(pair >> 32), b = (uint32_t)pair;
    return (a * 2654435761u ^ b * 2246822519u) >> (32 - PAIR_BITS);
}

/* Offer and list the last `take` contacts of a warp, which has `pairs`. */
static __device__ inline void list_pairs(const connect_params &p, contact_table *t, int pairs,
                                         int take)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int channels = p.s.rule.channels;
    u64 at = 0, pair = 0;
    if (lane == 0) at = atomicAdd(&p.counters->listed, (u64)take); /* the lanes wait for it below */
    if (lane < take) {
        pair = t->fresh[warp][pairs - take + lane];
        const int64_t a = (int64_t)(pair >> 32), b = (uint32_t)pair;
        const u64 least = *(volatile u64 *)&p.key[a];
        uint64_t apart = 0;
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            apart += lob_fragment_difference(p.mean[a * channels + c], p.mean[b * channels + c]);
        keep_least(p, (int32_t)a, (int32_t)b, apart, least);
    }
    at = __shfl_sync(ALL_LANES, at, 0) + (u64)lane;
    if (lane < take && at < (u64)p.list_capacity) p.list[at] = pair;
}

/* Pick among the last `take` contacts of a warp, which has `pairs`. */
static __device__ inline void pick_pairs(const connect_params &p, const contact_table *t, int pairs,
                                         int take)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    if (lane >= take) return;
    const u64 pair = t->fresh[warp][pairs - take + lane];
    pick(p, (int32_t)(pair >> 32), (int32_t)(uint32_t)pair);
}

/* ---- looking at the volume ---- */

/* What lies beyond the faces of a voxel: sets, 0 where there is none. Returns the voxel's own. */
static __device__ inline int32_t sets_around(int32_t *beyond, const connect_params &p, corner c)
{
    const int32_t *at = p.s.labels + voxel_at(p, c);
    const int64_t row = p.nx, plane = (int64_t)p.nx * p.ny;
    const int across = p.s.rule.slice_axis;
    int32_t a = *at;
    beyond[0] = across != 0 && c.x > 0 ? at[-1] : 0;
    beyond[1] = across != 0 && c.x + 1 < p.nx ? at[1] : 0;
    beyond[2] = across != 1 && c.y > 0 ? at[-row] : 0;
    beyond[3] = across != 1 && c.y + 1 < p.ny ? at[row] : 0;
    beyond[4] = across != 2 && c.z > 0 ? at[-plane] : 0;
    beyond[5] = across != 2 && c.z + 1 < p.nz ? at[plane] : 0;
    if (!p.apart) {
        a = set_of(p, a);
#pragma unroll
        for (int i = 0; i < 6; i++) beyond[i] = set_of(p, beyond[i]);
    }
    return a;
}

/* A voxel of a small set meets the sets beyond its faces; its warp keeps what was not seen. */
static __device__ inline void meet_faces(const connect_params &p, contact_table *t, corner c)
{
    const int warp = (int)threadIdx.x / WARP;
    int32_t beyond[6];
    const int32_t a = sets_around(beyond, p, c);
    u64 there[6];
    unsigned fresh = 0;
#pragma unroll
    for (int i = 0; i < 6; i++) {
        bool met = beyond[i] == 0 || beyond[i] == a;
        for (int k = 0; k < i; k++) met = met || beyond[k] == beyond[i];
        const u64 pair = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
        there[i] = met ? pair : *(volatile u64 *)&t->seen[place_of_pair(pair)];
    }
#pragma unroll
    for (int i = 0; i < 6; i++) {
        const u64 pair = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
        if (there[i] == pair) continue;
        if (atomicCAS(&t->seen[place_of_pair(pair)], there[i], pair) != pair) fresh |= 1u << i;
    }
    if (!fresh) return;
    int at = atomicAdd(&t->pairs[warp], __popc(fresh));
#pragma unroll
    for (int i = 0; i < 6; i++)
        if (fresh >> i & 1) t->fresh[warp][at++] = (u64)(uint32_t)a << 32 | (uint32_t)beyond[i];
}

/* Which voxels of a run lie in small sets; only where another piece begins is it asked. */
static __device__ inline unsigned small_of(const connect_params &p, const label_strip &r)
{
    const unsigned begins = begins_of(r);
    uint32_t word[STRIP];
    unsigned small = 0;
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        word[j] = (begins | 1) >> j & 1 ? p.small_bits[(uint32_t)r.label[j] / 32] : 0;
#pragma unroll
    for (int j = 0; j < STRIP; j++) small |= (word[j] >> (uint32_t)r.label[j] % 32 & 1) << j;
    return voxels_from(small, begins);
}

/* Where a voxel of a warp's list lies. */
static __device__ inline corner small_voxel(const connect_params &p, const contact_table *t,
                                            corner tile, int listed)
{
    const int warp = (int)threadIdx.x / WARP, voxel = t->small[warp][listed], run = voxel / STRIP;
    corner c = strip_position(p, tile, warp, run % WARP, run / WARP);
    c.x += voxel % STRIP;
    return c;
}

/* Look at a warp's voxels, a lane one of them, and offer contacts, as long as there are enough of
 * both for all lanes; last: as long as there are any. */
template <bool LISTED>
static __device__ inline void look_around(const connect_params &p, contact_table *t, corner tile,
                                          bool last)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int voxels = *(volatile int *)&t->voxels[warp];
    for (bool more = true; more;) {
        more = voxels >= (last ? 1 : WARP);
        const int take = more ? min(voxels, (int)WARP) : 0;
        voxels -= take;
        if (lane < take) meet_faces(p, t, small_voxel(p, t, tile, voxels + lane));
        __syncwarp();
        int pairs = *(volatile int *)&t->pairs[warp];
        const int enough = last && !more ? 1 : WARP;
        while (pairs >= enough) {
            const int of_them = min(pairs, (int)WARP);
            if (LISTED)
                list_pairs(p, t, pairs, of_them);
            else
                pick_pairs(p, t, pairs, of_them);
            pairs -= of_them;
        }
        __syncwarp();
        if (lane == 0) t->pairs[warp] = pairs, t->voxels[warp] = voxels;
        __syncwarp();
    }
}

/* Every small set is offered all that touch it; the pairs are listed, or kept as picks. */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS, LISTED ? 5 : 3) /* keys take registers */
    contacts_kernel(const __grid_constant__ connect_params p)
{
    __shared__ contact_table table;
    contact_table *const t = &table;
    const corner tile = corner_of(p, blockIdx.x);
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int i = (int)threadIdx.x; i < 1 << PAIR_BITS; i += THREADS) t->seen[i] = 0;
    if (lane == 0) t->pairs[warp] = t->voxels[warp] = 0;
    const strip_column column = column_of(p, tile);
    label_strip next = strip_of_column(p, column, 0);
    __syncthreads();
    for (int step = 0; step <= p.steps; step++) {
        const bool last = step == p.steps;
        const label_strip r = next;
        if (step + 1 < p.steps) next = strip_of_column(p, column, step + 1);
        const unsigned small = last ? 0 : small_of(p, r);
        if (!last && !__any_sync(ALL_LANES, small != 0)) continue;
        if (small) {
            int at = atomicAdd(&t->voxels[warp], __popc(small));
            for (unsigned left = small; left; left &= left - 1)
                t->small[warp][at++] =
                    (uint16_t)((step * WARP + lane) * STRIP + __ffs((int)left) - 1);
        }
        __syncwarp();
        look_around<LISTED>(p, t, tile, last);
    }
}

} /* namespace lob::supervoxels */

#endif
