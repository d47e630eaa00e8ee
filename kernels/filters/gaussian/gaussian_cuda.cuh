/*
 * Gaussian steps on the GPU; see gaussian.h and filter_step_cuda.cuh. Where reading starts:
 *
 *   gaussian_sums.c           which passes run, from where to where; the CPU has it too
 *   gaussian_cuda.cu          memory, and which kernel runs a pass
 *   gaussian_planes_cuda.cu   exact passes along x and y in one
 *   gaussian_march_cuda.cu    an exact pass along z
 *   gaussian_coarse_cuda.cu   to every m-th voxel and back, along y or z
 *   gaussian_lines_cuda.cu    any pass, voxel by voxel
 */
#ifndef LOB_GAUSSIAN_CUDA_CUH
#define LOB_GAUSSIAN_CUDA_CUH

#include "kernels/filters/filter_step_cuda.cuh"
#include "kernels/filters/gaussian/gaussian_sums.h"

#include <type_traits>

namespace lob::filters
{

/* The largest radius of an exact pass that planes and march have a kernel for. */
enum { GAUSSIAN_MAX_RADIUS = 24 };

/*
 * Where a pass reads and writes; out is never what is read. Of pairs the source has pairs if it is
 * between passes, else its voxels are values of weight 1, or 0 where they are no data; what is
 * written are pairs, or with RATIO and FILL what these make of them.
 */
struct gaussian_job : lob_gaussian_io {
    const float *tables;      /* on the device */
    const float *host_tables; /* the same; some weights become arguments of a kernel */
};

/* Whether values are read as they are: finite float32 in no mask, unmapped. */
static inline bool gaussian_reads_floats(const lob_gaussian_source *source)
{
    return source->type == LOB_F32 && source->finite && !source->mask && !source->counts &&
           source->before.identity;
}

/* Whether the voxels of pairs are read as they are, whether they are data or not. */
static inline bool gaussian_pairs_floats(const lob_gaussian_source *source)
{
    return source->type == LOB_F32 && source->before.identity;
}

/* What is read outside of the volume: as a value and as its weight. */
static inline float gaussian_weight_outside(lob_edge edge)
{
    return edge == LOB_EDGE_CONSTANT ? 1.0f : 0.0f;
}

/* Exact passes along x and y; either may be NULL. */
lob_status gaussian_planes(lob_device *device, const gaussian_job *job,
                           const lob_gaussian_pass *along_x, const lob_gaussian_pass *along_y,
                           lob_dims dims, lob_error *error);

/* An exact pass along z. */
lob_status gaussian_march(lob_device *device, const gaussian_job *job,
                          const lob_gaussian_pass *pass, lob_error *error);

/* A pass along y or z to the samples of a coarse axis, and back. */
lob_status gaussian_reduce(lob_device *device, const gaussian_job *job,
                           const lob_gaussian_pass *pass, const lob_gaussian_axis *axis,
                           lob_error *error);
lob_status gaussian_expand(lob_device *device, const gaussian_job *job,
                           const lob_gaussian_pass *pass, lob_error *error);

/* Any pass. */
lob_status gaussian_lines(lob_device *device, const gaussian_job *job,
                          const lob_gaussian_pass *pass, lob_error *error);

/* ---- what the kernels share ---- */

/*
 * Voxels of a line that a thread writes, for so many lines. Lines are cut where there are too few
 * of them to occupy the device, but not shorter than what is read twice.
 */
static inline int64_t gaussian_chunk(const lob_device *device, int64_t n, int64_t lines,
                                     int64_t radius)
{
    const int64_t wanted = (int64_t)lob_device_multiprocessors(device) * 2048;
    const int64_t least = 2 * radius + 8, cuts = (wanted + lines - 1) / lines;
    const int64_t chunk = (n + cuts - 1) / cuts;
    return chunk > least ? chunk : least;
}

#ifdef __CUDACC__

/* Voxel i as a summand; FLOATS: gaussian_reads_floats. */
template <bool FLOATS>
static __device__ inline float gaussian_summand_at(const lob_gaussian_source &source, int64_t i)
{
    if (FLOATS) return ((const float *)source.data)[i] + 0.0f;
    return lob_gaussian_read(&source, i);
}

/* What a sum's place holds, if that is needed; SUMS: lob_gaussian_writes_sums. */
template <bool SUMS>
static __device__ inline float gaussian_held(const float *out, const lob_gaussian_finish &finish,
                                             int64_t i)
{
    return !SUMS && lob_gaussian_needs_held(&finish) ? out[i] : 0.0f;
}

/* Write a sum. */
template <bool SUMS>
static __device__ inline void gaussian_write(float *out, const lob_gaussian_finish &finish,
                                             int64_t i, float sum, float held)
{
    out[i] = SUMS ? sum : lob_gaussian_finished(&finish, i, sum, held);
}

template <bool SUMS>
static __device__ inline void gaussian_write(float *out, const lob_gaussian_finish &finish,
                                             int64_t i, float sum)
{
    gaussian_write<SUMS>(out, finish, i, sum, gaussian_held<SUMS>(out, finish, i));
}

/*
 * Lanes 2i and 2i + 1 have the sums of N places: of values, and of weights. Give both of these to
 * the even lane for the first half of the places and to the odd lane for the others.
 *
 *   lanes  in  of the warp, those that call
 */
template <int N>
static __device__ inline void gaussian_share_pairs(float *values, float *weights, const float *sum,
                                                   unsigned lanes)
{
    const bool odd = threadIdx.x % 2;
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
        const float keeps = (odd ? sum[N / 2 + k] : sum[k]) + 0.0f;
        const float gets = __shfl_xor_sync(lanes, (odd ? sum[k] : sum[N / 2 + k]) + 0.0f, 1);
        values[k] = odd ? gets : keeps;
        weights[k] = odd ? keeps : gets;
    }
}

/* What `of` makes of the types of FLOATS and SUMS. */
template <typename F> static inline auto gaussian_kernel_of(bool floats, bool sums, F of)
{
    const std::true_type yes;
    const std::false_type no;
    if (floats) return sums ? of(yes, yes) : of(yes, no);
    return sums ? of(no, yes) : of(no, no);
}

/* The kernel for what a job that is not of pairs reads and writes. */
template <typename F> static inline auto gaussian_kernel(const gaussian_job *job, F of)
{
    return gaussian_kernel_of(gaussian_reads_floats(&job->source),
                              lob_gaussian_writes_sums(&job->finish), of);
}

/* Run with the least radius that there are kernels for. */
template <typename F> static inline lob_status gaussian_with_radius(int64_t radius, F run)
{
    return radius <= 4    ? run(std::integral_constant<int, 4>())
           : radius <= 8  ? run(std::integral_constant<int, 8>())
           : radius <= 16 ? run(std::integral_constant<int, 16>())
                          : run(std::integral_constant<int, GAUSSIAN_MAX_RADIUS>());
}

#endif

} /* namespace lob::filters */

#endif
