/* Laying a volume's axes as another's lie: flips and exchanges of axes, which interpolate nothing.
 */
#ifndef LOB_REORIENT_H
#define LOB_REORIENT_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* One of the 48 ways to exchange and flip the axes of a grid. */
typedef struct {
    int axis[3];       /* new axis a runs along this old axis; each of 0, 1, 2 once */
    bool backwards[3]; /* and from its end to its start */
} lob_turn;

enum { LOB_TURNS = 48 };

/* Each of them has a number from 0 on; 0 changes nothing. */
lob_turn lob_turn_of(int number);

/* The sides of a grid after a turn. */
lob_dims lob_turned_dims(lob_dims dims, const lob_turn *turn);

/*
 * The turn after which a volume's grid is another's by the rule of lob_same_grid; of several, which
 * only voxels of needle or plate shape allow, the first of those whose corners lie closest. The
 * volumes' data may be NULL.
 *
 * Returns false, with turn untouched, where there is none: only resampling would help.
 */
bool lob_turn_onto(lob_turn *turn, const lob_volume *volume, const lob_volume *onto);

/* The geometry of a grid of dims after a turn: every voxel stays where it is in the world. */
lob_geometry lob_turned_geometry(const lob_geometry *geometry, lob_dims dims, const lob_turn *turn);

/*
 * Turn a volume, all channels of it: dims, voxels and geometry. Its header describes the grid as it
 * was and is given up. Needs memory for the voxels once more meanwhile.
 *
 * Returns LOB_OK, or LOB_ENOMEM with the volume unchanged.
 */
lob_status lob_volume_reorient(lob_volume *volume, const lob_turn *turn);

LOB_END_DECLS

#endif
