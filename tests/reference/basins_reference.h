/*
 * Joining basins as it is defined, never optimised: pairs of voxels are looked at from the lowest
 * to the highest, as water rises, and labels are rewritten wherever two basins become one.
 */
#ifndef LOB_BASINS_REFERENCE_H
#define LOB_BASINS_REFERENCE_H

#include "kernels/merge/basins.h"

/* As lob_basins_cpu, of labels and options that it takes; stats are those of the result. */
void basins_reference(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                      const lob_volume *image, const lob_basins_options *options);

#endif
