/* The GPU's median and box for checks written in C. */
#include "tests/check_backends/neighbourhood_steps.h"

#include "kernels/filters/filter_step_cuda.cuh"

int64_t neighbourhood_step_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return call->step->kind == LOB_FILTER_MEDIAN ? 0 : lob::filters::box_bytes(in, call);
}

lob_status neighbourhood_step(lob_device *device, const lob_filter_image *out,
                              const lob_filter_image *in, const lob_filter_call *call, void *work,
                              lob_error *error)
{
    return call->step->kind == LOB_FILTER_MEDIAN
               ? lob::filters::median(device, out, in, call, work, error)
               : lob::filters::box(device, out, in, call, work, error);
}
