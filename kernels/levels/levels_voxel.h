/* The arithmetic of levels on single voxels, compiled for the CPU and for CUDA. */
#ifndef LOB_LEVELS_VOXEL_H
#define LOB_LEVELS_VOXEL_H

#include "volumes/both.h"

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

#endif
