/* An image of ordinary memory through the passes of a plan, slab by slab. */
#ifndef LOB_FILTER_SLABS_CUDA_CUH
#define LOB_FILTER_SLABS_CUDA_CUH

#include "kernels/filters/filter_slabs.h"
#include "kernels/filters/passes_cuda.cuh"

namespace lob::filters
{

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
