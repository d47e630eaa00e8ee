/* Distances of single voxels, as both compilers compile them. */
#ifndef LOB_DISTANCE_VOXEL_H
#define LOB_DISTANCE_VOXEL_H

#include "kernels/distance/distance_plan.h"
#include "volumes/both.h"

#include <math.h>

/*
 * Between passes a voxel holds 4 bytes: after the pass along x its offset to the nearest voxel so
 * far; after y a narrow cost, or the offsets along x and y in 16 bits each, which say what a wide
 * cost is. Offsets are below LOB_DISTANCE_MAX_SIDE, so that all bits set are none.
 */
#define LOB_NO_OFFSET UINT32_MAX

/* The label of a voxel as the plan sees it: 0 where it does not count. */
LOB_BOTH uint32_t lob_distance_class(uint32_t label, uint32_t only, bool binary)
{
    if (only && label != only) return 0;
    return binary ? label != 0 : label;
}

LOB_BOTH double lob_distance_of_offsets(uint32_t offsets, double weight_x, double weight_y)
{
    const double x = (double)(int32_t)(offsets & 0xffff), y = (double)(int32_t)(offsets >> 16);
    const double cost = x * x * weight_x + y * y * weight_y;
    return offsets == LOB_NO_OFFSET ? LOB_NO_COST_WIDE : cost;
}

/* The output of a cost. */
LOB_BOTH float lob_distance_value(double cost, double none, double unit, bool squared)
{
    const float value = (float)(squared ? cost * unit : sqrt(cost * unit));
    return cost >= none ? INFINITY : value;
}

/* The same of a narrow cost. The root of a whole number below 2^24 is rounded to float once or, by
 * way of double, twice, with the same result. */
LOB_BOTH float lob_distance_value_narrow(int32_t cost, double unit, bool squared)
{
    if (cost < 1 << 24 && unit == 1 && !squared) return sqrtf((float)cost);
    return lob_distance_value((double)cost, LOB_NO_COST_NARROW, unit, squared);
}

/* How many voxels of this weight a cost reaches, and one more for what rounding may take away. */
LOB_BOTH int32_t lob_distance_reach(double cost, double weight)
{
    const float reach = sqrtf((float)cost / (float)weight);
    return reach < 65536.0f ? (int32_t)reach + 1 : 65537;
}

#endif
