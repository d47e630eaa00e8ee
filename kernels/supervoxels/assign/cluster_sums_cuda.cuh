/* A pile's sums as matrix products of bytes. warp_tile_cuda.cuh tells how. */
#ifndef LOB_SUPERVOXELS_SUMS_CUDA_CUH
#define LOB_SUPERVOXELS_SUMS_CUDA_CUH

#include "kernels/supervoxels/assign/nearest_cuda.cuh"

namespace lob::supervoxels
{

enum {
    ROW_BYTES =
        BRICK_VOXELS + 32,      /* of the right matrix; 32 more keep rows in banks of their own */
    COMMON_ROWS = 4,            /* of 1, and of u, v, w within a brick, */
    DEEPER_ROWS = 1,            /* and of w in a second brick */
    COLUMNS = 8,                /* of a product: features */
    HOT_GROUPS = WARP / 8,      /* of 8 clusters, told by the bytes of a word; */
    HOT_PAIRS = HOT_GROUPS / 2, /* two are multiplied together */
    CHUNK = 32                  /* voxels that a product takes: the runs of four lanes */
};

/*
 * What is multiplied: near products have columns of 1, u, v, w and of the channels' bytes, far ones
 * of the waves of u and v, and of w. A value's low and high bytes are columns beside each other.
 */
template <typename L, lob_supervoxels_method M, int C> struct products_of {
    static constexpr int inputs = L::lsc ? 4 * C : 2 * C; /* rows of bytes of channels */
    static constexpr int near = (COMMON_ROWS + inputs + COLUMNS - 1) / COLUMNS;
    static constexpr int far = !L::lsc ? 0 : L::axes == 2 ? 1 : 2;
    static constexpr int count = near + far;
};

/* d += a * b, of unsigned bytes: a has 16 rows by 32, b 32 by 8 columns. */
static __device__ inline void multiply_bytes(int *d, uint2 low, uint2 high, uint2 b)
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

/* Byte q of four words, as a word, for q = 0..3. */
static __device__ inline void turn_bytes(uint32_t *out, const uint32_t *word)
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

/* Rows of 1 and of u, v, w within the pile: the block's first warp writes them. */
template <bool FLAT> static __device__ inline void fill_common_rows(uint8_t *rows)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x;
    if (lane >= WARP) return;
    const uint2 u = same_bytes((uint32_t)S::x(lane));
    const uint2 row[COMMON_ROWS + DEEPER_ROWS] = {
        same_bytes(1), make_uint2(u.x + 0x03020100u, u.y + 0x07060504u),
        same_bytes((uint32_t)S::y(lane)), same_bytes((uint32_t)S::z(lane)),
        same_bytes((uint32_t)(S::z(lane) + S::bz))};
#pragma unroll
    for (int i = 0; i < COMMON_ROWS + DEEPER_ROWS; i++)
        *(uint2 *)(rows + i * ROW_BYTES + lane * STRIP) = row[i];
}

/* Rows of a channel's levels: low bytes, high bytes. */
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
    const uint32_t pick = row | (row + 4) << 4;
    return __byte_perm(__byte_perm(words.x, words.y, pick), __byte_perm(words.z, words.w, pick),
                       0x5410);
}

/* What a lane multiplies with of a brick: feature lane / 4 of each product, voxels of run
 * lane % 4. */
template <typename P> struct right_lane {
    const uint8_t *near[P::near];
    uint2 u, w;        /* lsc: the waves' bytes; u of lanes below 16 */
    const uint32_t *v; /* of the others */
    uint32_t row;      /* which byte */
};

template <typename P, bool FLAT>
static __device__ inline right_lane<P> right_of_lane(const desk &d, const uint8_t *common,
                                                     int brick)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    right_lane<P> r;
#pragma unroll
    for (int p = 0; p < P::near; p++) {
        const int input = min(p * COLUMNS + g - COMMON_ROWS, P::inputs - 1);
        const int row = input >= 0 ? brick * P::inputs + input : input == -1 ? g + brick : g;
        r.near[p] = (input < 0 ? common : d.rows) + row * ROW_BYTES + t * STRIP;
    }
    if (P::far > 0) {
        const uint4 *u = (const uint4 *)(d.packed + S::x(t));
        r.row = (uint32_t)g % 4;
        r.u = make_uint2(bytes_of(u[0], r.row), bytes_of(u[1], r.row));
        r.v = d.packed + S::bx + S::y(t);
        if (!FLAT)
            r.w = same_bytes(d.packed[S::bx + S::by + brick * S::bz + S::z(t)] >> 8 * r.row & 255);
    }
    return r;
}

template <typename P, bool FLAT>
static __device__ inline uint2 right_of_chunk(const right_lane<P> &r, int product, int chunk)
{
    if (product < P::near) return *(const uint2 *)(r.near[product] + chunk * CHUNK);
    if (product > P::near) return r.w;
    const uint32_t v = r.v[brick_shape<FLAT>::y(4 * chunk)];
    return threadIdx.x % WARP < 16 ? r.u : same_bytes(v >> 8 * r.row & 255);
}

/* ---- the left matrix ---- */

/* 1 << shift, 0 where that is beyond a word. */
static __device__ inline uint32_t one_at(uint32_t shift)
{
    uint32_t bit;
    asm("shl.b32 %0, 1, %1;" : "=r"(bit) : "r"(shift));
    return bit;
}

/* One-hot words of ranks base..base+31; returns which of them occur in the warp. */
template <int N>
static __device__ inline unsigned make_hot(uint32_t (*word)[STRIP], const uint32_t (*rank)[STRIP],
                                           int base)
{
    uint32_t any = 0;
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            word[z][j] = one_at(rank[z][j] - (uint32_t)base); /* NOWHERE and others lie above 31 */
            any |= word[z][j];
        }
    return __reduce_or_sync(ALL_LANES, any);
}

/* Write the bytes of a brick's one-hot words, pair of groups by pair, as far as any are in it. */
static __device__ inline void write_hot(uint4 *hot, const uint32_t *word, unsigned any)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t low[HOT_GROUPS], high[HOT_GROUPS];
    turn_bytes(low, word);
    turn_bytes(high, word + 4);
#pragma unroll
    for (int q = 0; q < HOT_PAIRS; q++)
        if (any >> 16 * q & 0xffff)
            hot[q * WARP + lane] =
                make_uint4(low[2 * q], high[2 * q], low[2 * q + 1], high[2 * q + 1]);
}

/* ---- sums ---- */

/* A lane's two columns of a product are two sums, or the bytes of one. */
template <typename P, lob_supervoxels_method M, bool FLAT>
static __device__ inline void add_product(const supervoxels_params &s, const int32_t *corner,
                                          u64 *sums, int product, uint32_t first, uint32_t second,
                                          uint32_t voxels)
{
    const int t = (int)threadIdx.x % 4, features = M == LOB_LSC ? 10 : 4;
    const int64_t value = first + 256 * (int64_t)second, n = voxels;
    const int axes[3] = {0, 1, 2};
    if (product >= P::near) {
        const int view = 2 * (product - P::near) + t / 2;
        if (view < (P::far > 1 ? 3 : 2))
            add_signed(&sums[4 + 2 * of_view<FLAT>(axes, s, view) + t % 2], value - WAVE_BIAS * n);
        return;
    }
    if (product == 0 && t < 2) {
        const int view = 2 * t; /* of the second: u is beside the number, w beside v */
        if (t == 0) atomicAdd(&sums[0], (u64)n);
        if (t == 1) add_signed(&sums[1 + of_view<FLAT>(axes, s, 1)], first + n * corner[1]);
        add_signed(&sums[1 + of_view<FLAT>(axes, s, view)],
                   second + n * (view ? corner[2] : corner[0]));
        return;
    }
    const int feature = product * 4 + t - 2;
    if (feature < P::inputs / 2) atomicAdd(&sums[features + feature], (u64)value);
}

/* Multiply the one-hot bytes of two groups of each brick, entries from `first` on, and add what
 * comes of it. */
template <lob_supervoxels_method M, int C, bool FLAT, typename P>
static __device__ inline void add_pair(const desk &d, const supervoxels_params &s,
                                       const int32_t *corner, const right_lane<P> *right, int first,
                                       const uint4 *hot)
{
    typedef layout<M, C, FLAT> L;
    constexpr int of_cluster = 4 + (L::lsc ? 6 + 2 * C : C);
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    const uint32_t row = 0x01010101u << g;
    int sum[P::count][4] = {};
#pragma unroll
    for (int z = 0; z < brick_shape<FLAT>::depth; z++, hot += HOT_PAIRS * WARP)
#pragma unroll
        for (int chunk = 0; chunk < BRICK_VOXELS / CHUNK; chunk++) {
            const uint4 all = hot[chunk * 4 + t];
            const uint2 left_low = make_uint2(all.x & row, all.y & row);
            const uint2 left_high = make_uint2(all.z & row, all.w & row);
#pragma unroll
            for (int p = 0; p < P::count; p++)
                multiply_bytes(sum[p], left_low, left_high,
                               right_of_chunk<P, FLAT>(right[z], p, chunk));
        }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t voxels =
            __shfl_sync(ALL_LANES, (uint32_t)sum[0][2 * half] >> g, lane - t); /* column 0 */
        if (voxels == 0) continue;
        const uint32_t id = d.table[(first + 8 * half + g) * L::entry + L::id];
        u64 *const sums = s.sums + (int64_t)id * of_cluster;
#pragma unroll
        for (int p = 0; p < P::count; p++)
            add_product<P, M, FLAT>(s, corner, sums, p, (uint32_t)sum[p][2 * half] >> g,
                                    (uint32_t)sum[p][2 * half + 1] >> g, voxels);
    }
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void add_pile(const desk &d, const supervoxels_params &s,
                                       const int32_t *corner, const uint8_t *common,
                                       const uint32_t (*rank)[STRIP], int n)
{
    typedef products_of<layout<M, C, FLAT>, M, C> P;
    constexpr int depth = brick_shape<FLAT>::depth;
    right_lane<P> right[depth];
#pragma unroll
    for (int z = 0; z < depth; z++) right[z] = right_of_lane<P, FLAT>(d, common, z);
    for (int base = 0; base < n; base += WARP) {
        uint32_t word[depth][STRIP];
        const unsigned any = make_hot<depth>(word, rank, base);
#pragma unroll
        for (int z = 0; z < depth; z++) write_hot(d.hot + z * HOT_PAIRS * WARP, word[z], any);
        __syncwarp();
#pragma unroll 1
        for (int pair = 0; pair < HOT_PAIRS; pair++)
            if (any >> 16 * pair & 0xffff)
                add_pair<M, C, FLAT>(d, s, corner, right, base + 16 * pair, d.hot + pair * WARP);
        __syncwarp();
    }
}

} /* namespace lob::supervoxels */

#endif
