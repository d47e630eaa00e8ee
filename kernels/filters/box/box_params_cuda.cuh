/*
 * What the kernels of box share: how they read, and the sums of a block of a line.
 *
 *   box_cuda.cu          the call: which passes there are, and from where to where each goes
 *   box_direct_cuda.cuh  all three axes in one pass, where windows are small
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

namespace lob::filters
{

enum { BOX_THREADS = 256, BOX_WARPS = BOX_THREADS / WARP };

/* Shared memory of a block: what every device has since capability 8.0, and an H200 twice. */
enum { BOX_SHARED = 96 * 1024 };

/* Begin to copy N neighbouring floats to shared memory. box_arrived waits for all of them. */
template <int N> static __device__ inline void box_fetch(float *to, const float *from)
{
    __pipeline_memcpy_async(to, from, N * sizeof *to);
}

static __device__ inline void box_arrived()
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

/*
 * Factors of sums, at shared memory's beginning: at edges that are renormalised a window has fewer
 * places, and a division for each voxel takes longer than all the rest. An even number, so that
 * what follows lies at a multiple of 16 bytes.
 */
static __host__ __device__ inline int box_factors(const lob_box_pass &pass)
{
    return pass.clips ? (int)(2 * pass.radius + 2) : 0;
}

/* A barrier has to follow before they are read. */
static __device__ inline void box_fill_factors(double *factors, const lob_box_pass &pass)
{
    for (int n = 1 + (int)threadIdx.x; n < box_factors(pass); n += (int)blockDim.x)
        factors[n] = 1.0 / (double)n;
}

/* lob_box_scaled by the table. */
static __device__ inline float box_scaled(const lob_box_pass &pass, const double *factors,
                                          double sum, int64_t i)
{
    const double factor = pass.clips ? factors[lob_box_places(&pass, i)] : pass.factor;
    return lob_filter_mapped((float)(sum * factor), &pass.after);
}

enum { BOX_STEPS = 4 };

/*
 * The windows of n neighbouring voxels. BOX_STEPS of them are read before any is written: a reader
 * that follows a writer would wait for it, since both may be shared memory.
 *
 * PLAIN: windows are whole and nothing is mapped afterwards.
 */
template <bool PLAIN, lob_box_what WHAT>
static __device__ inline void box_sum_windows(float *to, int64_t to_step, const lob_box_pass &pass,
                                              const double *factors, const float *places, int apart,
                                              int64_t begin, int n)
{
    const int window = (int)(2 * pass.radius + 1);
    const auto scaled = [&](double sum, int i) {
        return PLAIN ? (float)(sum * pass.factor) : box_scaled(pass, factors, sum, begin + i);
    };
    const float *comes = places, *goes = places;
    double sum = 0;
    if (pass.anew) {
#pragma unroll 2
        for (int i = 0; i < n; i++, places += apart, to += to_step) {
            sum = 0;
#pragma unroll
            for (int k = 0; k <= 2 * LOB_BOX_DIRECT; k++)
                if (k < window) sum = sum + (double)lob_box_summand(places[k * apart], true, WHAT);
            *to = scaled(sum, i);
        }
        return;
    }
#pragma unroll 8
    for (int i = 0; i < window; i++, comes += apart)
        sum = sum + (double)lob_box_summand(*comes, true, WHAT);
    *to = scaled(sum, 0);
    int i = 1;
    for (; i + BOX_STEPS <= n; i += BOX_STEPS) {
        float in[BOX_STEPS], out[BOX_STEPS];
#pragma unroll
        for (int k = 0; k < BOX_STEPS; k++, comes += apart, goes += apart)
            in[k] = lob_box_summand(*comes, true, WHAT),
            out[k] = lob_box_summand(*goes, true, WHAT);
#pragma unroll
        for (int k = 0; k < BOX_STEPS; k++) {
            sum = lob_box_moved(sum, in[k], out[k]);
            *(to += to_step) = scaled(sum, i + k);
        }
    }
    for (; i < n; i++, comes += apart, goes += apart) {
        sum = lob_box_moved(sum, lob_box_summand(*comes, true, WHAT),
                            lob_box_summand(*goes, true, WHAT));
        *(to += to_step) = scaled(sum, i);
    }
}

/*
 * Sum the windows of voxels begin .. end - 1 of a line.
 *
 *   to       out  of the first of them; to_step apart
 *   factors  in   box_fill_factors'
 *   places   in   what stands at begin - radius, begin - radius + 1, ..., `apart` apart
 */
template <lob_box_what WHAT = LOB_BOX_MEANS>
static __device__ inline void box_sum_block(float *to, int64_t to_step, const lob_box_pass &pass,
                                            const double *factors, const float *places, int apart,
                                            int64_t begin, int64_t end)
{
    const bool clipped = pass.clips && (begin < pass.radius || end > pass.n - pass.radius);
    const int n = (int)(end - begin);
    if (pass.after.identity && !clipped)
        box_sum_windows<true, WHAT>(to, to_step, pass, factors, places, apart, begin, n);
    else
        box_sum_windows<false, WHAT>(to, to_step, pass, factors, places, apart, begin, n);
}

} /* namespace lob::filters */

#endif
