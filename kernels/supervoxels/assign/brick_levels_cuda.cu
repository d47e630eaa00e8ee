/*
 * Supervoxels on the device: levels for passes over piles, from the image as it is stored, and
 * which voxels are data.
 *
 * A block takes bricks that follow each other along u. It reads them row after row and writes them
 * brick after brick, both in pieces as large as can be; in between they lie in shared memory.
 */
#include "kernels/supervoxels/assign/label_levels_cuda.cuh"
#include "kernels/supervoxels/stored_levels_cuda.cuh"

namespace lob::supervoxels
{

enum {
    THREADS = 256,
    WARPS = THREADS / WARP,
    SHARE_U = 8,
    SHARE_V = 2,
    SHARES = SHARE_U * SHARE_V
};

typedef struct {
    supervoxels_params s;
    bool whole;      /* 8 voxels of a row are there, side by side and aligned, wherever one is */
    uint32_t blocks; /* along u */
} filling;

/* A block's bricks. */
template <bool FLAT> struct share {
    typedef brick_shape<FLAT> S;
    static constexpr int in_row = S::bx / STRIP;      /* runs of a brick's row */
    static constexpr int along = SHARE_U * in_row;    /* of a row of all bricks */
    static constexpr int rows = S::by * S::bz;        /* of a brick */
    static constexpr int brick_slots = WARP + in_row; /* so that a row's runs share no bank */
    static constexpr int slots = SHARES * brick_slots;
    static_assert(along * rows == THREADS, "a thread has a run in each row of bricks");
};

/* Which of a run's voxels are data, of those inside; lob_voxel_state says the same of one. */
template <typename T>
static __device__ inline unsigned data_of_run(const filling &f, int64_t voxel, unsigned inside)
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

/* ALL: a run's voxels are data, or none is. */
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

/* Where a run lies: in the image, and in what the block shares. */
typedef struct {
    int64_t voxel; /* 0 where the run has none in the volume: that one may be read */
    uint32_t slot;
    unsigned inside; /* its voxels in the volume */
    position run;
} strip_position;

/* What a run has in C channels from one on: all three of CIELAB, or one. */
template <int C, bool PLAIN, typename T>
static __device__ inline void levels_of_run(uint4 *packed, const supervoxels_params &s, int channel,
                                            const strip_values<T> *v, unsigned data,
                                            const uint16_t *linear)
{
    uint32_t level[C][STRIP];
    if (C == 1)
        levels_of<PLAIN>(level[0], s, channel, v[0]);
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
    for (int c = 0; c < C; c++) packed[c] = pack<PLAIN>(level[c], data);
}

/* A thread's runs, one in each row of the block's bricks; first: the first of these. */
template <bool FLAT>
static __device__ inline void place_runs(strip_position (&at)[SHARE_V], const supervoxels_params &s,
                                         const uint32_t *first)
{
    typedef brick_shape<FLAT> S;
    typedef share<FLAT> B;
    const uint32_t run = threadIdx.x % B::along, row = threadIdx.x / B::along;
    const uint32_t row_v = row % S::by, row_w = row / S::by, brick = run / B::in_row;
    const uint32_t lane = FLAT ? row_v * 2 + run % 2 : row_v * 4 + row_w;
    const int32_t u = (int32_t)(first[0] * S::bx + run * STRIP);
    const int32_t v = (int32_t)(first[1] * S::by + row_v);
    const int32_t w = (int32_t)(first[2] * S::bz + row_w);
    const int there = w < s.side[2] ? max(min(s.side[0] - u, STRIP), 0) : 0;
    const int64_t voxel = u * s.stride[0] + v * s.stride[1] + w * s.stride[2];
#pragma unroll
    for (int i = 0; i < SHARE_V; i++) {
        const bool is_in = there > 0 && v + i * S::by < s.side[1];
        at[i].voxel = is_in ? voxel + i * S::by * s.stride[1] : 0;
        at[i].slot = (i * SHARE_U + brick) * B::brick_slots + lane;
        at[i].inside = is_in ? (1u << there) - 1 : 0;
        at[i].run.u = u;
        at[i].run.v = v + i * S::by;
        at[i].run.w = w;
    }
}

/*
 * All channels of a thread's runs, C at a time, to where they belong: labels, or the block's part
 * of the plane, in which the last channel stays.
 */
template <bool FLAT, int C, bool PLAIN, typename T>
static __device__ inline void fill_runs(uint4 *plane, const filling &f,
                                        const strip_position (&at)[SHARE_V],
                                        const unsigned (&data)[SHARE_V], const uint16_t *linear)
{
    const supervoxels_params &s = f.s;
    for (int c = 0; c < s.rule.channels; c += C) {
        const T *from = (const T *)s.image.stored + c * s.image.voxels;
        strip_values<T> v[SHARE_V][C];
#pragma unroll
        for (int i = 0; i < SHARE_V; i++)
#pragma unroll
            for (int k = 0; k < C; k++)
                v[i][k] = load_strip(from + k * s.image.voxels + at[i].voxel, s.stride[0],
                                     PLAIN || f.whole, PLAIN ? ALL_VOXELS : data[i]);
#pragma unroll
        for (int i = 0; i < SHARE_V; i++) {
            uint4 packed[C];
            levels_of_run<C, PLAIN>(packed, s, c, v[i], data[i], linear);
#pragma unroll
            for (int k = 0; k < C; k++)
                if (c + k < channels_in_labels(s.rule.channels))
                    keep_levels<FLAT>(s, at[i].run, c + k, packed[k]);
            plane[at[i].slot] = packed[C - 1];
        }
    }
}

/* PLAIN: integers as whole runs, all of them data, with exact levels. */
template <bool FLAT, int C, typename T, bool PLAIN>
static __global__ void __launch_bounds__(THREADS) planes_kernel(const __grid_constant__ filling f)
{
    typedef share<FLAT> B;
    __shared__ uint4 plane[B::slots];
    __shared__ uint8_t bits[B::slots];
    __shared__ uint16_t linear[C == 1 ? 1 : 256];
    const supervoxels_params &s = f.s;
    const uint32_t thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const uint32_t row = blockIdx.x / f.blocks, rows = (s.bricks[1] + SHARE_V - 1) / SHARE_V;
    const uint32_t first[3] = {(blockIdx.x - row * f.blocks) * SHARE_U, row % rows * SHARE_V,
                               row / rows};
    strip_position at[SHARE_V];
    unsigned data[SHARE_V];
    place_runs<FLAT>(at, s, first);
#pragma unroll
    for (int i = 0; i < SHARE_V; i++) {
        data[i] = PLAIN ? at[i].inside : data_of_run<T>(f, at[i].voxel, at[i].inside);
        bits[at[i].slot] = (uint8_t)data[i];
    }
    if (C > 1) {
        linear[thread] = s.linear[thread];
        __syncthreads();
    }
    if (s.brick_levels) fill_runs<FLAT, C, PLAIN, T>(plane, f, at, data, linear);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < SHARES / WARPS; i++) {
        const uint32_t brick = i * WARPS + warp, slot = brick * B::brick_slots + lane;
        const uint32_t u = first[0] + brick % SHARE_U, v = first[1] + brick / SHARE_U;
        if (u >= s.bricks[0] || v >= s.bricks[1]) continue;
        const uint32_t run = ((first[2] * s.bricks[1] + v) * s.bricks[0] + u) * WARP + lane;
        s.brick_data[run] = bits[slot];
        if (s.brick_levels) s.brick_levels[run] = plane[slot];
    }
}

template <int C, typename T>
static lob_status fill(lob_device *device, const filling &f, lob_error *error)
{
    const supervoxels_params &s = f.s;
    const int64_t rows = (s.bricks[1] + SHARE_V - 1) / SHARE_V;
    const bool simple = f.whole && !s.image.mask && !s.image.ranged;
    void (*kernel)(const filling) =
        s.flat ? planes_kernel<true, C, T, false> : planes_kernel<false, C, T, false>;
    if constexpr (std::is_integral<T>::value && sizeof(T) <= sizeof(uint32_t))
        if (simple && (C > 1 || s.levels.exact))
            kernel = s.flat ? planes_kernel<true, C, T, true> : planes_kernel<false, C, T, true>;
    return lob_launch(device, kernel, "making planes", f.blocks * rows * s.bricks[2], THREADS, 0, f,
                      error);
}

lob_status make_brick_levels(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    filling f = {*s, false, (s->bricks[0] + SHARE_U - 1) / SHARE_U};
    const uintptr_t at = (uintptr_t)s->image.stored | (uintptr_t)s->image.mask;
    f.whole = s->stride[0] == 1 && s->side[0] % STRIP == 0 && at % sizeof(uint4) == 0;
    if (s->rule.lab) return fill<3, uint8_t>(device, f, error);
#define FILL(type_, ctype, name, integer, lowest, highest) \
    case type_:                                            \
        return fill<1, ctype>(device, f, error);
    switch (s->image.type) {
        LOB_TYPE_LIST(FILL)
    case LOB_TYPES:
        break;
    }
#undef FILL
    return LOB_EINTERNAL;
}

} /* namespace lob::supervoxels */
