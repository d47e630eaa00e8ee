/* The host's part of refining: options, the order of the steps, and what they ask of others. */
#include "kernels/refine/refine_plan.h"

#include <math.h>

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
    if (in->shares && !(o->settle >= 0 && o->settle <= 100 && o->settle_mm > 0 &&
                        o->settle_mm <= 1e6 && o->settle_rounds >= 1 && o->settle_rounds <= 1000))
        return lob_fail(error, LOB_EARG, "refining: a number to settle by is out of its range");
    if (in->label_count < 2 || in->background < 1 || in->background > in->label_count)
        return lob_fail(error, LOB_EARG, "refining: %d labels with background %d", in->label_count,
                        in->background);
    if (in->image->channels < 1 || in->image->channels > LOB_REFINE_MAX_CHANNELS)
        return lob_fail(error, LOB_EARG, "refining: an image of %d channels, at most %d",
                        in->image->channels, LOB_REFINE_MAX_CHANNELS);
    return LOB_OK;
}

lob_filter_step lob_refine_gaussian_step(const lob_volume *image, double sigma_mm)
{
    lob_filter_step step = {.kind = LOB_FILTER_GAUSSIAN};
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > 1) step.along[a] = sigma_mm / image->geometry.spacing_mm[a];
    return step;
}

lob_filter_options lob_refine_gaussian_options(void)
{
    lob_filter_options options = lob_filter_defaults();
    options.edge = LOB_EDGE_NEAREST;
    return options;
}

lob_components_options lob_refine_pieces_options(const lob_refine_input *in)
{
    lob_components_options options = lob_components_defaults();
    options.join = in->label_count == 2 ? LOB_JOIN_ANY : LOB_JOIN_EQUAL;
    options.neighbours = 26;
    return options;
}

lob_components_options lob_refine_holes_options(void)
{
    lob_components_options options = lob_components_defaults();
    options.neighbours = 6;
    return options;
}

bool lob_refine_widen(lob_box *box, const lob_volume *image, const lob_refine_options *options)
{
    const lob_dims d = image->dims;
    int64_t margin[3];
    for (int a = 0; a < 3; a++) {
        const double mm = image->geometry.spacing_mm[a];
        const double sigma = options->edge > 0 ? options->edge_mm / mm : 0;
        const double wide = ceil(LOB_REFINE_REACH * sigma) + 2;
        margin[a] = wide < (double)lob_side(d, a) ? (int64_t)wide : lob_side(d, a);
    }
    lob_box_widen(box, margin, d);
    return box->size[0] < d.nx || box->size[1] < d.ny || box->size[2] < d.nz;
}
