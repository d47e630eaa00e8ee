/* Do an image's values spread over the levels that GrowCut works with, or crowd in a few? */
#ifndef LOB_LEVEL_USE_H
#define LOB_LEVEL_USE_H

#include "kernels/levels/levels.h"

typedef struct {
    int64_t sampled; /* voxels looked at; 0: no data */
    int64_t levels;  /* the fewest levels that hold 99 % of them */
    bool merged;     /* values that differ share one of these */
} lob_level_use;

/*
 * Look at a sample of the data that is the same each time.
 *
 *   data  in  image, mask and range as the levels were made from
 *   step  in  image units per level, > 0
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_level_use_of(lob_level_use *use, const lob_data *data, double step);

/* The value of the data that is farthest from 0. */
double lob_farthest_value(const lob_data *data);

#endif
