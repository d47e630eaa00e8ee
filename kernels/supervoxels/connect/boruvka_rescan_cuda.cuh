/*
 * Rounds without lists, for as many pieces as lists have no room for: each looks at the volume
 * again, and a set's pick is kept in its link.
 */
#ifndef LOB_SUPERVOXELS_UNLISTED_CUDA_CUH
#define LOB_SUPERVOXELS_UNLISTED_CUDA_CUH

#include "kernels/supervoxels/connect/fragments_cuda.cuh"

namespace lob::supervoxels
{

/* ---- picking ---- */

static __device__ inline uint32_t mean_of(const connect_params &p, int64_t set, int channel)
{
    return lob_fragment_mean((int64_t)sum_of(p, set * p.s.rule.channels + channel), p.n[set]);
}

static __device__ __noinline__ uint64_t key_of(const connect_params &p, int32_t a, int32_t b)
{
    uint64_t apart = 0;
    for (int c = 0; c < p.s.rule.channels; c++)
        apart += lob_fragment_difference(mean_of(p, a, c), mean_of(p, b, c));
    return lob_fragment_key(apart, (uint32_t)b);
}

/* Small a, which b touches, picks it unless it has a better one. */
static __device__ inline void pick(const connect_params &p, int32_t a, int32_t b)
{
    int32_t link = link_now(p, a);
    if (link == -b) return;
    const uint64_t key = key_of(p, a, b);
    while (link == 0 || key < key_of(p, a, -link)) {
        const int32_t was = atomicCAS(&p.link[a], link, -b);
        if (was == link) return;
        link = was;
    }
}

/* ---- joining ---- */

/* lowest_of, which halves the way for the next who asks. */
static __device__ inline int32_t lowest_halving(const connect_params &p, int32_t i)
{
    for (int32_t next; (next = link_now(p, i)) > 0; i = next) {
        const int32_t after = link_now(p, next);
        if (after > 0) *(volatile int32_t *)&p.link[i] = after;
    }
    return i;
}

/* Join a set with its pick. Who makes the higher of two lowest pieces point at the lower takes the
 * place of its pick, which is the whole set's by then, and so goes on with it. */
static __device__ inline void join_with(const connect_params &p, int32_t piece, int32_t pick)
{
    while (pick != 0) {
        const int32_t a = lowest_halving(p, piece), b = lowest_halving(p, pick);
        if (a == b) return;
        const int32_t low = min(a, b), high = max(a, b), its = link_now(p, high);
        if (its > 0 || atomicCAS(&p.link[high], its, low) != its) continue;
        piece = low;
        pick = -its;
    }
}

/* What picked joins what was picked. */
static __global__ void __launch_bounds__(THREADS)
    join_kernel(const __grid_constant__ connect_params p)
{
    const int64_t pieces = *p.pieces, step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= pieces; i += step) {
        const int32_t link = link_now(p, (int32_t)i);
        if (link >= 0) continue;
        p.counters->going[0] = 1;
        if (atomicCAS(&p.link[i], link, 0) == link) join_with(p, (int32_t)i, -link);
    }
}

/* Every piece points at its set's lowest, and hands on what was measured of it. */
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ connect_params p)
{
    const int channels = p.s.rule.channels;
    const int64_t pieces = *p.pieces, step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= pieces; i += step) {
        const int32_t link = link_now(p, (int32_t)i);
        if (link <= 0) continue;
        const int32_t lowest = lowest_of(p, link);
        const uint32_t n = p.n[i];
        p.link[i] = lowest;
        if (n == 0) continue; /* handed on in a round before */
        p.n[i] = 0;
        atomicAdd(&p.n[lowest], n);
        for (int c = 0; c < channels; c++)
            add_sum(p, (int64_t)lowest * channels + c, sum_of(p, i * channels + c));
    }
}

} /* namespace lob::supervoxels */

#endif
