/*
 * slic: culling the candidates of all warp tiles ahead of a pass, by a few lanes per tile.
 *
 * The range and the sum of a tile's levels never change: the first pass writes them. They are
 * enough to drop candidates as shortlist_cuda.cuh does. If one candidate is left, its box holds
 * the tile, and all voxels of the tile are data, then the whole tile is added to it without a look
 * at its voxels. The other tiles are listed for the warps, each with the candidates that are left;
 * in the last pass every tile is listed. A tile costs about 5 instructions per voxel here, and
 * about 110 in the pass.
 */
#ifndef LOB_CULL_TILES_CUDA_H
#define LOB_CULL_TILES_CUDA_H

#include "kernels/supervoxels/assign/shortlist_cuda.cuh"

namespace lob::supervoxels
{

enum {
    LANES_PER_TILE = 4,
    CULL_THREADS = 128,
    CULL_TILES = CULL_THREADS / LANES_PER_TILE /* of a block */
};

/* In place of the first sum: the tile has no data; it has both data and other voxels. */
static constexpr uint32_t NO_DATA = ~0u, SOME_DATA = ~0u - 1;

template <int C> struct level_stats {
    uint32_t range[C]; /* lowest level | highest << 16; what is not data counts as 0 */
    uint32_t sum[C];
};

/* ---- statistics of a tile's levels ---- */

/* All lanes together. */
template <int C, bool FLAT>
static __device__ inline level_stats<C> stats_of_tile(const warp_tile<LOB_SLIC, C, FLAT> &tile)
{
    level_stats<C> of;
    bool whole = true, any = false;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++) {
        whole = whole && tile.data[z] == ALL_VOXELS;
        any = any || tile.data[z];
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t low, high, sum = 0;
        range_of_levels(&low, &high, tile, c);
#pragma unroll
        for (int z = 0; z < brick_shape<FLAT>::depth; z++) {
            const uint4 &four = tile.packed[z][c];
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

static __device__ inline uint32_t index_of_tile(const supervoxels_params &s, const listed_tile &at)
{
    return (at.z * s.bricks[1] + at.y) * s.bricks[0] + at.x;
}

template <int C>
static __device__ inline uint32_t *stats_at(const supervoxels_params &s, uint32_t tile)
{
    return s.tile_stats + (int64_t)tile * (2 * C);
}

template <int C>
static __device__ inline void write_stats(const supervoxels_params &s, uint32_t tile,
                                          const level_stats<C> &of)
{
    uint32_t *to = stats_at<C>(s, tile);
#pragma unroll
    for (int c = 0; c < C; c++) to[c] = of.range[c], to[C + c] = of.sum[c];
}

template <int C>
static __device__ inline level_stats<C> read_stats(const supervoxels_params &s, uint32_t tile)
{
    const uint32_t *from = stats_at<C>(s, tile);
    level_stats<C> of;
#pragma unroll
    for (int c = 0; c < C; c++) of.range[c] = from[c], of.sum[c] = from[C + c];
    return of;
}

/* One lane: add a tile, all of whose voxels are data, to a cluster. */
template <int C, bool FLAT>
static __device__ inline void add_whole_tile(const supervoxels_params &s, const int32_t *first,
                                             int32_t id, const level_stats<C> &of)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth}, axes[3] = {0, 1, 2};
    const int64_t voxels = S::depth * BRICK_VOXELS;
    u64 *const sums = s.sums + (int64_t)id * (4 + C);
    atomicAdd(&sums[0], (u64)voxels);
#pragma unroll
    for (int a = 0; a < 3; a++)
        atomicAdd(&sums[1 + axis_value<FLAT>(axes, s, a)],
                  (u64)(voxels * first[a] + voxels / 2 * (side[a] - 1)));
#pragma unroll
    for (int c = 0; c < C; c++) atomicAdd(&sums[4 + c], (u64)of.sum[c]);
}

/* ---- culling ---- */

/* The candidates of a tile that are left. */
struct survivors {
    uint32_t
        clusters;   /* a bit for each; 0: more than WARP candidates, which are not distinguished */
    int32_t single; /* the cluster that gets the whole tile; -1: none */
};

/* All lanes of the warp together, LANES_PER_TILE for each tile. */
template <int C, bool FLAT>
static __device__ inline survivors cull_tile(const supervoxels_params &s, const int32_t *first,
                                             const tile_spans &spans, const level_stats<C> &of)
{
    const int all = candidates_of<FLAT>(spans);
    const int total = of.sum[0] == NO_DATA || all > WARP ? 0 : all,
              part = threadIdx.x % LANES_PER_TILE;
    const warp_shared none = {};
    level_range<LOB_SLIC, C> r;
    survivors found = {0, -1};
    float lowest_cost = INFINITY;
#pragma unroll
    for (int c = 0; c < C; c++) {
        r.low[c] = (float)lob_slic_step(of.range[c] & 0xffff, &s.rule);
        r.high[c] = (float)lob_slic_step(of.range[c] >> 16, &s.rule);
    }
    for (int i = part; i < total; i += LANES_PER_TILE) {
        const int32_t id = candidate_cluster<FLAT>(s, spans, i);
        const candidate one = candidate_at<LOB_SLIC, C, FLAT>(s, first, id);
        const float cost =
            cost_in_middle<C, FLAT>(s, none, first, read_centre<LOB_SLIC, C, FLAT>(s, id), r);
        if (!holds_tile<LOB_SLIC, C, FLAT>(one) || !(cost < lowest_cost)) continue;
        lowest_cost = cost;
        found.single = id;
    }
    __syncwarp();
#pragma unroll
    for (int apart = 1; apart < LANES_PER_TILE; apart *= 2) {
        const float cost = __shfl_xor_sync(ALL_LANES, lowest_cost, apart);
        const int32_t id = __shfl_xor_sync(ALL_LANES, found.single, apart);
        if (!(cost < lowest_cost || (cost == lowest_cost && id > found.single))) continue;
        lowest_cost = cost;
        found.single = id;
    }
    const bool any = found.single >= 0;
    const centre_of<LOB_SLIC, C, FLAT> nearest =
        read_centre<LOB_SLIC, C, FLAT>(s, any ? found.single : s.first_cluster);
    for (int i = part; i < total; i += LANES_PER_TILE) {
        const int32_t id = candidate_cluster<FLAT>(s, spans, i);
        const candidate one = candidate_at<LOB_SLIC, C, FLAT>(s, first, id);
        const centre_of<LOB_SLIC, C, FLAT> centre = read_centre<LOB_SLIC, C, FLAT>(s, id);
        const bool beaten = any && is_beaten<C, FLAT>(s, none, first, one, centre, nearest, r);
        if (meets_tile(one) && !beaten) found.clusters |= 1u << i;
    }
    __syncwarp();
#pragma unroll
    for (int apart = 1; apart < LANES_PER_TILE; apart *= 2)
        found.clusters |= __shfl_xor_sync(ALL_LANES, found.clusters, apart);
    if (__popc(found.clusters) != 1) found.single = -1;
    return found;
}

/* All lanes together: list the tiles of those that want it. */
static __device__ inline void list_tile(const supervoxels_params &s, bool wanted,
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
static __global__ void __launch_bounds__(CULL_THREADS)
    cull_kernel(const __grid_constant__ supervoxels_params s)
{
    const uint32_t part = threadIdx.x % LANES_PER_TILE, step = gridDim.x * CULL_TILES;
    const uint32_t tiles = s.bricks[0] * s.bricks[1] * s.tiles_w;
    const bool adds = s.pass != PASS_LABEL;
    if (adds && is_converged(s)) return;
    for (uint32_t from = blockIdx.x * CULL_TILES; from < tiles; from += step) {
        const uint32_t i = from + threadIdx.x / LANES_PER_TILE, tile = min(i, tiles - 1);
        const uint32_t row = tile / s.bricks[0], z = row / s.bricks[1];
        listed_tile to = {tile - row * s.bricks[0], row - z * s.bricks[1], z, 0};
        int32_t first[3];
        first_of_tile<FLAT>(first, s, to.x, to.y, to.z);
        const level_stats<C> of = read_stats<C>(s, tile);
        const survivors found = cull_tile<C, FLAT>(s, first, spans_of_tile(s, to), of);
        const bool single = found.single >= 0 && of.sum[0] != SOME_DATA;
        const bool mine = i < tiles && part == 0;
        to.clusters = found.clusters;
        to.z |= single ? SINGLE : 0;
        if (mine && single && adds) add_whole_tile<C, FLAT>(s, first, found.single, of);
        list_tile(s, mine && !(adds && (single || of.sum[0] == NO_DATA)), to);
    }
}

} /* namespace lob::supervoxels */

#endif
