/*
 * How the kernels of the median see an image, and how they read voxels.
 *
 *   median_cuda.cu          the call: conversion, the choice among those below
 *   median_network_cuda.cuh 3x3x3 and 3x3 places by comparisons that neighbours share
 *   median_sliced_cuda.cuh  up to some thousand places, with gaps too, by slices of bits
 *   median_select_cuda.cuh  any places, with gaps too: by bisection
 */
#ifndef LOB_MEDIAN_PARAMS_CUDA_CUH
#define LOB_MEDIAN_PARAMS_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/filters/filter_edge.h"
#include "kernels/filters/filter_step_cuda.cuh"
#include "kernels/filters/median/median_key.h"
#include "kernels/histogram/histogram_voxel.h"

namespace lob::filters
{

/* Axes in the order in which kernels take them; the first is x unless said otherwise. */
struct median_axes {
    int64_t n[3], stride[3], radius[3];
};

/* One channel. */
template <typename T> struct median_params {
    const T *in;
    T *out;
    const uint8_t *mask; /* NULL: everything is data */
    median_axes axes;
    lob_edge edge;
    T edge_value; /* of LOB_EDGE_CONSTANT */
    bool gaps;    /* places can hold no data inside of the volume too */
};

/* Voxels as keys, see median_key.h; narrow ones in 32 bits. */
template <typename T> struct voxel_key;

#define LOB_VOXEL_KEY(T, K, BITS, KIND)                                               \
    template <> struct voxel_key<T> {                                                 \
        using key = K;                                                                \
        using bits = uint##BITS##_t;                                                  \
        static constexpr key MOST = (key) ~(key)0 >> (sizeof(key) * 8 - BITS);        \
        static __device__ key of(T voxel)                                             \
        {                                                                             \
            uint##BITS##_t bits;                                                      \
            memcpy(&bits, &voxel, sizeof bits);                                       \
            return lob_key_##BITS(bits, KIND);                                        \
        }                                                                             \
        static __device__ T back(key k)                                               \
        {                                                                             \
            const uint##BITS##_t bits = lob_key_back_##BITS((uint##BITS##_t)k, KIND); \
            T voxel;                                                                  \
            memcpy(&voxel, &bits, sizeof bits);                                       \
            return voxel;                                                             \
        }                                                                             \
    };

LOB_VOXEL_KEY(uint8_t, uint32_t, 8, LOB_KEY_UNSIGNED)
LOB_VOXEL_KEY(int8_t, uint32_t, 8, LOB_KEY_SIGNED)
LOB_VOXEL_KEY(uint16_t, uint32_t, 16, LOB_KEY_UNSIGNED)
LOB_VOXEL_KEY(int16_t, uint32_t, 16, LOB_KEY_SIGNED)
LOB_VOXEL_KEY(uint32_t, uint32_t, 32, LOB_KEY_UNSIGNED)
LOB_VOXEL_KEY(int32_t, uint32_t, 32, LOB_KEY_SIGNED)
LOB_VOXEL_KEY(float, uint32_t, 32, LOB_KEY_REAL)
LOB_VOXEL_KEY(uint64_t, uint64_t, 64, LOB_KEY_UNSIGNED)
LOB_VOXEL_KEY(int64_t, uint64_t, 64, LOB_KEY_SIGNED)
LOB_VOXEL_KEY(double, uint64_t, 64, LOB_KEY_REAL)
#undef LOB_VOXEL_KEY

} /* namespace lob::filters */

#endif
