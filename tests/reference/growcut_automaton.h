/*
 * GrowCut as it is written down: a synchronous automaton in float64, never optimised.
 *
 * Vezhnevets and Konouchine 2005; listing 1 of Dakkak, "Evaluation: segmentation on GPUs". The
 * distance rule is the same automaton with costs that add instead of strengths that multiply.
 */
#ifndef LOB_GROWCUT_AUTOMATON_H
#define LOB_GROWCUT_AUTOMATON_H

#include "kernels/growcut/growcut.h"

/* Half of the fixed point's last place, in levels: of a distance, and of a step's cost. */
typedef struct {
    double distance, step;
} growcut_rounding;

/*
 *   label  out  nx*ny*nz
 *   cost   out  nx*ny*nz, in levels: -ln(strength) * dmax, or the sum of distances; INFINITY where
 *               not reached
 *   error  out  nx*ny*nz, by how many levels the cost of that path may differ in fixed point
 *   only   in   0: all labels compete; else seeds of other labels only stand in the way
 *
 * Takes what lob_growcut_cpu takes, rounds too; slice_axis must be -1 and max_cost, min_strength
 * unset.
 */
void growcut_automaton(int32_t *label, double *cost, double *error, const lob_growcut_input *in,
                       const lob_growcut_options *options, growcut_rounding rounding, int32_t only);

#endif
