/* Random inputs of thresholds, histograms and denoising: every type, option and odd shape. */
#ifndef LOB_THRESHOLD_CASE_H
#define LOB_THRESHOLD_CASE_H

#include "kernels/filters/filters.h"
#include "kernels/threshold/threshold.h"

typedef struct {
    uint64_t number;  /* the same number makes the same case */
    lob_volume image; /* one channel */
    uint8_t *mask;
    lob_threshold_options options; /* always valid; the data need not fit them */
    double percent[3];
    lob_filter_step denoise; /* and how the same image is denoised */
    lob_filter_options filter;
    int64_t n;
    char shape[256];
} threshold_case;

/* At most max_voxels, which is at least 1. */
void threshold_case_make(threshold_case *c, uint64_t number, int64_t max_voxels);
void threshold_case_free(threshold_case *c);

/* ---- the reference: sorted values, all ways to cut them, one voxel after the other ---- */

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
