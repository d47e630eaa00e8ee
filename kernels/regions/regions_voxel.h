/* The sums of a region, voxel by voxel or run by run; for the CPU and CUDA. */
#ifndef LOB_REGIONS_VOXEL_H
#define LOB_REGIONS_VOXEL_H

#include "kernels/regions/regions.h"
#include "volumes/both.h"

/*
 * The fine level of a stored value >= low: the integer nearest to (stored - low) * per_unit. Halves
 * are subtracted because stored - low can overflow a double.
 */
LOB_BOTH uint32_t lob_fine_mapped(double stored, double low, double per_unit)
{
    const double level = (stored * 0.5 - low * 0.5) * (2 * per_unit) + 0.5;
    return level < 4294967295.0 ? (uint32_t)level : UINT32_MAX;
}

/* Add a fine level to a region's sums. */
LOB_BOTH void lob_region_add_fine(lob_region_values *values, uint32_t fine)
{
    const uint64_t square = (uint64_t)fine * fine;
    values->fine += fine;
    values->square[0] += (uint32_t)square;
    values->square[1] += square >> 32;
}

/* Add n >= 1 voxels from (x, y, z) on along x; index is that of the first. */
LOB_BOTH void lob_region_add_run(lob_region *region, int64_t index, int64_t x, int64_t y, int64_t z,
                                 int64_t n)
{
    const int32_t low[3] = {(int32_t)x, (int32_t)y, (int32_t)z};
    const int32_t high[3] = {(int32_t)(x + n - 1), (int32_t)y, (int32_t)z};
    const bool none = region->voxels == 0;
    if (none || index < region->first) region->first = index;
    for (int a = 0; a < 3; a++) {
        if (none || low[a] < region->low[a]) region->low[a] = low[a];
        if (none || high[a] > region->high[a]) region->high[a] = high[a];
    }
    region->voxels += n;
    region->sum[0] += n * x + n * (n - 1) / 2;
    region->sum[1] += n * y;
    region->sum[2] += n * z;
}

#endif
