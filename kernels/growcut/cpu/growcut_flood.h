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
 * step is short: where other programs keep threads waiting, one does the rest alone. Ranks that
 * share a volume meet likewise, and the first thread of each speaks for it.
 */
#ifndef LOB_GROWCUT_FLOOD_H
#define LOB_GROWCUT_FLOOD_H

#include "kernels/growcut/cpu/growcut_tiles.h"

/*
 * Flood a section, and write labels, strengths and ties.
 *
 *   steps  out  the most that a path takes on one level
 *
 * Returns LOB_OK, LOB_ENOMEM, LOB_ECANCEL or, of a slab, what its team does.
 */
lob_status lob_growcut_flood(const lob_growcut_section *section, lob_growcut_result *result,
                             int64_t *steps, lob_error *error);

#endif
