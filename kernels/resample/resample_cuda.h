/* Resampling on a GPU: the same bytes as lob_resample_cpu. */
#ifndef LOB_RESAMPLE_CUDA_H
#define LOB_RESAMPLE_CUDA_H

#include "kernels/resample/resample.h"

LOB_BEGIN_DECLS

/*
 * As lob_resample_cpu, on context->device, which must be open. Returns besides what that does
 * LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less free memory than this needs.
 */
lob_status lob_resample_cuda(void *out, const lob_resample_input *in,
                             const lob_resample_options *options, const lob_context *context,
                             lob_error *error);

/*
 * The same, device to device.
 *
 *   out     out  device address, as for lob_resample_cpu
 *   voxels  in   device address of the volume's voxels, written before the call as
 *                lob_device_stream says
 *   in      in   in->volume->data is not read
 *
 * The device has finished when this returns.
 */
lob_status lob_resample_cuda_arrays(void *out, const void *voxels, const lob_resample_input *in,
                                    const lob_resample_options *options, const lob_context *context,
                                    lob_error *error);

LOB_END_DECLS

#endif
