/* Filters on a GPU: lob_filter_cpu's contract, and the same on arrays that are there already. */
#ifndef LOB_FILTERS_CUDA_H
#define LOB_FILTERS_CUDA_H

#include "kernels/filters/filters.h"

LOB_BEGIN_DECLS

/*
 * As lob_filter_cpu. The image goes through in slabs: while one is computed, the next is uploaded
 * and the one before is downloaded; out->stream has the times. A small image goes through as a
 * whole, and so do a chain that cannot be cut and one that needs percentiles or the noise of an
 * image that the device holds. Also returns LOB_EDEVICE.
 */
lob_status lob_filter_cuda(lob_filter_output *out, const lob_filter_input *in,
                           const lob_filter_options *options, const lob_context *context,
                           lob_error *error);

/* Arrays of a call in device memory, aligned to 256 bytes. */
typedef struct {
    const void *image;   /* in: the voxels of in->image, whose own data are not read */
    const uint8_t *mask; /* in: may be NULL; in->mask is not read */
    void *out;           /* out: of lob_filter_result's type and channels; overlaps neither */
} lob_filter_arrays;

/*
 * The same on arrays in device memory; all steps run there. out->data stays NULL. When the call
 * returns, the device has done its work.
 */
lob_status lob_filter_cuda_arrays(const lob_filter_arrays *arrays, lob_filter_output *out,
                                  const lob_filter_input *in, const lob_filter_options *options,
                                  const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
