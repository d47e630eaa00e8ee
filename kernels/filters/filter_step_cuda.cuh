/*
 * The steps of a chain on the GPU. Every kind has two functions of these types, in its own file
 * NAME/NAME_cuda.cu.
 *
 * All addresses are the device's, call->mask too. work holds as many bytes as the first one says,
 * aligned to 256; an image is aligned likewise. A step enqueues its kernels on the device's stream
 * and returns: the chain waits.
 */
#ifndef LOB_FILTER_STEP_CUDA_CUH
#define LOB_FILTER_STEP_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/filters/filter_step.h"

namespace lob::filters
{

typedef int64_t step_bytes(const lob_filter_image *in, const lob_filter_call *call);
typedef lob_status step_run(lob_device *device, const lob_filter_image *out,
                            const lob_filter_image *in, const lob_filter_call *call, void *work,
                            lob_error *error);

step_bytes gaussian_bytes, box_bytes;    /* the others take none */
step_run gaussian, box, median, denoise; /* gaussian: gradient and laplacian too */

/* As lob_denoise_noise_cpu, in work of denoise_noise_bytes. The host waits for the result. */
step_bytes denoise_noise_bytes;
lob_status denoise_noise(lob_device *device, double *noise, const lob_filter_image *in,
                         const lob_filter_call *call, void *work, lob_error *error);

} /* namespace lob::filters */

#endif
