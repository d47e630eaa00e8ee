/* Morphology on a GPU: the same bytes as lob_morphology_cpu. */
#ifndef LOB_MORPHOLOGY_CUDA_H
#define LOB_MORPHOLOGY_CUDA_H

#include "kernels/morphology/morphology.h"

LOB_BEGIN_DECLS

/* As lob_morphology_cpu, on context->device, which must be open. Returns besides LOB_EDEVICE. */
lob_status lob_morphology_cuda(void *out, const lob_morphology_input *in, lob_morphology how,
                               double radius, const lob_context *context, lob_error *error);

/*
 * The same, device to device.
 *
 *   out     out  device address of nx*ny*nz of in->type; may be labels
 *   labels  in   device address, written before the call as lob_device_stream says; in->labels is
 *                not read
 *
 * Work is queued in the device's stream and may still be under way when this returns; it takes the
 * device's block LOB_DEVICE_WORK.
 */
lob_status lob_morphology_cuda_arrays(void *out, const void *labels, const lob_morphology_input *in,
                                      lob_morphology how, double radius, const lob_context *context,
                                      lob_error *error);

LOB_END_DECLS

#endif
