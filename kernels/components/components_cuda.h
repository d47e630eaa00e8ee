/*
 * Connected components on a GPU: the same bytes as lob_components_cpu, for arrays in ordinary
 * memory and for arrays that are in device memory already.
 *
 * How it works: components_stages_cuda.cuh.
 */
#ifndef LOB_COMPONENTS_CUDA_H
#define LOB_COMPONENTS_CUDA_H

#include "kernels/components/components.h"

LOB_BEGIN_DECLS

/*
 * As lob_components_cpu, on context->device, which must be open.
 *
 * Returns what that does; also LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less
 * free memory than this needs (the message gives both sizes and the number of voxels that would
 * fit).
 */
lob_status lob_components_cuda(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error);

/* Device addresses of the arrays of input and output. */
typedef struct {
    const void *image;
    const uint8_t *mask;     /* NULL: none */
    const void *intensities; /* NULL: none */
    void *labels;            /* nx*ny*nz of options->type; of int32 with LOB_TYPES or keep_values */
} lob_components_arrays;

/*
 * The same, device to device.
 *
 *   arrays  in/out  inputs are written before the call, as lob_device_stream says; labels may be
 *                   image, where their types have the same size and intensities are elsewhere
 *   out     out     labels is NULL; regions and values are device addresses, in memory that the
 *                   device keeps until its next call; member is in ordinary memory: free it
 *   in      in      its arrays are not read; only whether intensities is NULL matters
 *
 * The device has finished when this returns.
 */
lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_output *out, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
