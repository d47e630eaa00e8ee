/* Passes of a plan on images in device memory, for whole images and for slabs. */
#ifndef LOB_FILTER_PASSES_CUDA_CUH
#define LOB_FILTER_PASSES_CUDA_CUH

#include "kernels/filters/pointwise_cuda.cuh"

namespace lob::filters
{

/* What the passes of a call share. */
typedef struct {
    lob_device *device;
    lob_filter_plan plan;
    lob_filter_output *out;
    const lob_context *context;
    lob_error *error;
} device_chain;

/*
 * Bytes of memory that run_passes needs for an image of these dims.
 *
 *   masked  in  there is going to be a mask
 */
int64_t passes_bytes(const lob_filter_plan *plan, int first, int end, lob_dims dims, bool masked);

/*
 * Enqueue passes first .. end - 1.
 *
 *   out         out  large enough for what the last one writes
 *   in          in   what the first one reads
 *   origin      in   as in lob_filter_call
 *   memory      in   passes_bytes, aligned to 256
 *   statistics  in   find what passes need to know of all that they read, which waits for the
 *                    device; else the plan has it
 */
lob_status run_passes(device_chain *c, int first, int end, void *out, lob_filter_image in,
                      const uint8_t *mask, const int64_t origin[3], void *memory, bool statistics);

} /* namespace lob::filters */

#endif
