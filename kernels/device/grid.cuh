/* Threads of a grid and lanes of a warp, and the barrier that all blocks of a grid wait at. */
#ifndef LOB_GRID_CUH
#define LOB_GRID_CUH

#include <stdint.h>

namespace lob
{

typedef unsigned long long u64; /* the 64-bit type that CUDA's atomics take */

enum { WARP = 32 };
static constexpr unsigned ALL_LANES = ~0u;

/* ---- loops in which a grid's threads take items in turn ---- */

static __device__ inline int64_t grid_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t grid_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* ---- warps ---- */

/* The least value of a warp's lanes, in all of them. */
template <typename T> static __device__ inline T warp_min(T value)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const T other = __shfl_xor_sync(ALL_LANES, value, apart);
        if (other < value) value = other;
    }
    return value;
}

/* The largest value of a warp's lanes, in all of them. */
static __device__ inline u64 warp_max(u64 value)
{
    return ~warp_min(~value);
}

/* The sum over a warp's lanes, in all of them. __reduce_add_sync does it for 32 bits. */
static __device__ inline u64 warp_sum(u64 value)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, apart);
    return value;
}

/* ---- blocks ---- */

/*
 * The sum over the threads before this one. Every thread of a block calls it; it ends with a
 * barrier.
 * cub::BlockScan takes two registers and 3 to 6 % of instructions more in the kernels that call
 * this.
 *
 *   of_warp  shared memory, a word for each warp; free again afterwards
 *   total    out  the sum over all threads
 */
static __device__ inline uint32_t block_exclusive_sum(uint32_t mine, uint32_t *of_warp,
                                                      uint32_t *total)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    uint32_t sum = mine;
    for (int apart = 1; apart < WARP; apart *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, sum, apart);
        if (lane >= apart) sum += other;
    }
    if (lane == WARP - 1) of_warp[warp] = sum;
    __syncthreads();
    const uint32_t its = lane < (int)blockDim.x / WARP ? of_warp[lane] : 0;
    const uint32_t before = __reduce_add_sync(ALL_LANES, lane < warp ? its : 0);
    *total = __reduce_add_sync(ALL_LANES, its);
    __syncthreads();
    return before + sum - mine;
}

/* ---- blocks of a grid that is launched by lob_launch_cooperative ---- */

/* What this thread wrote before is seen by whoever sees what it writes afterwards. __threadfence
 * also orders all such fences among each other, which costs time and is not needed. */
static __device__ inline void memory_fence()
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/*
 * One thread of each block: wait until all blocks have arrived.
 *
 *   arrived  in/out  in device memory, 0 before the launch
 *   passed   in      how many times this block has called, this time included
 */
static __device__ inline void grid_barrier(uint32_t *arrived, uint32_t passed)
{
    memory_fence();
    atomicAdd(arrived, 1u);
    const uint32_t all = passed * gridDim.x;
    while ((int32_t)(*(volatile uint32_t *)arrived - all) < 0) __nanosleep(20);
    memory_fence();
}

} /* namespace lob */

#endif
