/* Eight voxels of a row as they are stored, and their levels. */
#ifndef LOB_SUPERVOXELS_STORED_CUDA_CUH
#define LOB_SUPERVOXELS_STORED_CUDA_CUH

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

#include <type_traits>

static constexpr unsigned EVERY = (1u << RUN) - 1; /* voxel of a run */

/* So that they are read in as few loads as their size allows. */
template <typename T> struct alignas(sizeof(T) * RUN < 16 ? sizeof(T) * RUN : 16) eight {
    T value[RUN];
};

/* Only those that are wanted need be there. whole: all are if one is, side by side and aligned. */
template <typename T>
static __device__ inline eight<T> load_eight(const T *from, int64_t stride, bool whole,
                                             unsigned wanted)
{
    eight<T> v = {};
    if (wanted == 0) return v;
    if (whole) return *(const eight<T> *)from;
#pragma unroll
    for (int j = 0; j < RUN; j++)
        if (wanted >> j & 1) v.value[j] = from[j * stride];
    return v;
}

/* Levels in a channel's plane, where levels are not CIELAB. EXACT: they are known to be exact. */
template <bool EXACT, typename T>
static __device__ inline void levels_of(uint32_t *level, const scene &s, int channel,
                                        const eight<T> &v)
{
    const lob_device_levels &to = s.levels;
    if (EXACT || (std::is_integral<T>::value && to.exact)) {
        const uint32_t low = (uint32_t)to.low_bits + s.lowest[channel];
#pragma unroll
        for (int j = 0; j < RUN; j++) level[j] = (uint16_t)((uint32_t)v.value[j] - low);
    } else {
#pragma unroll
        for (int j = 0; j < RUN; j++)
            level[j] = (uint16_t)(lob_level_mapped((double)v.value[j], to.low, to.per_unit) -
                                  s.lowest[channel]);
    }
}

#endif
