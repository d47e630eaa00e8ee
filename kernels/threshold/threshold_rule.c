/* Options checked, thresholds made into a rule, and Otsu's method. */
#include "kernels/threshold/threshold_rule.h"

#include <math.h>

lob_threshold_options lob_threshold_defaults(void)
{
    return (lob_threshold_options){.kind = LOB_THRESHOLD_OTSU,
                                   .low = -INFINITY,
                                   .high = INFINITY,
                                   .percent = 50,
                                   .classes = 2};
}

lob_status lob_threshold_check(const lob_threshold_input *in, const lob_threshold_options *o,
                               lob_error *error)
{
    if (lob_dims_voxels(in->image->dims) < 0)
        return lob_fail(error, LOB_EARG, "the image has no voxels, or more than can be counted");
    if (in->image->channels != 1)
        return lob_fail(error, LOB_EARG, "thresholds are for one channel, the image has %d",
                        in->image->channels);
    switch (o->kind) {
    case LOB_THRESHOLD_ABOVE:
        if (isnan(o->above)) return lob_fail(error, LOB_EARG, "the threshold is not a number");
        return LOB_OK;
    case LOB_THRESHOLD_RANGE:
        if (!(o->low <= o->high))
            return lob_fail(error, LOB_EARG, "range %g to %g is empty", o->low, o->high);
        return LOB_OK;
    case LOB_THRESHOLD_PERCENTILE:
        if (!(o->percent >= 0 && o->percent <= 100))
            return lob_fail(error, LOB_EARG, "percentile %g is not in 0..100", o->percent);
        return LOB_OK;
    case LOB_THRESHOLD_OTSU:
        if (o->classes < 2 || o->classes > LOB_THRESHOLD_MAX_CLASSES)
            return lob_fail(error, LOB_EARG, "%d classes: 2 to %d can be asked for", o->classes,
                            LOB_THRESHOLD_MAX_CLASSES);
        return LOB_OK;
    case LOB_THRESHOLDS:
        break;
    }
    return lob_fail(error, LOB_EARG, "there is no such kind of threshold");
}

bool lob_threshold_given(lob_threshold_stats *stats, const lob_threshold_options *options)
{
    *stats = (lob_threshold_stats){.thresholds = 1, .separability = NAN};
    stats->threshold[0] = options->above;
    if (options->kind != LOB_THRESHOLD_RANGE) return options->kind == LOB_THRESHOLD_ABOVE;
    stats->thresholds = 2;
    stats->threshold[0] = options->low;
    stats->threshold[1] = options->high;
    return true;
}

lob_threshold_rule lob_threshold_rule_of(const lob_threshold_stats *stats,
                                         const lob_threshold_options *options,
                                         const lob_volume *image)
{
    const bool ranged = options->kind == LOB_THRESHOLD_RANGE;
    lob_threshold_rule rule = {
        .slope = image->slope, .inter = image->inter, .bounds = stats->thresholds};
    for (int k = 0; k < rule.bounds; k++) {
        const double t = stats->threshold[k];
        rule.bound[k] = ranged && k == 0 ? lob_as_compared(t, image) : lob_next_above(t, image);
        rule.label[k + 1] = (uint8_t)(ranged ? k == 0 : k + 1);
    }
    return rule;
}

/* ---- Otsu's method ---- */

/* The filled bins in the order of values, with sums from the first on: exact integers. */
typedef struct {
    int64_t *sum;    /* bins + 1: voxels before bin i, */
    int64_t *moment; /* bins + 1: and the sum of their bins' numbers */
    int32_t *number; /* bins: each filled bin's number, from 0 in the order of values */
    double *best;    /* 2 rows of bins + 1: the largest variance of the first i bins in k classes */
    int32_t *choice; /* classes rows of bins + 1: where the last of these classes begins */
    int bins;
} otsu;

/* What bins from..to-1 add to the variance between classes, as one class: (sum of x)^2 / n. */
static double class_term(const otsu *o, int from, int to)
{
    const double moment = (double)(o->moment[to] - o->moment[from]);
    return moment * moment / (double)(o->sum[to] - o->sum[from]);
}

/*
 * Fill best and choice of prefixes low..high of k + 1 classes from those of k. Where the last class
 * begins does not decrease as a prefix grows, so the middle one bounds the halves.
 */
static void fill_row(otsu *o, int k, int low, int high, int first, int last)
{
    const double *before = o->best + (size_t)((k - 1) % 2) * (size_t)(o->bins + 1);
    double *row = o->best + (size_t)(k % 2) * (size_t)(o->bins + 1);
    int32_t *choice = o->choice + (size_t)k * (size_t)(o->bins + 1);
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        double best = -1;
        int at = first;
        for (int i = first; i <= last && i < middle; i++) {
            const double here = before[i] + class_term(o, i, middle);
            if (here > best) best = here, at = i;
        }
        row[middle] = best;
        choice[middle] = at;
        fill_row(o, k, low, middle - 1, first, at);
        low = middle + 1;
        first = at;
    }
}

static void sum_bins(otsu *o, const int64_t *counts, int count, bool backwards)
{
    int n = 0;
    o->sum[0] = o->moment[0] = 0;
    for (int i = 0; i < count; i++) {
        const int64_t voxels = counts[backwards ? count - 1 - i : i];
        if (voxels == 0) continue;
        o->number[n] = i;
        o->sum[n + 1] = o->sum[n] + voxels;
        o->moment[n + 1] = o->moment[n] + voxels * i;
        n++;
    }
    o->bins = n;
}

/* Variance between classes over variance of all. */
static double separability_of(const otsu *o, double best)
{
    const double mean = class_term(o, 0, o->bins);
    double squares = 0;
    for (int i = 0; i < o->bins; i++)
        squares += (double)(o->sum[i + 1] - o->sum[i]) * o->number[i] * o->number[i];
    const double share = (best - mean) / (squares - mean);
    return share < 1 ? share : 1;
}

static void choose(lob_threshold_stats *stats, otsu *o, const lob_histogram_bins *bins, int classes,
                   const lob_volume *image)
{
    const bool backwards = image->slope < 0;
    const size_t width = (size_t)o->bins + 1;
    for (int i = 1; i <= o->bins; i++) o->best[i] = class_term(o, 0, i);
    for (int k = 1; k < classes; k++) fill_row(o, k, k + 1, o->bins, k, o->bins);
    stats->thresholds = classes - 1;
    stats->separability =
        separability_of(o, o->best[(size_t)((classes - 1) % 2) * width + width - 1]);
    int end = o->bins;
    for (int k = classes - 1; k > 0; k--) {
        end = o->choice[(size_t)k * width + (size_t)end];
        const int number = o->number[end - 1];
        const double stored =
            lob_histogram_middle(bins, backwards ? bins->count - 1 - number : number);
        stats->threshold[k - 1] = lob_as_compared(image->slope * stored + image->inter, image);
    }
}

lob_status lob_otsu(lob_threshold_stats *stats, const lob_histogram_bins *bins,
                    const int64_t *counts, const lob_threshold_options *options,
                    const lob_volume *image, lob_budget *budget, lob_error *error)
{
    const int64_t n = bins->count + 1;
    const size_t each =
        2 * sizeof(int64_t) + 2 * sizeof(double) + (1 + (size_t)options->classes) * sizeof(int32_t);
    otsu o = {.bins = 0};
    LOB_TRY(lob_budget_alloc(budget, &o.sum, n, each, error));
    o.moment = o.sum + n;
    o.best = (double *)(o.moment + n);
    o.number = (int32_t *)(o.best + 2 * n);
    o.choice = o.number + n;
    sum_bins(&o, counts, bins->count, image->slope < 0);
    lob_status st = LOB_OK;
    if (o.bins >= options->classes)
        choose(stats, &o, bins, options->classes, image);
    else
        st =
            lob_fail(error, LOB_EDATA, "the data has %d different values%s, too few for %d classes",
                     o.bins, bins->exact || o.bins == 0 ? "" : " in 256 bins", options->classes);
    lob_budget_free(budget, o.sum, n, each);
    return st;
}
