/*
 * Supervoxels of a volume that the ranks of a team share, each with a slab of its planes: labels
 * and statistics are those of lob_supervoxels_cpu on the whole volume. On GPUs
 * lob_backend.supervoxels_slabs does the same.
 *
 * A rank has the clusters whose boxes may reach into its planes: those of the cells that its planes
 * lie in, and of a layer of cells more on each side. In each iteration ranks tell each other the
 * sums over their own voxels of those clusters that both have. Sums are whole numbers, so all work
 * out the same means.
 *
 * Fragments are numbered by each rank and then joined where they meet at a seam, by a list of pairs
 * that all ranks have. All have size and sums of every fragment of the volume, and contract alike:
 * on the CPU they tell each other in each phase what small sets pick in their planes, and keep the
 * cheapest; on GPUs once which sets touch or, where one has no room for these, what sets pick.
 */
#ifndef LOB_SUPERVOXELS_SLABS_H
#define LOB_SUPERVOXELS_SLABS_H

#include "kernels/supervoxels/supervoxels.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

/*
 * Cut a slab into the supervoxels of the whole volume.
 *
 *   labels  out  of the slab
 *   stats   out  of the whole volume; working_bytes: the most that a rank took. May be NULL
 *   in      in   image and mask are those of the slab: the rank's planes of `planes`
 *                (lob_team_planes), at least one
 *   planes  in   of the whole volume
 *   team    in   NULL: one rank has all
 *
 * All ranks call it alike. Each holds the bytes per fragment that lob_supervoxels_cpu tells of for
 * all fragments of the volume, and before they join 16 more and 8 for each channel, of its own ones
 * twice. On GPUs it holds 20 for each and 10 for each channel of it, and 8 for each contact of a
 * small one; or, where that is too much for any, 12 and 6. Returns as lob_supervoxels_cpu, with the
 * lowest failing rank's error.
 */
lob_status lob_supervoxels_slabs(int32_t *labels, lob_supervoxels_stats *stats,
                                 const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options, int64_t planes,
                                 lob_team *team, const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
