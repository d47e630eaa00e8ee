/* Refining on a GPU: the same bytes as lob_refine_cpu. */
#ifndef LOB_REFINE_CUDA_H
#define LOB_REFINE_CUDA_H

#include "kernels/refine/refine.h"

LOB_BEGIN_DECLS

/*
 * As lob_refine_cpu, on context->device, which must be open: image, labels and seeds go there once,
 * and the result comes back. Working memory, for each voxel of the part that is worked on: 10 bytes
 * without edge; with it 10 + 16 for each channel; with several labels beside the background up to 8
 * more; and copies as there. Returns besides LOB_EDEVICE.
 */
lob_status lob_refine_cuda(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                           const lob_refine_options *options, const lob_context *context,
                           lob_error *error);

LOB_END_DECLS

#endif
