/* What the backends of resampling share: checks, and how the grids lie in one another. */
#ifndef LOB_RESAMPLE_PARTS_H
#define LOB_RESAMPLE_PARTS_H

#include "kernels/resample/resample_voxel.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

lob_resample_map lob_resample_map_of(const lob_resample_input *in,
                                     const lob_resample_options *options);

/* Returns LOB_OK or LOB_EARG, as lob_resample_cpu says. */
lob_status lob_resample_check(const lob_resample_input *in, const lob_resample_options *options,
                              lob_error *error);

LOB_END_DECLS

#endif
