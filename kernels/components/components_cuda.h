/*
 * Connected components on a GPU: the same bytes as lob_components_cpu, for arrays in ordinary
 * memory and for arrays that are on the device already.
 */
#ifndef LOB_COMPONENTS_CUDA_H
#define LOB_COMPONENTS_CUDA_H

#include "kernels/components/components.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_components_cpu, on context->device, which must be open.
 *
 * Returns besides what that does LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less
 * free memory than this needs; the message tells both figures and the size that would fit.
 */
lob_status lob_components_cuda(lob_components_result *result, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error);

/* Device addresses of what the input's and the result's arrays hold. */
typedef struct {
    const void *image;
    const uint8_t *mask;     /* NULL: none */
    const void *intensities; /* NULL: none */
    void *labels; /* nx*ny*nz; of options->type, or room for int32: of LOB_TYPES, keep_values */
} lob_components_arrays;

/*
 * The same, device to device.
 *
 *   arrays   in/out  labels may be image, where the types are the same size and there are no
 *                    intensities in that place
 *   result   out     labels is NULL, regions that of the device: it lies in a block of the
 *                    device's and lasts until the device is used again; the rest as always
 *   in       in      the arrays' addresses are not looked at, but for being NULL or not
 *
 * The device has finished when this returns.
 */
lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_result *result, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
