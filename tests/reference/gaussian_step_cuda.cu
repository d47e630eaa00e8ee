/* The Gaussian steps on the GPU by themselves. */
#include "tests/reference/gaussian_step_cuda.h"

#include "kernels/filters/gaussian/gaussian_cuda.cuh"

using namespace lob::filters;

int64_t gaussian_step_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return call->step->kind == LOB_FILTER_GAUSSIAN   ? gaussian_bytes(in, call)
           : call->step->kind == LOB_FILTER_GRADIENT ? gradient_bytes(in, call)
                                                     : laplacian_bytes(in, call);
}

lob_status gaussian_step_cuda(lob_device *device, const lob_filter_image *out,
                              const lob_filter_image *in, const lob_filter_call *call, void *work,
                              lob_error *error)
{
    return call->step->kind == LOB_FILTER_GAUSSIAN ? gaussian(device, out, in, call, work, error)
           : call->step->kind == LOB_FILTER_GRADIENT
               ? gradient(device, out, in, call, work, error)
               : laplacian(device, out, in, call, work, error);
}
