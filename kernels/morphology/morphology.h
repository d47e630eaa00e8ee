/*
 * Morphology of labels with exact balls: labels shrink and grow by a distance in mm, all at once.
 *
 *   dilate  a voxel of 0 within the radius of a label gets the label nearest to it, of equally near
 *           ones the smallest. Labels keep what they have, so none overruns another
 *   erode   a voxel of a label becomes 0 where a voxel of another label, or of 0, lies within the
 *           radius. What lies outside of the volume counts as the same label: nothing is lost at
 *           its border (scipy.ndimage's binary_erosion does so with border_value=1)
 *   open    erode, then dilate: parts thinner than the ball vanish
 *   close   dilate, then erode; voxels that had a label keep it. Gaps thinner than the ball close
 *
 * The ball is the set of offsets, between voxel centres, of length <= radius (its border counts).
 * Distances are compared as kernels/distance/distance.h says; squared, they are taken as equal to
 * the radius where they exceed it by less than 1e-6 of it, so that a radius of 3 voxels of 0.7 mm
 * reaches 3 voxels whatever 2.1 is in binary.
 */
#ifndef LOB_MORPHOLOGY_H
#define LOB_MORPHOLOGY_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

typedef enum {
    LOB_MORPHOLOGY_DILATE,
    LOB_MORPHOLOGY_ERODE,
    LOB_MORPHOLOGY_OPEN,
    LOB_MORPHOLOGY_CLOSE
} lob_morphology;

typedef struct {
    const void *labels; /* nx*ny*nz; 0: no label */
    lob_type type;      /* of labels: an integer of 1, 2 or 4 bytes; labels are >= 0 */
    lob_dims dims;
    double spacing[3]; /* of voxels along x, y, z, each > 0; of an axis that the ball does not
                          reach along, such as across slices, INFINITY */
    lob_place place;   /* of arrays and results */
} lob_morphology_input;

/*
 * Shrink or grow labels.
 *
 *   out      out  nx*ny*nz of in->type; may be in->labels
 *   in       in   see above
 *   how      in   see above
 *   radius   in   in the unit of spacing, >= 0 and finite
 *   context  in   threads, memory, progress; working memory is at most 12 bytes a voxel
 *
 * Same bytes on every backend and thread count; on error out is unspecified. Returns LOB_OK,
 * LOB_EARG (a type or radius that does not fit), LOB_EDATA (sides beyond lob_distance_cpu's),
 * LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_morphology_cpu(void *out, const lob_morphology_input *in, lob_morphology how,
                              double radius, const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
