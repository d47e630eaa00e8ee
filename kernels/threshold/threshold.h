/*
 * Thresholds: label voxels by comparing their values with a few numbers, which are given or chosen
 * from the histogram.
 *
 *   above       1 where the value is above a number
 *   range       1 where low <= value <= high
 *   percentile  1 where the value is above a percentile of the data (histogram.h)
 *   otsu        classes 0 .. classes-1 in the order of their values, by Otsu's method (IEEE Trans.
 *               Systems, Man, Cybernetics 9, 1979; several classes: Liao, Chen and Chung, J.
 *               Information Science and Engineering 17, 2001): thresholds that make the variance
 *               between classes largest. It is found exactly, over the bins of histogram.h, by
 *               dynamic programming; of equal ones the smallest thresholds. A threshold is the
 *               value that stands for its class's last bin, as in scikit-image's threshold_otsu
 *               and threshold_multiotsu; a class is what is above its threshold
 *
 * Voxels that are NaN, infinite or outside the mask get 0. Values are slope * stored + inter,
 * compared as lob_as_compared in volumes/volume.h says.
 */
#ifndef LOB_THRESHOLD_H
#define LOB_THRESHOLD_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

typedef enum {
    LOB_THRESHOLD_ABOVE,
    LOB_THRESHOLD_RANGE,
    LOB_THRESHOLD_PERCENTILE,
    LOB_THRESHOLD_OTSU,
    LOB_THRESHOLDS
} lob_threshold_kind;

enum { LOB_THRESHOLD_MAX_CLASSES = 16 };

typedef struct {
    lob_threshold_kind kind;
    double above;     /* above: image units */
    double low, high; /* range: image units, low <= high; infinite ends are open */
    double percent;   /* percentile: 0..100 */
    int classes;      /* otsu: 2..LOB_THRESHOLD_MAX_CLASSES */
} lob_threshold_options;

/* Otsu's method with two classes. */
lob_threshold_options lob_threshold_defaults(void);

typedef struct {
    const lob_volume *image; /* any type, one channel */
    const uint8_t *mask;     /* nx*ny*nz; 0: not data. NULL: all voxels */
    lob_place place;         /* of arrays and results; volumes have their own */
} lob_threshold_input;

typedef struct {
    int thresholds;                                  /* 1; range: 2; otsu: classes - 1 */
    double threshold[LOB_THRESHOLD_MAX_CLASSES - 1]; /* image units, ascending */
    double separability;   /* otsu: variance between classes over variance of all, over bins: 0..1;
                              else NaN */
    int64_t working_bytes; /* peak of working memory, beyond input and labels */
} lob_threshold_stats;

/*
 * Label an image.
 *
 *   labels   out  nx*ny*nz; may not overlap the input
 *   stats    out  the thresholds that were used
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, the limit of working memory, progress
 *
 * Same bytes on every backend and thread count. Returns LOB_OK, LOB_EARG (an option outside its
 * range, several channels), LOB_EDATA (percentile or otsu without data; fewer different values, or
 * filled bins, than classes), LOB_ENOMEM or LOB_ECANCEL; on error labels and stats are unspecified.
 */
lob_status lob_threshold_cpu(uint8_t *labels, lob_threshold_stats *stats,
                             const lob_threshold_input *in, const lob_threshold_options *options,
                             const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
