/* The steps that look around, on the CPU: a row for each kind. This header is not installed. */
#ifndef LOB_FILTER_KINDS_H
#define LOB_FILTER_KINDS_H

#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

typedef struct {
    /* Voxels along an axis on each side on which a voxel's value may depend; -1: the whole axis. */
    int64_t (*reach)(const lob_filter_step *step, const lob_filter_options *options, int axis);

    /* A slab along an axis has to begin at a multiple of this; NULL: of 1. */
    int64_t (*align)(const lob_filter_step *step, const lob_filter_options *options, int axis);

    lob_status (*run)(const lob_filter_image *out, const lob_filter_image *in,
                      const lob_filter_call *call, const lob_context *context, lob_budget *budget,
                      lob_error *error);
} lob_filter_kind_row;

enum { LOB_FILTER_KINDS = LOB_FILTER_DENOISE + 1 };

extern const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS];

LOB_END_DECLS

#endif
