/* The arithmetic of levels on single voxels, compiled for the CPU and for CUDA. */
#ifndef LOB_LEVELS_VOXEL_H
#define LOB_LEVELS_VOXEL_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The level of a stored value >= low: the integer nearest to (stored - low) * per_unit. Halves are
 * subtracted because stored - low can overflow a double. The level of what is not data is
 * unspecified.
 */
LOB_BOTH uint16_t lob_level_mapped(double stored, double low, double per_unit)
{
    const int32_t level = (int32_t)((stored * 0.5 - low * 0.5) * (2 * per_unit) + 0.5);
    return (uint16_t)(level < 65535 ? level : 65535);
}

/* Is a finite value a whole number of at most 53 bits? Integers are; so are the values that
 * programs write as real numbers though they only ever were integers. */
LOB_BOTH bool lob_is_whole(double value)
{
    const double limit = 9007199254740992.0;
    return value >= -limit && value <= limit && (double)(int64_t)value == value;
}

#endif
