/* An image in device memory, as the kernels see it that turn it into bits. */
#ifndef LOB_COMPONENTS_SCENE_CUDA_CUH
#define LOB_COMPONENTS_SCENE_CUDA_CUH

#include "kernels/components/components_job_cuda.cuh"
#include "kernels/components/components_voxel.h"

#include <type_traits>

typedef struct {
    runs r;
    const void *stored;
    const uint8_t *mask;
    int64_t voxels;
    int channels;
    bool tolerance;
    lob_component_rule rule;
    wide *counts; /* foreground, not finite */
} scene;

/* Which neighbours are joined: the planes of bits, of an image whose foreground is known. */
lob_status lob_joining_compare(joining *j, const scene &s, lob_error *error);

/*
 * The same where neighbours share faces, of one channel.
 *
 *   plain  in  foreground is what is not 0: it is found and counted too
 */
lob_status lob_joining_compare_faces(joining *j, const scene &s, bool plain, lob_error *error);

/* ---- when two values are joined, if both are foreground ---- */

#define APART_OF(type, ctype, name, integer, lowest, highest) \
    static __device__ inline double apart(ctype a, ctype b)   \
    {                                                         \
        return lob_component_apart_##ctype(a, b);             \
    }
LOB_TYPE_LIST(APART_OF)
#undef APART_OF

/* What registers hold of a voxel: small integers are widened once. */
template <typename T> struct held {
    static constexpr bool small = std::is_integral<T>::value && sizeof(T) < sizeof(int32_t);
    using type = typename std::conditional<small, int32_t, T>::type;
};

template <typename T> struct equal_values {
    static constexpr bool exact = true; /* what equals foreground is foreground */
    explicit equal_values(const scene &) {}
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

    explicit near_values(const scene &s) : limit(s.rule.limit), steps(0)
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
    switch (type) {
        LOB_TYPE_LIST(WITH)
    case LOB_TYPES:
        break;
    }
#undef WITH
    return LOB_EINTERNAL;
}

/* ---- words and counts ---- */

/* Words that follow each other; quads: count is a whole number of 4, and all begin at such. */
template <int N>
static __device__ inline void store_words(uint32_t *to, const uint32_t (&from)[N], int count,
                                          bool quads)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (i >= count) continue;
        if (!quads)
            to[i] = from[i];
        else if (i % 4 == 0)
            *(uint4 *)(to + i) = make_uint4(from[i], from[i + 1], from[i + 2], from[i + 3]);
    }
}

template <int N>
static __device__ inline void load_words(uint32_t (&to)[N], const uint32_t *from, int count,
                                         bool quads)
{
#pragma unroll
    for (int i = 0; i < N; i += 4) {
        uint4 q = make_uint4(0, 0, 0, 0);
        if (quads && i < count)
            q = *(const uint4 *)(from + i);
        else {
            if (i < count) q.x = from[i];
            if (i + 1 < count) q.y = from[i + 1];
            if (i + 2 < count) q.z = from[i + 2];
            if (i + 3 < count) q.w = from[i + 3];
        }
        to[i] = q.x, to[i + 1] = q.y, to[i + 2] = q.z, to[i + 3] = q.w;
    }
}

/* Add up what the threads of a block counted. */
static __device__ inline void count_states(wide *counts, uint32_t foreground, uint32_t not_finite)
{
    __shared__ wide sum[2];
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
    __syncthreads();
    foreground = __reduce_add_sync(~0u, foreground);
    not_finite = __reduce_add_sync(~0u, not_finite);
    if (threadIdx.x % WORD == 0) {
        atomicAdd(&sum[0], (wide)foreground);
        atomicAdd(&sum[1], (wide)not_finite);
    }
    __syncthreads();
    if (threadIdx.x < 2 && sum[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sum[threadIdx.x]);
}

#endif
