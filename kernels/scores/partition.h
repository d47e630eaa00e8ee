/*
 * Measures of a partition: how well supervoxels, or any other division of an image into many small
 * regions, agree with a true segmentation.
 *
 * Only voxels with a supervoxel (a label other than 0) are measured. The truth's label 0 is a
 * region like any other. With supervoxels s of |s| voxels, regions g and N measured voxels:
 *
 *   boundary recall      share of the truth's boundary voxels no farther than a tolerance from a
 *                        boundary voxel of the supervoxels. A boundary voxel has a face neighbour
 *                        with another label that is measured too. (Martin, Fowlkes and Malik,
 *                        "Learning to detect natural image boundaries", PAMI 26, 2004)
 *   under-segmentation   (sum over g of |s| of all s with more than 5 % of |s| in g, minus N) / N
 *                        (equation 6 of Ban, Liu and Fouriaux, "GLSC: LSC superpixels at over 130
 *                        FPS", JRTIP 2016), and (sum over pairs that overlap of
 *                        min(|s & g|, |s| - |s & g|)) / N (Neubert and Protzel, "Superpixel
 *                        benchmark and comparison", 2012)
 *   achievable accuracy  (sum over s of the largest |s & g|) / N: the share of voxels that are
 *                        right when every supervoxel takes the region with which it shares most
 *                        voxels. (Liu, Tuzel, Ramalingam and Chellappa, "Entropy rate superpixel
 *                        segmentation", CVPR 2011)
 *   explained variation  share of the image's variance that lies between the supervoxels' means,
 *                        channels summed. (Moore, Prince, Warrell, Mohammed and Jones, "Superpixel
 *                        lattices", CVPR 2008)
 *   compactness          mean over voxels of 4 pi area / perimeter^2 of their supervoxel, 1 for a
 *                        disc; in 3D of 36 pi volume^2 / surface^3, 1 for a ball. Perimeter and
 *                        surface are those of the voxels' faces, in mm, so a square has pi/4 and a
 *                        cube pi/6. (Schick, Fischer and Stiefelhagen, "Measuring and evaluating
 *                        the compactness of superpixels", ICPR 2012)
 *   contour density      share of voxels that are boundary voxels of the supervoxels. (Machairas et
 *                        al., "Waterpixels", TIP 24, 2015)
 */
#ifndef LOB_PARTITION_H
#define LOB_PARTITION_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

enum { LOB_PARTITION_MAX_CHANNELS = 64 };

typedef struct {
    int64_t voxels;               /* N */
    int64_t supervoxels;          /* labels that occur */
    int64_t regions;              /* labels of the truth on these voxels, 0 included */
    double boundary_recall;       /* NaN when the truth has no boundary */
    double under_segmentation;    /* equation 6; can exceed 1 */
    double under_segmentation_np; /* Neubert and Protzel */
    double achievable_accuracy;
    double explained_variation; /* NaN without an image, or when it does not vary */
    double compactness;
    double contour_density;
} lob_partition;

typedef struct {
    const lob_volume *labels; /* LOB_U8, LOB_I16 or LOB_I32; lob_labels_dense makes these */
    int64_t label_count;      /* labels are 0..label_count; 0: not measured */
    const lob_volume *truth;  /* the same dims; one of the same types */
    int64_t truth_count;      /* its labels are 0..truth_count */
    const lob_volume *image;  /* the same dims, any type, at most LOB_PARTITION_MAX_CHANNELS
                                 channels. Explained variation leaves out voxels that are not
                                 finite in a channel. NULL: no explained variation */
} lob_partition_input;

typedef struct {
    double tolerance; /* of boundary recall: a distance between voxel centres, >= 0 */
    bool in_voxels;   /* the tolerance is in voxels, whatever the spacing; else in mm, as if the
                         axes were orthogonal */
    int slice_axis;   /* -1: in 3D, or in 2D when a side is 1; 0, 1, 2: each slice across x, y, z
                         on its own, so that slices share no faces */
} lob_partition_options;

/*
 * Measure a partition.
 *
 *   out      out  unspecified on error
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * Counts and sums are integers, so the results are the same at any thread count. The image's values
 * enter as 16-bit integers: exact where integers span less than 2^16, else mapped linearly from
 * their range. Working memory: 5 bytes per voxel and lob_distance_bytes; before that 1 byte per
 * voxel, 40 bytes per supervoxel (with an image 8 more per channel), 24 bytes per pair of a
 * supervoxel and a region that overlap and, for each thread, 24 to 72 more.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (dims or types that do not fit,
 * a label above its count, no voxel with a supervoxel, too many channels), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_partition_measure(lob_partition *out, const lob_partition_input *in,
                                 const lob_partition_options *options, const lob_context *context,
                                 lob_error *error);

LOB_END_DECLS

#endif
