/* Thin parts of label_steps.h, on the CPU. */
#ifndef LOB_MAJORITY_THIN_H
#define LOB_MAJORITY_THIN_H

#include "kernels/budget.h"
#include "volumes/volume.h"

/*
 * Give voxels that the majority took their labels back, where they are thin.
 *
 *   out    in/out  the majority, then with thin parts
 *   in     in      the labels before
 *   reach  in      of thin parts, in voxels
 *
 * Working memory is two bytes a voxel. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_majority_keep_thin(void *out, const void *in, lob_type type, lob_dims dims,
                                  const int32_t reach[3], int threads, lob_budget *budget,
                                  lob_error *error);

#endif
