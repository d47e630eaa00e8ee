/*
 * Connected components: give every set of joined foreground voxels a label of its own.
 *
 * A voxel is foreground when the mask holds it, it is finite in every channel, and
 *
 *   without a range  its value is not 0 (with several channels: not 0 in at least one)
 *   with a range     its value lies in the range, both ends included, in every channel
 *
 * Two neighbours are joined when both are foreground and
 *
 *   LOB_JOIN_ANY        always
 *   LOB_JOIN_EQUAL      their values are equal in every channel
 *   LOB_JOIN_TOLERANCE  the sum over channels of |difference| is at most the tolerance
 *
 * A component is a set of voxels connected by such pairs. Components are numbered from 1 in the
 * order in which a raster scan (x fastest, then y, then z) first meets them, as scipy.ndimage.label
 * and cc3d number them.
 *
 * A value is slope * stored + inter. Values and sums are compared as lob_as_compared in
 * volumes/volume.h says: in float64, or in float32 for unscaled float32 images.
 *
 * How it works: on the CPU join/run_table.h, on a GPU components_stages_cuda.cuh.
 */
#ifndef LOB_COMPONENTS_H
#define LOB_COMPONENTS_H

#include "kernels/context.h"
#include "kernels/regions/regions.h"
#include "volumes/volume.h"

#include <math.h>

LOB_BEGIN_DECLS

typedef enum { LOB_JOIN_ANY, LOB_JOIN_EQUAL, LOB_JOIN_TOLERANCE } lob_join;
typedef enum { LOB_ORDER_RASTER, LOB_ORDER_SIZE } lob_components_order;

typedef struct {
    lob_join join;
    double tolerance;           /* in image units, >= 0 */
    bool ranged;                /* foreground is what lies in range; else what is not 0 */
    double range[2];            /* lowest and highest value */
    int neighbours;             /* 6, 18 or 26; 4 or 8 when slice_axis >= 0 */
    int slice_axis;             /* -1: in 3D; 0, 1, 2: each slice across x, y, z on its own */
    lob_components_order order; /* by size: the largest first, equal sizes by first voxel */
    int64_t min_voxels;         /* remove components with fewer voxels; 0 or 1: none */
    int64_t max_voxels;         /* remove components with more voxels; 0: none */
    int64_t largest;            /* of the rest keep this many, the largest; 0: all */
    bool fill_holes;            /* give each hole the label that surrounds it, see below */
    bool keep_values;           /* write values instead of numbers, see below; needs
                                   LOB_JOIN_EQUAL and one channel */
    bool regions;               /* measure the components */
    lob_type type; /* of the labels: LOB_U8, LOB_I16, LOB_I32; LOB_TYPES: the first of these that
                      holds the largest label */
} lob_components_options;

/* LOB_JOIN_ANY, what is not 0, 26 neighbours in 3D, raster order, nothing removed, LOB_TYPES. */
lob_components_options lob_components_defaults(void);

enum { LOB_COMPONENTS_MAX_CHANNELS = 64 };

struct lob_components_share; /* kernels/components/join/slab_share.h */

typedef struct {
    const lob_volume *image;       /* any type, 1..LOB_COMPONENTS_MAX_CHANNELS channels */
    const uint8_t *mask;           /* nx*ny*nz; 0: not foreground. NULL: all voxels */
    const lob_volume *intensities; /* for regions: one channel, the image's dims. May be NULL */
    lob_place place;               /* of arrays and results; volumes have their own */
    const struct lob_components_share *share; /* NULL; else of lob_components_streamed */
} lob_components_input;

typedef struct {
    void *labels;              /* nx*ny*nz, at in->place */
    lob_type type;             /* of labels: LOB_U8, LOB_I16 or LOB_I32 */
    int64_t count;             /* components in labels */
    int64_t found;             /* components before any was removed */
    int64_t foreground;        /* voxels */
    int64_t not_finite;        /* voxels in the mask that are NaN or infinite in a channel */
    lob_region *regions;       /* count, filled holes included; NULL unless options->regions */
    lob_region_values *values; /* count; NULL unless options->regions, with intensities */
    lob_fine_levels fine;      /* how values stand for intensities */
    int64_t *member;           /* count: each component's first voxel before holes were filled;
                                  NULL unless options->regions and fill_holes */
    int64_t working_bytes;     /* peak of working memory, beyond input and labels */
    lob_device *device;        /* whose memory labels are in; NULL: malloc'ed */
} lob_components_output;

/*
 * Label the components.
 *
 *   out      out  free with lob_components_output_free; empty on failure
 *   in       in   read only
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * The steps, in this order:
 *   1. The whole volume is joined.
 *   2. Components are removed by min_voxels and max_voxels, then all but the largest.
 *   3. The rest is numbered 1, 2, ... without gaps.
 *   4. fill_holes: a hole is a component of the voxels without a label, whether outside the mask,
 *      not finite or removed, that reaches no border of the volume (of its slice, slice by
 *      slice; an axis of one voxel has no border). It is connected by 6 neighbours where components
 *      have 18 or 26, by 26 where they have 6; slice by slice by 4 where they have 8, and the
 *      reverse. It takes the label with which it shares most faces; of equal ones the smallest.
 *   5. keep_values: the value of each component, which must be a whole number from 1, is written in
 *      place of its number. regions still goes by numbers: the value of component i + 1 is that of
 *      labels[regions[i].first]. Where holes are filled, regions[i].first may be a voxel of a hole;
 *      member[i] is a voxel of the component itself.
 *
 * Same bytes on every backend, at any thread count and memory limit. Working memory: at most 5
 * bytes per voxel for foreground of natural shape, more where it is broken into many runs along x.
 * context->max_memory bounds it; on the CPU it bounds regions and values too, but not labels.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (more components or a larger
 * value than options->type or an int32 holds; dims that do not fit), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_components_cpu(lob_components_output *out, const lob_components_input *in,
                              const lob_components_options *options, const lob_context *context,
                              lob_error *error);

/* Free the arrays and leave everything 0. */
void lob_components_output_free(lob_components_output *out);

LOB_END_DECLS

#endif
