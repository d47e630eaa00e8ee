/*
 * How well an image's supervoxels, or any other cutting of it into many small pieces, can make up
 * the regions of a truth.
 *
 * Measured are the voxels that carry a supervoxel; a truth's label 0 is a region like any other.
 * With supervoxels s of |s| voxels, regions g and N voxels in all:
 *
 *   boundary recall      share of the truth's boundary voxels no farther than a tolerance from a
 *                        boundary voxel of the supervoxels. A boundary voxel has a face neighbour,
 *                        measured too, with another label. (Martin, Fowlkes and Malik, "Learning to
 *                        detect natural image boundaries", PAMI 26, 2004)
 *   under-segmentation   (sum over g of |s| of all s with more than 5 % of |s| in g, minus N) / N
 *                        (equation 6 of Ban, Liu and Fouriaux, "GLSC: LSC superpixels at over 130
 *                        FPS", JRTIP 2016)
 *                        and sum over pairs that meet of min(|s & g|, |s| - |s & g|), / N
 *                        (Neubert and Protzel, "Superpixel benchmark and comparison", 2012)
 *   achievable accuracy  sum over s of the largest |s & g|, / N: what is right when every
 *                        supervoxel takes the region that it shares most voxels with. (Liu, Tuzel,
 *                        Ramalingam and Chellappa, "Entropy rate superpixel segmentation", CVPR
 *                        2011)
 *   explained variation  share of the image's variance that lies between the supervoxels' means,
 *                        channels summed. (Moore, Prince, Warrell, Mohammed and Jones, "Superpixel
 *                        lattices", CVPR 2008)
 *   compactness          mean over voxels of their supervoxel's 4 pi area / perimeter^2, 1 for a
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

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t voxels;               /* N */
    int64_t supervoxels;          /* labels that occur */
    int64_t regions;              /* the truth's labels that occur on these voxels, 0 included */
    double boundary_recall;       /* NaN when the truth has no boundary */
    double under_segmentation;    /* equation 6; can exceed 1 */
    double under_segmentation_np; /* Neubert and Protzel */
    double achievable_accuracy;
    double explained_variation; /* NaN without an image, or when it does not vary */
    double compactness;
    double contour_density;
} lob_partition;

typedef struct {
    const lob_volume *labels; /* LOB_U8, LOB_I16 or LOB_I32, as lob_labels_dense leaves them */
    int64_t label_count;      /* labels are 0..label_count; 0: not measured */
    const lob_volume *truth;  /* of the same dims and one of the same types */
    int64_t truth_count;
    const lob_volume *image; /* of the same dims, any type; NULL: no explained variation. A voxel
                                that is not finite in a channel does not count in it */
} lob_partition_input;

typedef struct {
    double tolerance; /* of boundary recall, between voxels' centres, >= 0 */
    bool in_voxels;   /* the tolerance's unit is the voxel, whatever the spacing; else mm, as if the
                         axes were orthogonal */
    int slice_axis;   /* -1: 3D, or 2D when a side is 1; 0, 1, 2: every slice across x, y, z by
                         itself, so that slices have no faces in common */
} lob_partition_options;

/*
 * Measure a partition.
 *
 * Counts and sums are integers, so the bits are the same at any thread count. The image's values
 * enter as levels (kernels/levels/levels.h). Takes 5 bytes a voxel and what lob_distance_bytes
 * says; before that a byte a voxel, 40 bytes a supervoxel, with an image 8 more a channel, and for
 * each thread 24 to 72 bytes a pair of a supervoxel and a region that meet.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (dims or types that do not fit,
 * a label above its count, no voxel with a supervoxel, an image of more than
 * LOB_LEVELS_MAX_CHANNELS channels), LOB_ENOMEM or LOB_ECANCEL; on error out is unspecified.
 */
lob_status lob_partition_measure(lob_partition *out, const lob_partition_input *in,
                                 const lob_partition_options *options, const lob_context *context,
                                 lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
