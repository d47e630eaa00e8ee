/*
 * Adding the voxels of a warp tile to the sums of their clusters: matrix products of bytes on the
 * tensor cores, exact because they are integers.
 *
 * The left matrix has a row per cluster (16 at a time) and a column per voxel; the entry is nonzero
 * where the voxel belongs to the cluster. The right matrix has a row per voxel and a column per
 * feature: 1, u, v, w within the tile, and the low and high bytes of levels or of cosines and
 * sines. Their product holds the sums of each feature over each cluster's voxels.
 *
 * A lane makes the one-hot word 1 << rank of each of its voxels. Byte q of it concerns the clusters
 * 8q to 8q + 7, a group: in row g of the group the voxel's entry is the byte masked with 1 << g, so
 * it is 1 << g instead of 1, and the products are shifted right by g in the end. They are at most
 * 512 * 255 * 128, which 32 bits hold.
 *
 * The sums go to global memory by atomic additions; integers make their order irrelevant.
 */
#ifndef LOB_CLUSTER_SUMS_CUDA_H
#define LOB_CLUSTER_SUMS_CUDA_H

#include "kernels/supervoxels/assign/tile_layout_cuda.cuh"

namespace lob::supervoxels
{

/* The right matrix is stored by columns: a row of bytes here is a feature of a brick's voxels. */
enum {
    ROW_BYTES = BRICK_VOXELS + 32, /* 32 more let rows start in different banks */
    COMMON_ROWS = 4,               /* 1, and u, v, w within the first brick, for all warps; */
    SECOND_BRICK_ROWS = 1,         /* w within the second brick */
    COLUMNS = 8,                   /* features of a product */
    GROUPS = WARP / 8,             /* of 8 clusters */
    GROUP_PAIRS = GROUPS / 2,      /* a product takes two groups */
    CHUNK = 32                     /* voxels that a product takes: the strips of four lanes */
};

/*
 * The products of a chunk: of the common rows and of levels (lsc: of their cosines and sines), then
 * for lsc of the axes' cosines and sines, first u and v, then w. Low and high bytes are
 * neighbouring columns.
 */
template <typename L, lob_supervoxels_method M, int C> struct products_of {
    static constexpr int inputs = L::lsc ? 4 * C : 2 * C; /* rows of levels */
    static constexpr int level_products = (COMMON_ROWS + inputs + COLUMNS - 1) / COLUMNS;
    static constexpr int axis_products = !L::lsc ? 0 : L::axes == 2 ? 1 : 2;
    static constexpr int count = level_products + axis_products;
};

/* d += a * b, of unsigned bytes: a is 16 x 32, b is 32 x 8. */
static __device__ inline void mma_bytes(int *d, uint2 low, uint2 high, uint2 b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(low.x), "r"(high.x), "r"(low.y), "r"(high.y), "r"(b.x), "r"(b.y));
}

static __device__ inline uint2 same_bytes(uint32_t byte)
{
    return make_uint2(byte * 0x01010101u, byte * 0x01010101u);
}

/* out[q]: byte q of each of four words. */
static __device__ inline void transpose_bytes(uint32_t *out, const uint32_t *word)
{
    const uint32_t a = __byte_perm(word[0], word[1], 0x5140);
    const uint32_t b = __byte_perm(word[2], word[3], 0x5140);
    const uint32_t c = __byte_perm(word[0], word[1], 0x7362);
    const uint32_t d = __byte_perm(word[2], word[3], 0x7362);
    out[0] = __byte_perm(a, b, 0x5410);
    out[1] = __byte_perm(a, b, 0x7632);
    out[2] = __byte_perm(c, d, 0x5410);
    out[3] = __byte_perm(c, d, 0x7632);
}

/* ---- the right matrix ---- */

/* Write the common rows; the block's first warp does. */
template <bool FLAT> static __device__ inline void fill_common_rows(uint8_t *rows)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x;
    if (lane >= WARP) return;
    const uint2 u = same_bytes((uint32_t)S::x(lane));
    const uint2 row[COMMON_ROWS + SECOND_BRICK_ROWS] = {
        same_bytes(1), make_uint2(u.x + 0x03020100u, u.y + 0x07060504u),
        same_bytes((uint32_t)S::y(lane)), same_bytes((uint32_t)S::z(lane)),
        same_bytes((uint32_t)(S::z(lane) + S::bz))};
#pragma unroll
    for (int i = 0; i < COMMON_ROWS + SECOND_BRICK_ROWS; i++)
        *(uint2 *)(rows + i * ROW_BYTES + lane * STRIP) = row[i];
}

/* Write the rows of a channel's levels: low bytes, high bytes. */
static __device__ inline void write_level_rows(uint8_t *rows, const uint4 &packed)
{
    const int lane = (int)threadIdx.x % WARP;
    *(uint2 *)(rows + lane * STRIP) = make_uint2(__byte_perm(packed.x, packed.y, 0x6420),
                                                 __byte_perm(packed.z, packed.w, 0x6420));
    *(uint2 *)(rows + ROW_BYTES + lane * STRIP) = make_uint2(
        __byte_perm(packed.x, packed.y, 0x7531), __byte_perm(packed.z, packed.w, 0x7531));
}

/* Byte `row` of each of four words. */
static __device__ inline uint32_t bytes_of(uint4 words, uint32_t row)
{
    const uint32_t select = row | (row + 4) << 4;
    return __byte_perm(__byte_perm(words.x, words.y, select), __byte_perm(words.z, words.w, select),
                       0x5410);
}

/* A lane's part of a brick's right matrix: feature lane / 4 of each product, of the voxels of strip
 * lane % 4 of each chunk. */
template <typename P> struct right_operand {
    const uint8_t *levels[P::level_products];
    uint2 u, w;        /* lsc: bytes of cosines and sines; u for lanes below 16, */
    const uint32_t *v; /* v for the others */
    uint32_t row;      /* which byte of these */
};

template <typename P, bool FLAT>
static __device__ inline right_operand<P> right_of_brick(const warp_shared &shared,
                                                         const uint8_t *common, int brick)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    right_operand<P> r;
#pragma unroll
    for (int p = 0; p < P::level_products; p++) {
        const int input = min(p * COLUMNS + g - COMMON_ROWS, P::inputs - 1);
        const int row = input >= 0 ? brick * P::inputs + input : input == -1 ? g + brick : g;
        r.levels[p] = (input < 0 ? common : shared.rows) + row * ROW_BYTES + t * STRIP;
    }
    if (P::axis_products > 0) {
        const uint4 *u = (const uint4 *)(shared.packed + S::x(t));
        r.row = (uint32_t)g % 4;
        r.u = make_uint2(bytes_of(u[0], r.row), bytes_of(u[1], r.row));
        r.v = shared.packed + S::bx + S::y(t);
        if (!FLAT)
            r.w = same_bytes(shared.packed[S::bx + S::by + brick * S::bz + S::z(t)] >> 8 * r.row &
                             255);
    }
    return r;
}

template <typename P, bool FLAT>
static __device__ inline uint2 right_bytes(const right_operand<P> &r, int product, int chunk)
{
    if (product < P::level_products) return *(const uint2 *)(r.levels[product] + chunk * CHUNK);
    if (product > P::level_products) return r.w;
    const uint32_t v = r.v[brick_shape<FLAT>::y(4 * chunk)];
    return threadIdx.x % WARP < 16 ? r.u : same_bytes(v >> 8 * r.row & 255);
}

/* ---- the left matrix ---- */

/* 1 << shift; 0 from 32 on, which C leaves undefined. */
static __device__ inline uint32_t one_at(uint32_t shift)
{
    uint32_t bit;
    asm("shl.b32 %0, 1, %1;" : "=r"(bit) : "r"(shift));
    return bit;
}

/* One-hot words of ranks base..base+31; returns which of them occur in the warp. */
template <int N>
static __device__ inline unsigned make_one_hot(uint32_t (*word)[STRIP],
                                               const uint32_t (*rank)[STRIP], int base)
{
    uint32_t any = 0;
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            word[z][j] =
                one_at(rank[z][j] - (uint32_t)base); /* 0 for NO_RANK and ranks elsewhere */
            any |= word[z][j];
        }
    return __reduce_or_sync(ALL_LANES, any);
}

/* Write the bytes of a strip's one-hot words, for the pairs of groups that occur. */
static __device__ inline void write_one_hot(uint4 *one_hot, const uint32_t *word, unsigned any)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t low[GROUPS], high[GROUPS];
    transpose_bytes(low, word);
    transpose_bytes(high, word + 4);
#pragma unroll
    for (int q = 0; q < GROUP_PAIRS; q++)
        if (any >> 16 * q & 0xffff)
            one_hot[q * WARP + lane] =
                make_uint4(low[2 * q], high[2 * q], low[2 * q + 1], high[2 * q + 1]);
}

/* ---- sums ---- */

/* Add a lane's two columns of a product, which are two features or the two bytes of one. */
template <typename P, lob_supervoxels_method M, bool FLAT>
static __device__ inline void add_product(const supervoxels_params &s, const int32_t *corner,
                                          u64 *sums, int product, uint32_t first, uint32_t second,
                                          uint32_t voxels)
{
    const int t = (int)threadIdx.x % 4, features = M == LOB_LSC ? 10 : 4;
    const int64_t value = first + 256 * (int64_t)second, n = voxels;
    const int axes[3] = {0, 1, 2};
    if (product >= P::level_products) {
        const int axis = 2 * (product - P::level_products) + t / 2;
        if (axis < (P::axis_products > 1 ? 3 : 2))
            add_signed(&sums[4 + 2 * axis_value<FLAT>(axes, s, axis) + t % 2],
                       value - COS_SIN_BIAS * n);
        return;
    }
    if (product == 0 && t < 2) {
        const int axis = 2 * t; /* of the second column: 1 and u; v and w */
        if (t == 0) atomicAdd(&sums[0], (u64)n);
        if (t == 1) add_signed(&sums[1 + axis_value<FLAT>(axes, s, 1)], first + n * corner[1]);
        add_signed(&sums[1 + axis_value<FLAT>(axes, s, axis)],
                   second + n * (axis ? corner[2] : corner[0]));
        return;
    }
    const int feature = product * 4 + t - 2;
    if (feature < P::inputs / 2) atomicAdd(&sums[features + feature], (u64)value);
}

/* Multiply the one-hot bytes of two groups, of the entries from `first` on, and add the products to
 * the clusters' sums. */
template <lob_supervoxels_method M, int C, bool FLAT, typename P>
static __device__ inline void add_groups(const warp_shared &shared, const supervoxels_params &s,
                                         const int32_t *corner, const right_operand<P> *right,
                                         int first, const uint4 *one_hot)
{
    typedef tile_layout<M, C, FLAT> L;
    constexpr int of_cluster = 4 + (L::lsc ? 6 + 2 * C : C);
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    const uint32_t row = 0x01010101u << g;
    int sum[P::count][4] = {};
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++, one_hot += GROUP_PAIRS * WARP)
#pragma unroll
        for (int chunk = 0; chunk < BRICK_VOXELS / CHUNK; chunk++) {
            const uint4 all = one_hot[chunk * 4 + t];
            const uint2 left_low = make_uint2(all.x & row, all.y & row);
            const uint2 left_high = make_uint2(all.z & row, all.w & row);
#pragma unroll
            for (int p = 0; p < P::count; p++)
                mma_bytes(sum[p], left_low, left_high, right_bytes<P, FLAT>(right[z], p, chunk));
        }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t voxels =
            __shfl_sync(ALL_LANES, (uint32_t)sum[0][2 * half] >> g, lane - t); /* column 0 */
        if (voxels == 0) continue;
        const uint32_t id = shared.table[(first + 8 * half + g) * L::entry + L::id];
        u64 *const sums = s.sums + (int64_t)id * of_cluster;
#pragma unroll
        for (int p = 0; p < P::count; p++)
            add_product<P, M, FLAT>(s, corner, sums, p, (uint32_t)sum[p][2 * half] >> g,
                                    (uint32_t)sum[p][2 * half + 1] >> g, voxels);
    }
}

/* Add the tile's voxels to the clusters of their ranks, of which there are n. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void add_tile(const warp_shared &shared, const supervoxels_params &s,
                                       const int32_t *corner, const uint8_t *common,
                                       const uint32_t (*rank)[STRIP], int n)
{
    typedef products_of<tile_layout<M, C, FLAT>, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth;
    right_operand<P> right[depth];
#pragma unroll
    for (int z = 0; z < depth; z++) right[z] = right_of_brick<P, FLAT>(shared, common, z);
    for (int base = 0; base < n; base += WARP) {
        uint32_t word[depth][STRIP];
        const unsigned any = make_one_hot<depth>(word, rank, base);
#pragma unroll
        for (int z = 0; z < depth; z++)
            write_one_hot(shared.one_hot + z * GROUP_PAIRS * WARP, word[z], any);
        __syncwarp();
#pragma unroll 1
        for (int pair = 0; pair < GROUP_PAIRS; pair++)
            if (any >> 16 * pair & 0xffff)
                add_groups<M, C, FLAT>(shared, s, corner, right, base + 16 * pair,
                                       shared.one_hot + pair * WARP);
        __syncwarp();
    }
}

} /* namespace lob::supervoxels */

#endif
