/*
 * Distances on a GPU: the same bytes as lob_distance_cpu, for arrays in ordinary memory and for
 * arrays that are in device memory already.
 */
#ifndef LOB_DISTANCE_CUDA_H
#define LOB_DISTANCE_CUDA_H

#include "kernels/distance/distance.h"

LOB_BEGIN_DECLS

/*
 * As lob_distance_cpu, on context->device, which must be open. Working memory is 2 bytes a voxel,
 * and 4 more without out->distance. Returns besides what that does LOB_EDEVICE when the device
 * fails. LOB_ENOMEM: also where a line along y or z does not fit the shared memory of a
 * multiprocessor, which on Hopper holds 17800 voxels at least.
 */
lob_status lob_distance_cuda(const lob_distance_output *out, const lob_distance_input *in,
                             const lob_distance_options *options, const lob_context *context,
                             lob_error *error);

/*
 * The same, device to device.
 *
 *   out     out  device addresses
 *   labels  in   device address, written before the call as lob_device_stream says; in->labels is
 *                not read
 *
 * Work is queued in the device's stream and may still be under way when this returns; it takes the
 * device's block LOB_DEVICE_WORK.
 */
lob_status lob_distance_cuda_arrays(const lob_distance_output *out, const void *labels,
                                    const lob_distance_input *in,
                                    const lob_distance_options *options, const lob_context *context,
                                    lob_error *error);

LOB_END_DECLS

#endif
