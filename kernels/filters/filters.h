/*
 * Filters: a chain of steps, one after the other, on an image.
 *
 * Steps
 *
 *   gaussian    weighted mean with a Gaussian, separable; exact weights cut at 4 sigma, or where
 *               sigma is large and options allow it by way of a coarser grid, whose cost does not
 *               grow with sigma; see gaussian/gaussian.h
 *   gradient    magnitude of the gradient of the Gaussian-smoothed image, per mm
 *   laplacian   Laplacian of the Gaussian-smoothed image, per mm^2
 *   box         mean of the (2r+1)^d voxels around, by exact running sums
 *   median      median of the (2r+1)^d voxels around
 *   denoise     edge-keeping smoothing, see denoise/denoise.h
 *   clamp       values below low become low, above high become high
 *   scale       value * factor + offset
 *   gray        luminance of three channels: .299 R + .587 G + .114 B; one channel comes out
 *   desaturate  each of three channels mixed with the luminance: amount 1 is gray
 *   cast        values rounded to the nearest whole number of a type (halves to even) and clamped
 * to its range; to a floating-point type, converted
 *
 * A step works on every channel by itself, but gray and desaturate. Values are slope * stored +
 * inter of the image. Median and clamp keep the type they are given (a scaled integer image
 * becomes float32 first); every other step but cast gives float32.
 *
 * Neighbourhoods. along[] holds sigma (gaussian, gradient, laplacian) or radius (box, median) in
 * voxels for each axis; 0 leaves the axis out: a step across slices is one with 0 for the slices'
 * axis.
 *
 * Data. A voxel outside the mask, NaN or infinite is no data: it counts in no mean, sum or median.
 * Where gaussian and box have weights of data only, the mean is the weighted sum divided by the sum
 * of the weights that fall on data (normalised convolution: Knutsson and Westin, CVPR 1993). A
 * voxel outside the mask comes out as it went in; one that is NaN or infinite inside the mask
 * takes the value of its neighbourhood, and stays what it was where that holds no data.
 *
 * Edges. What lies outside of the volume has a rule: renormalise, where it is no data, or one of
 * scipy.ndimage's and numpy.pad's: nearest (aaa|abcd|ddd), reflect (cba|abcd|dcb), mirror
 * (dcb|abcd|cba), wrap (bcd|abcd|abc), constant. With several rows in numpy.pad's words: nearest is
 * "edge", reflect "symmetric", mirror "reflect".
 *
 * Same bytes on every backend, thread count and slab.
 */
#ifndef LOB_FILTERS_H
#define LOB_FILTERS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

typedef enum {
    LOB_FILTER_GAUSSIAN,
    LOB_FILTER_GRADIENT,
    LOB_FILTER_LAPLACIAN,
    LOB_FILTER_BOX,
    LOB_FILTER_MEDIAN,
    LOB_FILTER_DENOISE,
    LOB_FILTER_CLAMP,
    LOB_FILTER_SCALE,
    LOB_FILTER_GRAY,
    LOB_FILTER_DESATURATE,
    LOB_FILTER_CAST,
    LOB_FILTERS
} lob_filter_kind;

typedef enum {
    LOB_EDGE_RENORMALISE,
    LOB_EDGE_NEAREST,
    LOB_EDGE_REFLECT,
    LOB_EDGE_MIRROR,
    LOB_EDGE_WRAP,
    LOB_EDGE_CONSTANT
} lob_edge;

/* One step. Fields that its kind does not name are not read. */
typedef struct {
    lob_filter_kind kind;
    double along[3];  /* gaussian, gradient, laplacian: sigma; box, median: radius, whole; in
                         voxels along x, y, z, >= 0; denoise: 0 or 1, the axes that it works in */
    double low, high; /* clamp: image units, low <= high */
    bool percent;     /* clamp: low and high are percentiles of the step's input, 0..100 */
    double factor;    /* scale */
    double offset;    /* scale, in image units */
    double amount;    /* desaturate: 0..1 */
    double noise;     /* denoise: standard deviation of the noise in image units; 0: estimated */
    lob_type type;    /* cast */
} lob_filter_step;

typedef struct {
    lob_edge edge;
    double edge_value; /* of LOB_EDGE_CONSTANT, in image units; finite as float32 */
    bool exact;        /* forbids coarse grids for large Gaussians */
} lob_filter_options;

/* Renormalised edges, not exact. */
lob_filter_options lob_filter_defaults(void);

enum { LOB_FILTER_MAX_STEPS = 64, LOB_FILTER_MAX_CHANNELS = 64, LOB_FILTER_MAX_ALONG = 1000 };

typedef struct {
    const lob_volume *image;      /* any type, 1..LOB_FILTER_MAX_CHANNELS channels */
    const uint8_t *mask;          /* nx*ny*nz; 0: no data. May be NULL: everything is */
    const lob_filter_step *steps; /* step_count of them, 1..LOB_FILTER_MAX_STEPS */
    int step_count;
    lob_place place; /* of arrays and results; volumes have their own */

    /* Where the image is some planes of a volume, with as many around them as the steps reach: */
    int64_t plane;  /* the image's first, in the volume, and */
    bool unbounded; /* whether the volume has a voxel that is not finite, or beyond +-2^100 */

    bool bounded; /* it is known to have none, and not looked at: not_data is 0, and on a GPU the
                     result is there for what the device is given next, not yet for others */
} lob_filter_input;

/* How an image went through a device in slabs: seconds that each kind of work took by itself, which
 * add up to more than the wall time where they overlap. */
typedef struct {
    int64_t slabs; /* 0: it did not */
    double upload_s, compute_s, download_s, wall_s;
} lob_filter_stream;

typedef struct {
    void *data; /* channels * nx*ny*nz, at in->place */
    lob_type type;
    int channels;
    double clamps[LOB_FILTER_MAX_STEPS][2]; /* of each clamp step: the values that were used */
    double noise[LOB_FILTER_MAX_STEPS];     /* of each denoise step: the noise that was used */
    int64_t not_data;                       /* voxels of the image that are NaN or infinite in a
                                               channel, or outside the mask */
    int64_t working_bytes;                  /* peak of working memory, beyond input and output */
    lob_filter_stream stream;               /* on a GPU */
    lob_device *device;                     /* whose memory data is in; NULL: malloc'ed */
} lob_filter_output;

/* Free the data. */
void lob_filter_output_free(lob_filter_output *out);

/* The type and the number of channels that a chain gives. Returns what the chain would for its
 * input and options. */
lob_status lob_filter_result(lob_type *type, int *channels, const lob_filter_input *in,
                             const lob_filter_options *options, lob_error *error);

/*
 * Run the chain.
 *
 *   out      out  overwritten; nothing to free after a failure
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, the limit of working memory, progress
 *
 * Returns LOB_OK, LOB_EARG (a step or option outside its range), LOB_EDATA (gray or desaturate
 * without three channels; percentiles of an image without data), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_filter_cpu(lob_filter_output *out, const lob_filter_input *in,
                          const lob_filter_options *options, const lob_context *context,
                          lob_error *error);

LOB_END_DECLS

#endif
