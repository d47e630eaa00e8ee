/* GrowCut's arithmetic on single voxels, compiled for the CPU and for CUDA. All of it is integer.
 */
#ifndef LOB_GROWCUT_VOXEL_H
#define LOB_GROWCUT_VOXEL_H

#include "kernels/growcut/growcut.h"
#include "volumes/both.h"

#include <math.h>

/* Cost of a step that cannot be taken. */
#define LOB_NO_PASSAGE UINT32_MAX

/*
 * sqrt(square) to the nearest whole number. Below 2^52 the double is exact and its root correctly
 * rounded, and k + 1/2 is never the root of a whole number, so every machine gives the same.
 */
LOB_BOTH uint32_t lob_growcut_root(uint64_t square)
{
    return (uint32_t)(sqrt((double)square) + 0.5);
}

/*
 * Distance of two voxels from the differences of their levels, in 1 / 2^fraction levels.
 *
 *   p, q      in  channel 0 of each voxel; channel c lies c * stride further
 *   channels  in  1..64
 *   fraction  in  0..6; at least 1 for alphamax over several channels, whose halves are then exact
 *
 * Never below the largest channel's difference.
 */
LOB_BOTH uint32_t lob_growcut_distance(const uint16_t *p, const uint16_t *q, int channels,
                                       int64_t stride, lob_norm norm, int fraction)
{
    uint64_t squares = 0;
    uint32_t sum = 0, largest = 0;
    for (int c = 0; c < channels; c++) {
        const int32_t e = (int32_t)p[c * stride] - (int32_t)q[c * stride];
        const uint32_t d = (uint32_t)(e < 0 ? -e : e);
        squares += (uint64_t)d * d;
        sum += d;
        if (d > largest) largest = d;
    }
    if (channels == 1) return sum << fraction;
    switch (norm) {
    case LOB_NORM_L2:
        return lob_growcut_root(squares << 2 * fraction);
    case LOB_NORM_L1:
        return sum << fraction;
    case LOB_NORM_LINF:
        return largest << fraction;
    case LOB_NORM_ALPHAMAX:
        return ((largest + sum) << fraction) / 2;
    }
    return sum << fraction;
}

#endif
