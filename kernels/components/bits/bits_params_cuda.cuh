/* What kernels are given that turn an image in device memory into bits. */
#ifndef LOB_BITS_PARAMS_CUDA_CUH
#define LOB_BITS_PARAMS_CUDA_CUH

#include "kernels/components/components_stages_cuda.cuh"
#include "kernels/components/components_voxel.h"
#include "kernels/device/device_image.cuh"

#include <type_traits>

namespace lob::components
{

typedef struct {
    join_params join;
    lob_device_image image;
    lob_component_rule rule;
    bool tolerance; /* otherwise neighbours are joined that are equal */
    u64 *counts;    /* voxels of foreground, and not finite */
} bits_params;

/* joined_bits of an image whose foreground is known. */
lob_status compare_neighbours(call *c, const bits_params &b, lob_error *error);

/*
 * The same where neighbours share faces, of one channel.
 *
 *   nonzero  in  foreground is what is not 0: it is found and counted too
 */
lob_status compare_faces(call *c, const bits_params &b, bool nonzero, lob_error *error);

/* ---- when two foreground values are joined ---- */

#define APART_OF(type, ctype, name, integer, lowest, highest) \
    static __device__ inline double apart(ctype a, ctype b)   \
    {                                                         \
        return lob_component_apart_##ctype(a, b);             \
    }
LOB_TYPE_LIST(APART_OF)
#undef APART_OF

/* A voxel's value in a register: small integers are widened once. */
template <typename T> struct in_register {
    static constexpr bool small = std::is_integral<T>::value && sizeof(T) < sizeof(int32_t);
    using type = typename std::conditional<small, int32_t, T>::type;
};

template <typename T> struct equal_values {
    static constexpr bool exact = true; /* a value that equals foreground is foreground */
    explicit equal_values(const bits_params &) {}
    __device__ bool operator()(T a, T b) const
    {
        return a == b;
    }
};

template <typename T> struct near_values {
    static constexpr bool exact = false;
    static constexpr bool whole = std::is_integral<T>::value && sizeof(T) <= sizeof(uint32_t);
    double limit;
    uint32_t steps; /* the limit in whole steps, where values are whole numbers */

    explicit near_values(const bits_params &b) : limit(b.rule.limit), steps(0)
    {
        if (limit > 0) steps = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
    }
    __device__ bool operator()(T a, T b) const
    {
        if (!whole) return apart(a, b) <= limit;
        const T low = a < b ? a : b, high = a < b ? b : a;
        return (uint32_t)high - (uint32_t)low <= steps;
    }
};

/* Call f with a value of the type. */
template <typename F> static inline lob_status with_type(lob_type type, const F &f)
{
#define WITH(type_, ctype, name, integer, lowest, highest) \
    case type_:                                            \
        return f(ctype());
    LOB_TYPE_SWITCH(type, WITH);
#undef WITH
    return LOB_EINTERNAL;
}

/* Add a block's counts to all; every thread calls it. */
static __device__ inline void add_counts(u64 *counts, uint32_t foreground, uint32_t not_finite)
{
    __shared__ u64 sum[2];
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
    __syncthreads();
    foreground = __reduce_add_sync(ALL_LANES, foreground);
    not_finite = __reduce_add_sync(ALL_LANES, not_finite);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&sum[0], (u64)foreground);
        atomicAdd(&sum[1], (u64)not_finite);
    }
    __syncthreads();
    if (threadIdx.x < 2 && sum[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sum[threadIdx.x]);
}

} /* namespace lob::components */

#endif
