/* Appearance on a GPU: the same bytes as lob_appearance_cpu. */
#ifndef LOB_APPEARANCE_CUDA_H
#define LOB_APPEARANCE_CUDA_H

#include "kernels/appearance/appearance.h"

LOB_BEGIN_DECLS

/* As lob_appearance_cpu, on context->device, which must be open. Returns besides LOB_EDEVICE. */
lob_status lob_appearance_cuda(float *shares, lob_appearance_stats *stats,
                               const lob_appearance_input *in,
                               const lob_appearance_options *options, const lob_context *context,
                               lob_error *error);

LOB_END_DECLS

#endif
