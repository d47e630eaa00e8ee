/* The levels that supervoxels on the CPU compute with, made from the image wherever they are read:
 * planes of them would take 2 bytes a voxel and channel. */
#ifndef LOB_SUPERVOXELS_LEVELS_H
#define LOB_SUPERVOXELS_LEVELS_H

#include "kernels/supervoxels/supervoxels_plan.h"

/*
 * Levels of voxels of a row, as supervoxels_voxel.h has them in planes.
 *
 *   out      out  the plan's channels, stride apart, n each; 0 where is_data is
 *   plan, image  in
 *   is_data  in   n; 0 where a voxel is none
 *   at       in   index of the first voxel in a channel of the image
 */
void lob_supervoxel_levels(uint16_t *out, int64_t stride, const lob_supervoxels_plan *plan,
                           const lob_volume *image, const int32_t *is_data, int64_t at, int64_t n);

#endif
