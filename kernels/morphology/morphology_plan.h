/* What both backends' morphology shares: its distances, and the last word on a voxel. */
#ifndef LOB_MORPHOLOGY_PLAN_H
#define LOB_MORPHOLOGY_PLAN_H

#include "kernels/distance/distance_plan.h"
#include "kernels/morphology/morphology.h"

#include <math.h>

/* Distances up to the radius. */
static inline lob_distance_options lob_morphology_options(lob_distance_kind kind, double radius)
{
    lob_distance_options options = lob_distance_defaults();
    options.kind = kind;
    options.max = radius;
    options.squared = true;
    return options;
}

static inline lob_distance_input lob_morphology_distance(const lob_morphology_input *in,
                                                         const void *labels)
{
    const double *mm = in->spacing;
    const lob_distance_input to = {
        labels, in->type, in->dims, {mm[0], mm[1], mm[2]},
           0
    };
    return to;
}

static inline lob_status lob_morphology_check(const lob_morphology_input *in, lob_morphology how,
                                              double radius, lob_error *error)
{
    const lob_distance_input distance = lob_morphology_distance(in, in->labels);
    const lob_distance_options options = lob_distance_defaults();
    const lob_distance_output none = {NULL, NULL};
    if (how > LOB_MORPHOLOGY_CLOSE) return lob_fail(error, LOB_EARG, "no such morphology");
    if (!(radius >= 0 && isfinite(radius)))
        return lob_fail(error, LOB_EARG, "the radius is not a number from 0 on");
    return lob_distance_check(&none, &distance, &options, error);
}

/* An eroded voxel: what it was where no other label is near; `kept`, unless 0, stays. */
LOB_BOTH uint32_t lob_morphology_eroded(uint32_t label, float to_other, uint32_t kept)
{
    if (kept) return kept;
    return to_other == INFINITY ? label : 0;
}

#endif
