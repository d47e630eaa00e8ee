/* Passes that look at one voxel alone, on the CPU. This header is not installed. */
#ifndef LOB_POINTWISE_H
#define LOB_POINTWISE_H

#include "kernels/filters/filter_plan.h"

LOB_BEGIN_DECLS

/* Run a pass of a kind other than LOB_PASS_STEP. */
void lob_pointwise_run(const lob_filter_image *out, const lob_filter_image *in,
                       const lob_filter_pass *pass, int threads);

/*
 * Look through an image: count the voxels that are NaN or infinite in a channel or outside of the
 * mask, and find whether a stored number is not finite or beyond LOB_FILTER_BOUND.
 */
void lob_filter_scan(int64_t *not_data, bool *unbounded, const lob_volume *image,
                     const uint8_t *mask, int threads);

LOB_END_DECLS

#endif
