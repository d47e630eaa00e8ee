/*
 * Supervoxels: cut an image into small connected pieces of like intensity and size.
 *
 *   slic   Achanta, Shaji, Smith, Lucchi, Fua and Suesstrunk, "SLIC superpixels compared to
 *          state-of-the-art superpixel methods", PAMI 34, 2012
 *   slico  the same with a compactness that every cluster adapts to its own contrast
 *   lsc    Li and Chen, "Superpixel segmentation using linear spectral clustering", CVPR 2015, in
 *          the pixel-wise form of Ban, Liu and Fouriaux, "GLSC: LSC superpixels at over 130 FPS",
 *          JRTIP 2016
 *
 * Clusters start as the cells of a grid that is even in mm. Each iteration gives every voxel to the
 * nearest of the clusters that may have it and then moves the clusters to the means of what they
 * were given. Afterwards every cluster is made one connected piece: its pieces under a share of the
 * nominal size (the option `smallest`) join the neighbour whose mean is most similar, the others,
 * and those without a neighbour, are labels of their own. What is computed exactly, and how ties
 * fall, is told in supervoxels_voxel.h.
 */
#ifndef LOB_SUPERVOXELS_H
#define LOB_SUPERVOXELS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <math.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { LOB_SLIC, LOB_SLICO, LOB_LSC } lob_supervoxels_method;

typedef struct {
    lob_supervoxels_method method;
    int slice_axis; /* -1: in 3D; 0, 1, 2: every slice across x, y, z as an image of its own */
    double size_mm; /* side of a supervoxel; 0: from count. Give one of the two */
    int64_t count;  /* supervoxels asked for of the data (of a slice, where there are slices, and on
                       average, where they differ in data); 0: from size */
    double compactness; /* slic: intensity difference, as a share of the image's range, that weighs
                           like one side of distance, > 0, at most 1e6. The range is that of the
                           data's levels, the widest channel's; in CIELAB 100 units. Distances
                           are counted in steps, 2000 to 4000 of which are the largest there is:
                           far below 0.001 intensity alone decides, far above 1000 place alone */
    double ratio;       /* lsc: weight of position against intensity, > 0, at most 1000 */
    int iterations;     /* >= 1 */
    bool until_still;   /* end before that when no voxel changes its cluster */
    bool lab;           /* three 8-bit channels are sRGB and are compared in CIELAB */
    double range[2];    /* voxels whose value lies outside [lo, hi] are not data */
    double smallest;    /* pieces under this share of the nominal size join a neighbour; [0, 1] */
} lob_supervoxels_options;

/* SLIC in 3D, 10 iterations, compactness 0.05, ratio 0.075. Neither size_mm nor count is set. */
lob_supervoxels_options lob_supervoxels_defaults(void);

enum { LOB_SUPERVOXELS_MAX_CHANNELS = 16 };

typedef struct {
    const lob_volume *image; /* any type, 1..LOB_SUPERVOXELS_MAX_CHANNELS channels */
    const uint8_t *mask;     /* nx*ny*nz; 0: not data. May be NULL */
} lob_supervoxels_input;

typedef struct {
    int64_t supervoxels; /* labels 1..supervoxels occur */
    int64_t cells[3];    /* of the starting grid, along x, y, z */
    double size_mm;      /* side that the grid came to */
    int64_t data_voxels, not_finite;
    int64_t pieces;        /* connected pieces before small ones were joined */
    int iterations;        /* done; the last of them changed nothing where it ended early */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_supervoxels_stats;

/*
 * Cut an image into supervoxels.
 *
 *   labels   out  nx*ny*nz; 0 is not data, supervoxels count from 1 without gaps in the order a
 *                 raster scan first meets them; each is 6-connected (4-connected in its slice).
 *                 Unspecified on error
 *   stats    out  may be NULL
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * Levels are those of kernels/levels/levels.h, of the whole image also where it is cut slice by
 * slice. Same bytes and statistics (but for working_bytes) on every backend and thread count.
 *
 * Working memory on the CPU is tables (lsc 16 kB, CIELAB 132 kB, both 164 kB) and the largest of
 * three: 75 bytes a cluster and 12 a channel of it (lsc: 130 and 24; two thirds more with
 * until_still), clusters between two threads counting twice, and some 50 to 200 kB a thread; then 5
 * to 8 bytes for each number given to what looks like a piece, somewhat more than there are pieces,
 * and two slices of labels a thread; then 8 bytes a piece and 6 a channel of it. Fewer threads
 * iterate where they keep so to what is allowed, or to 4 bytes a voxel. With cells of 8 voxels in
 * 3D it is half a byte a voxel. With up to three channels, and without until_still, it is at most 4
 * from 64 voxels a supervoxel on, unless an image has fewer than 100000 voxels (500000 in CIELAB),
 * or noise leaves a piece in every 3.5 (6.5 with three channels).
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (no data; dims, channels or
 * type that do not fit; supervoxels of 2^32 voxels), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_supervoxels_cpu(int32_t *labels, lob_supervoxels_stats *stats,
                               const lob_supervoxels_input *in,
                               const lob_supervoxels_options *options, const lob_context *context,
                               lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
