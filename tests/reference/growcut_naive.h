/*
 * GrowCut's exact contract, never optimised: the same integer costs as the engine, relaxed over the
 * whole volume until nothing changes. The engine must give these very bytes.
 */
#ifndef LOB_GROWCUT_NAIVE_H
#define LOB_GROWCUT_NAIVE_H

#include "kernels/growcut/growcut.h"

/* Takes what lob_growcut_cpu takes, in 3D (slice_axis -1); labels, strength and tie as there. */
void growcut_naive(const lob_growcut_output *out, const lob_growcut_input *in,
                   const lob_growcut_options *options);

#endif
