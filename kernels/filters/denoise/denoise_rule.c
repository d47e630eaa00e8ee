/* Windows, patches and weights from a step, and the noise from a median. */
#include "kernels/filters/denoise/denoise_voxel.h"

/* An axis of at most so many times the smallest spacing belongs to a patch. */
static const double near_spacing = 1.5;

/* The biweight reaches 0 where patches differ by so many variances of the noise. */
static const double cut = 8;

int64_t lob_denoise_reach(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    if (!(step->along[axis] > 0)) return 0;
    return options->edge == LOB_EDGE_WRAP ? -1 : LOB_DENOISE_HALO;
}

/* Radii of the window and the patch. */
static void find_radii(int search[3], int patch[3], const lob_filter_call *call, lob_dims dims)
{
    double least = INFINITY;
    bool works[3];
    for (int a = 0; a < 3; a++) {
        works[a] = call->step->along[a] > 0 && lob_side(dims, a) > 1;
        if (works[a] && call->spacing_mm[a] < least) least = call->spacing_mm[a];
    }
    for (int a = 0; a < 3; a++) {
        const double ratio = works[a] ? call->spacing_mm[a] / least : INFINITY;
        search[a] = (int)(LOB_DENOISE_SEARCH / ratio + 1e-3);
        patch[a] = ratio <= near_spacing;
    }
}

lob_denoise_rule lob_denoise_rule_of(const lob_filter_call *call, lob_dims dims)
{
    const double noise = call->step->noise;
    const lob_edge edge = call->options->edge;
    lob_denoise_rule rule = {
        .edge = edge == LOB_EDGE_RENORMALISE || edge == LOB_EDGE_CONSTANT ? LOB_EDGE_MIRROR : edge};
    find_radii(rule.search, rule.patch, call, dims);
    /* Without noise the scale is infinite, and 0 * infinity is NaN: no weight is above 0. */
    for (int n = 1; n <= LOB_DENOISE_PATCH; n++)
        rule.scale[n] = (float)(1 / (n * cut * noise * noise));
    return rule;
}

int lob_denoise_residual_axes(int along[3], const lob_filter_call *call, lob_dims dims)
{
    int search[3], axes = 0;
    find_radii(search, along, call, dims);
    for (int a = 0; a < 3; a++) {
        along[a] = along[a] && lob_side(dims, a) >= 3;
        axes += along[a];
    }
    return axes;
}

double lob_denoise_noise_of(double median, int axes)
{
    const double neighbours = 2.0 * axes;
    return 1.4826 * median * sqrt(neighbours / (neighbours + 1));
}
