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

/* ---- parallel grids ---- */

/* What lob_resample_place gives for a position along a new axis that runs along one of the old. */
typedef struct {
    bool inside;
    double at;
    int64_t first, last, nearest;
} lob_resample_along;

typedef struct {
    lob_resample_along *along[3]; /* by new axis; along[0] is NULL where grids are not parallel */
    int old[3];                   /* old axis of each new one */
    int64_t stride[3];            /* from old voxel to old voxel along it */
} lob_resample_lines;

/* Free along[0], which holds all three. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_resample_lines_make(lob_resample_lines *l, const lob_resample_map *map,
                                   lob_error *error);

LOB_END_DECLS

#endif
