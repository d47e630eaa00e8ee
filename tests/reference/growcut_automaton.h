/*
 * GrowCut as it is written down: a synchronous automaton in float64, never optimised.
 *
 * Vezhnevets and Konouchine 2005; listing 1 of Dakkak, "Evaluation: segmentation on GPUs". The
 * distance rule is the same automaton with costs that add instead of strengths that multiply.
 */
#ifndef LOB_GROWCUT_AUTOMATON_H
#define LOB_GROWCUT_AUTOMATON_H

#include "kernels/growcut/growcut.h"

/*
 *   label  out  nx*ny*nz
 *   cost   out  nx*ny*nz, in levels: -ln(strength) * dmax, or the sum of distances; INFINITY where
 *               not reached
 *   steps  out  nx*ny*nz, steps of the path that reached the voxel
 *   only   in   0: all labels compete; else seeds of other labels only stand in the way
 *
 * Takes what lob_growcut_cpu takes; slice_axis must be -1 and max_cost, min_strength unset.
 */
void growcut_automaton(int32_t *label, double *cost, int *steps, const lob_growcut_input *in,
                       const lob_growcut_options *options, int32_t only);

#endif
