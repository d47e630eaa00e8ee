/*
 * GrowCut of a volume that the ranks of a team share, each with a slab of its planes: labels,
 * strengths, ties and statistics are those of lob_growcut_cpu on the whole volume. On GPUs
 * lob_backend.growcut_slabs does the same, but for floods and rounds. A rank has one plane more on
 * each side where the volume goes on, and grows in these as in its own.
 *
 * Where it comes to rest, both sides of a seam tell each other which keys have fallen in the two
 * planes around it, and take the lower ones; all is done when nobody has anything to tell. Each
 * step of a path lies within the planes of one rank, and keys only fall, so the keys at the end are
 * those of the whole volume, whoever has grown what before. Rounds end with such an exchange each.
 * In a flood a label can rise where the cost stays; why that comes to rest too is told in
 * cpu/growcut_flood.h.
 */
#ifndef LOB_GROWCUT_SLABS_H
#define LOB_GROWCUT_SLABS_H

#include "kernels/growcut/growcut.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

/* A rank's part. */
typedef struct lob_growcut_slab {
    lob_team *team;     /* each of its ranks has planes; NULL: one rank has all */
    int64_t first, end; /* planes of the arrays that are its own: at most one lies before, if there
                           is a rank before, and one behind, if there is a rank behind */
} lob_growcut_slab;

/*
 * Grow the seeds over a volume in slabs. All ranks call it with the same options and labels.
 *
 *   out    out  arrays on the slab's grid; of the planes that are not its own, unspecified
 *   stats  out  of the whole volume; working_bytes: the most that a rank took. May be NULL
 *   in     in   a slab of image, seeds, mask and strengths, with the planes beside it
 *
 * Returns as lob_growcut_cpu does, with the lowest failing rank's error; ranks that were done
 * before another was cancelled learn of it in their next call of the team. Also LOB_EDATA for
 * planes of more than 2^31 - 1 voxels. What one rank has done is of no use where it fails:
 * out and stats are unspecified then.
 */
lob_status lob_growcut_slabs(const lob_growcut_output *out, lob_growcut_stats *stats,
                             const lob_growcut_input *in, const lob_growcut_options *options,
                             const lob_growcut_slab *slab, const lob_context *context,
                             lob_error *error);

/* Make the statistics of slices that each rank has for itself those of all ranks. Returns LOB_OK,
 * LOB_ENOMEM or what lob_team_share does. */
lob_status lob_growcut_stats_of_team(lob_growcut_stats *stats, lob_team *team, lob_error *error);

/* Make the statistics of each rank's slab, the largest cost of each of n sections, and whether a
 * cost overflowed, those of all ranks; before costs and counts of data are set, which the levels of
 * a team have already. Returns as the one above. */
lob_status lob_growcut_stats_of_slabs(lob_growcut_stats *stats, uint64_t *largest, int64_t n,
                                      bool *overflow, lob_team *team, lob_error *error);

LOB_END_DECLS

#endif
