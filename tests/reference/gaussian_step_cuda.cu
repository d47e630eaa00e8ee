/* The Gaussian steps on the GPU by themselves. */
#include "tests/reference/gaussian_step_cuda.h"

#include "kernels/filters/filter_step_cuda.cuh"

int64_t gaussian_step_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return lob::filters::gaussian_bytes(in, call);
}

lob_status gaussian_step_cuda(lob_device *device, const lob_filter_image *out,
                              const lob_filter_image *in, const lob_filter_call *call, void *work,
                              lob_error *error)
{
    return lob::filters::gaussian(device, out, in, call, work, error);
}
