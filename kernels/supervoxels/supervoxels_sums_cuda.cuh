/* A brick's sums as matrix products of bytes. supervoxels_tile_cuda.cuh tells how. */
#ifndef LOB_SUPERVOXELS_SUMS_CUDA_CUH
#define LOB_SUPERVOXELS_SUMS_CUDA_CUH

#include "kernels/supervoxels/supervoxels_nearest_cuda.cuh"

/* ---- sums ---- */

/* d += a * b, of unsigned bytes: a has 16 rows by 32, b 32 by 8 columns. */
static __device__ inline void multiply_bytes(int *d, uint2 low, uint2 high, uint2 b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(low.x), "r"(high.x), "r"(low.y), "r"(high.y), "r"(b.x), "r"(b.y));
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

/* Write the one-hot bytes of places base..base+31; returns which of these places occur. */
static __device__ inline unsigned write_hot(uint2 *hot, const uint32_t *where, int base)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t word[RUN], low[HOT_GROUPS], high[HOT_GROUPS], any = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const uint32_t at = where[j] - (uint32_t)base; /* NOWHERE and others lie above 31 */
        word[j] = at < WARP ? 1u << at : 0;
        any |= word[j];
    }
    any = __reduce_or_sync(ALL_LANES, any);
    turn_bytes(low, word);
    turn_bytes(high, word + 4);
#pragma unroll
    for (int q = 0; q < HOT_GROUPS; q++)
        if (any >> 8 * q & 255) hot[q * WARP + lane] = make_uint2(low[q], high[q]);
    return any;
}

/* Where a lane's rows of the left matrices begin. */
typedef struct {
    const uint8_t *near_low, *near_high; /* rows lane / 4 and 8 more; high may be NULL */
    const uint8_t *far_low, *far_high;
} left_rows;

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline left_rows rows_of_lane(const hall &h, const brick_share &b)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, at = lane % 4 * RUN;
    left_rows r;
    r.near_low =
        (g < 4 ? h.common + g * ROW_BYTES : h.mine + min(g - 4, L::inputs - 1) * ROW_BYTES) + at;
    r.near_high = h.mine + min(g + 4, L::inputs - 1) * ROW_BYTES + at;
    r.far_low = h.waves + ((g < 4 ? b.x : S::tx + b.y) * 4 + g % 4) * ROW_BYTES + at;
    r.far_high = h.waves + ((S::tx + S::ty + b.z) * 4 + g % 4) * ROW_BYTES + at;
    return r;
}

/* Multiply a group's one-hot bytes, places base + 8 * q on, and add what comes of it. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void add_group(const hall &h, const brick_share &b, const left_rows &r,
                                        int base, int q, int n)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    const uint32_t column = 0x01010101u << g;
    const uint2 *hot = h.hot + q * WARP + t, none = make_uint2(0, 0);
    int near[4] = {0, 0, 0, 0}, far[4] = {0, 0, 0, 0};
#pragma unroll
    for (int chunk = 0; chunk < BRICK_VOXELS / 32; chunk++) {
        const uint2 all = hot[chunk * 4], right = make_uint2(all.x & column, all.y & column);
        const uint2 low = *(const uint2 *)(r.near_low + chunk * 32);
        const uint2 high = L::near > 8 ? *(const uint2 *)(r.near_high + chunk * 32) : none;
        multiply_bytes(near, low, high, right);
        if (!L::lsc) continue;
        const uint2 far_low = *(const uint2 *)(r.far_low + chunk * 32);
        const uint2 far_high = FLAT ? none : *(const uint2 *)(r.far_high + chunk * 32);
        multiply_bytes(far, far_low, far_high, right);
    }
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int shift = 2 * t + e, place = base + 8 * q + shift;
        uint32_t value = (uint32_t)near[e] >> shift;
        const uint32_t voxels = __shfl_sync(ALL_LANES, value, t); /* row 0 */
        if (place >= n || voxels == 0) continue;
        if (g == 1) value += voxels * (uint32_t)(b.x * S::bx);
        if (g == 2) value += voxels * (uint32_t)(b.y * S::by);
        if (g == 3) value += voxels * (uint32_t)(b.z * S::bz);
        uint32_t *sums = h.sums + number_of<L>(h.list[place]) * L::rows + g;
        if (g < L::near) atomicAdd(sums, value);
        if (g + 8 < L::near) atomicAdd(sums + 8, (uint32_t)near[e + 2] >> shift);
        if (!L::lsc) continue;
        atomicAdd(sums + L::near, (uint32_t)far[e] >> shift);
        if (!FLAT && g < 4) atomicAdd(sums + L::near + 8, (uint32_t)far[e + 2] >> shift);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void add_brick(const hall &h, const brick_share &b, const uint32_t *where,
                                        int n)
{
    const left_rows rows = rows_of_lane<M, C, FLAT>(h, b);
    for (int base = 0; base < n; base += WARP) {
        const unsigned any = write_hot(h.hot, where, base);
        __syncwarp();
        for (int q = 0; q < HOT_GROUPS; q++)
            if (any >> 8 * q & 255) add_group<M, C, FLAT>(h, b, rows, base, q, n);
        __syncwarp();
    }
}

/* Rows of a channel's levels: low bytes, high bytes. */
static __device__ inline void write_level_rows(uint8_t *rows, const uint4 &packed)
{
    const int lane = (int)threadIdx.x % WARP;
    *(uint2 *)(rows + lane * RUN) = make_uint2(__byte_perm(packed.x, packed.y, 0x6420),
                                               __byte_perm(packed.z, packed.w, 0x6420));
    *(uint2 *)(rows + ROW_BYTES + lane * RUN) = make_uint2(__byte_perm(packed.x, packed.y, 0x7531),
                                                           __byte_perm(packed.z, packed.w, 0x7531));
}

#endif
