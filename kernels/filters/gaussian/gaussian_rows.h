/* Weighted sums of rows of floats, the inner loop of Gaussian steps on the CPU. */
#ifndef LOB_GAUSSIAN_ROWS_H
#define LOB_GAUSSIAN_ROWS_H

#include "volumes/both.h"

#include <stdint.h>

LOB_BEGIN_DECLS

/*
 * out[i] = scale * sum over t of weights[t] * rows[t][at + i], i in [0, n): products are added from
 * t = 0 up, each by one fmaf, to 0; a negative zero becomes a positive one.
 *
 *   out  out  n; may be a row that is summed only where that is its last use
 */
void lob_weighted_rows(float *out, const float *const *rows, const float *weights, int64_t taps,
                       float scale, int64_t at, int64_t n);

LOB_END_DECLS

#endif
