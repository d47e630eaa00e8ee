/*
 * A pass over tiles: nearest clusters and their sums, or labels, in one kernel.
 *
 * A block lists the clusters whose boxes meet its tile, in rising order, and works out for each
 * what its distance takes along every axis: a table of 64 coordinates a cluster, with NaN outside
 * the box, so that a comparison leaves it out without being asked to. A warp then takes bricks: it
 * lists the tile's clusters whose boxes meet the brick, and holds each against all its voxels, 8 a
 * lane; halves of runs that a box does not reach are passed by.
 *
 * Of slic's distances the low byte is free: it holds the place in the brick's list, and one integer
 * minimum keeps distance and cluster, the first of equal ones. So a voxel and cluster cost two
 * fused steps, a difference, a mask and a minimum, of lsc five fused steps and three to compare.
 *
 * Sums are matrix products on the tensor cores, in whole numbers: the one-hot matrix of 256 voxels
 * by 8 clusters from the right, rows of bytes from the left (1, x, y, z within the brick, low and
 * high bytes of levels or waves). A one-hot column g holds 1 << g instead of 1: then byte q of a
 * lane's 1 << place is its row for all of the 8 columns of group q, and a mask picks the column.
 * Products are at most 256 * 255 * 128, and shifted back by g. Sums over the tile go to shared
 * memory, once a tile and cluster to global memory, where integers make the order of adding
 * irrelevant.
 *
 * What slic costs in 3D with cells of 8 voxels, in instructions of a lane a voxel: a brick meets 17
 * clusters, which take 2 to 3 each to fetch, and its halves 13 each, which take 5; the table of a
 * tile 10, sums 14 to 20, the rest 10. About 140, of which a GPU with 132 multiprocessors at 1.75
 * GHz starts 30 million million a second: .6 ms for 512^3 voxels, against .06 ms to read them.
 */
#ifndef LOB_SUPERVOXELS_TILE_CUDA_CUH
#define LOB_SUPERVOXELS_TILE_CUDA_CUH

#include "kernels/supervoxels/supervoxels_sums_cuda.cuh"

/* ---- a brick ---- */

/* Levels, times the weight of a level. */
template <int C>
static __device__ inline void read_levels(float (*level)[RUN], const scene &s, const uint4 *packed)
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < RUN; j++) level[c][j] = (float)level_in(packed[c], j) * s.rule.level;
}

/* Waves and weights of a run, and the rows of the waves' bytes. */
template <int C, bool FLAT>
static __device__ inline void read_waves(waves_of_run<C> *r, const hall &h, const scene &s,
                                         const brick_share &b, const uint4 *packed)
{
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const f = s.weights;
    const lob_wave v = s.axis_wave[s.axis[1]][min(b.at.v, s.side[1] - 1)];
    const lob_wave w = s.axis_wave[s.axis[2]][min(b.at.w, s.side[2] - 1)];
    float row = lob_lsc_add(0.0f, (float)v.cosine, (float)v.sine, &f[2 * s.axis[1]]);
    r->w_cosine = (float)w.cosine;
    r->w_sine = (float)w.sine;
    row = lob_lsc_add(row, r->w_cosine, r->w_sine, &f[2 * s.axis[2]]);
    r->along = h.sine + b.x * S::bx + S::x(lane);
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const int32_t u = min(b.at.u + j, s.side[0] - 1);
        r->weight[j] = lob_lsc_add(row, (float)s.axis_wave[s.axis[0]][u].cosine, r->along[j],
                                   &f[2 * s.axis[0]]);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t bytes[4][2] = {};
#pragma unroll
        for (int j = 0; j < RUN; j++) {
            const lob_wave wave = level_wave_of(s, c, level_in(packed[c], j));
            const uint32_t cosine = (uint32_t)wave.cosine, sine = (uint32_t)wave.sine;
            r->cosine[c][j] = (float)wave.cosine;
            r->sine[c][j] = (float)wave.sine;
            r->weight[j] = lob_lsc_add(r->weight[j], r->cosine[c][j], r->sine[c][j], &f[6 + 2 * c]);
            bytes[0][j / 4] |= (cosine & 255) << j % 4 * 8;
            bytes[1][j / 4] |= (cosine >> 8) << j % 4 * 8;
            bytes[2][j / 4] |= (sine & 255) << j % 4 * 8;
            bytes[3][j / 4] |= (sine >> 8) << j % 4 * 8;
        }
#pragma unroll
        for (int row_of = 0; row_of < 4; row_of++)
            *(uint2 *)(h.mine + (4 * c + row_of) * ROW_BYTES + lane * RUN) =
                make_uint2(bytes[row_of][0], bytes[row_of][1]);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++) r->weight[j] = fmaxf(r->weight[j], s.rule.least_weight);
}

/* slico: the largest contrasts that the brick's voxels have to their clusters. */
template <int C, bool FLAT>
static __device__ inline void widen_contrasts(const hall &h, const float (*level)[RUN],
                                              const uint32_t *where)
{
    typedef layout<LOB_SLICO, C, FLAT> L;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        if (where[j] == NOWHERE) continue;
        const uint32_t k = number_of<L>(h.list[where[j]]);
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++)
            contrast = lob_slic_add(contrast, level[c][j], h.table[k * L::entry + TABLE + c]);
        const uint32_t bits = __float_as_uint(contrast);
        /* most are not the largest: a stale value read here only costs an atomic too many */
        if (bits > *(volatile uint32_t *)&h.largest[k]) atomicMax(&h.largest[k], bits);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void find_nearest(uint32_t *where, const hall &h, const scene &s,
                                    const brick_share &b, int n)
{
    uint4 packed[C];
#pragma unroll
    for (int c = 0; c < C; c++) packed[c] = ((const uint4 *)s.planes)[(int64_t)c * s.runs + b.run];
    if constexpr (M == LOB_LSC) {
        waves_of_run<C> r;
        read_waves<C, FLAT>(&r, h, s, b, packed);
        lsc_nearest<C, FLAT>(where, h, b, r, n);
    } else {
        float level[C][RUN];
        read_levels<C>(level, s, packed);
        slic_nearest<M, C, FLAT>(where, h, b, level, n);
        if (s.pass != PASS_LABEL)
#pragma unroll
            for (int c = 0; c < C; c++) write_level_rows(h.mine + 2 * c * ROW_BYTES, packed[c]);
    }
    /* what is no data must not count, here and below */
#pragma unroll
    for (int j = 0; j < RUN; j++)
        if (!(b.data >> j & 1)) where[j] = NOWHERE;
    if constexpr (M == LOB_SLICO) {
        if (s.pass != PASS_ADD) return;
        float level[C][RUN];
        read_levels<C>(level, s, packed);
        widen_contrasts<C, FLAT>(h, level, where);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void label_brick(const hall &h, const scene &s, const brick_share &b,
                                          const uint32_t *where)
{
    typedef layout<M, C, FLAT> L;
    int32_t label[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++)
        label[j] = where[j] == NOWHERE ? 0 : h.ids[number_of<L>(h.list[where[j]])] + 1;
    write_run(s, b.at, label);
}

/* Where one of the tile's bricks lies; false: beyond the volume. */
template <bool FLAT>
static __device__ inline bool find_brick(brick_share *b, const scene &s, const tile &t, int number)
{
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    b->x = number % S::tx;
    b->y = number / S::tx % S::ty;
    b->z = number / S::tx / S::ty;
    const uint32_t x = t.brick[0] + (uint32_t)b->x, y = t.brick[1] + (uint32_t)b->y,
                   z = t.brick[2] + (uint32_t)b->z;
    if (x >= s.bricks[0] || y >= s.bricks[1] || z >= s.bricks[2]) return false;
    b->run = ((z * s.bricks[1] + y) * s.bricks[0] + x) * WARP + (uint32_t)lane;
    b->at.u = (int32_t)x * S::bx + S::x(lane);
    b->at.v = (int32_t)y * S::by + S::y(lane);
    b->at.w = (int32_t)z * S::bz + S::z(lane);
    return true;
}

typedef enum { BRICK_DONE, BRICK_STRAYS, BRICK_CROWDED } brick_state;

/*
 * A brick by the list. What is left for later, so that the code here has no calls: voxels that no
 * box holds, whose own cells' clusters the tile need not have listed; and a brick of more clusters
 * than its list takes, of which nothing is done here.
 */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline brick_state do_brick(const hall &h, const scene &s, brick_share &b,
                                              int count)
{
    b.data = s.data[b.run];
    const bool label = s.pass == PASS_LABEL;
    uint32_t where[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++) where[j] = NOWHERE;
    if (!__any_sync(ALL_LANES, b.data != 0)) {
        if (label) label_brick<M, C, FLAT>(h, s, b, where);
        return BRICK_DONE;
    }
    const int n = list_of_brick<FLAT>(h, count, layout<M, C, FLAT>::entry_bytes, b);
    if (n > LISTED) return BRICK_CROWDED;
    find_nearest<M, C, FLAT>(where, h, s, b, n);
    if (label)
        label_brick<M, C, FLAT>(h, s, b, where);
    else
        add_brick<M, C, FLAT>(h, b, where, n);
    unsigned held = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) held |= where[j] == NOWHERE ? 0 : 1u << j;
    const bool strays = __any_sync(ALL_LANES, (b.data & ~held) != 0);
    __syncwarp(); /* the next brick writes the list and the rows again */
    return strays ? BRICK_STRAYS : BRICK_DONE;
}

/* ---- the tile's sums ---- */

/* Sum number f of a cluster from the tile's rows. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline int64_t sum_of_rows(const uint32_t *row, const scene &s, const tile &t,
                                             int f)
{
    typedef layout<M, C, FLAT> L;
    const int64_t n = row[0];
    const bool of_axis = f < 4 || (L::lsc && f < 10);
    if (f == 0) return n;
    if (!of_axis) {
        const int at = 4 + 2 * (L::lsc ? f - 10 : f - 4);
        return row[at] + 256 * (int64_t)row[at + 1];
    }
    const int axis = f < 4 ? f - 1 : (f - 4) / 2;
    const int view = s.axis[0] == axis ? 0 : s.axis[1] == axis ? 1 : 2;
    if (f < 4) return row[1 + view] + n * t.first[view];
    if (FLAT && view == 2) return 0;
    const int at = L::near + 4 * view + 2 * (f % 2);
    return row[at] + 256 * (int64_t)row[at + 1] - WAVE_BIAS * n;
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void send_sums(const hall &h, const scene &s, const tile &t)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    constexpr int sums = 4 + (L::lsc ? 6 + 2 * C : C);
    for (int i = (int)threadIdx.x; i < t.count * sums; i += S::threads) {
        const int k = i / sums, f = i % sums;
        const uint32_t *row = h.sums + k * L::rows;
        if (row[0] == 0) continue;
        const int64_t value = sum_of_rows<M, C, FLAT>(row, s, t, f);
        add_signed(&s.sums[(int64_t)h.ids[k] * sums + f], value);
    }
    if constexpr (M == LOB_SLICO)
        for (int k = (int)threadIdx.x; k < t.count; k += S::threads)
            if (h.largest[k]) atomicMax(&s.largest[h.ids[k]], h.largest[k]);
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __global__ void __launch_bounds__(shape<FLAT>::threads, (layout<M, C, FLAT>::blocks))
    tile_kernel(const __grid_constant__ scene s)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    extern __shared__ float4 shared[];
    if (s.pass == PASS_ADD && is_still(s)) return;
    const int warp = (int)threadIdx.x / WARP;
    hall h;
    lay_hall<M, C, FLAT>(&h, (unsigned char *)shared, s.room, warp);
    tile t = tile_of<FLAT>(s, blockIdx.x);
    list_clusters<FLAT>(h, s, &t);
    if (t.count <= s.room) {
        fill_table<M, C, FLAT>(h, s, t);
        fill_rows<M, C, FLAT>(h, s, t);
        for (int i = (int)threadIdx.x; i < t.count * L::rows; i += S::threads) h.sums[i] = 0;
        if constexpr (M == LOB_SLICO)
            for (int i = (int)threadIdx.x; i < t.count; i += S::threads) h.largest[i] = 0;
    }
    __syncthreads();
    const bool crowded = t.count > s.room;
    uint32_t strays = 0, whole = 0; /* bricks that need another look */
    for (int number = warp; number < S::bricks; number += S::warps) {
        brick_share b;
        if (!find_brick<FLAT>(&b, s, t, number)) continue;
        brick_state state = BRICK_CROWDED;
        if (!crowded) state = do_brick<M, C, FLAT>(h, s, b, t.count);
        if (state == BRICK_STRAYS) strays |= 1u << number;
        if (state == BRICK_CROWDED) whole |= 1u << number;
    }
    for (uint32_t left = strays | whole; left; left &= left - 1) {
        const int number = __ffs((int)left) - 1;
        brick_share b;
        find_brick<FLAT>(&b, s, t, number);
        plain_run(s, b.run, b.at, whole >> number & 1 ? EVERY_VOXEL : STRAYS);
    }
    if (s.pass == PASS_LABEL || crowded) return;
    __syncthreads();
    send_sums<M, C, FLAT>(h, s, t);
}

#endif
