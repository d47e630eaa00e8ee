/*
 * The stages of a chain on the GPU. Reading starts here; filters.h is the contract of a chain,
 * filter_step.h and filter_step_cuda.cuh say what a step is to each backend.
 *
 *   filter_plan.c      makes passes of the steps: neighbouring steps that look at one voxel alone
 *                      become one pass, and may join the pass before or after them. A percentile or
 *                      the noise of an image needs all of it, so a plan is cut into parts there
 *   filters_cuda.cu    the call: what fits on the device is computed whole, the rest in slabs
 *   passes_cuda.cu     passes of a plan, for whole images and for slabs: where each writes
 *   slabs_cuda.cu      an image of ordinary memory slab by slab, with halos (filter_slabs.h), which
 *                      travel through pinned buffers while others are computed
 *   pointwise_cuda.cu  passes that look at one voxel alone
 *
 * Each other kind of step has a room: gaussian/ (its plan says which axes are smoothed exactly and
 * which on every m-th voxel), box/ (running sums in blocks), median/ (a sorting network for 3x3x3,
 * slices of bits beyond) and denoise/ (non-local means).
 */
#ifndef LOB_FILTERS_CUDA_CUH
#define LOB_FILTERS_CUDA_CUH

#include "kernels/filters/filter_plan.h"
#include "kernels/filters/filter_step_cuda.cuh"

namespace lob::filters
{

/* ---- single voxels ---- */

lob_status run_pointwise(lob_device *device, const lob_filter_image *out,
                         const lob_filter_image *in, const lob_filter_pass *pass, lob_error *error);

/* What a look through an image finds; sums of several looks. */
typedef struct {
    unsigned long long not_data; /* voxels */
    unsigned long long beyond;   /* not 0: a stored number is not finite, or beyond the bound */
} scan_counts;

/*
 * Look at n voxels of an image from voxel first on, as lob_filter_scan does.
 *
 *   counts  in/out  on the device
 */
lob_status scan(lob_device *device, scan_counts *counts, const lob_filter_image *in,
                const uint8_t *mask, int64_t first, int64_t n, lob_error *error);

/* May a look through the input find anything? */
static inline bool looks_at(const lob_filter_input *in)
{
    return !in->bounded && (in->mask || !lob_type_of(in->image->type)->is_integer);
}

/* ---- passes ---- */

/* What the passes of a call share. */
typedef struct {
    lob_device *device;
    lob_filter_plan plan;
    lob_filter_output *out;
    const lob_context *context;
    lob_error *error;
    int64_t plane; /* as in lob_filter_input */
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

/* ---- slabs ---- */

enum { SCAN_BYTES = 256 }; /* of memory for scan_counts; what follows is aligned */

/*
 * Run the plan. c->out has its data, type and channels; its stream, clamps, noise and working_bytes
 * are set.
 *
 *   in     in   the whole call's input
 *   slab   in   positions that a slab gives; 0: as many as serve
 *   found  out  what the looks through the image found
 */
lob_status run_slabs(device_chain *c, const lob_filter_input *in, int64_t slab, scan_counts *found);

} /* namespace lob::filters */

#endif
