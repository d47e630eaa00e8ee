/*
 * Distances in a volume that the ranks of a team share, each with a slab of its planes: results are
 * those of lob_distance_cpu on the whole volume, on the CPU.
 *
 * Passes along x and y stay within planes. For the last one, along z, ranks hand each other what
 * voxels hold, so that each has all planes of some columns, and hand the results back. Before that
 * pass a voxel holds what it does in one piece, so its bytes are the same.
 */
#ifndef LOB_DISTANCE_SLABS_H
#define LOB_DISTANCE_SLABS_H

#include "kernels/distance/distance.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

/*
 * Find distances and nearest labels in a slab.
 *
 *   in      in  its dims are those of the slab: the rank's planes of `planes` (lob_team_planes),
 *               at least one
 *   planes  in  of the whole volume
 *   team    in  NULL: one rank has all
 *
 * All ranks call it alike. Beside what lob_distance_cpu takes, it holds 8 bytes for each voxel of
 * the slab, and labels twice more where nearest labels or distances to others are asked for.
 * Returns as lob_distance_cpu, with the lowest failing rank's error; ranks that were done before
 * another was cancelled learn of it in their next call of the team.
 */
lob_status lob_distance_slabs(const lob_distance_output *out, const lob_distance_input *in,
                              const lob_distance_options *options, int64_t planes, lob_team *team,
                              const lob_context *context, lob_error *error);

/* lob_distance_cpu of some planes of a volume of so many, as if no others were there, but in whole
 * numbers of the volume's unit: of two distances within options->max, equal ones are equal there.
 */
lob_status lob_distance_part(const lob_distance_output *out, const lob_distance_input *in,
                             const lob_distance_options *options, int64_t planes,
                             const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
