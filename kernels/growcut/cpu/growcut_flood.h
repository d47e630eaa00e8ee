/*
 * The flood of GrowCut on the CPU, in place of the tile engine: water rises level by level, and on
 * a level it spreads in waves, one step each.
 *
 * Voxels that water has reached wait in a queue of their level (Vincent and Soille, "Watersheds in
 * digital spaces: an efficient algorithm based on immersion simulations", IEEE PAMI 13, 1991). A
 * wave is all voxels of one cost, level and steps. It reaches its neighbours that nothing has
 * reached before, and each of them takes the least label among its neighbours in the wave; so the
 * order within a wave decides nothing. A voxel is looked at once, and its neighbours row by row.
 *
 * Threads share the planes, slab by slab, and each has the queues of its own. They meet after every
 * step, give each other what has crossed a border between slabs, and so take all steps together. A
 * step is short: where other programs keep threads waiting, one does the rest alone.
 *
 * Ranks that share a volume meet only where the flood comes to rest. Of a voxel that is no seed,
 * its neighbours tell everything:
 *
 *   came   the least cost of a neighbour
 *   cost   level, 0 steps, where its level is above that of what came; else one step more than came
 *   label  the least label of the neighbours that cost what came; a tie where these have several
 *
 * Each cost is above the one that came. So there is one solution: by induction over costs, from the
 * seeds on, cost and label of a voxel follow from neighbours of less cost. A rank finds that of its
 * own planes for what it knows of the planes beside them, at first the seeds alone, and tells what
 * has changed at the seams; then all go on from what they heard, in the order of costs, until
 * nobody has news. Nothing costs less than in the whole volume, as every cost is that of a path,
 * and no cost rises. So a voxel is right as soon as those neighbours are by which water first comes
 * to it: after k meetings all to which that way crosses seams at most k times, whatever the number
 * of levels and steps. A label may change where costs stay, so a voxel that water reaches again
 * asks all its neighbours of that cost, and not those alone that have changed.
 *
 * When a rank meets the others changes how much is flooded in vain, and not the result. Water that
 * comes from another rank at a low level may flood anew what lies above. So all ranks rest at a
 * level, until nobody has news, and then rise to the next; and one that has flooded a share of its
 * voxels rests earlier, where no wave is under way: within a level it never does. The next level is
 * half as far where that happened, else twice as far.
 */
#ifndef LOB_GROWCUT_FLOOD_H
#define LOB_GROWCUT_FLOOD_H

#include "kernels/growcut/cpu/growcut_tiles.h"

/*
 * Flood a section, and write labels, strengths and ties.
 *
 * Returns LOB_OK, LOB_ENOMEM, LOB_ECANCEL or, of a slab, what its team does.
 */
lob_status lob_growcut_flood(const lob_growcut_section *section, lob_growcut_result *result,
                             lob_error *error);

#endif
