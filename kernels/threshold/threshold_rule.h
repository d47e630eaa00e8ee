/* What the backends share on the host: checked options, Otsu's method, and the rule for a voxel. */
#ifndef LOB_THRESHOLD_RULE_H
#define LOB_THRESHOLD_RULE_H

#include "kernels/budget.h"
#include "kernels/histogram/histogram.h"
#include "kernels/threshold/threshold.h"
#include "volumes/both.h"

LOB_BEGIN_DECLS

/* A voxel's label is label[number of bounds that its value reaches]. */
typedef struct {
    double slope, inter;
    int bounds;
    double bound[LOB_THRESHOLD_MAX_CLASSES - 1]; /* ascending, as lob_as_compared rounds them */
    uint8_t label[LOB_THRESHOLD_MAX_CLASSES];
} lob_threshold_rule;

/* Whether a finite stored value reaches bound k: from some value on, or up to it. */
LOB_BOTH bool lob_threshold_reaches(double stored, const lob_threshold_rule *rule, int k)
{
    return rule->slope * stored + rule->inter >= rule->bound[k];
}

/* Check the arguments; LOB_OK or LOB_EARG. */
lob_status lob_threshold_check(const lob_threshold_input *in, const lob_threshold_options *options,
                               lob_error *error);

/* The rule for thresholds that stats holds. */
lob_threshold_rule lob_threshold_rule_of(const lob_threshold_stats *stats,
                                         const lob_threshold_options *options,
                                         const lob_volume *image);

/* Set the thresholds of the kinds that need no data. Returns whether it is one of these. */
bool lob_threshold_given(lob_threshold_stats *stats, const lob_threshold_options *options);

/* Label an image, or a part of it, on the CPU by the thresholds that stats holds. */
void lob_threshold_label(uint8_t *labels, const lob_threshold_input *in,
                         const lob_threshold_stats *stats, const lob_threshold_options *options,
                         int threads);

/*
 * Otsu's method: set stats->thresholds, threshold and separability from a histogram.
 *
 *   counts  in  bins->count
 *   budget  in  for the tables of the dynamic programme
 *
 * Returns LOB_OK, LOB_EDATA (fewer filled bins than classes) or LOB_ENOMEM.
 */
lob_status lob_otsu(lob_threshold_stats *stats, const lob_histogram_bins *bins,
                    const int64_t *counts, const lob_threshold_options *options,
                    const lob_volume *image, lob_budget *budget, lob_error *error);

LOB_END_DECLS

#endif
