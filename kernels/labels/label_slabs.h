/*
 * Label steps on a volume that the ranks of a team share, each with a slab of its planes: what
 * lob_labels_cpu gives for the whole volume, on the CPU.
 *
 * Tables of labels and pieces are the same in all ranks. A step that looks around is done on a
 * rank's planes with those that it reaches. Pieces are joined over seams as components are; so are
 * holes, whose faces with pieces rank 0 counts.
 */
#ifndef LOB_LABEL_SLABS_H
#define LOB_LABEL_SLABS_H

#include "kernels/labels/label_steps.h"
#include "kernels/team/team.h"

/*
 * Run the chain.
 *
 *   out     out  labels of the rank's planes, in the type that those of all have; counts and pairs
 *                are those of the whole volume, working_bytes the rank's
 *   in      in   dims, labels and mask are those of the rank's planes of `planes`
 *                (lob_team_planes), at least one; count and values those of all, in ordinary memory
 *   planes  in   of the whole volume
 *
 * All ranks call it alike. Rank 0 holds 16 bytes for each piece of each rank, and where holes are
 * filled some 200 for each contact of pieces and holes. Returns as lob_labels_cpu, with the lowest
 * failing rank's error.
 */
lob_status lob_labels_slabs(lob_labels_output *out, const lob_labels_input *in,
                            const lob_labels_options *options, int64_t planes, lob_team *team,
                            const lob_context *context, lob_error *error);

/* How many planes on each side a step's result may depend on, beside what joins pieces. */
int64_t lob_labels_reach(const lob_labels_step *step, const lob_labels_options *options,
                         const double spacing_mm[3]);

#endif
