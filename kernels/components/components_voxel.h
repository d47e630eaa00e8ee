/* Which voxels are foreground and which neighbours are joined; for the CPU and CUDA. Faster forms
 * with equal results, for integers and for "not 0", are in the CUDA files of bits/. */
#ifndef LOB_COMPONENTS_VOXEL_H
#define LOB_COMPONENTS_VOXEL_H

#include "volumes/both.h"
#include "volumes/voxel_type.h"

/* The options that decide about single voxels and pairs, prepared for comparison. */
typedef struct {
    double slope, inter; /* a voxel's value is slope * stored + inter */
    double low, high;    /* with ranged: the range, rounded as lob_as_compared says */
    double limit;        /* tolerance: the largest sum of stored differences that joins */
    bool ranged;
    bool scaled; /* slope and inter are not 1 and 0 */
} lob_component_rule;

LOB_BOTH double lob_component_value(double stored, double slope, double inter)
{
    return slope * stored + inter;
}

/* Neither NaN nor infinite. */
LOB_BOTH bool lob_component_finite(double stored)
{
    return stored - stored == 0.0;
}

/*
 * Whether one channel of a finite voxel is foreground. With rule->ranged every channel must be,
 * else one is enough. A 64-bit integer is rounded to a double, which is 0 only for 0.
 */
LOB_BOTH bool lob_component_foreground(double stored, const lob_component_rule *rule)
{
    const double value = lob_component_value(stored, rule->slope, rule->inter);
    return rule->ranged ? value >= rule->low && value <= rule->high : value != 0.0;
}

/*
 * lob_component_apart_uint8_t(a, b) and so on for every voxel type: |a - b| in stored units. It is
 * exact for integers of up to 32 bits, as is its sum over channels; for 64 bits it is the exact
 * difference rounded to a double; for real types one subtraction of doubles. Two voxels are within
 * the tolerance when the sum over channels, added in their order, is at most rule->limit. Two
 * voxels are equal when a == b in every channel, so 0.0 equals -0.0.
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
