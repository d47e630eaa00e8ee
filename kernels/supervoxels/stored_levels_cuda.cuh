/* Reading a strip: eight voxels as they are stored, and their levels. */
#ifndef LOB_STORED_LEVELS_CUDA_H
#define LOB_STORED_LEVELS_CUDA_H

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

#include <type_traits>

namespace lob::supervoxels
{

/* A strip as it is stored, aligned so that it is read in as few loads as its size allows. */
template <typename T> struct alignas(sizeof(T) * STRIP < 16 ? sizeof(T) * STRIP : 16) strip_values {
    T value[STRIP];
};

/*
 * Read a strip. Bits of `wanted` say which voxels are needed; only these need lie in the array.
 * whole: all of them do if one does, and they are contiguous and aligned.
 */
template <typename T>
static __device__ inline strip_values<T> load_strip(const T *from, int64_t stride, bool whole,
                                                    unsigned wanted)
{
    strip_values<T> v = {};
    if (wanted == 0) return v;
    if (whole) return *(const strip_values<T> *)from;
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        if (wanted >> j & 1) v.value[j] = from[j * stride];
    return v;
}

/* A strip's levels in a channel, outside CIELAB. EXACT: levels are known to be exact. */
template <bool EXACT, typename T>
static __device__ inline void levels_of(uint32_t *level, const supervoxels_params &s, int channel,
                                        const strip_values<T> &v)
{
    const lob_device_levels &to = s.levels;
    if (EXACT || (std::is_integral<T>::value && to.exact)) {
        const uint32_t low = (uint32_t)to.low_bits + s.lowest[channel];
#pragma unroll
        for (int j = 0; j < STRIP; j++) level[j] = (uint16_t)((uint32_t)v.value[j] - low);
    } else {
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            level[j] = (uint16_t)(lob_level_mapped((double)v.value[j], to.low, to.per_unit) -
                                  s.lowest[channel]);
    }
}

} /* namespace lob::supervoxels */

#endif
