/*
 * Histograms and percentiles of an image's values, exact, of any voxel type.
 *
 * Data are the finite values of voxels that the mask holds, in one channel or in all of them
 * together. A value is slope * stored + inter.
 *
 * Percentile p of n values v[0] <= v[1] <= ... is what numpy.percentile gives by default: with
 * position h = (n - 1) * p / 100 and k = floor(h), v[k] + (h - k) * (v[k + 1] - v[k]), in doubles.
 * The values come from counts by the digits of an ordered key, from the highest digit to the
 * lowest (radix selection), so nothing is sorted and nothing is approximated.
 *
 * Same numbers on every backend and thread count.
 */
#ifndef LOB_HISTOGRAM_H
#define LOB_HISTOGRAM_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

typedef struct {
    const lob_volume *image; /* any type, any number of channels */
    int channel;             /* from 0; -1: all channels together */
    const uint8_t *mask;     /* nx*ny*nz; 0: not data. NULL: all voxels */
} lob_histogram_input;

enum {
    LOB_HISTOGRAM_BINS = 256,       /* of values that have no bin each */
    LOB_HISTOGRAM_MAX_BINS = 65536, /* of integers */
    LOB_PERCENTILES_MAX = 32
};

/*
 * How values fall into bins. Integers whose range is at most 65535 have a bin for every whole
 * number from the lowest to the highest. All others have LOB_HISTOGRAM_BINS bins of equal width
 * from the lowest value to the highest, bin i from edge[i] to below edge[i + 1], the last with its
 * upper end: numpy.histogram, with edges in float32 for float32 voxels, else in float64.
 */
typedef struct {
    bool exact;                          /* a bin for every whole number */
    int count;                           /* bins; 0 without data */
    double low, high;                    /* lowest and highest stored value of the data */
    uint64_t low_bits;                   /* exact: the lowest stored integer, sign-extended */
    double edge[LOB_HISTOGRAM_BINS + 1]; /* stored values; of equal bins */
    int64_t values;                      /* data, over all bins */
    int64_t not_finite;                  /* values in the mask that are NaN or infinite */
} lob_histogram_bins;

/* The stored value that stands for a bin: the whole number, or the middle between two edges. */
double lob_histogram_middle(const lob_histogram_bins *bins, int bin);

/*
 * Count the values in each bin.
 *
 *   bins    out  see above
 *   counts  out  bins->count numbers, malloc'ed; NULL without data and on failure
 *   in      in   see above
 *
 * Returns LOB_OK (also without data), LOB_EARG (a channel that is not there), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_histogram_cpu(lob_histogram_bins *bins, int64_t **counts,
                             const lob_histogram_input *in, const lob_context *context,
                             lob_error *error);

/*
 * Find percentiles.
 *
 *   values   out  count, in image units; unspecified on failure
 *   percent  in   count of them, each 0..100, in any order
 *   count    in   1..LOB_PERCENTILES_MAX
 *   data     out  number of values that are data; may be NULL
 *
 * Returns LOB_OK, LOB_EARG, LOB_EDATA (no data), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_percentiles_cpu(double *values, const double *percent, int count, int64_t *data,
                               const lob_histogram_input *in, const lob_context *context,
                               lob_error *error);

LOB_END_DECLS

#endif
