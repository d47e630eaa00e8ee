/*
 * Joining the basins of a flood in a volume that the ranks of a team share, each with a slab of its
 * planes: what lob_basins_cpu gives for the whole volume, on the CPU.
 *
 * A rank has the plane behind its own too. So each face between voxels is some rank's; what several
 * see does no harm, as bottoms and saddles are the lowest of what is seen. Rank 0 joins, and tells.
 */
#ifndef LOB_BASINS_SLABS_H
#define LOB_BASINS_SLABS_H

#include "kernels/merge/basins.h"
#include "kernels/team/team.h"

/*
 * Find what label every label becomes. All ranks call it alike.
 *
 *   stats        out  of the whole volume; working_bytes: the most that a rank took. May be NULL
 *   grid, image  in   the rank's planes, and the one behind them where there is one; count and type
 *                     are those of all
 *
 * The rest is as for lob_basins_cpu; rank 0 holds 32 bytes for each label and contact of each rank.
 * Returns as that does, with the lowest failing rank's error.
 */
lob_status lob_basins_slabs(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                            const lob_volume *image, const lob_basins_options *options,
                            lob_team *team, const lob_context *context, lob_error *error);

#endif
