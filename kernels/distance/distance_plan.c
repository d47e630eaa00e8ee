/* Weights and unit of a distance transform, and the checks of its input. */
#include "kernels/distance/distance_plan.h"

#include <math.h>

lob_distance_options lob_distance_defaults(void)
{
    return (lob_distance_options){.kind = LOB_DISTANCE_TO_SET, .max = INFINITY};
}

lob_status lob_distance_check(const lob_distance_output *out, const lob_distance_input *in,
                              const lob_distance_options *options, lob_error *error)
{
    const bool known = in->type < LOB_TYPES && lob_type_of(in->type)->is_integer;
    if (!known || lob_type_of(in->type)->bytes > 4)
        return lob_fail(error, LOB_EARG, "labels are integers of up to 32 bits");
    if (lob_dims_voxels(in->dims) < 0) return lob_fail(error, LOB_EARG, "a side has no voxels");
    if (options->kind >= LOB_DISTANCES) return lob_fail(error, LOB_EARG, "no such distance");
    if (!(options->max >= 0)) return lob_fail(error, LOB_EARG, "the largest distance is below 0");
    if (out->feature && options->kind == LOB_DISTANCE_TO_OTHER)
        return lob_fail(error, LOB_EARG, "distances to other labels have no nearest label");
    for (int a = 0; a < 3; a++) {
        if (!(in->spacing[a] > 0)) return lob_fail(error, LOB_EARG, "a spacing is not above 0");
        if (lob_side(in->dims, a) > LOB_DISTANCE_MAX_SIDE)
            return lob_fail(error, LOB_EDATA, "a side is longer than %d voxels",
                            LOB_DISTANCE_MAX_SIDE);
    }
    return LOB_OK;
}

/* The cost of a volume's diagonal, for squared spacings of so much each. */
static double diagonal(const double squared[3], lob_dims dims)
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double length = (double)(lob_side(dims, a) - 1);
        sum += squared[a] * length * length;
    }
    return sum;
}

/* Weights that are small whole numbers of the smallest squared spacing; false: there are none. */
static bool whole_weights(lob_distance_plan *p, const double squared[3], double smallest)
{
    double weight[3];
    for (int a = 0; a < 3; a++) {
        const double ratio = squared[a] / smallest;
        weight[a] = rint(ratio);
        if (!(fabs(ratio - weight[a]) <= 0x1p-23 * ratio)) return false;
    }
    if (diagonal(weight, p->dims) >= 0x1p28) return false;
    for (int a = 0; a < 3; a++) p->weight[a] = weight[a];
    p->unit = smallest;
    return p->narrow = true;
}

static void rounded_weights(lob_distance_plan *p, const double squared[3])
{
    int exponent;
    (void)frexp(diagonal(squared, p->dims), &exponent);
    p->unit = ldexp(1.0, exponent - 49); /* the diagonal is below 2^49 units, before rounding */
    for (int a = 0; a < 3; a++)
        p->weight[a] = squared[a] > 0 ? fmax(rint(squared[a] / p->unit), 1) : 0;
}

lob_distance_plan lob_distance_plan_of(const lob_distance_input *in,
                                       const lob_distance_options *options, lob_distance_find find)
{
    lob_distance_plan p = {.find = find, .dims = in->dims, .unit = 1, .only = in->only};
    const bool is_signed = options->kind == LOB_DISTANCE_SIGNED;
    double squared[3], smallest = INFINITY;
    for (int a = 0; a < 3; a++) {
        const bool sees = lob_side(in->dims, a) > 1 && isfinite(in->spacing[a]);
        squared[a] = sees ? in->spacing[a] * in->spacing[a] : 0;
        if (sees) smallest = fmin(smallest, squared[a]);
        if (sees && a > 0) p.axis[p.passes++] = a;
    }
    if (p.passes == 0) p.axis[p.passes++] = 1;
    if (!isfinite(smallest))
        p.narrow = true;
    else if (!whole_weights(&p, squared, smallest))
        rounded_weights(&p, squared);
    p.max = floor(options->max * options->max * (1 + 1e-6) / p.unit);
    const double none = p.narrow ? LOB_NO_COST_NARROW : LOB_NO_COST_WIDE;
    if (!(p.max < none)) p.max = none - 1;
    p.squared = options->squared;
    p.negative_inside = is_signed && find == LOB_FIND_OTHER;
    p.binary = find == LOB_FIND_COST || (is_signed && find == LOB_FIND_OTHER);
    return p;
}

int lob_distance_runs(lob_distance_find runs[2], const lob_distance_output *out,
                      const lob_distance_options *options)
{
    int n = 0;
    const bool other = options->kind != LOB_DISTANCE_TO_SET;
    if (out->feature) runs[n++] = LOB_FIND_LABEL;
    if (out->distance && (other || !out->feature))
        runs[n++] = other ? LOB_FIND_OTHER : LOB_FIND_COST;
    return n;
}

int32_t lob_distance_first_step(int64_t n)
{
    int32_t step = 4;
    while (step * 4 <= n / 4) step *= 4;
    return step;
}
