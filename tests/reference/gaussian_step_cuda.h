/* The Gaussian steps on the GPU by themselves, for programs in C. */
#ifndef LOB_TESTS_GAUSSIAN_STEP_CUDA_H
#define LOB_TESTS_GAUSSIAN_STEP_CUDA_H

#include "kernels/device/device.h"
#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Bytes of work that the step of a call needs; everything as filter_step_cuda.cuh says. */
int64_t gaussian_step_bytes(const lob_filter_image *in, const lob_filter_call *call);
lob_status gaussian_step_cuda(lob_device *device, const lob_filter_image *out,
                              const lob_filter_image *in, const lob_filter_call *call, void *work,
                              lob_error *error);

LOB_END_DECLS

#endif
