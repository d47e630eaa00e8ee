/*
 * Regions on a GPU: the same bytes as lob_regions_cpu, for arrays in ordinary memory and for arrays
 * that are in device memory already.
 */
#ifndef LOB_REGIONS_CUDA_H
#define LOB_REGIONS_CUDA_H

#include "kernels/regions/regions.h"

LOB_BEGIN_DECLS

/*
 * As lob_regions_cpu, on context->device, which must be open. Returns besides what that does
 * LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less free memory than this needs.
 */
lob_status lob_regions_cuda(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                            const lob_regions_input *in, const lob_context *context,
                            lob_error *error);

/* Device addresses of the input's arrays, written before the call as lob_device_stream says. */
typedef struct {
    const void *labels;
    const void *image; /* NULL without an image */
} lob_regions_arrays;

/*
 * The same, device to device.
 *
 *   regions        out  device address of in->count regions, in memory that the device keeps until
 *                       its next call; NULL where count is 0
 *   values         out  the same, of lob_region_values; NULL without an image too
 *   fine           out  may be NULL without an image
 *   working_bytes  out  bytes of working memory, without the regions; may be NULL
 *   in             in   in->labels and in->image->data are not read; in->image is NULL or not
 *
 * The device has finished when this returns. Returns what lob_regions_cuda does.
 */
lob_status lob_regions_cuda_arrays(const lob_regions_arrays *arrays, const lob_region **regions,
                                   const lob_region_values **values, lob_fine_levels *fine,
                                   int64_t *working_bytes, const lob_regions_input *in,
                                   const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
