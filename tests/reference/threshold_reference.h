/* Thresholds by definition: sorted values, all ways to cut them, one voxel after the other. */
#ifndef LOB_THRESHOLD_REFERENCE_H
#define LOB_THRESHOLD_REFERENCE_H

#include "kernels/threshold/threshold.h"

/* Finite values in the mask, ascending; malloc'ed. */
double *threshold_reference_sorted(int64_t *n, const lob_volume *image, const uint8_t *mask);

/* numpy's percentile of n sorted values. */
double threshold_reference_percentile(const double *sorted, int64_t n, double percent);

/*
 * The largest variance between classes, over that of all, that any thresholds give; values stand
 * for themselves, so it is for integers. -1: there are fewer values than classes.
 */
double threshold_reference_separability(const double *sorted, int64_t n, int classes);

/* The same of the classes that thresholds make. */
double threshold_reference_share(const double *sorted, int64_t n, const double *threshold,
                                 int count);

#endif
