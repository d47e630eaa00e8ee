/* Median and box by their definitions, place by place. */
#ifndef LOB_NEIGHBOURHOOD_REFERENCE_H
#define LOB_NEIGHBOURHOOD_REFERENCE_H

#include "kernels/filters/filter_step.h"

/* What lob_median_cpu writes: out holds the voxels of all channels, of in's type. */
void median_reference(void *out, const lob_filter_image *in, const lob_filter_call *call);

/*
 * The means that lob_box_cpu comes close to.
 *
 *   mean   out  of the data around each voxel, before call->after; what the voxel was where it is
 *               kept. channels * nx*ny*nz
 *   scale  out  mean of the magnitudes of the same data, so that rounding can be judged; 0 where
 *               the voxel is kept. As many
 */
void box_reference(double *mean, double *scale, const lob_filter_image *in,
                   const lob_filter_call *call);

#endif
