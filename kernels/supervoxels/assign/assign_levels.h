/* The levels that supervoxels on the CPU compute with, made from the image whenever they are read:
 * keeping them would take 2 bytes per voxel and channel. */
#ifndef LOB_ASSIGN_LEVELS_H
#define LOB_ASSIGN_LEVELS_H

#include "kernels/supervoxels/supervoxels_plan.h"

/*
 * Levels of neighbouring voxels of a row, as supervoxels_voxel.h defines them.
 *
 *   out      out  n levels of each channel, channels `stride` apart; 0 where is_data is 0
 *   is_data  in   n; not 0 where a voxel is data
 *   at       in   index of the first voxel in a channel of the image
 */
void lob_assign_levels(uint16_t *out, int64_t stride, const lob_supervoxels_plan *plan,
                       const lob_volume *image, const int32_t *is_data, int64_t at, int64_t n);

#endif
