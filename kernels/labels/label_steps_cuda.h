/* Label steps on a GPU: the same bytes as lob_labels_cpu. */
#ifndef LOB_LABEL_STEPS_CUDA_H
#define LOB_LABEL_STEPS_CUDA_H

#include "kernels/labels/label_steps.h"

LOB_BEGIN_DECLS

/* As lob_labels_cpu, on context->device, which must be open. Also LOB_EDEVICE when it fails. */
lob_status lob_labels_cuda(lob_labels_output *out, const lob_labels_input *in,
                           const lob_labels_options *options, const lob_context *context,
                           lob_error *error);

/* Device addresses of the arrays of input and output. */
typedef struct {
    const void *labels;  /* of in->type */
    const uint8_t *mask; /* NULL: none */
    void *out;           /* room for nx*ny*nz int32; out->type says what is written */
} lob_labels_arrays;

/*
 * The same, device to device.
 *
 *   arrays  in/out  inputs are written before the call, as lob_device_stream says
 *   out     out     labels is NULL
 *   in      in      its labels and mask are not read
 *
 * The device has finished when this returns.
 */
lob_status lob_labels_cuda_arrays(const lob_labels_arrays *arrays, lob_labels_output *out,
                                  const lob_labels_input *in, const lob_labels_options *options,
                                  const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
