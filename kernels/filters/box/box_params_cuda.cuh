/*
 * What the kernels of box share: where they read, and the sums of a block of a line.
 *
 *   box_cuda.cu          the call: which passes there are, and from where to where each goes
 *   box_rows_cuda.cuh    lines along x; along x and then y, in one pass
 *   box_columns_cuda.cuh lines along y or z; lines of any axis whose windows are too large for
 *                        shared memory
 */
#ifndef LOB_BOX_PARAMS_CUDA_CUH
#define LOB_BOX_PARAMS_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/filters/box/box_voxel.h"
#include "kernels/filters/filter_step_cuda.cuh"

#include <cuda_pipeline.h>

namespace lob
{
namespace filters
{

enum { BOX_THREADS = 256, BOX_WARPS = BOX_THREADS / WARP };

/* Shared memory of a block, so that an SM holds two. */
enum { BOX_SHARED = 112 * 1024 };

/* What a pass reads: float32, or with NULL the step's image from a voxel on. */
struct box_input {
    const float *floats;
    lob_box_source from;
    int64_t voxel; /* of the image, all channels */
    int64_t mask_voxel;
};

static __device__ inline float box_value(const box_input &in, int64_t i)
{
    return in.floats ? in.floats[i] : lob_box_read(&in.from, in.voxel + i, in.mask_voxel + i);
}

/* Begin to copy a value of a pass's input to shared memory. box_arrived waits for all of them. */
static __device__ inline void box_fetch(float *to, const box_input &in, int64_t i)
{
    if (in.floats)
        __pipeline_memcpy_async(to, in.floats + i, sizeof *to);
    else
        *to = lob_box_read(&in.from, in.voxel + i, in.mask_voxel + i);
}

static __device__ inline void box_arrived()
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

/* PLAIN: windows are whole and nothing is mapped afterwards. */
template <bool PLAIN>
static __device__ inline void box_sum_windows(float *to, int64_t to_step, const lob_box_pass &pass,
                                              const float *places, int apart, int64_t begin, int n)
{
    const int window = (int)(2 * pass.radius + 1);
    const float *comes = places, *goes = places;
    const double factor = pass.factor;
    double sum = 0;
#pragma unroll 8
    for (int i = 0; i < window; i++, comes += apart) sum = sum + (double)*comes;
    *to = PLAIN ? (float)(sum * factor) : lob_box_scaled(&pass, sum, begin);
#pragma unroll 4
    for (int i = 1; i < n; i++, comes += apart, goes += apart) {
        sum = lob_box_moved(sum, *comes, *goes);
        to += to_step;
        *to = PLAIN ? (float)(sum * factor) : lob_box_scaled(&pass, sum, begin + i);
    }
}

/*
 * Sum the windows of voxels begin .. end - 1 of a line.
 *
 *   to      out  of the first of them; to_step apart
 *   places  in   what stands at begin - radius, begin - radius + 1, ..., `apart` apart
 */
static __device__ inline void box_sum_block(float *to, int64_t to_step, const lob_box_pass &pass,
                                            const float *places, int apart, int64_t begin,
                                            int64_t end)
{
    const bool clipped = pass.clips && (begin < pass.radius || end > pass.n - pass.radius);
    const int n = (int)(end - begin);
    if (pass.after.identity && !clipped)
        box_sum_windows<true>(to, to_step, pass, places, apart, begin, n);
    else
        box_sum_windows<false>(to, to_step, pass, places, apart, begin, n);
}

/* Where block number b of a line ends. */
static __device__ inline int64_t box_block_end(const lob_box_pass &pass, int64_t b)
{
    const int64_t next = lob_box_block_begin(&pass, b + 1);
    return next < pass.n ? next : pass.n;
}

} /* namespace filters */
} /* namespace lob */

#endif
