/*
 * Cells: give every cell or nucleus of an image a label, without seeds.
 *
 * Bodies: the image is smoothed; what is brighter than the box around it, by a share of Otsu's
 * threshold of that difference, is a body. The Laplacian of Gaussian at the bodies' scale has a
 * valley in each (Lindeberg, International Journal of Computer Vision 30, 1998), also where they
 * touch, side by side bright and dim, and whatever the light: where the lowest places of these
 * valleys are far enough apart they are seeds, and a flood over it cuts bodies. Walls: the image is
 * smoothed; its darkest places, deep enough below any pass, are seeds; a flood over the image ends
 * at the walls. Then basins that no wall, or no pass, parts are joined (basins.h), holes
 * filled, and what is much smaller than a cell is taken out.
 *
 *     lob_cells_options options = lob_cells_defaults(false);
 *     lob_cells_choose(&plan, &image, &options, backend, &context, &error);
 *     lob_cells(&labels, &stats, &image, &plan, backend, &context, &error);
 *
 * lob_cells_choose measures the image and says in numbers what to do; lob_cells does it. A plan may
 * be kept, changed, and used for another image. All its numbers have at most nine significant
 * digits, so that it can be written down in full: `lobule cells --print-recipe` does that in lines
 * of other commands, which give the same bytes.
 *
 * All steps run on the backend, and what lies between them stays where its context computes. Only
 * the heights of maxima, which cells between walls need, are the CPU's work: on a GPU the smoothed
 * image is copied for them.
 *
 * Same bytes on every backend and thread count.
 */
#ifndef LOB_CELLS_H
#define LOB_CELLS_H

#include "kernels/backends.h"

LOB_BEGIN_DECLS

/* Choices that may be held fixed. Lengths are in sizes: diameters of a usual cell. */
typedef struct {
    bool walls;     /* cells are dark between bright walls; else they are bright bodies */
    double size_mm; /* diameter of a usual cell, > 0; INFINITY: estimated from the image */
    double smooth;  /* standard deviation of the image's Gaussian, 0..1 */
    double around;  /* bodies: radius of the surroundings that a voxel is compared with, 0.5..10 */
    double bright; /* bodies: how much brighter than these, as a share of Otsu's threshold, 0..10 */
    double apart;  /* bodies: distance of seeds, 0..10 */
    double seeds;  /* walls: least depth of a seed, as a share of the contrast, 0..1 */
    double wall;   /* share of a full wall, or of a body's valley, that parts two pieces, 0..1 */
    double least;  /* smallest cell that is kept, as a share of a ball of this size, in an image
                      of one slice of a disc, 0..10 */
} lob_cells_options;

/* What is usual for cells between walls, or for bodies; the size is estimated. */
lob_cells_options lob_cells_defaults(bool walls);

/* What was measured, and what lob_cells does. */
typedef struct {
    bool walls;       /* fields that belong to the other kind are 0 */
    bool estimated;   /* the size is */
    double size_mm;   /* given or estimated; not rounded */
    double threshold; /* bodies: of the difference to the surroundings; walls: of the image. Not
                         rounded, nor is the contrast */
    double contrast;  /* walls: between what is above the threshold and what is below */

    double smooth_mm;  /* standard deviation of the image's Gaussian */
    double brightest;  /* bodies: what is brighter counts as this bright; INFINITY: all as it is */
    double around_mm;  /* bodies: radius of the box that a voxel is compared with, */
    double offset;     /* and what is taken off its mean: <= 0 */
    double bend_mm;    /* bodies: standard deviation of the Laplacian of Gaussian, */
    double apart_mm;   /* and distance of its minima */
    double height;     /* walls: least depth of a seed, image units */
    double wall;       /* lob_basins_options.share; 0: no basins are joined */
    double wall_level; /* and .level */
    double least_mm3;  /* volume of the smallest cell that is kept */
} lob_cells_plan;

/*
 * Choose for an image.
 *
 *   plan     out
 *   image    in   any type, one channel, with data; in ordinary memory or where context computes
 *   options  in   see above
 *   backend  in   as lob_backend_open gives it, with its context
 *   context  in   threads, memory, progress. Working memory is 17 bytes a voxel and that of a
 *                 filter, threshold or distance
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range; a size that does not fit the voxels),
 * LOB_EDATA (an image without contrast, or where it shows no cells), LOB_ENOMEM or LOB_ECANCEL; on
 * error plan is unspecified.
 */
lob_status lob_cells_choose(lob_cells_plan *plan, const lob_volume *image,
                            const lob_cells_options *options, const lob_backend *backend,
                            const lob_context *context, lob_error *error);

typedef struct {
    int32_t cells;         /* labels 1..cells */
    int64_t seeds;         /* that the flood began with */
    int64_t not_finite;    /* walls: voxels that are no data after smoothing; the flood leaves them
                              out */
    int64_t working_bytes; /* peak of labels and what lay between the steps */
} lob_cells_stats;

/*
 * Label the cells.
 *
 *   labels   out  on the image's grid and at its place, with its header: uint8, int16 or int32, 0
 *                 where there is no cell. Overwritten, so it must hold nothing; empty on failure
 *   stats    out  may be NULL
 *   image    in   as for lob_cells_choose
 *   plan     in   see above
 *   backend  in   as for lob_cells_choose
 *   context  in   likewise. Memory, labels included, is about 8 bytes a voxel and that of the step
 *                 at work: most in the flood (growcut.h)
 *
 * Returns LOB_OK, LOB_EARG (a plan that does not fit the voxels), LOB_EDATA (no voxel is bright
 * enough; walls: the image has one seed or none), LOB_EDEVICE, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_cells(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                     const lob_cells_plan *plan, const lob_backend *backend,
                     const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
