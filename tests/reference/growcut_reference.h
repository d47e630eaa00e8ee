/*
 * GrowCut's exact contract, never optimised: the same integer costs as the engine, relaxed over the
 * whole volume, all voxels at once, until nothing changes or as many rounds as the options say. The
 * engine must give these very bytes.
 */
#ifndef LOB_GROWCUT_REFERENCE_H
#define LOB_GROWCUT_REFERENCE_H

#include "kernels/growcut/growcut.h"

/*
 * Takes what lob_growcut_cpu takes, in 3D (slice_axis -1); labels, strength and tie as there.
 * Returns the last round that changed a cost or a label, and whether one more would change none.
 */
int64_t growcut_reference(const lob_growcut_output *out, bool *fixed_point,
                          const lob_growcut_input *in, const lob_growcut_options *options);

#endif
