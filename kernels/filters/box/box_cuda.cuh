/* Box on the GPU; the contract is box.h's. Reading starts in box_cuda.cu. */
#ifndef LOB_BOX_CUDA_CUH
#define LOB_BOX_CUDA_CUH

#include "kernels/filters/filter_step_cuda.cuh"

namespace lob
{
namespace filters
{

int64_t box_bytes(const lob_filter_image *in, const lob_filter_call *call);
lob_status box(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
               const lob_filter_call *call, void *work, lob_error *error);

} /* namespace filters */
} /* namespace lob */

#endif
