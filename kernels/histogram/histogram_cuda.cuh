/*
 * Histograms and percentiles of an image that is in device memory: the numbers of histogram.h. Host
 * functions; they wait for the device.
 */
#ifndef LOB_HISTOGRAM_CUDA_CUH
#define LOB_HISTOGRAM_CUDA_CUH

#include "kernels/device/device_image.cuh"
#include "kernels/histogram/histogram.h"

namespace lob::histogram
{

/* An image on the device. */
typedef struct {
    const void *stored; /* channels * voxels, planar */
    lob_type type;
    int64_t voxels;      /* of one channel */
    int channels;        /* all of them are counted together */
    const uint8_t *mask; /* voxels; may be NULL */
    double slope, inter;
} device_values;

/* Bytes of working memory that either call below needs. */
int64_t work_bytes(void);

/*
 * As lob_histogram_cpu.
 *
 *   counts  out  LOB_HISTOGRAM_MAX_BINS numbers, in ordinary memory; bins->count of them are set
 *   work    in   device memory of work_bytes(), aligned to 256
 */
lob_status count(lob_histogram_bins *bins, int64_t *counts, const device_values *from,
                 lob_device *device, void *work, lob_error *error);

/* As lob_percentiles_cpu; percents are not checked. */
lob_status percentiles(double *values, const double *percent, int count, int64_t *data,
                       const device_values *from, lob_device *device, void *work, lob_error *error);

} /* namespace lob::histogram */

#endif
