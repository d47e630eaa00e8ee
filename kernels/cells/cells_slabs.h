/*
 * Cells in a volume that the ranks of a team share, each with a slab of its planes: what
 * lob_cells_choose and lob_cells give for the whole volume, on the CPU.
 *
 * Each step works on a rank's own planes, and has those around from the ranks beside it. Sums of
 * real numbers, by which the size is estimated, are added up in the order of the whole volume.
 * Scales at which the image has been thinned to what one rank had before are looked at by all
 * alike.
 */
#ifndef LOB_CELLS_SLABS_H
#define LOB_CELLS_SLABS_H

#include "kernels/cells/cells.h"
#include "kernels/team/team.h"

/* Planes on each side of a rank's own that steps look at, at most, for cells of this size; image:
 * of the whole volume, without data. */
int64_t lob_cells_reach(const lob_volume *image, const lob_cells_options *options, double size_mm);

/*
 * Choose for an image, and label its cells. All ranks call these alike.
 *
 *   labels  out  of the rank's planes
 *   stats   out  of the whole volume; working_bytes: the rank's
 *   image   in   the rank's planes of `planes` (lob_team_planes), at least one; in ordinary memory
 *   planes  in   of the whole volume
 *   team    in   NULL: one rank has all
 *
 * The rest is as in cells.h; context has no device. Where one fails, all return the lowest failing
 * rank's error.
 */
lob_status lob_cells_choose_slabs(lob_cells_plan *plan, const lob_volume *image,
                                  const lob_cells_options *options, int64_t planes, lob_team *team,
                                  const lob_context *context, lob_error *error);
lob_status lob_cells_slabs(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                           const lob_cells_plan *plan, int64_t planes, lob_team *team,
                           const lob_context *context, lob_error *error);

#endif
