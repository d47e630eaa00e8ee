/*
 * A pass over piles of bricks: nearest clusters and their sums, or labels, in one kernel.
 *
 * A warp takes a pile by itself: it finds the clusters that may have voxels of it, works out for
 * each what its costs take along the pile's axes (a table of 24 places a cluster, 32 in flat views;
 * places outside the box cost more than all that is inside), and holds each against the pile's
 * voxels, 16 a lane, in flat views 8.
 *
 * Of slic's costs the low 6 bits are free: they hold the rank in the pile's table, and one integer
 * minimum keeps cost and cluster, the first of equal ones. With (step - m)^2 taken apart, as the
 * table's part m^2 and the product of step and -2m, a voxel and cluster cost a multiply-add and one
 * instruction that adds and takes the minimum; lsc's cost two fused steps, a sum, a mask and a
 * minimum.
 *
 * Sums are matrix products on the tensor cores, in whole numbers: from the left 16 clusters by the
 * pile's voxels, one-hot; from the right columns of bytes (1, u, v, w within the pile, low and high
 * bytes of levels or waves). A one-hot row g holds 1 << g instead of 1: then byte q of a lane's
 * 1 << rank is its voxel's for all of the 8 rows of group q, and a mask picks the row. Products are
 * at most 512 * 255 * 128, and shifted back by g. A pile's sums go to global memory, where integers
 * make the order of adding irrelevant.
 *
 * What slic costs in 3D with cells of 8 voxels, in instructions of a lane a voxel where clusters
 * meet: 27 candidates, of which some 13 stay, 20, and their table 12; 2.8 for each of them; sums
 * 24, the rest 18. That is about 110, of which a GPU with 132 multiprocessors at 1.75 GHz can start
 * 30 million million a second; piles of one cluster go by screening, which takes about 5.
 */
#ifndef LOB_SUPERVOXELS_PILE_CUDA_CUH
#define LOB_SUPERVOXELS_PILE_CUDA_CUH

#include "kernels/supervoxels/assign/cluster_sums_cuda.cuh"
#include "kernels/supervoxels/assign/label_levels_cuda.cuh"
#include "kernels/supervoxels/assign/screen_cuda.cuh"

namespace lob::supervoxels
{

enum { WARPS = 4 }; /* of a block */

/* ---- memory ---- */

template <typename T> static __host__ __device__ inline T *take(unsigned char **at, int64_t n)
{
    T *here = (T *)*at;
    *at += (n * (int64_t)sizeof(T) + 15) / 16 * 16;
    return here;
}

/* Lay out a block's shared memory for one of its warps; returns its end. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __host__ __device__ inline unsigned char *lay_desk(desk *d, uint8_t **common,
                                                          unsigned char *at, int room, int warp)
{
    typedef layout<M, C, FLAT> L;
    typedef products_of<L, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth, hot = depth * HOT_PAIRS * WARP;
    const int64_t waves = L::lsc ? L::places : 0, rows = depth * P::inputs * ROW_BYTES;
    const int64_t entries = (int64_t)room * L::entry;
    *common = take<uint8_t>(&at, (COMMON_ROWS + DEEPER_ROWS) * ROW_BYTES);
    d->table = take<uint32_t>(&at, WARPS * entries) + warp * entries;
    d->waves = take<float2>(&at, WARPS * waves) + warp * waves;
    d->packed = take<uint32_t>(&at, WARPS * waves) + warp * waves;
    d->hot = take<uint4>(&at, WARPS * hot) + warp * hot;
    d->rows = take<uint8_t>(&at, WARPS * rows) + warp * rows;
    return at;
}

/* ---- voxels ---- */

/* slic: steps of levels, from the middle of their range. */
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
        for (int j = 0; j < STRIP; j++) keep(&step[c][j]);
}

/* slico: levels, times the weight of a level. */
template <int C>
static __device__ inline void read_levels(float (*level)[STRIP], const supervoxels_params &s,
                                          const uint4 *packed)
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            level[c][j] = (float)level_in(packed[c], j) * s.rule.level;
            keep(&level[c][j]);
        }
}

/* lsc: waves of a run, and the rows of their bytes. */
template <int C>
static __device__ inline void read_waves(float (*wave)[STRIP], uint8_t *rows,
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
            wave[2 * c][j] = (float)of.cosine;
            wave[2 * c + 1][j] = (float)of.sine;
            keep(&wave[2 * c][j]);
            keep(&wave[2 * c + 1][j]);
        }
        turn_bytes(low, word);
        turn_bytes(high, word + 4);
#pragma unroll
        for (int row = 0; row < 4; row++)
            *(uint2 *)(rows + (4 * c + row) * ROW_BYTES + lane * STRIP) =
                make_uint2(low[row], high[row]);
    }
}

/* Least costs of the pile's voxels, each with its rank, as bits; and the rows of their levels. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void find_nearest(uint32_t (*cost)[STRIP], const desk &d,
                                           const supervoxels_params &s, const pile<M, C, FLAT> &p,
                                           int n)
{
    typedef products_of<layout<M, C, FLAT>, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth, rows = P::inputs * ROW_BYTES;
    if constexpr (M == LOB_SLIC) {
        int32_t step[depth][C][STRIP];
#pragma unroll
        for (int z = 0; z < depth; z++) read_steps<C>(step[z], s, p.packed[z]);
        slic_nearest<C, FLAT>(cost, d, step, n);
    } else {
        constexpr int together = C == 1 ? depth : 1; /* as many bricks as registers bear */
#pragma unroll
        for (int z = 0; z < depth; z += together) {
            features_of_run<M, C> f[together];
            float best[together][STRIP];
#pragma unroll
            for (int i = 0; i < together; i++)
                if constexpr (M == LOB_LSC)
                    read_waves<C>(f[i].of, d.rows + (z + i) * rows, s, p.packed[z + i]);
                else
                    read_levels<C>(f[i].of, s, p.packed[z + i]);
            float_nearest<M, C, FLAT, together>(best, d, f, z, n);
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
                write_level_rows(d.rows + z * rows + 2 * c * ROW_BYTES, p.packed[z][c]);
}

template <lob_supervoxels_method M> static __device__ inline bool is_held(uint32_t cost)
{
    return M == LOB_SLIC ? cost < OUTSIDE : cost != INFINITE_BITS;
}

/*
 * Ranks from costs: NOWHERE of what is not data and of voxels that no box holds. Returns whether
 * the pile has data of that kind.
 */
template <lob_supervoxels_method M, int N>
static __device__ inline bool rank_voxels(uint32_t (*rank)[STRIP], const uint32_t (*cost)[STRIP],
                                          const uint32_t *data)
{
    bool whole = true, strays = false;
#pragma unroll
    for (int z = 0; z < N; z++) {
        whole = whole && data[z] == ALL_DATA;
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            rank[z][j] = cost[z][j] & RANK_MASK;
            whole = whole && is_held<M>(cost[z][j]);
        }
    }
    if (__all_sync(ALL_LANES, whole)) return false;
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            const bool is_data = data[z] >> j & 1, held = is_held<M>(cost[z][j]);
            if (!is_data || !held) rank[z][j] = NOWHERE;
            strays = strays || (is_data && !held);
        }
    return __any_sync(ALL_LANES, strays);
}

/* slico: the largest contrasts that a brick's voxels have to their clusters. */
template <int C, bool FLAT>
static __device__ inline void widen_contrasts(const desk &d, const supervoxels_params &s,
                                              const uint4 *packed, const uint32_t *rank)
{
    typedef layout<LOB_SLICO, C, FLAT> L;
    float level[C][STRIP];
    read_levels<C>(level, s, packed);
#pragma unroll
    for (int j = 0; j < STRIP; j++) {
        if (rank[j] == NOWHERE) continue;
        uint32_t *entry = d.table + rank[j] * L::entry;
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++)
            contrast = lob_slico_add(contrast, level[c][j], __uint_as_float(entry[L::extra + c]));
        const uint32_t bits = __float_as_uint(contrast);
        /* most are not the largest: a stale value read here only costs an atomic too many */
        if (bits > *(volatile uint32_t *)&entry[L::largest]) atomicMax(&entry[L::largest], bits);
    }
}

template <int C, bool FLAT>
static __device__ inline void send_contrasts(const desk &d, const supervoxels_params &s, int n)
{
    typedef layout<LOB_SLICO, C, FLAT> L;
    __syncwarp();
    for (int k = (int)threadIdx.x % WARP; k < n; k += WARP) {
        const uint32_t *entry = d.table + k * L::entry;
        if (entry[L::largest]) atomicMax(&s.largest[entry[L::id]], entry[L::largest]);
    }
}

/* ---- a pile ---- */

/* Where a lane's run of a brick lies. */
template <bool FLAT>
static __device__ inline position place_of_run(const int32_t *corner, int brick)
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
static __device__ inline void label_brick(const desk &d, const supervoxels_params &s, position at,
                                          const uint32_t *rank)
{
    typedef layout<M, C, FLAT> L;
    int32_t label[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        label[j] = rank[j] == NOWHERE ? 0 : (int32_t)d.table[rank[j] * L::entry + L::id] + 1;
    write_strip(s, at, label);
}

/* The first voxel of a pile's brick. */
template <bool FLAT>
static __device__ inline void first_of_brick(int32_t *first, const int32_t *corner, int brick)
{
    first[0] = corner[0];
    first[1] = corner[1];
    first[2] = corner[2] + brick * brick_shape<FLAT>::bz;
}

/* The first run of a brick. */
static __device__ inline uint32_t first_run(const supervoxels_params &s, uint32_t x, uint32_t y,
                                            uint32_t z)
{
    return ((z * s.bricks[1] + y) * s.bricks[0] + x) * WARP;
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline pile<M, C, FLAT> find_pile(const desk &d, const supervoxels_params &s,
                                                    uint32_t x, uint32_t y, uint32_t z)
{
    typedef brick_shape<FLAT> S;
    pile<M, C, FLAT> p;
    p.by_voxel = 0;
    p.first[0] = (int32_t)x * S::bx;
    p.first[1] = (int32_t)y * S::by;
    p.first[2] = (int32_t)z * S::bz * S::depth;
#pragma unroll
    for (int i = 0; i < S::depth; i++) {
        const uint32_t w = min(z * S::depth + (uint32_t)i, s.bricks[2] - 1);
        p.run[i] = first_run(s, x, y, w) + threadIdx.x % WARP;
        p.data[i] = s.brick_data[p.run[i]];
        if constexpr (channels_in_labels(C) > 0) {
            int32_t first[3];
            first_of_brick<FLAT>(first, p.first, i);
            if (!read_kept<FLAT>(p.packed[i], s, first, d.kept)) p.by_voxel |= 1u << i;
        }
        p.packed[i][C - 1] = s.brick_levels[p.run[i]];
        if (S::depth > 1 && z * S::depth + (uint32_t)i != w) p.data[i] = 0;
    }
    return p;
}

/* Levels in labels that are not shared, most often few: read in a branch that is seldom taken,
 * because loads in one are waited for at its end. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void complete_pile(pile<M, C, FLAT> *p, const supervoxels_params &s)
{
    if (p->by_voxel == 0) return;
#pragma unroll
    for (int i = 0; i < brick_shape<FLAT>::depth; i++) {
        uint4 packed[2];
        if (!(p->by_voxel >> i & 1)) continue;
        read_by_voxel(packed, s, place_of_run<FLAT>(p->first, i));
        p->packed[i][0] = packed[0];
        p->packed[i][1] = packed[1];
    }
}

/* Ask for the levels of the next pile, so that they have come nearer when it is its turn. */
template <int C, bool FLAT>
static __device__ inline void prefetch_pile(const desk &d, const supervoxels_params &s,
                                            const listed_tile &next)
{
    typedef brick_shape<FLAT> S;
    const uint32_t z = next.z * S::depth, x = min(next.x, s.bricks[0] - 1);
    if (next.z & SINGLE) return;
#pragma unroll
    for (uint32_t i = 0; i < S::depth; i++) {
        const uint32_t run = first_run(s, x, next.y, min(z + i, s.bricks[2] - 1));
        prefetch(s.brick_levels + run + threadIdx.x % WARP);
    }
    if constexpr (channels_in_labels(C) > 0) {
        const int32_t corner[3] = {(int32_t)x * S::bx, (int32_t)next.y * S::by, (int32_t)z * S::bz};
#pragma unroll
        for (int i = 0; i < S::depth; i++) {
            int32_t first[3];
            first_of_brick<FLAT>(first, corner, i);
            prefetch_kept<FLAT>(s, first, d.kept);
        }
    }
}

/* The slow way, voxel by voxel. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void do_plainly(const supervoxels_params &s, const pile<M, C, FLAT> &p,
                                         which_voxels which)
{
    for (int z = 0; z < brick_shape<FLAT>::depth; z++)
        if (z == 0 || p.run[z] != p.run[0])
            plain_run(s, p.run[z], place_of_run<FLAT>(p.first, z), which);
}

/* One label for all. */
template <bool FLAT>
static __device__ inline void label_pile(const supervoxels_params &s, const int32_t *first,
                                         int32_t all)
{
    int32_t label[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++) label[j] = all;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++)
        write_strip(s, place_of_run<FLAT>(first, z), label);
}

/* slic, last pass: a pile all of whose voxels screening has given to one cluster. */
template <bool FLAT>
static __device__ inline void label_sole(const supervoxels_params &s, const listed_tile &at)
{
    typedef brick_shape<FLAT> S;
    const int32_t first[3] = {(int32_t)at.x * S::bx, (int32_t)at.y * S::by,
                              (int32_t)(at.z & ~SINGLE) * S::bz * S::depth};
    const int of_spans = __ffs((int)at.clusters) - 1;
    label_pile<FLAT>(s, first, cluster_of_spans<FLAT>(s, spans_of_pile(s, at), of_spans) + 1);
}

/* slic, first pass: what screening is to know of a pile. */
template <int C, bool FLAT>
static __device__ inline void keep_digest(const supervoxels_params &s,
                                          const pile<LOB_SLIC, C, FLAT> &p, const listed_tile &at)
{
    const digest<C> of = digest_of_pile<C, FLAT>(p);
    if (threadIdx.x % WARP == 0) write_digest<C>(s, number_of_pile(s, at), of);
}

/* slic: a pile all of whose voxels are one cluster's, the only one in the table, is done as a
 * whole; returns whether it was. */
template <int C, bool FLAT>
static __device__ inline bool do_whole(const desk &d, const supervoxels_params &s,
                                       const pile<LOB_SLIC, C, FLAT> &p, const listed_tile &at,
                                       bool sole)
{
    const int32_t id = (int32_t)d.table[layout<LOB_SLIC, C, FLAT>::id];
    bool whole = sole;
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++) whole = whole && p.data[z] == ALL_DATA;
    if (!__all_sync(ALL_LANES, whole)) return false;
    if (s.pass == PASS_LABEL)
        label_pile<FLAT>(s, p.first, id + 1);
    else if (threadIdx.x % WARP == 0) /* which wrote the digest, if it was written in this pass */
        add_whole<C, FLAT>(s, p.first, id, read_digest<C>(s, number_of_pile(s, at)));
    __syncwarp(); /* the next pile writes the table again */
    return true;
}

/*
 * One pile. The slow way go voxels that no box holds, whose own cells' clusters need not be listed,
 * and piles with more clusters than there is room for.
 */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void do_pile(const desk &d, const supervoxels_params &s,
                                      pile<M, C, FLAT> p, const uint8_t *common,
                                      const listed_tile &at, const listed_tile &next)
{
    constexpr int depth = brick_shape<FLAT>::depth;
    uint32_t cost[depth][STRIP], rank[depth][STRIP], data = 0;
#pragma unroll
    for (int z = 0; z < depth; z++) data |= p.data[z];
    const bool any = __any_sync(ALL_LANES, data != 0);
    if constexpr (channels_in_labels(C) > 0) complete_pile<M, C, FLAT>(&p, s);
    if constexpr (M == LOB_SLIC)
        if (s.pass == PASS_START) keep_digest<C, FLAT>(s, p, at);
    if (!any) {
        if (s.pass == PASS_LABEL) label_pile<FLAT>(s, p.first, 0);
        return;
    }
    if constexpr (M == LOB_LSC) read_axis_waves<C, FLAT>(d, s, p.first);
    const shortlist list = list_clusters<M, C, FLAT>(d, s, p, at);
    prefetch_pile<C, FLAT>(d, s, next);
    if (list.n > s.list_capacity) {
        do_plainly(s, p, EVERY_VOXEL);
        return;
    }
    if constexpr (M == LOB_SLIC)
        if (do_whole<C, FLAT>(d, s, p, at, list.sole)) return;
    fill_table<M, C, FLAT>(d, s, p.first, list.n);
    find_nearest<M, C, FLAT>(cost, d, s, p, list.n);
    const bool strays = rank_voxels<M, depth>(rank, cost, p.data);
    if constexpr (M == LOB_SLICO)
        if (s.pass == PASS_ADD) {
#pragma unroll
            for (int z = 0; z < depth; z++) widen_contrasts<C, FLAT>(d, s, p.packed[z], rank[z]);
            send_contrasts<C, FLAT>(d, s, list.n);
        }
    if (s.pass != PASS_LABEL)
        add_pile<M, C, FLAT>(d, s, p.first, common, rank, list.n);
    else
#pragma unroll
        for (int z = 0; z < depth; z++)
            label_brick<M, C, FLAT>(d, s, place_of_run<FLAT>(p.first, z), rank[z]);
    __syncwarp(); /* the next pile writes the table and the rows again */
    if (strays) do_plainly(s, p, STRAYS);
}

/* Blocks on a multiprocessor: registers for few are worth more than many that run out of them. */
template <int C, bool FLAT> static constexpr int blocks_at_once()
{
    return C == 1 && FLAT ? 5 : 4;
}

/* Warps take piles that are listed, or stretches of a row of piles, one after another. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __global__ void __launch_bounds__(WARPS *WARP, (blocks_at_once<C, FLAT>()))
    pile_kernel(const __grid_constant__ supervoxels_params s)
{
    extern __shared__ float4 shared[];
    if (s.pass == PASS_ADD && is_still(s)) return;
    const bool listed = M == LOB_SLIC && s.culled && s.pass != PASS_START;
    const uint32_t stretches = (s.bricks[0] + s.tiles_per_turn - 1) / s.tiles_per_turn;
    const uint32_t count = listed ? s.counters->listed : stretches * s.bricks[1] * s.tiles_w;
    const uint32_t warp = threadIdx.x / WARP, step = gridDim.x * WARPS;
    uint8_t *common;
    desk d;
    lay_desk<M, C, FLAT>(&d, &common, (unsigned char *)shared, s.list_capacity, (int)warp);
    const int lane = (int)(threadIdx.x % WARP);
    d.kept = kept_in_brick<FLAT>(s, brick_shape<FLAT>::x(lane), brick_shape<FLAT>::y(lane),
                                 brick_shape<FLAT>::z(lane));
    fill_common_rows<FLAT>(common);
    __syncthreads();
    for (uint32_t i = blockIdx.x * WARPS + warp; i < count; i += step) {
        listed_tile at, next;
        uint32_t end;
        if (listed) {
            at = s.listed[i];
            next = s.listed[min(i + step, count - 1)];
            end = at.x + 1;
        } else {
            const uint32_t row = i / stretches;
            at.x = (i - row * stretches) * s.tiles_per_turn;
            at.z = row / s.bricks[1];
            at.y = row - at.z * s.bricks[1];
            at.clusters = 0;
            end = min(at.x + s.tiles_per_turn, s.bricks[0]);
        }
        for (; at.x < end; at.x++) {
            if (!listed) next = at, next.x++;
            if (M == LOB_SLIC && at.z & SINGLE) {
                prefetch_pile<C, FLAT>(d, s, next);
                label_sole<FLAT>(s, at);
                continue;
            }
            do_pile<M, C, FLAT>(d, s, find_pile<M, C, FLAT>(d, s, at.x, at.y, at.z), common, at,
                                next);
        }
    }
}

} /* namespace lob::supervoxels */

#endif
