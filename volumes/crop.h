/* Boxes of a volume: the part that holds what is marked, cut out with its place in the world kept.
 */
#ifndef LOB_CROP_H
#define LOB_CROP_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Voxels first .. first + size - 1 along each axis. */
typedef struct {
    int64_t first[3], size[3];
} lob_box;

/*
 * Find the smallest box that holds every voxel of a volume that is neither 0 nor NaN, in any
 * channel. Returns false, with box untouched, where there is none.
 */
bool lob_box_of(lob_box *box, const lob_volume *volume);

/* Widen a box by so many voxels on both sides of each axis, as far as the volume goes. */
void lob_box_widen(lob_box *box, const int64_t margin[3], lob_dims dims);

/* The geometry of a box of a grid: every voxel stays where it is in the world. */
lob_geometry lob_box_geometry(const lob_geometry *geometry, const lob_box *box);

/*
 * Cut a volume down to a box of it, all channels. Its header stays, and with it all that does not
 * describe the grid. Needs memory for the box's voxels meanwhile.
 *
 *   box  in  inside the volume, each size >= 1
 *
 * Returns LOB_OK, or LOB_ENOMEM with the volume unchanged.
 */
lob_status lob_volume_crop(lob_volume *volume, const lob_box *box);

LOB_END_DECLS

#endif
