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

/* A label of 1, 2 or 4 bytes. */
LOB_BOTH uint32_t lob_distance_label(const void *labels, int bytes, int64_t i)
{
    if (bytes == 1) return ((const uint8_t *)labels)[i];
    if (bytes == 2) return ((const uint16_t *)labels)[i];
    return ((const uint32_t *)labels)[i];
}

LOB_BOTH void lob_distance_put_label(void *labels, int bytes, int64_t i, uint32_t label)
{
    if (bytes == 1)
        ((uint8_t *)labels)[i] = (uint8_t)label;
    else if (bytes == 2)
        ((uint16_t *)labels)[i] = (uint16_t)label;
    else
        ((uint32_t *)labels)[i] = label;
}

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

/* The squared distance of a cost, or the distance. */
LOB_BOTH double lob_distance_length(double cost, double unit, bool squared)
{
    return squared ? cost * unit : sqrt(cost * unit);
}

/* The output of a cost. */
LOB_BOTH float lob_distance_value(double cost, double none, double unit, bool squared)
{
    if (cost >= none) return INFINITY;
    return (float)lob_distance_length(cost, unit, squared);
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
