/*
 * Regions: what a label volume's labels measure, one row a label.
 *
 * Everything that is added up is an integer, so that the order of adding cannot change a sum and
 * every backend gives the same table.
 */
#ifndef LOB_REGIONS_H
#define LOB_REGIONS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fine levels: the unsigned 32-bit numbers that stand for an image's values where they are added
 * up. Their range is that of all finite voxels of the image, labelled or not. Integers whose range
 * fits 32 bits are used exactly, shifted by their minimum; everything else is mapped linearly from
 * its finite range to 0..2^32-1, which is finer than a float32's own steps in the upper half of
 * that range.
 */
typedef struct {
    bool exact;        /* fine = stored - low; else fine = round((stored - low) * per_unit) */
    uint64_t low_bits; /* exact: the lowest stored integer, sign-extended */
    double low;        /* stored value of fine level 0 */
    double per_unit;   /* fine levels per stored unit; 1 when exact */
} lob_fine_levels;

/* Where a region's voxels are. All zero: it has none yet. */
typedef struct {
    int64_t voxels;
    int64_t first;           /* index of its first voxel in raster order */
    int32_t low[3], high[3]; /* bounding box in voxels, both ends inside */
    int64_t sum[3];          /* of its voxels' x, y, z */
} lob_region;

/* What an image's values add up to over a region's voxels. All zero: no data yet. */
typedef struct {
    int64_t data;           /* voxels whose value is finite */
    uint64_t fine;          /* sum of fine levels */
    uint64_t square[2];     /* sum of their squares: the low 32 bits of each, and the high ones */
    double lowest, highest; /* stored values; 0 without data */
} lob_region_values;

typedef struct {
    const void *labels; /* nx*ny*nz; 0: no region */
    lob_type type;      /* LOB_U8, LOB_I16 or LOB_I32 */
    int64_t count;      /* largest label */
    lob_dims dims;
    const lob_volume *image; /* of the same dims, one channel; NULL: no intensities */
} lob_regions_input;

/*
 * Measure the regions of labels 1..count.
 *
 *   regions  out  count; all zero for a label that does not occur
 *   values   out  count; all zero for a label without data. NULL without an image
 *   fine     out  how fine levels stand for values; may be NULL without an image
 *   context  in   max_memory bounds what is taken beside the output: on the CPU as much again for
 *                 each thread but the first, which are fewer where that is too much
 *
 * Same bytes on every backend and thread count; on error regions and values are unspecified.
 * Returns LOB_OK, LOB_EARG, LOB_EDATA (a side past 2^31 - 1 voxels, more than 2^32 voxels in a
 * region with an image, a label outside 0..count), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_regions_cpu(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                           const lob_regions_input *in, const lob_context *context,
                           lob_error *error);

/* Add what another part of the volume holds of the same region; either may be all zero. */
void lob_region_add(lob_region *to, const lob_region *part);
void lob_region_values_add(lob_region_values *to, const lob_region_values *part);

/* A region in the units of the world. */
typedef struct {
    double mm3;
    double centroid[3];           /* voxels, 0 at the first voxel's centre */
    double centroid_mm[3];        /* in the image's world */
    double lowest, mean, highest; /* image units; NaN without data */
    double deviation; /* standard deviation over the region's voxels (divided by their number) */
} lob_region_measures;

/*
 *   values    in  NULL: no intensities
 *   geometry  in  of the labels
 *   fine      in  NULL without intensities
 *   slope, inter  in  of the image
 */
lob_region_measures lob_region_measure(const lob_region *region, const lob_region_values *values,
                                       const lob_geometry *geometry, const lob_fine_levels *fine,
                                       double slope, double inter);

#ifdef __cplusplus
}
#endif

#endif
