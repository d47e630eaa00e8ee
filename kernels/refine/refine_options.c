/* Refining's options. */
#include "kernels/refine/refine_job.h"

lob_refine_options lob_refine_defaults(lob_dims dims, const double spacing_mm[3])
{
    const double h = lob_least_spacing(dims, spacing_mm);
    return (lob_refine_options){.smooth_mm = h,
                                .edge = 1,
                                .edge_mm = h,
                                .edge_smooth_mm = 0.7 * h,
                                .settle = 0.28,
                                .settle_mm = 2 * h,
                                .settle_rounds = 8};
}

lob_status lob_refine_check(const lob_refine_input *in, const lob_refine_options *o,
                            lob_error *error)
{
    const double lengths[] = {o->smooth_mm, o->edge_mm, o->edge_smooth_mm};
    for (int i = 0; i < 3; i++)
        if (!(lengths[i] >= 0 && lengths[i] <= 1e6))
            return lob_fail(error, LOB_EARG, "refining: the length %g is out of its range",
                            lengths[i]);
    if (!(o->edge >= 0 && o->edge <= 1))
        return lob_fail(error, LOB_EARG, "refining: the image's share %g is not in 0..1", o->edge);
    if (o->edge > 0 && o->edge_mm == 0)
        return lob_fail(error, LOB_EARG, "refining: means need a length above 0");
    if (o->fade_axis < 0 || o->fade_axis > 2)
        return lob_fail(error, LOB_EARG, "refining: axis %d is not in 0..2", o->fade_axis);
    if (in->shares && !(o->settle >= 0 && o->settle <= 100 && o->settle_mm > 0 &&
                        o->settle_mm <= 1e6 && o->settle_rounds >= 1 && o->settle_rounds <= 1000))
        return lob_fail(error, LOB_EARG, "refining: a number to settle by is out of its range");
    if (in->label_count < 2 || in->background < 1 || in->background > in->label_count)
        return lob_fail(error, LOB_EARG, "refining: %d labels with background %d", in->label_count,
                        in->background);
    if (in->wall_count < 0 || (in->wall_count > 0 && !in->walls))
        return lob_fail(error, LOB_EARG, "refining: %d walls", in->wall_count);
    for (int i = 0; i < 2 * in->wall_count; i++)
        if (in->walls[i] < 1 || in->walls[i] > in->label_count || in->walls[i] == in->background ||
            (i % 2 && in->walls[i] == in->walls[i - 1]))
            return lob_fail(error, LOB_EARG, "refining: label %d is no wall and has none",
                            in->walls[i]);
    if (in->image->channels < 1 || in->image->channels > LOB_REFINE_MAX_CHANNELS)
        return lob_fail(error, LOB_EARG, "refining: an image of %d channels, at most %d",
                        in->image->channels, LOB_REFINE_MAX_CHANNELS);
    return LOB_OK;
}
