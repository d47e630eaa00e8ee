/* Random inputs of filters: every step, option, type and odd shape turns up sooner or later. */
#ifndef LOB_FILTERS_CASE_H
#define LOB_FILTERS_CASE_H

#include "kernels/filters/filters.h"

enum { FILTERS_CASE_STEPS = 5 };

typedef struct {
    uint64_t number; /* what the case was made from: the same number makes the same case */
    lob_volume image;
    uint8_t *mask;
    lob_filter_step steps[FILTERS_CASE_STEPS];
    lob_filter_input in;
    lob_filter_options options; /* valid, as are the steps; percentiles may meet no data */
    char shape[512];            /* and steps and options in one line, for messages */
} filters_case;

/* At most max_voxels in a channel, which is at least 1. */
void filters_case_make(filters_case *c, uint64_t number, int64_t max_voxels);
void filters_case_free(filters_case *c);

/* What differs between two outcomes of a case, or NULL; NaN equals NaN of the same bits only. */
const char *filters_case_differs(const filters_case *c, lob_status a_status,
                                 const lob_filter_output *a, lob_status b_status,
                                 const lob_filter_output *b);

#endif
