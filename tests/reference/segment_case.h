/* Random scans with strokes: bodies in noise, one to four labels and a background around them. */
#ifndef LOB_SEGMENT_CASE_H
#define LOB_SEGMENT_CASE_H

#include "kernels/segment/segment.h"

typedef struct {
    lob_volume image, strokes;
    lob_segment_options options;
    lob_segment_input in; /* what is asked for; suggest only where there are slices */
    char shape[256];      /* and what was asked for, for messages */
} segment_case;

/* At most `side` voxels along an axis, side >= 12. */
void segment_case_make(segment_case *c, uint64_t number, int64_t side);
void segment_case_free(segment_case *c);

/* What differs between two results, or NULL. */
const char *segment_case_differs(const lob_segment_output *a, const lob_segment_output *b);

/* lob_segment_choose and lob_segment. */
lob_status segment_case_run(lob_segment_output *out, lob_segment_plan *plan, const segment_case *c,
                            const lob_backend *backend, const lob_context *context,
                            lob_error *error);

#endif
