/* The measures of an over-segmentation, straight from their definitions. */
#ifndef LOB_PARTITION_REFERENCE_H
#define LOB_PARTITION_REFERENCE_H

#include "kernels/scores/partition.h"

/*
 * Labels and truth hold one byte a voxel; image is NULL or channels * nx*ny*nz. out is filled as
 * lob_partition_measure says.
 */
void reference_partition(lob_partition *out, const uint8_t *labels, const uint8_t *truth,
                         const double *image, int channels, lob_dims dims,
                         const double spacing_mm[3], const lob_partition_options *options);

#endif
