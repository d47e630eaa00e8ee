/*
 * Levels in labels: of three channels, the first two lie in the labels until the last pass writes
 * labels there, each pile's in those of its own voxels.
 *
 * Where a brick lies wholly in the volume, runs of lanes beside each other share theirs, so that
 * what lanes ask for together lies together: in a flat view the four runs of two rows, the labels
 * of the first row holding channel 0, those of the second channel 1; else two runs along w in that
 * manner. In other bricks a label has what its voxel has, channel 0 in its low half. Voxels are
 * counted in 32 bits, as all of a supervoxels_params can be.
 */
#ifndef LOB_SUPERVOXELS_KEPT_CUDA_CUH
#define LOB_SUPERVOXELS_KEPT_CUDA_CUH

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

/* first: a brick's first voxel. */
template <bool FLAT>
static __device__ inline bool shares_labels(const supervoxels_params &s, const int32_t *first)
{
    typedef brick_shape<FLAT> S;
    return s.aligned && first[0] + S::bx <= s.side[0] && first[1] + S::by <= s.side[1] &&
           first[2] + S::bz <= s.side[2];
}

/* The labels of such a brick, where voxels along u follow each other. */
static __device__ inline int32_t *labels_of_brick(const supervoxels_params &s, const int32_t *first)
{
    return s.labels +
           (first[0] + first[1] * (uint32_t)s.stride[1] + first[2] * (uint32_t)s.stride[2]);
}

/* Where in these a run has its levels of channel 0, two to a label. u, v, w: where the run is in
 * the brick. */
template <bool FLAT>
static __device__ inline uint32_t kept_in_brick(const supervoxels_params &s, int u, int v, int w)
{
    const uint32_t row = (uint32_t)s.stride[1], slice = (uint32_t)s.stride[2];
    return FLAT ? (v & ~1) * row + (v & 1) * STRIP + u / 2
                : v * row + (w & ~1) * slice + (w & 1) * (STRIP / 2);
}

/* From the levels of channel 0 to those of channel 1. */
template <bool FLAT> static __device__ inline uint32_t kept_apart_by(const supervoxels_params &s)
{
    return (uint32_t)s.stride[FLAT ? 1 : 2];
}

/* Put a run's levels of a channel there. */
template <bool FLAT>
static __device__ inline void keep_levels(const supervoxels_params &s, position run, int channel,
                                          uint4 packed)
{
    typedef brick_shape<FLAT> S;
    const int32_t in[3] = {run.u % S::bx, run.v % S::by, run.w % S::bz};
    const int32_t first[3] = {run.u - in[0], run.v - in[1], run.w - in[2]};
    if (shares_labels<FLAT>(s, first)) {
        const uint32_t at = kept_in_brick<FLAT>(s, in[0], in[1], in[2]);
        *(uint4 *)(labels_of_brick(s, first) + at + channel * kept_apart_by<FLAT>(s)) = packed;
        return;
    }
    const bool there = run.v < s.side[1] && run.w < s.side[2];
    const uint32_t word[STRIP / 2] = {packed.x, packed.y, packed.z, packed.w};
    uint16_t *to = (uint16_t *)(s.labels + voxel_at(s, run)) + channel;
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        if (there && run.u + j < s.side[0])
            to[2 * j * s.stride[0]] = (uint16_t)(word[j / 2] >> j % 2 * 16);
}

/* A lane's levels of both channels in a brick, and kept, which is kept_in_brick of its run; false,
 * and 0: the brick does not share labels. */
template <bool FLAT>
static __device__ inline bool read_kept(uint4 *packed, const supervoxels_params &s,
                                        const int32_t *first, uint32_t kept)
{
    const bool shares = shares_labels<FLAT>(s, first);
    const int32_t *from = labels_of_brick(s, first) + kept;
    packed[0] = shares ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
    packed[1] = shares ? *(const uint4 *)(from + kept_apart_by<FLAT>(s)) : make_uint4(0, 0, 0, 0);
    return shares;
}

/* The same of a run in a brick that does not; 0 beyond the volume. */
static __device__ __noinline__ void read_by_voxel(uint4 *packed, const supervoxels_params &s,
                                                  position run)
{
    const bool there = run.v < s.side[1] && run.w < s.side[2];
    const int32_t *from = s.labels + voxel_at(s, run);
    uint32_t word[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        word[j] = there && run.u + j < s.side[0] ? (uint32_t)from[j * s.stride[0]] : 0;
    packed[0] =
        make_uint4(__byte_perm(word[0], word[1], 0x5410), __byte_perm(word[2], word[3], 0x5410),
                   __byte_perm(word[4], word[5], 0x5410), __byte_perm(word[6], word[7], 0x5410));
    packed[1] =
        make_uint4(__byte_perm(word[0], word[1], 0x7632), __byte_perm(word[2], word[3], 0x7632),
                   __byte_perm(word[4], word[5], 0x7632), __byte_perm(word[6], word[7], 0x7632));
}

static __device__ inline void prefetch(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

template <bool FLAT>
static __device__ inline void prefetch_kept(const supervoxels_params &s, const int32_t *first,
                                            uint32_t kept)
{
    const int32_t *from = labels_of_brick(s, first) + kept;
    if (!shares_labels<FLAT>(s, first)) return;
    prefetch(from);
    prefetch(from + kept_apart_by<FLAT>(s));
}

} /* namespace lob::supervoxels */

#endif
