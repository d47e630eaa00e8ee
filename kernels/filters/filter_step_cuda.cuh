/*
 * A step of a chain on the GPU. Every kind has, in its own file NAME/NAME_cuda.cu,
 *
 *     int64_t NAME_bytes(const lob_filter_image *in, const lob_filter_call *call);
 *     lob_status NAME(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
 *                     const lob_filter_call *call, void *work, lob_error *error);
 *
 * All addresses are the device's, call->mask too. work holds NAME_bytes bytes, aligned to 256; an
 * image is aligned likewise. A step enqueues its kernels on the device's stream and returns: the
 * chain waits.
 */
#ifndef LOB_FILTER_STEP_CUDA_CUH
#define LOB_FILTER_STEP_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/filters/filter_step.h"

#endif
