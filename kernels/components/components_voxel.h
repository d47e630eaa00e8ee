/* What a foreground voxel is and when two of them are joined, compiled for the CPU and for CUDA. */
#ifndef LOB_COMPONENTS_VOXEL_H
#define LOB_COMPONENTS_VOXEL_H

#include "volumes/both.h"
#include "volumes/voxel_type.h"

/* The options that single voxels are asked about, in stored units where that saves work. */
typedef struct {
    double slope, inter; /* a voxel's value is slope * stored + inter */
    double low, high;    /* foreground's range of values, where ranged, as these are compared */
    double limit;        /* tolerance: the largest sum of stored differences that joins */
    bool ranged;
    bool scaled; /* slope and inter are not 1 and 0 */
} lob_component_rule;

LOB_BOTH double lob_component_value(double stored, double slope, double inter)
{
    return slope * stored + inter;
}

/* Neither NaN nor infinite. Integers always are finite. */
LOB_BOTH bool lob_component_finite(double stored)
{
    return stored - stored == 0.0;
}

/*
 * What one channel says about a finite voxel. Where rule->ranged every channel must agree, else one
 * is enough. Of 64-bit integers the nearest double is looked at, which is 0 for 0 alone.
 */
LOB_BOTH bool lob_component_foreground(double stored, const lob_component_rule *rule)
{
    const double value = lob_component_value(stored, rule->slope, rule->inter);
    return rule->ranged ? value >= rule->low && value <= rule->high : value != 0.0;
}

/*
 * lob_component_apart_uint8_t(a, b) and so on for every voxel type: |a - b| in stored units. Exact
 * for integers of up to 32 bits, and then a sum over channels is exact too; the exact difference
 * rounded once to a double for those of 64; one subtraction of doubles for real types. Two voxels
 * are within the tolerance when the sum over channels, added in their order, is at most
 * rule->limit. Equal is a == b in every channel, so that 0.0 and -0.0 are equal.
 */
#define LOB_COMPONENT_APART(type, ctype, name, integer, lowest, highest) \
    LOB_BOTH double lob_component_apart_##ctype(ctype a, ctype b)        \
    {                                                                    \
        const ctype low = a < b ? a : b, high = a < b ? b : a;           \
        if (integer) return (double)((uint64_t)high - (uint64_t)low);    \
        return (double)high - (double)low;                               \
    }
LOB_TYPE_LIST(LOB_COMPONENT_APART)
#undef LOB_COMPONENT_APART

#endif
