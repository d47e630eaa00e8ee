/*
 * Thresholds on a GPU: the same bytes as lob_threshold_cpu, for arrays in ordinary memory and for
 * arrays that are in device memory already.
 */
#ifndef LOB_THRESHOLD_CUDA_H
#define LOB_THRESHOLD_CUDA_H

#include "kernels/threshold/threshold.h"

LOB_BEGIN_DECLS

/*
 * As lob_threshold_cpu, on context->device, which must be open. Returns besides what that does
 * LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less free memory than this needs.
 */
lob_status lob_threshold_cuda(uint8_t *labels, lob_threshold_stats *stats,
                              const lob_threshold_input *in, const lob_threshold_options *options,
                              const lob_context *context, lob_error *error);

/* Device addresses of the arrays, written before the call as lob_device_stream says. */
typedef struct {
    uint8_t *labels; /* out */
    const void *image;
    const uint8_t *mask; /* NULL: all voxels */
} lob_threshold_arrays;

/*
 * The same, device to device.
 *
 *   in  in  in->mask and in->image->data are not read
 *
 * The device has finished when this returns. Returns what lob_threshold_cuda does.
 */
lob_status lob_threshold_cuda_arrays(const lob_threshold_arrays *arrays, lob_threshold_stats *stats,
                                     const lob_threshold_input *in,
                                     const lob_threshold_options *options,
                                     const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
