/*
 * Regions on a GPU: the same bytes as lob_regions_cpu, for arrays in ordinary memory and for arrays
 * that are on the device already.
 */
#ifndef LOB_REGIONS_CUDA_H
#define LOB_REGIONS_CUDA_H

#include "kernels/regions/regions.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_regions_cpu, on context->device, which must be open. Returns besides what that does
 * LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less free memory than this needs.
 */
lob_status lob_regions_cuda(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                            const lob_regions_input *in, const lob_context *context,
                            lob_error *error);

/*
 * The same, device to device.
 *
 *   regions  out  device address of in->count regions, in the device's LOB_DEVICE_TABLES, whose
 *                 contents are forgotten; NULL where count is 0
 *   values   out  the same, of lob_region_values; NULL without an image too
 *   fine     out  may be NULL without an image
 *   taken    out  bytes of working memory, without the regions; may be NULL
 *   labels   in   device address; in->labels is not looked at
 *   image    in   device address; in->image->data is not looked at, but in->image being NULL is.
 *                 Both are there when this is called, as lob_device_stream tells
 *
 * The device has finished when this returns.
 */
lob_status lob_regions_cuda_arrays(const lob_region **regions, const lob_region_values **values,
                                   lob_fine_levels *fine, int64_t *taken, const void *labels,
                                   const void *image, const lob_regions_input *in,
                                   const lob_context *context, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
