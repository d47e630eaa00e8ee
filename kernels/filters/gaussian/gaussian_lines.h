/* Passes of Gaussian steps over a volume on the CPU. */
#ifndef LOB_GAUSSIAN_LINES_H
#define LOB_GAUSSIAN_LINES_H

#include "kernels/filters/gaussian/gaussian_plan.h"
#include "kernels/filters/gaussian/gaussian_voxel.h"
#include "kernels/progress.h"

/* Where passes read and write. */
typedef struct {
    const lob_gaussian_source *source;
    const lob_gaussian_finish *finish;
    const float *tables;
    float *out; /* the source's data, where it is written by a single pass along y or z */
    int threads;
    lob_progress *progress; /* counts rows of what is read */
    lob_budget *budget;
} lob_gaussian_job;

/* A pass along one axis. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_gaussian_strips(const lob_gaussian_job *job, const lob_gaussian_pass *pass,
                               lob_error *error);

/* Exact passes along x and along y, plane by plane; either may be NULL. The same bytes as one after
 * the other. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_gaussian_planes(const lob_gaussian_job *job, const lob_gaussian_pass *along_x,
                               const lob_gaussian_pass *along_y, lob_dims dims, lob_error *error);

/*
 * Weighted sums of rows of floats, the inner loop of all passes:
 * out[i] = scale * sum over t of weights[t] * rows[t][at + i], i in [0, n): products are added from
 * t = 0 up, each by one fmaf, to 0; a negative zero becomes a positive one.
 *
 *   out  out  n; may be a row that is summed only where that is its last use
 */
void lob_weighted_rows(float *out, const float *const *rows, const float *weights, int64_t taps,
                       float scale, int64_t at, int64_t n);

#endif
