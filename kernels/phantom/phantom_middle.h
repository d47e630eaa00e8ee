/* A line along the middle of a region, as a person draws it. */
#ifndef LOB_PHANTOM_MIDDLE_H
#define LOB_PHANTOM_MIDDLE_H

#include "kernels/phantom/phantom_parts.h"

/*
 * Draw it in a slice: from the deepest voxel of a label (of equally deep ones the first) both ways
 * along what is deep, within 45 degrees of the way there is most room, to where less is left than
 * two fifths of the greatest depth.
 *
 *   slice  in/out  dims.nx * dims.ny voxels with labels and depths; gets seeds
 *   least  in      depth of a seed; where no voxel is as deep, nothing is drawn
 */
void lob_phantom_draw_middle(phantom_voxel *slice, lob_dims dims, int32_t label, float least);

#endif
