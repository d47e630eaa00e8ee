/*
 * Regions: measure the voxels of each label of a label volume (volume, bounding box, centroid) and,
 * with an image, the values there (lowest, mean, highest, standard deviation).
 *
 * Fill a lob_regions_input and call lob_regions_cpu, or the field regions of a lob_backend; then
 * lob_region_measure turns the sums of a region into mm and image units. All sums are integers, so
 * every backend and number of threads gives the same table.
 */
#ifndef LOB_REGIONS_H
#define LOB_REGIONS_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/*
 * Fine levels: unsigned 32-bit integers that stand for an image's values in sums. The lowest stored
 * value among all finite voxels of the image, labelled or not, becomes 0. Integers whose range fits
 * 32 bits keep their differences; all other values are mapped linearly from their finite range to
 * 0..2^32-1, which is finer than the steps of a float32 in the upper half of that range.
 */
typedef struct {
    bool exact;        /* fine = stored - low; else fine = round((stored - low) * per_unit) */
    uint64_t low_bits; /* exact: the lowest stored integer, sign-extended */
    double low;        /* stored value of fine level 0 */
    double per_unit;   /* fine levels per stored unit; 1 when exact */
} lob_fine_levels;

/* The voxels of a region. All zero: none yet. */
typedef struct {
    int64_t voxels;
    int64_t first;           /* index of its first voxel in raster order */
    int32_t low[3], high[3]; /* bounding box in voxels, both ends included */
    int64_t sum[3];          /* sums of its voxels' x, y, z */
} lob_region;

/* The values of an image over a region's voxels. All zero: none yet. */
typedef struct {
    int64_t data;           /* voxels whose value is finite */
    uint64_t fine;          /* sum of fine levels */
    uint64_t square[2];     /* sums of the low and of the high 32 bits of their squares */
    double lowest, highest; /* stored values; 0 without data */
} lob_region_values;

typedef struct {
    const void *labels;      /* nx*ny*nz; 0: no region */
    lob_type type;           /* of labels: LOB_U8, LOB_I16 or LOB_I32 */
    int64_t count;           /* labels are 0..count; count <= INT32_MAX */
    lob_dims dims;           /* sides of at most INT32_MAX voxels */
    const lob_volume *image; /* any type, one channel, the same dims; NULL: no values */
    lob_place place;         /* of labels; the image has its own, tables are in ordinary memory */
} lob_regions_input;

/*
 * Measure the regions of labels 1..count.
 *
 *   regions  out  count: regions[i] is label i + 1; all zero for a label that does not occur
 *   values   out  count; all zero for a label without finite values. May be NULL without an image
 *   fine     out  how fine levels stand for values; may be NULL without an image
 *   in       in   see above
 *   context  in   threads, memory, progress. Each thread but the first takes a table of its own;
 *                 fewer threads work where max_memory does not hold these tables
 *
 * Same bytes on every backend and thread count; on error regions and values are unspecified.
 * Returns LOB_OK, LOB_EARG (a count, type or image that does not fit), LOB_EDATA (a side past
 * INT32_MAX voxels, more than 2^32 finite values in a region, a label outside 0..count), LOB_ENOMEM
 * or LOB_ECANCEL.
 */
lob_status lob_regions_cpu(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                           const lob_regions_input *in, const lob_context *context,
                           lob_error *error);

/* Add the same region of another part of the volume; either may be all zero. */
void lob_region_add(lob_region *to, const lob_region *part);
void lob_region_values_add(lob_region_values *to, const lob_region_values *part);

/* A region in mm and image units. */
typedef struct {
    double mm3;
    double centroid[3];           /* in voxels, 0 at the centre of the first voxel */
    double centroid_mm[3];        /* in world coordinates */
    double lowest, mean, highest; /* image units; NaN without values */
    double deviation;             /* standard deviation: root of the mean squared difference from
                                     the mean, image units; NaN without values */
} lob_region_measures;

/*
 * Make the measures of a region from its sums.
 *
 *   region    in  with at least one voxel
 *   values    in  NULL: no values
 *   geometry  in  of the labels
 *   fine      in  as lob_regions_cpu set it; NULL without values
 *   slope, inter  in  of the image
 */
lob_region_measures lob_region_measure(const lob_region *region, const lob_region_values *values,
                                       const lob_geometry *geometry, const lob_fine_levels *fine,
                                       double slope, double inter);

/*
 * Make the measures of many regions.
 *
 *   measures  out  count; NaN everywhere for a region without voxels
 *   regions   in   count
 *   values    in   count; NULL: no values
 *   geometry, fine, slope, inter  in  as for lob_region_measure
 */
void lob_region_measure_all(lob_region_measures *measures, const lob_region *regions,
                            const lob_region_values *values, int64_t count,
                            const lob_geometry *geometry, const lob_fine_levels *fine, double slope,
                            double inter);

LOB_END_DECLS

#endif
