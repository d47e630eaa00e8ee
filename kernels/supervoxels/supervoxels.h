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
 * Clusters start as the cells of a grid that is even in mm. An iteration gives every voxel to the
 * nearest of the clusters around it, then moves each cluster to the mean of its voxels. Afterwards
 * a cluster may fall apart into several connected fragments. Small fragments, which have less than
 * a share of the nominal size (the option `smallest`), join the neighbour whose mean is most
 * similar. The others, and small ones without a neighbour, get labels of their own.
 */
#ifndef LOB_SUPERVOXELS_H
#define LOB_SUPERVOXELS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <math.h>
#include <stdbool.h>

LOB_BEGIN_DECLS

typedef enum { LOB_SLIC, LOB_SLICO, LOB_LSC } lob_supervoxels_method;

typedef struct {
    lob_supervoxels_method method;
    int slice_axis;     /* -1: in 3D; 0, 1, 2: every slice across x, y, z as an image of its own */
    double size_mm;     /* side of a supervoxel; 0: from count. Give one of the two */
    int64_t count;      /* supervoxels wanted where there is data: in the volume, or in a slice on
                           average; 0: from size */
    double compactness; /* slic: the intensity difference that counts as much as one size of
                           distance, as a share of the intensity range: > 0, at most 1e6. The
                           range is that of the data in the channel with the widest one; in
                           CIELAB 100 units. Distances are rounded to
                           1/2000 to 1/4000 of the largest one: far below 0.001
                           only intensity counts, far above 1000 only position */
    double ratio;       /* lsc: weight of position against intensity, > 0, at most 1000 */
    int iterations;     /* >= 1 */
    bool until_still;   /* end after an iteration that changes no cluster's sums */
    bool lab;           /* three 8-bit channels are sRGB, compared in CIELAB */
    double range[2];    /* voxels whose value lies outside [lo, hi] are not data */
    double smallest;    /* fragments under this share of the nominal size join a neighbour; 0..1 */
} lob_supervoxels_options;

/* SLIC in 3D, 10 iterations, compactness 0.05, ratio 0.075. Neither size_mm nor count is set. */
lob_supervoxels_options lob_supervoxels_defaults(void);

enum { LOB_SUPERVOXELS_MAX_CHANNELS = 16 };

typedef struct {
    const lob_volume *image; /* any type, 1..LOB_SUPERVOXELS_MAX_CHANNELS channels */
    const uint8_t *mask;     /* nx*ny*nz; 0: not data. May be NULL */
    lob_place place;         /* of arrays and results; volumes have their own */
} lob_supervoxels_input;

typedef struct {
    int64_t supervoxels; /* labels 1..supervoxels occur */
    int64_t cells[3];    /* of the starting grid, along x, y, z */
    double size_mm;      /* side of a cell, where the spacing allows it */
    int64_t data_voxels, not_finite;
    int64_t fragments;     /* connected parts of clusters, before small ones were joined */
    int iterations;        /* done; fewer than the option where the last one changed nothing */
    int64_t working_bytes; /* peak of working memory, besides input and output */
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
 * Intensities are compared as 16-bit levels of the range of all data in the image, also where it is
 * cut slice by slice. Labels and statistics are the same on every backend and thread count, except
 * for working_bytes.
 *
 * Working memory on the CPU is tables (16 kB for lsc, 132 kB for CIELAB, 164 kB for both) and the
 * largest of three stages:
 *
 *   iterations  75 bytes per cluster + 12 per channel of it (lsc: 130 + 24; two thirds more with
 *               until_still), twice for clusters that two threads share, and 50 to 200 kB per
 *               thread
 *   fragments   a quarter byte per voxel (rows are rounded up to 64 voxels), 4 bytes per run of
 *               voxels of one cluster along x (slice by slice across x per voxel), and 4 per
 *               fragment, of which each thread's part of the volume has its own
 *   joining     8 bytes per fragment + 6 per channel of it
 *
 * Fewer threads iterate if that is needed to stay within the memory allowed, or within 4 bytes per
 * voxel. With cells of 8 voxels a side in 3D it is three quarters of a byte per voxel. With up to
 * three channels and without until_still it is at most 4 bytes per voxel if a supervoxel has 64
 * voxels or more, unless an image has fewer than 100000 voxels (500000 in CIELAB), is cut slice by
 * slice across x, or is so noisy that it has a fragment per 3.5 voxels (per 6.5 with three
 * channels).
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (no data; dims, channels or
 * type that are not taken; supervoxels of 2^32 voxels or more), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_supervoxels_cpu(int32_t *labels, lob_supervoxels_stats *stats,
                               const lob_supervoxels_input *in,
                               const lob_supervoxels_options *options, const lob_context *context,
                               lob_error *error);

LOB_END_DECLS

#endif
