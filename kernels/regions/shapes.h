/*
 * Shapes of regions: what is counted of each label's voxels beyond lob_region, and the lengths,
 * areas and directions that come of it. All counts are integers, so they are the same at any number
 * of threads; one host computes what comes of them. There is the CPU's way alone.
 *
 * Where a side of the volume is one voxel it is a picture: areas take the place of volumes,
 * perimeters that of surfaces.
 *
 *   moments   sums of products of coordinates: principal axes. The lengths are those of the
 *             ellipsoid (ellipse) of the same second moments, voxels taken as points at their
 *             centres: 2 sqrt(5 v), 4 sqrt(v) in a picture, v a variance in mm2
 *   border    surface by Crofton's formula: how often lines in 13 directions (4) enter the region,
 *             each direction with its share of the sphere (circle), which is computed for the
 *             spacing. It is within a few percent of a ball's surface at any spacing, where counted
 *             faces give 1.5 times as much, and needs no mesh as marching cubes do (Lehmann and
 *             Legland, Insight Journal 2012). And the Euler number, pieces minus tunnels plus
 *             hollows, of voxels that are joined at corners (26, 8 in a picture)
 */
#ifndef LOB_SHAPES_H
#define LOB_SHAPES_H

#include "kernels/regions/regions.h"

LOB_BEGIN_DECLS

enum { LOB_BORDER_DIRECTIONS = 13 };

/* Sums over the voxels of products of x, y, z, counted from the low corner of the bounding box. */
typedef struct {
    int64_t second[6]; /* xx, yy, zz, xy, xz, yz */
} lob_region_moments;

typedef struct {
    /* Pairs of a voxel of the region and a neighbour that is none: along x, y, z; xy and x-y; xz
     * and x-z; yz and y-z; xyz, -xyz, x-yz, xy-z. */
    int64_t crossings[LOB_BORDER_DIRECTIONS];
    int64_t euler;
} lob_region_border;

/*
 * Count for regions that have been measured.
 *
 *   moments, border  out  in->count
 *   regions  in   in->count, as lob_regions_cpu makes them of the same labels
 *   in       in   labels, type, count, dims; the image is not read
 *   context  in   threads, memory, progress. Each thread but the first takes a table of its own;
 *                 fewer threads work where these would exceed a byte per voxel or the memory
 *
 * Returns LOB_OK, LOB_EDATA (moments: a region too large for sums of 64 bits), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_regions_moments(lob_region_moments *moments, const lob_region *regions,
                               const lob_regions_input *in, const lob_context *context,
                               lob_error *error);
lob_status lob_regions_border(lob_region_border *border, const lob_regions_input *in,
                              const lob_context *context, lob_error *error);

/* The voxels of a region slice by slice, across z. */
typedef struct {
    int64_t slices;  /* that hold it */
    int64_t largest; /* voxels of the fullest slice */
    int64_t where;   /* its z, the smallest of equals */
} lob_region_slices;

/* As above; working memory is 8 bytes for each slice of each bounding box. */
lob_status lob_regions_slices(lob_region_slices *slices, const lob_region *regions,
                              const lob_regions_input *in, const lob_context *context,
                              lob_error *error);

enum { LOB_PERCENTILES = 5 }; /* of 5, 25, 50, 75 and 95 percent */

/*
 * Percentiles of an image's finite stored values in each region: of n sorted values that at
 * (n - 1) p / 100, linear between two (numpy's default).
 *
 *   out      out  in->count * LOB_PERCENTILES, in the order of the percentages; NaN without values
 *   regions  in   in->count, as lob_regions_cpu makes them
 *   in       in   with an image
 *
 * Working memory: 8 bytes per labelled voxel, 16 per label. Returns LOB_OK, LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_regions_percentiles(double *out, const lob_region *regions,
                                   const lob_regions_input *in, const lob_context *context,
                                   lob_error *error);

/* What every region of a volume shares; made once. */
typedef struct {
    const lob_geometry *geometry;
    int flat;       /* the axis of one voxel, of a picture; -1: none */
    double cell_mm; /* volume of a voxel in mm3; in a picture area in mm2 */
    double weight_mm[LOB_BORDER_DIRECTIONS]; /* surface in mm2 (perimeter in mm) for a crossing */
} lob_shape_frame;

lob_shape_frame lob_shape_frame_of(const lob_geometry *geometry, lob_dims dims);

/* The convex hull of a region. */
typedef struct {
    double voxels;   /* of the hull of the voxels as boxes: its volume over that of a voxel */
    double feret_mm; /* the largest distance between the middles of two faces of voxels, as
                        pyradiomics and scikit-image have it; in a picture of two sides of pixels */
} lob_region_hull;

/*
 * Make the hulls of regions. Volumes are exact: corners are integers. Takes time in proportion to
 * the sum of bounding boxes and, for each region, to the points of its slices' hulls times its
 * hull's faces. Working memory is about 400 bytes per such point, of a region for each thread.
 *
 *   hulls  out  in->count; NaN for a region without voxels
 *
 * Returns LOB_OK, LOB_EDATA (a side past 2^18), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_regions_hulls(lob_region_hull *hulls, const lob_region *regions,
                             const lob_regions_input *in, const lob_shape_frame *frame,
                             const lob_context *context, lob_error *error);

/* A region in mm. */
typedef struct {
    double equivalent_diameter_mm; /* of the ball (disc) of this volume (area) */
    double extent;                 /* voxels over those of the bounding box */
    double axis_mm[3];             /* from long to short; in a picture the third is NaN */
    double direction[3][3];        /* unit vectors in the world, RAS+; the component of the largest
                                      size is positive. In a picture the third is NaN */
    double elongation, flatness; /* axis_mm[0] / axis_mm[1], axis_mm[1] / axis_mm[2]: 1 or more, as
                                    ITK and 3D Slicer have them; NaN where divided by 0 */
    double surface_mm2;          /* in a picture the perimeter in mm */
    double sphericity;           /* surface (perimeter) of the ball (disc) of this volume over the
                                    region's: 1 for a ball, up to the surface's error */
    double euler;
} lob_region_shape;

/* moments and border may be NULL: what comes of them is NaN. */
lob_region_shape lob_region_shape_of(const lob_shape_frame *frame, const lob_region *region,
                                     const lob_region_moments *moments,
                                     const lob_region_border *border);

LOB_END_DECLS

#endif
