/* The arithmetic of the majority that both backends compile. */
#ifndef LOB_MAJORITY_VOXEL_H
#define LOB_MAJORITY_VOXEL_H

#include "kernels/labels/majority/majority.h"

/* The sum of an axis' weights that fall inside the volume, at a place on that axis, side or beyond:
 * 0. */
LOB_BOTH uint32_t lob_majority_inside(const uint32_t *before, int32_t radius, int64_t at,
                                      int64_t side)
{
    const int64_t first = at < radius ? radius - at : 0;
    const int64_t last = side - 1 - at < radius ? side - 1 - at + radius : 2 * (int64_t)radius;
    return at < side ? before[last + 1] - before[first] : 0;
}

/*
 * What weights are compared by: of equal weights the voxel's own label comes first where it is
 * preferred, else the smallest.
 */
LOB_BOTH uint32_t lob_majority_key(uint32_t weight, bool own)
{
    return 2 * weight + own;
}

/* Can a label that has not been looked at yet change the choice? `left` is the weight of all of
 * these together. Of equal weights it could be the smaller one. */
LOB_BOTH bool lob_majority_open(uint32_t left, uint32_t best, bool prefers_own)
{
    return left > 0 && lob_majority_key(left, prefers_own) >= best;
}

/* 0, 1, -1, 2, -2, ...: offsets from the nearest on. */
LOB_BOTH int32_t lob_majority_offset(int32_t i)
{
    return i & 1 ? (i + 1) / 2 : -(i / 2);
}

#endif
