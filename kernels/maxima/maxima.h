/*
 * Local maxima of an image.
 *
 * A plateau is a set of voxels of one value that neighbours connect; it is a maximum where none of
 * its voxels has a higher neighbour. One voxel alone may be a plateau. Voxels that are not finite,
 * or outside of the mask, are no data: they are no maxima, and no neighbour is one of them.
 *
 * The height of a maximum of value m is how far one has to go down, at least, on any way from it to
 * a higher voxel: it is at least h where every such way has a voxel of m - h or less. So the
 * h-maxima of Soille (Morphological Image Analysis, 2003, 6.3) are found, as scikit-image's
 * h_maxima does. The highest maximum has no higher voxel to go to, and stays.
 *
 * Values are slope * stored + inter in float64, or float32 for unscaled float32 images.
 */
#ifndef LOB_MAXIMA_H
#define LOB_MAXIMA_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

typedef struct {
    double above;      /* only maxima of a higher value; -INFINITY: all */
    double height;     /* only maxima at least so high, image units, >= 0; 0: all */
    double apart;      /* only maxima at least so far from each other one, see below, >= 0 */
    double spacing[3]; /* of voxels, in the unit of apart, > 0 */
    int neighbours;    /* 6, 18 or 26; 4 or 8 when slice_axis >= 0 */
    int slice_axis; /* -1: in 3D; 0, 1, 2: each slice across x, y, z on its own. Then apart counts
                       inside slices */
} lob_maxima_options;

/* All of them, 26 neighbours, in 3D, spacing 1. */
lob_maxima_options lob_maxima_defaults(void);

typedef struct {
    const lob_volume *image; /* any type, one channel */
    const uint8_t *mask;     /* nx*ny*nz, where the image is; 0: no data. NULL: everything is */
} lob_maxima_input;

/* A maximum. */
typedef struct {
    int64_t first;  /* its first voxel in raster order, which stands for it */
    int64_t voxels; /* of its plateau */
    double value;
} lob_maximum;

typedef struct {
    int32_t *labels;     /* nx*ny*nz, where the image is: i + 1 in maximum i, all others 0 */
    lob_maximum *maxima; /* count, malloc'ed, in the order of their first voxels */
    int64_t count;
    int64_t found;         /* before height and apart took some out */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
    lob_device *device;    /* whose memory labels are in; NULL: malloc'ed */
} lob_maxima_output;

/* Free the arrays and leave everything 0. */
void lob_maxima_output_free(lob_maxima_output *out);

/*
 * Find the maxima. First those above a value, then those that are high enough, then the highest
 * ones that are far enough apart: by falling value, of equal ones by first voxel, each is taken
 * unless its first voxel is nearer than `apart` to that of one already taken.
 *
 *   out      out  free with lob_maxima_output_free; empty on failure
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress. Working memory is 1 byte a voxel and that of
 *                 lob_components_cpu; heights take 16 bytes for each voxel of the largest summit
 *                 and thread
 *
 * Same bytes on every backend and thread count. Returns LOB_OK, LOB_EARG (an option outside its
 * range, several channels), LOB_EDATA (more maxima than an int32 counts), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_maxima_cpu(lob_maxima_output *out, const lob_maxima_input *in,
                          const lob_maxima_options *options, const lob_context *context,
                          lob_error *error);

LOB_END_DECLS

#endif
