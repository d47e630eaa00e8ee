/*
 * A pass over warp tiles, in one kernel: each voxel is added to its nearest cluster, or in the last
 * pass labelled with it. For each tile a warp
 *
 *   1. loads its levels (load_tile);
 *   2. makes the shortlist of clusters and the table of their costs    (shortlist_cuda.cuh);
 *   3. finds the nearest for its voxels, 16 per lane, in flat views 8  (nearest_cuda.cuh);
 *   4. adds the voxels to the sums of their clusters (cluster_sums_cuda.cuh), or writes labels.
 *
 * Two kinds of voxels are done voxel by voxel (voxelwise_cuda.cuh): those that no box holds, called
 * unassigned, and all voxels of a tile with more clusters than a table has entries.
 *
 * The cost of slic in 3D with cells of 8 voxels, in instructions of a lane per voxel where clusters
 * meet: 20 for 27 candidates, of which about 13 are listed; 12 for their table; 2.8 for each of
 * these; 24 for sums; 18 for the rest: about 110. A GPU with 132 multiprocessors at 1.75 GHz starts
 * 30 trillion instructions of a lane per second.
 */
#ifndef LOB_WARP_TILE_CUDA_H
#define LOB_WARP_TILE_CUDA_H

#include "kernels/supervoxels/assign/cluster_sums_cuda.cuh"
#include "kernels/supervoxels/assign/cull_tiles_cuda.cuh"
#include "kernels/supervoxels/assign/label_levels_cuda.cuh"
#include "kernels/supervoxels/assign/nearest_cuda.cuh"
#include "kernels/supervoxels/assign/voxelwise_cuda.cuh"

namespace lob::supervoxels
{

enum { TILE_WARPS = 4 }; /* of a block */

/* ---- shared memory ---- */

/* n items of the block's shared memory, aligned to 16 bytes. */
template <typename T> static __host__ __device__ inline T *take(unsigned char **at, int64_t n)
{
    T *here = (T *)*at;
    *at += (n * (int64_t)sizeof(T) + 15) / 16 * 16;
    return here;
}

/* Lay out the block's shared memory, and point at one warp's part of it. Returns its end.
 * common: the rows that all warps share. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __host__ __device__ inline unsigned char *lay_out_shared(warp_shared *shared,
                                                                uint8_t **common, unsigned char *at,
                                                                int max_shortlist, int warp)
{
    typedef tile_layout<M, C, FLAT> L;
    typedef products_of<L, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth, one_hot = depth * GROUP_PAIRS * WARP;
    const int64_t cos_sin = L::lsc ? L::coordinates : 0, rows = depth * P::inputs * ROW_BYTES;
    const int64_t entries = (int64_t)max_shortlist * L::entry;
    *common = take<uint8_t>(&at, (COMMON_ROWS + SECOND_BRICK_ROWS) * ROW_BYTES);
    shared->table = take<uint32_t>(&at, TILE_WARPS * entries) + warp * entries;
    shared->cos_sin = take<float2>(&at, TILE_WARPS * cos_sin) + warp * cos_sin;
    shared->packed = take<uint32_t>(&at, TILE_WARPS * cos_sin) + warp * cos_sin;
    shared->one_hot = take<uint4>(&at, TILE_WARPS * one_hot) + warp * one_hot;
    shared->rows = take<uint8_t>(&at, TILE_WARPS * rows) + warp * rows;
    return at;
}

/* ---- voxels ---- */

/* slic: steps of levels, counted from the middle of their range. */
template <int C>
static __device__ inline void read_steps(int32_t (*step)[STRIP], const supervoxels_params &s,
                                         const uint4 *packed)
{
    const int32_t middle = s.rule.max_step / 2;
    const int down = max(s.rule.step_shift, 0), up = 1 << (down - s.rule.step_shift);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) step[c][j] = (int32_t)level_in(packed[c], j) * up - middle;
    if (down > 0)
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int j = 0; j < STRIP; j++) step[c][j] = ((step[c][j] + middle) >> down) - middle;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) keep_in_register(&step[c][j]);
}

/* slico: levels, scaled. */
template <int C>
static __device__ inline void read_levels(float (*level)[STRIP], const supervoxels_params &s,
                                          const uint4 *packed)
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            level[c][j] = (float)level_in(packed[c], j) * s.rule.level;
            keep_in_register(&level[c][j]);
        }
}

/* lsc: cosines and sines of a strip's levels, and the rows of their bytes. */
template <int C>
static __device__ inline void read_cos_sin(float (*cos_sin)[STRIP], uint8_t *rows,
                                           const supervoxels_params &s, const uint4 *packed)
{
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t word[STRIP], low[4], high[4];
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            const lob_cos_sin of = level_cos_sin_of(s, c, level_in(packed[c], j));
            word[j] = (uint32_t)of.cosine | (uint32_t)of.sine << 16; /* none is below 0 */
            cos_sin[2 * c][j] = (float)of.cosine;
            cos_sin[2 * c + 1][j] = (float)of.sine;
            keep_in_register(&cos_sin[2 * c][j]);
            keep_in_register(&cos_sin[2 * c + 1][j]);
        }
        transpose_bytes(low, word);
        transpose_bytes(high, word + 4);
#pragma unroll
        for (int row = 0; row < 4; row++)
            *(uint2 *)(rows + (4 * c + row) * ROW_BYTES + lane * STRIP) =
                make_uint2(low[row], high[row]);
    }
}

/* The least costs of the tile's voxels, each with its rank, as bits. Writes the rows of their
 * levels on the way. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void find_nearest(uint32_t (*cost)[STRIP], const warp_shared &shared,
                                           const supervoxels_params &s,
                                           const warp_tile<M, C, FLAT> &tile, int n)
{
    typedef products_of<tile_layout<M, C, FLAT>, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth, rows = P::inputs * ROW_BYTES;
    if constexpr (M == LOB_SLIC) {
        int32_t step[depth][C][STRIP];
#pragma unroll
        for (int z = 0; z < depth; z++) read_steps<C>(step[z], s, tile.packed[z]);
        slic_nearest<C, FLAT>(cost, shared, step, n);
    } else {
        constexpr int together = C == 1 ? depth : 1; /* bricks: as many as registers allow */
#pragma unroll
        for (int z = 0; z < depth; z += together) {
            features_of_strip<M, C> f[together];
            float best[together][STRIP];
#pragma unroll
            for (int i = 0; i < together; i++)
                if constexpr (M == LOB_LSC)
                    read_cos_sin<C>(f[i].of, shared.rows + (z + i) * rows, s, tile.packed[z + i]);
                else
                    read_levels<C>(f[i].of, s, tile.packed[z + i]);
            float_nearest<M, C, FLAT, together>(best, shared, f, z, n);
#pragma unroll
            for (int i = 0; i < together; i++)
#pragma unroll
                for (int j = 0; j < STRIP; j++) cost[z + i][j] = __float_as_uint(best[i][j]);
        }
    }
    if constexpr (M != LOB_LSC)
#pragma unroll
        for (int z = 0; z < depth; z++)
#pragma unroll
            for (int c = 0; c < C; c++)
                write_level_rows(shared.rows + z * rows + 2 * c * ROW_BYTES, tile.packed[z][c]);
}

/* Does any box hold the voxel of this cost? */
template <lob_supervoxels_method M> static __device__ inline bool is_inside(uint32_t cost)
{
    return M == LOB_SLIC ? cost < OUTSIDE_BOX : cost != INFINITE_BITS;
}

/* Ranks from costs; NO_RANK where a voxel is not data or no box holds it. Returns whether there is
 * an unassigned voxel: data that no box holds. */
template <lob_supervoxels_method M, int N>
static __device__ inline bool rank_voxels(uint32_t (*rank)[STRIP], const uint32_t (*cost)[STRIP],
                                          const uint32_t *data)
{
    bool whole = true, unassigned = false;
#pragma unroll
    for (int z = 0; z < N; z++) {
        whole = whole && data[z] == ALL_VOXELS;
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            rank[z][j] = cost[z][j] & RANK_MASK;
            whole = whole && is_inside<M>(cost[z][j]);
        }
    }
    if (__all_sync(ALL_LANES, whole)) return false;
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            const bool is_data = data[z] >> j & 1, in_box = is_inside<M>(cost[z][j]);
            if (!is_data || !in_box) rank[z][j] = NO_RANK;
            unassigned = unassigned || (is_data && !in_box);
        }
    return __any_sync(ALL_LANES, unassigned);
}

/* slico: raise the largest contrasts of the clusters in the table to those of a brick's voxels. */
template <int C, bool FLAT>
static __device__ inline void raise_contrasts(const warp_shared &shared,
                                              const supervoxels_params &s, const uint4 *packed,
                                              const uint32_t *rank)
{
    typedef tile_layout<LOB_SLICO, C, FLAT> L;
    float level[C][STRIP];
    read_levels<C>(level, s, packed);
#pragma unroll
    for (int j = 0; j < STRIP; j++) {
        if (rank[j] == NO_RANK) continue;
        uint32_t *entry = shared.table + rank[j] * L::entry;
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++)
            contrast = lob_slico_add(contrast, level[c][j], __uint_as_float(entry[L::factor + c]));
        const uint32_t bits = __float_as_uint(contrast);
        /* Most are not the largest. A stale value here only costs one atomic more. */
        if (bits > *(volatile uint32_t *)&entry[L::largest]) atomicMax(&entry[L::largest], bits);
    }
}

/* The same in global memory, for all entries. */
template <int C, bool FLAT>
static __device__ inline void write_contrasts(const warp_shared &shared,
                                              const supervoxels_params &s, int n)
{
    typedef tile_layout<LOB_SLICO, C, FLAT> L;
    __syncwarp();
    for (int k = (int)threadIdx.x % WARP; k < n; k += WARP) {
        const uint32_t *entry = shared.table + k * L::entry;
        if (entry[L::largest]) atomicMax(&s.largest[entry[L::id]], entry[L::largest]);
    }
}

/* ---- a tile ---- */

/* Where a lane's strip of a brick lies. corner: the tile's first voxel. */
template <bool FLAT>
static __device__ inline position strip_position(const int32_t *corner, int brick)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)(threadIdx.x % WARP);
    position at;
    at.u = corner[0] + S::x(lane);
    at.v = corner[1] + S::y(lane);
    at.w = corner[2] + S::z(lane) + brick * S::bz;
    return at;
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void label_brick(const warp_shared &shared, const supervoxels_params &s,
                                          position at, const uint32_t *rank)
{
    typedef tile_layout<M, C, FLAT> L;
    int32_t label[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        label[j] = rank[j] == NO_RANK ? 0 : (int32_t)shared.table[rank[j] * L::entry + L::id] + 1;
    write_strip(s, at, label);
}

/* The first voxel of one of a tile's bricks. */
template <bool FLAT>
static __device__ inline void first_of_brick(int32_t *first, const int32_t *corner, int brick)
{
    first[0] = corner[0];
    first[1] = corner[1];
    first[2] = corner[2] + brick * brick_shape<FLAT>::bz;
}

/* The number of the first strip of a brick. */
static __device__ inline uint32_t first_strip(const supervoxels_params &s, uint32_t x, uint32_t y,
                                              uint32_t z)
{
    return ((z * s.bricks[1] + y) * s.bricks[0] + x) * WARP;
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline warp_tile<M, C, FLAT> load_tile(const warp_shared &shared,
                                                         const supervoxels_params &s, uint32_t x,
                                                         uint32_t y, uint32_t z)
{
    typedef brick_shape<FLAT> S;
    warp_tile<M, C, FLAT> tile;
    tile.by_voxel = 0;
    first_of_tile<FLAT>(tile.first, s, x, y, z);
#pragma unroll
    for (int i = 0; i < S::depth; i++) {
        const uint32_t w = min(z * S::depth + (uint32_t)i, s.bricks[2] - 1);
        tile.strip[i] = first_strip(s, x, y, w) + threadIdx.x % WARP;
        tile.data[i] = s.brick_data[tile.strip[i]];
        if constexpr (channels_in_labels(C) > 0) {
            int32_t first[3];
            first_of_brick<FLAT>(first, tile.first, i);
            if (!load_label_levels<FLAT>(tile.packed[i], s, first, shared.label_offset))
                tile.by_voxel |= 1u << i;
        }
        tile.packed[i][C - 1] = s.brick_levels[tile.strip[i]];
        if (S::depth > 1 && z * S::depth + (uint32_t)i != w) tile.data[i] = 0;
    }
    return tile;
}

/* Read label levels that lie by voxel, in the few bricks that reach beyond the volume. Apart from
 * the other loads, because a branch waits at its end for the loads in it. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void complete_tile(warp_tile<M, C, FLAT> *tile,
                                            const supervoxels_params &s)
{
    if (tile->by_voxel == 0) return;
#pragma unroll
    for (int i = 0; i < brick_shape<FLAT>::depth; i++) {
        uint4 packed[2];
        if (!(tile->by_voxel >> i & 1)) continue;
        read_by_voxel(packed, s, strip_position<FLAT>(tile->first, i));
        tile->packed[i][0] = packed[0];
        tile->packed[i][1] = packed[1];
    }
}

/* All voxels of a tile, or the unassigned ones, voxel by voxel. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void process_voxelwise(const supervoxels_params &s,
                                                const warp_tile<M, C, FLAT> &tile,
                                                which_voxels which)
{
    for (int z = 0; z < brick_shape<FLAT>::depth; z++)
        if (z == 0 || tile.strip[z] != tile.strip[0])
            voxelwise_strip(s, tile.strip[z], strip_position<FLAT>(tile.first, z), which);
}

/* Give all voxels one label. */
template <bool FLAT>
static __device__ inline void label_tile(const supervoxels_params &s, const int32_t *first,
                                         int32_t all)
{
    int32_t label[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++) label[j] = all;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++)
        write_strip(s, strip_position<FLAT>(first, z), label);
}

/* slic, last pass: a tile that culling has given to one cluster. */
template <bool FLAT>
static __device__ inline void label_single(const supervoxels_params &s, const listed_tile &at)
{
    int32_t first[3];
    first_of_tile<FLAT>(first, s, at.x, at.y, at.z & ~SINGLE);
    const int candidate = __ffs((int)at.clusters) - 1;
    label_tile<FLAT>(s, first, candidate_cluster<FLAT>(s, spans_of_tile(s, at), candidate) + 1);
}

/* slic, first pass: what culling needs to know of a tile. */
template <int C, bool FLAT>
static __device__ inline void write_tile_stats(const supervoxels_params &s,
                                               const warp_tile<LOB_SLIC, C, FLAT> &tile,
                                               const listed_tile &at)
{
    const level_stats<C> of = stats_of_tile<C, FLAT>(tile);
    if (threadIdx.x % WARP == 0) write_stats<C>(s, index_of_tile(s, at), of);
}

/* slic: if all voxels of the tile are data and belong to the only cluster in the table, do the tile
 * as a whole. Returns whether it was done. */
template <int C, bool FLAT>
static __device__ inline bool finish_whole_tile(const warp_shared &shared,
                                                const supervoxels_params &s,
                                                const warp_tile<LOB_SLIC, C, FLAT> &tile,
                                                const listed_tile &at, bool single)
{
    const int32_t id = (int32_t)shared.table[tile_layout<LOB_SLIC, C, FLAT>::id];
    bool whole = single;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++) whole = whole && tile.data[z] == ALL_VOXELS;
    if (!__all_sync(ALL_LANES, whole)) return false;
    if (s.pass == PASS_LABEL)
        label_tile<FLAT>(s, tile.first, id + 1);
    else if (threadIdx.x % WARP == 0) /* the lane that writes level_stats */
        add_whole_tile<C, FLAT>(s, tile.first, id, read_stats<C>(s, index_of_tile(s, at)));
    __syncwarp(); /* before the next tile overwrites the table */
    return true;
}

/* One tile. Unassigned voxels go to the clusters of their own cells, which need not be listed. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void process_tile(const warp_shared &shared, const supervoxels_params &s,
                                           warp_tile<M, C, FLAT> tile, const uint8_t *common,
                                           const listed_tile &at)
{
    constexpr int depth = brick_shape<FLAT>::depth;
    uint32_t cost[depth][STRIP], rank[depth][STRIP], data = 0;
#pragma unroll
    for (int z = 0; z < depth; z++) data |= tile.data[z];
    const bool any = __any_sync(ALL_LANES, data != 0);
    if constexpr (channels_in_labels(C) > 0) complete_tile<M, C, FLAT>(&tile, s);
    if constexpr (M == LOB_SLIC)
        if (s.pass == PASS_START) write_tile_stats<C, FLAT>(s, tile, at);
    if (!any) {
        if (s.pass == PASS_LABEL) label_tile<FLAT>(s, tile.first, 0);
        return;
    }
    if constexpr (M == LOB_LSC) read_axis_cos_sin<C, FLAT>(shared, s, tile.first);
    const shortlist list = make_shortlist<M, C, FLAT>(shared, s, tile, at);
    if (list.n > s.max_shortlist) {
        process_voxelwise(s, tile, EVERY_VOXEL);
        return;
    }
    if constexpr (M == LOB_SLIC)
        if (finish_whole_tile<C, FLAT>(shared, s, tile, at, list.single)) return;
    fill_table<M, C, FLAT>(shared, s, tile.first, list.n);
    find_nearest<M, C, FLAT>(cost, shared, s, tile, list.n);
    const bool unassigned = rank_voxels<M, depth>(rank, cost, tile.data);
    if constexpr (M == LOB_SLICO)
        if (s.pass == PASS_ADD) {
#pragma unroll
            for (int z = 0; z < depth; z++)
                raise_contrasts<C, FLAT>(shared, s, tile.packed[z], rank[z]);
            write_contrasts<C, FLAT>(shared, s, list.n);
        }
    if (s.pass != PASS_LABEL)
        add_tile<M, C, FLAT>(shared, s, tile.first, common, rank, list.n);
    else
#pragma unroll
        for (int z = 0; z < depth; z++)
            label_brick<M, C, FLAT>(shared, s, strip_position<FLAT>(tile.first, z), rank[z]);
    __syncwarp(); /* before the next tile overwrites table and rows */
    if (unassigned) process_voxelwise(s, tile, UNASSIGNED);
}

/* Blocks that run on a multiprocessor at once: few, since a lane needs many registers. */
template <int C, bool FLAT> static constexpr int blocks_per_multiprocessor()
{
    return C == 1 && FLAT ? 5 : 4;
}

/* Warps take the listed tiles, or groups of tiles_per_turn neighbours of a row, one after another.
 */
template <lob_supervoxels_method M, int C, bool FLAT>
static __global__ void __launch_bounds__(TILE_WARPS *WARP, (blocks_per_multiprocessor<C, FLAT>()))
    tile_kernel(const __grid_constant__ supervoxels_params s)
{
    extern __shared__ float4 block_memory[];
    if (s.pass == PASS_ADD && is_converged(s)) return;
    const bool listed = M == LOB_SLIC && s.culled && s.pass != PASS_START;
    const uint32_t turns = (s.bricks[0] + s.tiles_per_turn - 1) / s.tiles_per_turn;
    const uint32_t count = listed ? s.counters->listed : turns * s.bricks[1] * s.tiles_w;
    const uint32_t warp = threadIdx.x / WARP, step = gridDim.x * TILE_WARPS;
    uint8_t *common;
    warp_shared shared;
    lay_out_shared<M, C, FLAT>(&shared, &common, (unsigned char *)block_memory, s.max_shortlist,
                               (int)warp);
    const int lane = (int)(threadIdx.x % WARP);
    shared.label_offset = label_offset_of<FLAT>(
        s, brick_shape<FLAT>::x(lane), brick_shape<FLAT>::y(lane), brick_shape<FLAT>::z(lane));
    fill_common_rows<FLAT>(common);
    __syncthreads();
    for (uint32_t i = blockIdx.x * TILE_WARPS + warp; i < count; i += step) {
        listed_tile at;
        uint32_t end;
        if (listed) {
            at = s.listed[i];
            end = at.x + 1;
        } else {
            const uint32_t row = i / turns;
            at.x = (i - row * turns) * s.tiles_per_turn;
            at.z = row / s.bricks[1];
            at.y = row - at.z * s.bricks[1];
            at.clusters = 0;
            end = min(at.x + s.tiles_per_turn, s.bricks[0]);
        }
        for (; at.x < end; at.x++) {
            if (M == LOB_SLIC && at.z & SINGLE)
                label_single<FLAT>(s, at);
            else
                process_tile<M, C, FLAT>(
                    shared, s, load_tile<M, C, FLAT>(shared, s, at.x, at.y, at.z), common, at);
        }
    }
}

} /* namespace lob::supervoxels */

#endif
