/*
 * What the backends share on the host: bins made from extremes, and the steps of a selection.
 *
 * A selection finds the values of given ranks. It takes the key of all values digit by digit, from
 * the highest: the counts of a digit, among values whose higher digits are those of a rank's
 * prefix, tell the rank's next digit and its rank among values with this longer prefix.
 */
#ifndef LOB_HISTOGRAM_BINS_H
#define LOB_HISTOGRAM_BINS_H

#include "kernels/budget.h"
#include "kernels/histogram/histogram.h"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/levels/levels.h"

LOB_BEGIN_DECLS

/* Percentiles of all channels of an image that is where the context computes, within the budget of
 * a call that reports its progress itself. */
lob_status lob_percentiles_at(double *values, const double *percent, int count,
                              const lob_volume *image, const lob_budget *budget,
                              const lob_context *context, lob_error *error);

lob_status lob_percentiles_cuda(double *values, const double *percent, int count,
                                const lob_volume *image, const lob_context *context,
                                lob_error *error);

/* Set everything of the bins but values and not_finite. */
void lob_histogram_settle(lob_histogram_bins *bins, const lob_extremes *all, lob_type type);

/* How the bins of values that have no bin each are found. */
lob_bin_rule lob_bin_rule_of(const lob_histogram_bins *bins);

/* Digits of 16 bits on the CPU: one pass over 8- and 16-bit voxels, two over 32 bits. */
enum { LOB_SELECT_RANKS = 2 * LOB_PERCENTILES_MAX, LOB_SELECT_DIGIT_BITS = 16 };

typedef struct {
    lob_type type;
    int key_bits, done; /* bits of a key, and how many of these are known */
    int digit;          /* bits of the digit that is counted next */
    int prefixes;
    uint64_t prefix[LOB_SELECT_RANKS]; /* the different known beginnings of keys; at first one, 0 */
    int ranks;
    int of[LOB_SELECT_RANKS];        /* the rank's prefix */
    uint64_t rank[LOB_SELECT_RANKS]; /* from 0, among the values with this prefix */
    double part[LOB_PERCENTILES_MAX];
    int64_t data; /* -1: not known yet */
} lob_selection;

/* Begin; digits have at most so many bits. */
void lob_selection_begin(lob_selection *s, lob_type type, int digit_bits);

/*
 * Take the counts of a digit: prefixes * 2^digit numbers. The first time this makes the ranks.
 * Returns false where there is no data.
 */
bool lob_selection_take(lob_selection *s, const uint64_t *counts, const double *percent, int count);

/* Bits below the digit that is counted next. */
static inline int lob_selection_shift(const lob_selection *s)
{
    return s->key_bits - s->done - s->digit;
}

/* Numbers that the digit's counts are. */
static inline int64_t lob_selection_columns(const lob_selection *s)
{
    return (int64_t)s->prefixes << s->digit;
}

/* The percentiles, once all bits are known. */
void lob_selection_end(double *values, const lob_selection *s, int count, double slope,
                       double inter);

/* Percents as the selection takes them: a negative slope turns the order of values around. */
void lob_selection_percents(double *stored, const double *percent, int count, double slope);

/*
 * On the CPU, of a part of an image: widen the extremes, or add to the counts, by its data.
 *
 *   counts     in/out  bins->count, or those of the selection's digit
 *   selection  in      NULL: bins are counted
 *
 * Return LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_histogram_add_extremes(lob_extremes *extremes, const lob_histogram_input *in,
                                      const lob_context *context);
lob_status lob_histogram_add_counts(uint64_t *counts, const lob_histogram_bins *bins,
                                    const lob_selection *selection, const lob_histogram_input *in,
                                    const lob_context *context, lob_error *error);

lob_status lob_histogram_check(const lob_histogram_input *in, lob_error *error);
lob_status lob_percentiles_check(const double *percent, int count, lob_error *error);
lob_status lob_percentiles_no_data(lob_error *error);

LOB_END_DECLS

#endif
