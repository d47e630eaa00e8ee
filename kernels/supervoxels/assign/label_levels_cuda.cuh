/*
 * Label levels: with three channels, the levels of the first two lie in the array of labels until
 * the last pass writes labels there. Each warp tile's lie in the labels of its own voxels, so that
 * the last pass may overwrite them tile by tile.
 *
 * In a whole brick, one that lies wholly in the volume, neighbouring lanes use each other's labels,
 * so that what a warp reads at once is contiguous. In a flat view the four strips of two rows do:
 * the labels of the first row hold channel 0 and those of the second channel 1. In 3D two strips
 * that are neighbours along w do. In other bricks the label of a voxel holds its own levels,
 * channel 0 in the low half. Offsets take 32 bits, since a slab has fewer than 2^32 voxels.
 */
#ifndef LOB_LABEL_LEVELS_CUDA_H
#define LOB_LABEL_LEVELS_CUDA_H

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

/* Does the brick whose first voxel this is lie wholly in the slab, with aligned labels? */
template <bool FLAT>
static __device__ inline bool is_whole_brick(const supervoxels_params &s, const int32_t *first)
{
    typedef brick_shape<FLAT> S;
    return s.aligned && first[0] + S::bx <= s.end[0] && first[1] + S::by <= s.end[1] &&
           first[2] + S::bz <= s.end[2];
}

/* The labels of a whole brick. */
static __device__ inline int32_t *labels_of_brick(const supervoxels_params &s, const int32_t *first)
{
    return s.labels + (first[0] - s.begin[0] + (first[1] - s.begin[1]) * (uint32_t)s.stride[1] +
                       (first[2] - s.begin[2]) * (uint32_t)s.stride[2]);
}

/* Where in these a strip has its levels of channel 0, two per label. u, v, w: of the strip within
 * the brick. */
template <bool FLAT>
static __device__ inline uint32_t label_offset_of(const supervoxels_params &s, int u, int v, int w)
{
    const uint32_t row = (uint32_t)s.stride[1], slice = (uint32_t)s.stride[2];
    return FLAT ? (v & ~1) * row + (v & 1) * STRIP + u / 2
                : v * row + (w & ~1) * slice + (w & 1) * (STRIP / 2);
}

/* From the levels of channel 0 to those of channel 1. */
template <bool FLAT> static __device__ inline uint32_t channel_offset(const supervoxels_params &s)
{
    return (uint32_t)s.stride[FLAT ? 1 : 2];
}

/* Store a strip's levels of a channel. */
template <bool FLAT>
static __device__ inline void store_label_levels(const supervoxels_params &s, position strip,
                                                 int channel, uint4 packed)
{
    typedef brick_shape<FLAT> S;
    const int32_t in[3] = {(strip.u - s.begin[0]) % S::bx, (strip.v - s.begin[1]) % S::by,
                           (strip.w - s.begin[2]) % S::bz};
    const int32_t first[3] = {strip.u - in[0], strip.v - in[1], strip.w - in[2]};
    if (is_whole_brick<FLAT>(s, first)) {
        const uint32_t at = label_offset_of<FLAT>(s, in[0], in[1], in[2]);
        *(uint4 *)(labels_of_brick(s, first) + at + channel * channel_offset<FLAT>(s)) = packed;
        return;
    }
    const bool there = strip.v < s.end[1] && strip.w < s.end[2];
    const uint32_t word[STRIP / 2] = {packed.x, packed.y, packed.z, packed.w};
    uint16_t *to = (uint16_t *)(s.labels + voxel_at(s, strip)) + channel;
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        if (there && strip.u + j < s.end[0])
            to[2 * j * s.stride[0]] = (uint16_t)(word[j / 2] >> j % 2 * 16);
}

/* Load a lane's levels of both channels from a whole brick; label_offset: of its strip. Returns
 * false, and levels of 0, if the brick is not whole. */
template <bool FLAT>
static __device__ inline bool load_label_levels(uint4 *packed, const supervoxels_params &s,
                                                const int32_t *first, uint32_t label_offset)
{
    const bool whole = is_whole_brick<FLAT>(s, first);
    const int32_t *from = labels_of_brick(s, first) + label_offset;
    packed[0] = whole ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
    packed[1] = whole ? *(const uint4 *)(from + channel_offset<FLAT>(s)) : make_uint4(0, 0, 0, 0);
    return whole;
}

/* The same from a brick that is not whole, voxel by voxel; 0 beyond the volume. */
static __device__ __noinline__ void read_by_voxel(uint4 *packed, const supervoxels_params &s,
                                                  position strip)
{
    const bool there = strip.v < s.end[1] && strip.w < s.end[2];
    const int32_t *from = s.labels + voxel_at(s, strip);
    uint32_t word[STRIP];
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        word[j] = there && strip.u + j < s.end[0] ? (uint32_t)from[j * s.stride[0]] : 0;
    packed[0] =
        make_uint4(__byte_perm(word[0], word[1], 0x5410), __byte_perm(word[2], word[3], 0x5410),
                   __byte_perm(word[4], word[5], 0x5410), __byte_perm(word[6], word[7], 0x5410));
    packed[1] =
        make_uint4(__byte_perm(word[0], word[1], 0x7632), __byte_perm(word[2], word[3], 0x7632),
                   __byte_perm(word[4], word[5], 0x7632), __byte_perm(word[6], word[7], 0x7632));
}

} /* namespace lob::supervoxels */

#endif
