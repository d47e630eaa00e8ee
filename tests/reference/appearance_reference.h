/* Appearance as its header has it, in doubles, voxel by voxel, with distances to every voxel. */
#ifndef LOB_APPEARANCE_REFERENCE_H
#define LOB_APPEARANCE_REFERENCE_H

#include "kernels/appearance/appearance.h"

/* Scores in nats, not limited: (labels - 1) * nx*ny*nz. */
void appearance_reference(double *scores, const lob_appearance_input *in,
                          const lob_appearance_options *options);

#endif
