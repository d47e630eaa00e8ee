/* Passes that look at one voxel alone, on the GPU: those of pointwise.h. */
#ifndef LOB_POINTWISE_CUDA_CUH
#define LOB_POINTWISE_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/filters/filter_plan.h"

namespace lob::filters
{

lob_status run_pointwise(lob_device *device, const lob_filter_image *out,
                         const lob_filter_image *in, const lob_filter_pass *pass, lob_error *error);

/* What a look through an image finds; sums of several looks. */
typedef struct {
    unsigned long long not_data; /* voxels */
    unsigned long long beyond;   /* not 0: a stored number is not finite, or beyond the bound */
} scan_counts;

/*
 * Look at n voxels of an image from voxel first on, as lob_filter_scan does.
 *
 *   counts  in/out  on the device
 */
lob_status scan(lob_device *device, scan_counts *counts, const lob_filter_image *in,
                const uint8_t *mask, int64_t first, int64_t n, lob_error *error);

} /* namespace lob::filters */

#endif
