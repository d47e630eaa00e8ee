/*
 * GrowCut's arithmetic on single voxels, compiled for the CPU and for CUDA. Its floating-point
 * operations are those that every machine rounds the same way.
 */
#ifndef LOB_GROWCUT_VOXEL_H
#define LOB_GROWCUT_VOXEL_H

#include "kernels/growcut/growcut.h"
#include "volumes/both.h"

#include <math.h>

/* A flood takes keys that leave fewer bits for its steps to be too short: they would hardly ever
 * do.
 */
enum { LOB_GROWCUT_STEP_BITS = 6 };

/* Cost of a step that cannot be taken. */
#define LOB_NO_PASSAGE UINT32_MAX

/*
 * sqrt(square) to the nearest whole number, the same on every machine: below 2^52 the double is
 * exact, its root is correctly rounded, and k + 1/2 is never the root of a whole number.
 */
LOB_BOTH uint32_t lob_growcut_root(uint64_t square)
{
    return (uint32_t)(sqrt((double)square) + 0.5);
}

/*
 * Distance of the levels of two voxels, in units of 1 / 2^fraction levels.
 *
 *   p, q      in  the voxels' levels in channel 0; channel c lies c * stride further
 *   channels  in  1..64
 *   fraction  in  0..6; at least 1 for alphamax over several channels, whose halves are then exact
 *
 * At least the largest channel's difference.
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

/* Does a step cost what the level costs that it enters? Else what the difference of two does. */
LOB_BOTH bool lob_growcut_reads_values(lob_growcut_kind rule)
{
    return rule == LOB_RULE_FLOOD || rule == LOB_RULE_VALUE || rule == LOB_RULE_SQUARE;
}

/* Bits that hold every label up to this one. */
LOB_BOTH int lob_growcut_label_bits(int32_t labels)
{
    int bits = 0;
    while (labels >> bits) bits++;
    return bits;
}

/*
 * How many bits of a key of 32 or 64 bits are left for the steps of a flood, whose levels are
 * 0..dmax; fewer than 1: none. Two levels more than dmax must fit below the keys' end.
 */
LOB_BOTH int lob_growcut_step_bits(uint32_t dmax, int label_bits, int key_bits)
{
    int left = (key_bits == 32 ? 32 : 62) - label_bits;
    for (uint32_t levels = dmax + 2; levels; levels >>= 1) left--;
    return left;
}

/* A cost rounded to whole units; LOB_NO_PASSAGE where 32 bits do not hold it. */
LOB_BOTH uint32_t lob_growcut_units(double units)
{
    return units < LOB_NO_PASSAGE - 1.0 ? (uint32_t)(units + 0.5) : LOB_NO_PASSAGE;
}

/*
 * What a step of distance d, or into level d, 0..dmax, costs, in units; LOB_NO_PASSAGE when it
 * cannot be taken.
 *
 *   scale  in  strength rule: units over which a strength falls by a factor of e; square: units of
 *              a level of 1; else: units of a distance or level of 1
 *   ln     in  strength rule: ln[k] is ln(k), k = 1..dmax, from the host's log, because machines
 *              differ in its last bit. As -ln(1 - d/dmax) is ln(dmax) - ln(dmax - d), one table
 *              serves every dmax. Other rules: not read
 */
LOB_BOTH uint32_t lob_growcut_cost(lob_growcut_kind rule, uint32_t d, uint32_t dmax, double scale,
                                   const double *ln)
{
    if (rule == LOB_RULE_SQUARE) return lob_growcut_units((double)d * d * scale);
    if (rule != LOB_RULE_STRENGTH) return lob_growcut_units(d * scale);
    return d < dmax ? lob_growcut_units((ln[dmax] - ln[dmax - d]) * scale) : LOB_NO_PASSAGE;
}

#endif
