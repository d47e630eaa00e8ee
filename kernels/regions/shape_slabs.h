/*
 * Shapes of regions of a volume that is measured slab by slab: what is counted of each slab, and
 * how it is joined.
 */
#ifndef LOB_SHAPE_SLABS_H
#define LOB_SHAPE_SLABS_H

#include "kernels/regions/shapes.h"

LOB_BEGIN_DECLS

/* All zero: not counted. */
typedef struct {
    lob_region_moments moments;
    lob_region_border border;
    lob_region_slices slices;
} lob_region_counts;

/* Add those of the same region in another slab. */
void lob_region_counts_add(lob_region_counts *to, const lob_region_counts *part);

/* As lob_regions_moments, of a slab from plane z on, but counted from the volume's first voxel, and
 * modulo 2^64. */
lob_status lob_regions_moments_sum(lob_region_moments *moments, const lob_regions_input *in,
                                   int64_t z, const lob_context *context, lob_error *error);

/* As lob_regions_border, but where `under` is set, the first plane is that before a slab: what its
 * border is alone is left out, so that the borders of all slabs add up. */
lob_status lob_regions_border_under(lob_region_border *border, const lob_regions_input *in,
                                    bool under, const lob_context *context, lob_error *error);

/* Count such sums, once all slabs' are added up, from the regions' low corners. labels: what they
 * are called; NULL: 1..count. Returns LOB_OK or LOB_EDATA: one is too large. */
lob_status lob_regions_moments_move(lob_region_moments *moments, const lob_region *regions,
                                    const int32_t *labels, int64_t count, lob_error *error);

/* A corner of a region's hull, in half voxels of the whole volume. */
typedef struct {
    int32_t label, z, y, x;
    int32_t octants; /* bits: those of the eight voxels around it that the region has; bit 0 of the
                        bit's number is x, bit 1 y, bit 2 z */
} lob_hull_corner;

/*
 * The corners of the hulls of a slab's regions.
 *
 *   corners, count  out  malloc'ed, in any order; NULL and 0 where there are none, and on failure
 *   regions, in     in   as for lob_regions_hulls, counted from the slab's first plane
 *   labels          in   in->count: what the regions are called
 *   z               in   the slab's first plane
 *
 * Returns what lob_regions_hulls does.
 */
lob_status lob_regions_hull_corners(lob_hull_corner **corners, int64_t *count,
                                    const lob_region *regions, const lob_regions_input *in,
                                    const int32_t *labels, int64_t z, const lob_context *context,
                                    lob_error *error);

/* Sort corners by label, z, y and x, and join those at one place. Returns how many there are. */
int64_t lob_hull_corners_join(lob_hull_corner *corners, int64_t n);

/*
 * The hulls of regions from the corners of all their slabs.
 *
 *   regions, labels  in  count, in rising order of labels, NULL: 1..count; regions as of the whole
 *   corners          in  n, as lob_hull_corners_join leaves them, of these labels
 *   dims             in  of the whole
 */
lob_status lob_hulls_of_corners(lob_region_hull *hulls, const lob_region *regions,
                                const int32_t *labels, int64_t count,
                                const lob_hull_corner *corners, int64_t n, lob_dims dims,
                                const lob_shape_frame *frame, const lob_context *context,
                                lob_error *error);

LOB_END_DECLS

#endif
