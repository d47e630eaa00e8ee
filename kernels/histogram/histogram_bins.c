/* Bins made from extremes, and the steps of a selection by digits. */
#include "kernels/histogram/histogram_bins.h"

#include <float.h>
#include <math.h>

/* ---- bins ---- */

double lob_histogram_middle(const lob_histogram_bins *bins, int bin)
{
    if (bins->exact) return bins->low + bin;
    return bins->edge[bin] * 0.5 + bins->edge[bin + 1] * 0.5;
}

/* numpy.linspace in doubles, and in floats for float32. */
static void make_edges(lob_histogram_bins *bins, bool in_floats)
{
    double low = bins->low, high = bins->high;
    if (low == high) low -= 0.5, high += 0.5;           /* as numpy.histogram does */
    const double part = isfinite(high - low) ? 1 : 0.5; /* the whole range may overflow */
    const double step = (high * part - low * part) / LOB_HISTOGRAM_BINS;
    const float step_f = ((float)high - (float)low) / (float)LOB_HISTOGRAM_BINS;
    for (int i = 0; i <= LOB_HISTOGRAM_BINS; i++)
        bins->edge[i] = in_floats && isfinite(step_f) ? (double)((float)i * step_f + (float)low)
                                                      : ((double)i * step + low * part) / part;
    if (in_floats)
        for (int i = 0; i <= LOB_HISTOGRAM_BINS; i++) bins->edge[i] = (double)(float)bins->edge[i];
    bins->edge[LOB_HISTOGRAM_BINS] = high;
}

void lob_histogram_settle(lob_histogram_bins *bins, const lob_extremes *all, lob_type type)
{
    const bool integer = lob_type_of(type)->is_integer;
    bins->count = 0;
    bins->exact = false;
    if (!all->any) return;
    bins->low = all->low + 0.0; /* -0.0 becomes 0.0: which of them came first must not matter */
    bins->high = all->high + 0.0;
    bins->low_bits = all->low_bits;
    bins->exact = integer && all->high_bits - all->low_bits < LOB_HISTOGRAM_MAX_BINS;
    bins->count = bins->exact ? (int)(all->high_bits - all->low_bits) + 1 : LOB_HISTOGRAM_BINS;
    if (!bins->exact) make_edges(bins, type == LOB_F32);
}

/* The product's error is some roundings of the bin's number, and the edges' some of the values'. */
static double near_edges(const lob_histogram_bins *bins, double epsilon)
{
    const double half_width = (bins->high * 0.5 - bins->low * 0.5) / LOB_HISTOGRAM_BINS;
    const double largest = fmax(fabs(bins->high), fabs(bins->low));
    const double near = epsilon * (4 * LOB_HISTOGRAM_BINS + 4 * (largest / half_width));
    return near < 0.25 ? near : 1.0; /* NaN too */
}

lob_bin_rule lob_bin_rule_of(const lob_histogram_bins *bins)
{
    const double half = bins->high * 0.5 - bins->low * 0.5;
    lob_bin_rule rule = {.half_low = bins->low * 0.5,
                         .per_half = LOB_HISTOGRAM_BINS / half,
                         .near = near_edges(bins, DBL_EPSILON),
                         .near_f = (float)near_edges(bins, (double)FLT_EPSILON)};
    if (!isfinite(rule.per_half)) rule.per_half = 0, rule.near = 1;
    rule.half_low_f = (float)rule.half_low;
    rule.per_half_f = (float)rule.per_half;
    if (!isfinite(rule.per_half_f) || !isnormal(rule.per_half_f) ||
        fabs(rule.half_low) < (double)FLT_MIN)
        rule.near_f = rule.half_low == 0 && isnormal(rule.per_half_f) ? rule.near_f : 1;
    if (!isfinite(rule.per_half_f)) rule.per_half_f = 0;
    return rule;
}

/* ---- selection ---- */

void lob_selection_begin(lob_selection *s, lob_type type, int digit_bits)
{
    const int bits = 8 * (int)lob_type_of(type)->bytes;
    *s = (lob_selection){.type = type, .key_bits = bits, .prefixes = 1, .data = -1};
    s->digit = bits < digit_bits ? bits : digit_bits;
}

/* The ranks around each percentile's position. */
static void make_ranks(lob_selection *s, const double *percent, int count)
{
    const double last = (double)(s->data - 1);
    s->ranks = 2 * count;
    for (int i = 0; i < count; i++) {
        const double at = last * (percent[i] / 100);
        uint64_t below = (uint64_t)floor(at);
        if (below > (uint64_t)s->data - 1) below = (uint64_t)s->data - 1;
        s->part[i] = at - (double)below;
        s->rank[2 * i] = below;
        s->rank[2 * i + 1] = below + (below < (uint64_t)s->data - 1);
        s->of[2 * i] = s->of[2 * i + 1] = 0;
    }
}

/* Give every rank its digit and a place in the list of different prefixes. */
static void lengthen(lob_selection *s, const uint64_t *counts)
{
    uint64_t next[LOB_SELECT_RANKS];
    int prefixes = 0;
    for (int r = 0; r < s->ranks; r++) {
        const uint64_t *of_prefix = counts + ((uint64_t)s->of[r] << s->digit);
        uint64_t digit = 0;
        while (s->rank[r] >= of_prefix[digit]) s->rank[r] -= of_prefix[digit++];
        const uint64_t prefix = s->prefix[s->of[r]] << s->digit | digit;
        int p = 0;
        while (p < prefixes && next[p] != prefix) p++;
        if (p == prefixes) next[prefixes++] = prefix;
        s->of[r] = p;
    }
    for (int p = 0; p < prefixes; p++) s->prefix[p] = next[p];
    s->prefixes = prefixes;
}

bool lob_selection_take(lob_selection *s, const uint64_t *counts, const double *percent, int count)
{
    if (s->data < 0) {
        s->data = 0;
        for (uint64_t d = 0; d < UINT64_C(1) << s->digit; d++) s->data += (int64_t)counts[d];
        if (s->data == 0) return false;
        make_ranks(s, percent, count);
    }
    lengthen(s, counts);
    s->done += s->digit;
    if (s->key_bits - s->done < s->digit) s->digit = s->key_bits - s->done;
    return true;
}

#define VALUE(type, ctype, name, integer, lowest, highest) \
    case type:                                             \
        return (double)lob_value_of_key_##ctype(key);

static double value_of_key(uint64_t key, lob_type type)
{
    LOB_TYPE_SWITCH(type, VALUE)
    return 0.0;
}

void lob_selection_end(double *values, const lob_selection *s, int count, double slope,
                       double inter)
{
    for (int i = 0; i < count; i++) {
        double v[2];
        for (int k = 0; k < 2; k++)
            v[k] = slope * value_of_key(s->prefix[s->of[2 * i + k]], s->type) + inter;
        /* As numpy: from the nearer end, so that a result lies between its ends. */
        const double apart = v[1] - v[0], part = s->part[i];
        values[i] = part >= 0.5 ? v[1] - apart * (1 - part) : v[0] + apart * part;
    }
}

void lob_selection_percents(double *stored, const double *percent, int count, double slope)
{
    for (int i = 0; i < count; i++) stored[i] = slope < 0 ? 100 - percent[i] : percent[i];
}

/* ---- arguments ---- */

lob_status lob_histogram_check(const lob_histogram_input *in, lob_error *error)
{
    const lob_volume *image = in->image;
    if (lob_dims_voxels(image->dims) < 0)
        return lob_fail(error, LOB_EARG, "the image has no voxels, or more than can be counted");
    if (image->channels < 1 || in->channel < -1 || in->channel >= image->channels)
        return lob_fail(error, LOB_EARG, "the image has no channel %d", in->channel);
    return LOB_OK;
}

lob_status lob_percentiles_check(const double *percent, int count, lob_error *error)
{
    if (count < 1 || count > LOB_PERCENTILES_MAX)
        return lob_fail(error, LOB_EARG, "%d percentiles: 1 to %d can be asked for", count,
                        LOB_PERCENTILES_MAX);
    for (int i = 0; i < count; i++)
        if (!(percent[i] >= 0 && percent[i] <= 100))
            return lob_fail(error, LOB_EARG, "percentile %g is not in 0..100", percent[i]);
    return LOB_OK;
}

lob_status lob_percentiles_no_data(lob_error *error)
{
    return lob_fail(error, LOB_EDATA, "no voxel of the image is data: percentiles need one");
}
