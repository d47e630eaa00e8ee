/*
 * Connected components: number the pieces into which joined neighbours fall.
 *
 * Two neighbours are joined when both are foreground and
 *
 *   any        nothing else is asked
 *   equal      their values are equal in every channel
 *   tolerance  the sum over channels of |difference| is at most the tolerance
 *
 * so that whether two voxels are joined depends on these two alone. Foreground is what is data (in
 * the mask, finite in every channel) and has a value that is not 0 (of several channels: in one of
 * them) or, where a range is given, lies in it (in every channel). Values are compared with a range
 * as lob_as_compared says: in doubles, those that are stored as float32 and not scaled in float32.
 * So are sums of differences with the tolerance.
 *
 * Components count from 1 in the order in which a raster scan of the volume first meets them, which
 * is how scipy.ndimage.label, ITK and cc3d number them.
 */
#ifndef LOB_COMPONENTS_H
#define LOB_COMPONENTS_H

#include "kernels/context.h"
#include "kernels/regions/regions.h"
#include "volumes/volume.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { LOB_JOIN_ANY, LOB_JOIN_EQUAL, LOB_JOIN_TOLERANCE } lob_join;
typedef enum { LOB_ORDER_RASTER, LOB_ORDER_SIZE } lob_components_order;

typedef struct {
    lob_join join;
    double tolerance;           /* image units, >= 0 */
    bool ranged;                /* foreground is what lies in range; else what is not 0 */
    double range[2];            /* lowest and highest value, both inside */
    int neighbours;             /* 6, 18 or 26; 4 or 8 when slice_axis >= 0 */
    int slice_axis;             /* -1: in 3D; 0, 1, 2: no joining across x, y, z */
    lob_components_order order; /* size: the largest first, equal sizes by first voxel */
    int64_t min_voxels;         /* components with fewer are taken out; 0, 1: none */
    int64_t max_voxels;         /* components with more are taken out; 0: none */
    int64_t largest;            /* of those left only so many, by size; 0: all */
    bool fill_holes;            /* then background that reaches no border joins its surroundings */
    bool keep_values;           /* equal, one channel: the labels written are values, see below */
    bool regions;               /* measure the components */
    lob_type type; /* LOB_U8, LOB_I16 or LOB_I32; LOB_TYPES: the first that holds them */
} lob_components_options;

/* Any foreground neighbours of 26 in 3D, nothing taken out; labels of the first type that holds
 * them. */
lob_components_options lob_components_defaults(void);

enum { LOB_COMPONENTS_MAX_CHANNELS = 64 };

typedef struct {
    const lob_volume *image;       /* any type, 1..LOB_COMPONENTS_MAX_CHANNELS channels */
    const uint8_t *mask;           /* nx*ny*nz; 0: not foreground. May be NULL */
    const lob_volume *intensities; /* for regions: one channel on the same grid. May be NULL */
} lob_components_input;

typedef struct {
    void *labels;              /* nx*ny*nz, malloc'ed */
    lob_type type;             /* of labels */
    int64_t count;             /* components in labels */
    int64_t found;             /* before any was taken out */
    int64_t foreground;        /* voxels */
    int64_t not_finite;        /* voxels in the mask that are NaN or infinite in a channel */
    lob_region *regions;       /* count, holes filled; NULL unless asked for */
    lob_region_values *values; /* count, of the intensities; NULL without these or regions */
    lob_fine_levels fine;      /* of the intensities, where there are any */
    int64_t *member;           /* count: the first voxel of each before holes were filled; NULL
                                * unless regions are asked for and holes filled */
    int64_t working_bytes;     /* peak of working memory, beyond input and labels */
} lob_components_output;

/*
 * Number the components.
 *
 *   result   out  free with lob_components_output_free; empty on failure
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * Components are taken out after the whole volume has been joined: first by min_voxels and
 * max_voxels, then all but the largest; what is left is numbered without gaps. Then holes are
 * filled: a hole is a piece of what has no label now (6 neighbours where components have 26 or 18,
 * 26 where they have 6; 4 and 8 likewise, slice by slice), be it outside the mask or not finite,
 * that reaches no border of the volume (of its slice where there are slices; an axis of one voxel
 * has none). It takes the label that most of its faces touch, of equal ones the smallest.
 *
 * With keep_values all this is done to the numbers, which regions and count go by as well, and then
 * each component's number is written as its value, which must be a whole number from 1: the value
 * of regions[i] is labels[regions[i].first]. What was foreground in a hole, as a component that was
 * taken out is, need not have the values of the component that filled it: member tells a voxel that
 * has.
 *
 * Same bytes on every backend, thread count and memory limit. At most 5 bytes a voxel of working
 * memory for a foreground of natural shape; the more runs along x there are, the more is taken.
 * Regions and values, whose number is not known before, are taken from context->max_memory on the
 * CPU; labels are not.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (more components, or larger
 * values, than options->type or an int32 holds; dims that do not fit), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_components_cpu(lob_components_output *result, const lob_components_input *in,
                              const lob_components_options *options, const lob_context *context,
                              lob_error *error);

/* Free the arrays and leave everything 0. */
void lob_components_output_free(lob_components_output *result);

#ifdef __cplusplus
}
#endif

#endif
