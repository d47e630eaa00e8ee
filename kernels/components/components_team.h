/*
 * Connected components of a volume that the ranks of a team hold in ordinary memory, each its
 * planes (lob_team_planes), at least one: those of lob_components_cpu on the whole volume.
 */
#ifndef LOB_COMPONENTS_TEAM_H
#define LOB_COMPONENTS_TEAM_H

#include "kernels/components/components.h"
#include "kernels/team/team.h"

/*
 * Label the components. All ranks call it alike.
 *
 *   out      out  labels of the rank's planes; regions of the whole volume, in rank 0 alone
 *   in       in   image and mask are those of the rank's planes; no intensities
 *   options  in   all but fill_holes
 *   planes   in   of the whole volume
 *
 * Returns what lob_components_streamed does.
 */
lob_status lob_components_team(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, int64_t planes,
                               lob_team *team, const lob_context *context, lob_error *error);

#endif
