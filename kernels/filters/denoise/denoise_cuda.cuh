/* Denoising on the GPU: the step of filter_step_cuda.cuh, and the noise. */
#ifndef LOB_DENOISE_CUDA_CUH
#define LOB_DENOISE_CUDA_CUH

#include "kernels/filters/denoise/denoise.h"
#include "kernels/filters/filter_step_cuda.cuh"

namespace lob::filters
{

int64_t denoise_bytes(const lob_filter_image *in, const lob_filter_call *call);
lob_status denoise(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                   const lob_filter_call *call, void *work, lob_error *error);

/* As lob_denoise_noise_cpu, in work of denoise_noise_bytes. The host waits for the result. */
int64_t denoise_noise_bytes(const lob_filter_image *in, const lob_filter_call *call);
lob_status denoise_noise(lob_device *device, double *noise, const lob_filter_image *in,
                         const lob_filter_call *call, void *work, lob_error *error);

} /* namespace lob::filters */

#endif
