/* A chain of filters on a volume in slabs: how far it reaches, what of the whole it must know. */
#ifndef LOB_SLAB_FILTER_H
#define LOB_SLAB_FILTER_H

#include "kernels/filters/filter_plan.h"
#include "tools/inout/slabs.h"

typedef struct {
    lob_slabs *slabs;    /* open */
    lob_filter_input in; /* steps alone are given */
    const lob_filter_options *options;
    int64_t sent; /* bytes of a voxel of the caller's result, for --plan */

    int64_t not_data;
    int64_t working_bytes; /* of the slab that took most */
} lob_slab_filter;

/* Can filters work on a part of this image without knowing all? No voxel is looked at. */
bool lob_slab_filter_parts(const lob_volume *image, const lob_filter_step *steps, int count,
                           const lob_filter_options *options);

/*
 * With --plan, print it, and there is nothing more to do. Else cut the volume, and look through it
 * where that decides how its filters compute.
 *
 *   voxel_bytes  in  that the caller takes for a voxel, beside the filter's own output
 *
 * Returns LOB_OK, LOB_EARG, LOB_EDATA, LOB_ENOMEM or what reading did. A step that needs to know
 * the whole image is LOB_EARG.
 */
lob_status lob_slab_filter_begin(lob_session *s, lob_slab_filter *f, int64_t voxel_bytes);

/* Filter a slab; the result has what was read around it too, and the session holds its bytes until
 * lob_slab_filter_drop. */
lob_status lob_slab_filter_run(lob_session *s, lob_slab_filter *f, const lob_slab *slab,
                               lob_filter_output *out);
void lob_slab_filter_drop(lob_session *s, const lob_slab *slab, lob_filter_output *out);

#endif
