/* Supervoxels as the definition tells them, voxel by voxel and cluster by cluster: slow and plain.
 */
#ifndef LOB_SUPERVOXELS_REFERENCE_H
#define LOB_SUPERVOXELS_REFERENCE_H

#include "kernels/supervoxels/supervoxels.h"

/*
 * As lob_supervoxels_cpu, of options that fit; working_bytes is 0. The constants and tables are
 * the plan's; everything else is worked out here. LOB_EDATA where there is no data.
 */
lob_status supervoxels_reference(int32_t *labels, lob_supervoxels_stats *stats,
                                 const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options);

#endif
