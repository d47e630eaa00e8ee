/*
 * GrowCut by sweeps over rows, for steps that cost as much as the levels of 8 bits differ. This is
 * what segment grows. Paths of up to 12 bits of cost or so have keys of 15 bits, and what is
 * computed for a voxel then goes by rows, as the processor's vectors do.
 */
#ifndef LOB_GROWCUT_SWEEPS_H
#define LOB_GROWCUT_SWEEPS_H

#include "kernels/growcut/cpu/growcut_tiles.h"

/* Can a section be grown so? Its rule is the distance, with one channel or the norm linf; it has
 * few labels, no seeds with strengths, no ties and no number of rounds. */
bool lob_growcut_sweeps_fit(const lob_growcut_section *section);

/* Grow, and write labels and strengths, as a lob_growcut_engine does. */
lob_status lob_growcut_sweeps(const lob_growcut_section *section, lob_growcut_result *result,
                              lob_error *error);

#endif
