/*
 * slic: which clusters may have voxels of a pile, decided for all piles ahead of a pass, by a few
 * lanes for each.
 *
 * Lowest and highest levels and the sums of a pile's levels do not change: the first pass writes
 * them down as its digest. From that alone lanes cull the clusters around. A pile that is left
 * with one cluster, whose box holds it all, is added to that without a look at its voxels. All
 * others are listed for the warps, each with the clusters that are left.
 */
#ifndef LOB_SUPERVOXELS_SCREEN_CUDA_CUH
#define LOB_SUPERVOXELS_SCREEN_CUDA_CUH

#include "kernels/supervoxels/assign/shortlist_cuda.cuh"

namespace lob::supervoxels
{

enum {
    PARTS = 4, /* lanes of a pile */
    SCREEN_THREADS = 128,
    SCREEN_PILES = SCREEN_THREADS / PARTS /* of a block */
};
static constexpr uint32_t NO_DATA = ~0u, SOME_DATA = ~0u - 1; /* in place of the first sum */

template <int C> struct digest {
    uint32_t range[C]; /* lowest level | highest << 16, counting what is not data as 0 */
    uint32_t sum[C];
};

/* ---- tile_stats ---- */

/* All lanes together. */
template <int C, bool FLAT>
static __device__ inline digest<C> digest_of_pile(const pile<LOB_SLIC, C, FLAT> &p)
{
    digest<C> of;
    bool whole = true, any = false;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++) {
        whole = whole && p.data[z] == ALL_DATA;
        any = any || p.data[z];
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t low, high, sum = 0;
        range_of_levels(&low, &high, p, c);
#pragma unroll
        for (int z = 0; z < brick_shape<FLAT>::depth; z++) {
            const uint4 &four = p.packed[z][c];
            sum = __dp2a_lo(four.x, 0x0101u, __dp2a_lo(four.y, 0x0101u, sum));
            sum = __dp2a_lo(four.z, 0x0101u, __dp2a_lo(four.w, 0x0101u, sum));
        }
        of.range[c] = low | high << 16;
        of.sum[c] = __reduce_add_sync(ALL_LANES, sum);
    }
    if (!__all_sync(ALL_LANES, whole)) of.sum[0] = SOME_DATA;
    if (!__any_sync(ALL_LANES, any)) of.sum[0] = NO_DATA;
    return of;
}

static __device__ inline uint32_t number_of_pile(const supervoxels_params &s, const listed_tile &at)
{
    return (at.z * s.bricks[1] + at.y) * s.bricks[0] + at.x;
}

template <int C>
static __device__ inline uint32_t *digest_at(const supervoxels_params &s, uint32_t pile)
{
    return s.tile_stats + (int64_t)pile * (2 * C);
}

template <int C>
static __device__ inline void write_digest(const supervoxels_params &s, uint32_t pile,
                                           const digest<C> &of)
{
    uint32_t *to = digest_at<C>(s, pile);
#pragma unroll
    for (int c = 0; c < C; c++) to[c] = of.range[c], to[C + c] = of.sum[c];
}

template <int C>
static __device__ inline digest<C> read_digest(const supervoxels_params &s, uint32_t pile)
{
    const uint32_t *from = digest_at<C>(s, pile);
    digest<C> of;
#pragma unroll
    for (int c = 0; c < C; c++) of.range[c] = from[c], of.sum[c] = from[C + c];
    return of;
}

/* One lane: all voxels of the pile, which are data, are of one cluster. */
template <int C, bool FLAT>
static __device__ inline void add_whole(const supervoxels_params &s, const int32_t *first,
                                        int32_t id, const digest<C> &of)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth}, axes[3] = {0, 1, 2};
    const int64_t voxels = S::depth * BRICK_VOXELS;
    u64 *const sums = s.sums + (int64_t)id * (4 + C);
    atomicAdd(&sums[0], (u64)voxels);
#pragma unroll
    for (int a = 0; a < 3; a++)
        atomicAdd(&sums[1 + of_view<FLAT>(axes, s, a)],
                  (u64)(voxels * first[a] + voxels / 2 * (side[a] - 1)));
#pragma unroll
    for (int c = 0; c < C; c++) atomicAdd(&sums[4 + c], (u64)of.sum[c]);
}

/* ---- screening ---- */

/* What of up to WARP clusters may have voxels of the pile; and the one that has all, or -1. */
typedef struct {
    uint32_t clusters; /* bits; 0: there are too many of them to say */
    int32_t sole;
} screened;

/* All lanes of the warp together, PARTS for each pile. */
template <int C, bool FLAT>
static __device__ inline screened screen_pile(const supervoxels_params &s, const int32_t *first,
                                              const pile_spans &spans, const digest<C> &of)
{
    const int all = candidates_of<FLAT>(spans);
    const int total = of.sum[0] == NO_DATA || all > WARP ? 0 : all, part = threadIdx.x % PARTS;
    const desk none = {};
    level_range<LOB_SLIC, C> r;
    screened found = {0, -1};
    float least = INFINITY;
#pragma unroll
    for (int c = 0; c < C; c++) {
        r.from[c] = (float)lob_slic_step(of.range[c] & 0xffff, &s.rule);
        r.to[c] = (float)lob_slic_step(of.range[c] >> 16, &s.rule);
    }
    for (int i = part; i < total; i += PARTS) {
        const int32_t id = cluster_of_spans<FLAT>(s, spans, i);
        const candidate one = candidate_at<LOB_SLIC, C, FLAT>(s, first, id);
        const float cost =
            cost_in_middle<C, FLAT>(s, none, first, read_centre<LOB_SLIC, C, FLAT>(s, id), r);
        if (!holds_pile<LOB_SLIC, C, FLAT>(one) || !(cost < least)) continue;
        least = cost;
        found.sole = id;
    }
    __syncwarp();
#pragma unroll
    for (int apart = 1; apart < PARTS; apart *= 2) {
        const float cost = __shfl_xor_sync(ALL_LANES, least, apart);
        const int32_t id = __shfl_xor_sync(ALL_LANES, found.sole, apart);
        if (!(cost < least || (cost == least && id > found.sole))) continue;
        least = cost;
        found.sole = id;
    }
    const bool any = found.sole >= 0;
    const centre_of<LOB_SLIC, C, FLAT> nearest =
        read_centre<LOB_SLIC, C, FLAT>(s, any ? found.sole : 0);
    for (int i = part; i < total; i += PARTS) {
        const int32_t id = cluster_of_spans<FLAT>(s, spans, i);
        const candidate one = candidate_at<LOB_SLIC, C, FLAT>(s, first, id);
        const centre_of<LOB_SLIC, C, FLAT> centre = read_centre<LOB_SLIC, C, FLAT>(s, id);
        const bool beaten = any && is_beaten<C, FLAT>(s, none, first, one, centre, nearest, r);
        if (meets_pile(one) && !beaten) found.clusters |= 1u << i;
    }
    __syncwarp();
#pragma unroll
    for (int apart = 1; apart < PARTS; apart *= 2)
        found.clusters |= __shfl_xor_sync(ALL_LANES, found.clusters, apart);
    if (__popc(found.clusters) != 1) found.sole = -1;
    return found;
}

/* All lanes together, those that have a pile list it. */
static __device__ inline void list_pile(const supervoxels_params &s, bool wanted,
                                        const listed_tile &of)
{
    const uint32_t lane = threadIdx.x % WARP, lanes = __ballot_sync(ALL_LANES, wanted);
    uint32_t at = 0;
    if (lanes == 0) return;
    if (lane == 0) at = atomicAdd(&s.counters->listed, (uint32_t)__popc(lanes));
    at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(lanes & ((1u << lane) - 1));
    if (wanted) s.listed[at] = of;
}

template <int C, bool FLAT>
static __global__ void __launch_bounds__(SCREEN_THREADS)
    screen_kernel(const __grid_constant__ supervoxels_params s)
{
    typedef brick_shape<FLAT> S;
    const uint32_t part = threadIdx.x % PARTS, step = gridDim.x * SCREEN_PILES;
    const uint32_t piles = s.bricks[0] * s.bricks[1] * s.tiles_w;
    const bool adds = s.pass != PASS_LABEL;
    if (adds && is_still(s)) return;
    for (uint32_t from = blockIdx.x * SCREEN_PILES; from < piles; from += step) {
        const uint32_t i = from + threadIdx.x / PARTS, pile = min(i, piles - 1);
        const uint32_t row = pile / s.bricks[0], z = row / s.bricks[1];
        listed_tile to = {pile - row * s.bricks[0], row - z * s.bricks[1], z, 0};
        const int32_t first[3] = {(int32_t)to.x * S::bx, (int32_t)to.y * S::by,
                                  (int32_t)to.z * S::bz * S::depth};
        const digest<C> of = read_digest<C>(s, pile);
        const screened found = screen_pile<C, FLAT>(s, first, spans_of_pile(s, to), of);
        const bool sole = found.sole >= 0 && of.sum[0] != SOME_DATA;
        const bool mine = i < piles && part == 0;
        to.clusters = found.clusters;
        to.z |= sole ? SINGLE : 0;
        if (mine && sole && adds) add_whole<C, FLAT>(s, first, found.sole, of);
        list_pile(s, mine && !(adds && (sole || of.sum[0] == NO_DATA)), to);
    }
}

} /* namespace lob::supervoxels */

#endif
