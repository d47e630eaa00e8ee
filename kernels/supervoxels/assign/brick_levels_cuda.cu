/*
 * The first stage of supervoxels on a GPU: levels, from the image as it is stored, and which voxels
 * are data, in the order in which passes read them.
 *
 * A block takes neighbouring bricks. It reads the image row by row and writes brick by brick, both
 * contiguously; in between the bricks lie in shared memory.
 */
#include "kernels/supervoxels/assign/label_levels_cuda.cuh"
#include "kernels/supervoxels/stored_levels_cuda.cuh"

namespace lob::supervoxels
{

enum {
    BRICK_THREADS = 256,
    BRICK_WARPS = BRICK_THREADS / WARP,
    BLOCK_U = 8, /* bricks of a block along u and v */
    BLOCK_V = 2,
    BLOCK_BRICKS = BLOCK_U * BLOCK_V
};

struct fill_params {
    supervoxels_params s;
    bool whole;      /* strips lie wholly in rows, contiguous and aligned */
    uint32_t blocks; /* of a row */
};

/* The strips of the bricks of a block, along rows and in shared memory. */
template <bool FLAT> struct block_shape {
    typedef brick_shape<FLAT> S;
    static constexpr int in_row = S::bx / STRIP;   /* strips of a brick's row */
    static constexpr int along = BLOCK_U * in_row; /* of a row of all its bricks */
    static constexpr int rows = S::by * S::bz;     /* of a brick */
    static constexpr int slots_per_brick =
        WARP + in_row; /* the strips of a row start in different banks */
    static constexpr int slots = BLOCK_BRICKS * slots_per_brick;
    static_assert(along * rows == BRICK_THREADS, "a thread has a strip in each row of bricks");
};

/* Which of a strip's voxels are data, of those inside the volume; lob_voxel_state is the same for
 * one voxel. */
template <typename T>
static __device__ inline unsigned data_of_strip(const fill_params &f, int64_t voxel,
                                                unsigned inside)
{
    const lob_device_image &image = f.s.image;
    const int64_t stride = f.s.stride[0];
    const bool real = !std::is_integral<T>::value;
    unsigned data = inside;
    if (image.mask) {
        const strip_values<uint8_t> mask = load_strip(image.mask + voxel, stride, f.whole, inside);
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            if (!mask.value[j]) data &= ~(1u << j);
    }
    for (int c = 0; (real || image.ranged) && c < image.channels; c++) {
        const T *from = (const T *)image.stored + c * image.voxels + voxel;
        const strip_values<T> v = load_strip(from, stride, f.whole, data);
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            const double stored = (double)v.value[j], value = image.slope * stored + image.inter;
            const bool outside =
                image.ranged && !(value >= image.range[0] && value <= image.range[1]);
            if ((real && !isfinite(stored)) || outside) data &= ~(1u << j);
        }
    }
    return data;
}

/* Two levels per word; 0 for what is not data. ALL: a strip's voxels are all data, or none is. */
template <bool ALL> static __device__ inline uint4 pack(const uint32_t *level, unsigned data)
{
    uint32_t word[STRIP / 2];
#pragma unroll
    for (int j = 0; j < STRIP; j += 2) {
        const uint32_t low = ALL || data >> j & 1 ? level[j] : 0;
        const uint32_t high = ALL || data >> j & 2 ? level[j + 1] : 0;
        word[j / 2] = __byte_perm(low, high, 0x5410);
    }
    return ALL && data == 0 ? make_uint4(0, 0, 0, 0)
                            : make_uint4(word[0], word[1], word[2], word[3]);
}

/* Where a strip lies: in the image, in the view, and in shared memory. */
struct block_strip {
    int64_t voxel;   /* the first; 0, which may be read, where none lies in the volume */
    uint32_t slot;   /* in shared memory */
    unsigned inside; /* bits of its voxels in the volume */
    position strip;
};

/* A strip's levels in C channels: the three of CIELAB, or one. */
template <int C, bool SIMPLE, typename T>
static __device__ inline void levels_of_strip(uint4 *packed, const supervoxels_params &s,
                                              int channel, const strip_values<T> *v, unsigned data,
                                              const uint16_t *linear)
{
    uint32_t level[C][STRIP];
    if (C == 1)
        levels_of<SIMPLE>(level[0], s, channel, v[0]);
    else
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            uint16_t lab[3];
            lob_lab(lab, (uint8_t)v[0].value[j], (uint8_t)v[C / 2].value[j],
                    (uint8_t)v[C - 1].value[j], linear, s.root);
#pragma unroll
            for (int c = 0; c < C; c++) level[c][j] = lab[c];
        }
#pragma unroll
    for (int c = 0; c < C; c++) packed[c] = pack<SIMPLE>(level[c], data);
}

/* A thread's strips, one in each row of the block's bricks; first: the block's first brick. */
template <bool FLAT>
static __device__ inline void locate_strips(block_strip (&at)[BLOCK_V], const supervoxels_params &s,
                                            const uint32_t *first)
{
    typedef brick_shape<FLAT> S;
    typedef block_shape<FLAT> B;
    const uint32_t strip = threadIdx.x % B::along, row = threadIdx.x / B::along;
    const uint32_t row_v = row % S::by, row_w = row / S::by, brick = strip / B::in_row;
    const uint32_t lane = FLAT ? row_v * 2 + strip % 2 : row_v * 4 + row_w;
    const int32_t u = s.begin[0] + (int32_t)(first[0] * S::bx + strip * STRIP);
    const int32_t v = s.begin[1] + (int32_t)(first[1] * S::by + row_v);
    const int32_t w = s.begin[2] + (int32_t)(first[2] * S::bz + row_w);
    const int there = w < s.end[2] ? max(min(s.end[0] - u, STRIP), 0) : 0;
    const int64_t voxel = voxel_at(s, {u, v, w});
#pragma unroll
    for (int i = 0; i < BLOCK_V; i++) {
        const bool is_in = there > 0 && v + i * S::by < s.end[1];
        at[i].voxel = is_in ? voxel + i * S::by * s.stride[1] : 0;
        at[i].slot = (i * BLOCK_U + brick) * B::slots_per_brick + lane;
        at[i].inside = is_in ? (1u << there) - 1 : 0;
        at[i].strip.u = u;
        at[i].strip.v = v + i * S::by;
        at[i].strip.w = w;
    }
}

/*
 * Store all channels of a thread's strips, C at a time: the first two of three in the array of
 * labels, the last one in shared memory.
 */
template <bool FLAT, int C, bool SIMPLE, typename T>
static __device__ inline void fill_strips(uint4 *levels, const fill_params &f,
                                          const block_strip (&at)[BLOCK_V],
                                          const unsigned (&data)[BLOCK_V], const uint16_t *linear)
{
    const supervoxels_params &s = f.s;
    for (int c = 0; c < s.rule.channels; c += C) {
        const T *from = (const T *)s.image.stored + c * s.image.voxels;
        strip_values<T> v[BLOCK_V][C];
#pragma unroll
        for (int i = 0; i < BLOCK_V; i++)
#pragma unroll
            for (int k = 0; k < C; k++)
                v[i][k] = load_strip(from + k * s.image.voxels + at[i].voxel, s.stride[0],
                                     SIMPLE || f.whole, SIMPLE ? ALL_VOXELS : data[i]);
#pragma unroll
        for (int i = 0; i < BLOCK_V; i++) {
            uint4 packed[C];
            levels_of_strip<C, SIMPLE>(packed, s, c, v[i], data[i], linear);
#pragma unroll
            for (int k = 0; k < C; k++)
                if (c + k < channels_in_labels(s.rule.channels))
                    store_label_levels<FLAT>(s, at[i].strip, c + k, packed[k]);
            levels[at[i].slot] = packed[C - 1];
        }
    }
}

/* SIMPLE: integers with exact levels, whole strips, all of them data. */
template <bool FLAT, int C, typename T, bool SIMPLE>
static __global__ void __launch_bounds__(BRICK_THREADS)
    brick_levels_kernel(const __grid_constant__ fill_params f)
{
    typedef block_shape<FLAT> B;
    __shared__ uint4 levels[B::slots];
    __shared__ uint8_t bits[B::slots];
    __shared__ uint16_t linear[C == 1 ? 1 : 256];
    const supervoxels_params &s = f.s;
    const uint32_t thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const uint32_t row = blockIdx.x / f.blocks, rows = (s.bricks[1] + BLOCK_V - 1) / BLOCK_V;
    const uint32_t first[3] = {(blockIdx.x - row * f.blocks) * BLOCK_U, row % rows * BLOCK_V,
                               row / rows};
    block_strip at[BLOCK_V];
    unsigned data[BLOCK_V];
    locate_strips<FLAT>(at, s, first);
#pragma unroll
    for (int i = 0; i < BLOCK_V; i++) {
        data[i] = SIMPLE ? at[i].inside : data_of_strip<T>(f, at[i].voxel, at[i].inside);
        bits[at[i].slot] = (uint8_t)data[i];
    }
    if (C > 1) {
        linear[thread] = s.linear[thread];
        __syncthreads();
    }
    if (s.brick_levels) fill_strips<FLAT, C, SIMPLE, T>(levels, f, at, data, linear);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < BLOCK_BRICKS / BRICK_WARPS; i++) {
        const uint32_t brick = i * BRICK_WARPS + warp, slot = brick * B::slots_per_brick + lane;
        const uint32_t u = first[0] + brick % BLOCK_U, v = first[1] + brick / BLOCK_U;
        if (u >= s.bricks[0] || v >= s.bricks[1]) continue;
        const uint32_t strip = ((first[2] * s.bricks[1] + v) * s.bricks[0] + u) * WARP + lane;
        s.brick_data[strip] = bits[slot];
        if (s.brick_levels) s.brick_levels[strip] = levels[slot];
    }
}

template <int C, typename T>
static lob_status launch_fill(lob_device *device, const fill_params &f, lob_error *error)
{
    const supervoxels_params &s = f.s;
    const int64_t rows = (s.bricks[1] + BLOCK_V - 1) / BLOCK_V;
    const bool simple = f.whole && !s.image.mask && !s.image.ranged;
    void (*kernel)(const fill_params) =
        s.flat ? brick_levels_kernel<true, C, T, false> : brick_levels_kernel<false, C, T, false>;
    if constexpr (std::is_integral<T>::value && sizeof(T) <= sizeof(uint32_t))
        if (simple && (C > 1 || s.levels.exact))
            kernel = s.flat ? brick_levels_kernel<true, C, T, true>
                            : brick_levels_kernel<false, C, T, true>;
    return lob_launch(device, kernel, "levels of bricks", f.blocks * rows * s.bricks[2],
                      BRICK_THREADS, 0, f, error);
}

lob_status make_brick_levels(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    fill_params f = {*s, false, (s->bricks[0] + BLOCK_U - 1) / BLOCK_U};
    const uintptr_t at = (uintptr_t)s->image.stored | (uintptr_t)s->image.mask;
    f.whole = s->stride[0] == 1 && s->side[0] % STRIP == 0 && at % sizeof(uint4) == 0;
    if (s->rule.lab) return launch_fill<3, uint8_t>(device, f, error);
#define FILL(type_, ctype, name, integer, lowest, highest) \
    case type_:                                            \
        return launch_fill<1, ctype>(device, f, error);
    switch (s->image.type) {
        LOB_TYPE_LIST(FILL)
    case LOB_TYPES:
        break;
    }
#undef FILL
    return LOB_EINTERNAL;
}

} /* namespace lob::supervoxels */
