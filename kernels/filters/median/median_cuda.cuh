/* Median on the GPU; the contract is median.h's. Reading starts in median_cuda.cu. */
#ifndef LOB_MEDIAN_CUDA_CUH
#define LOB_MEDIAN_CUDA_CUH

#include "kernels/filters/filter_step_cuda.cuh"

namespace lob
{
namespace filters
{

int64_t median_bytes(const lob_filter_image *in, const lob_filter_call *call);
lob_status median(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                  const lob_filter_call *call, void *work, lob_error *error);

} /* namespace filters */
} /* namespace lob */

#endif
