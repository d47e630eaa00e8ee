/* Do an image's values spread over its range and over the levels that algorithms work with, or do a
 * few voxels far away leave a small part of them to all others? */
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

/* How the values of the channel with the widest range spread; all 0 without data. */
typedef struct {
    double range[2];         /* lowest and highest value of the data */
    double of_99_percent[2]; /* ends of the shortest range that holds 99 % of a sample */
    bool exact;              /* every integer of the range is a level of its own */
    double level_step;       /* image units per level, > 0 */
} lob_value_spread;

/*
 * Scan the data for its range, and look at a sample of it that is the same each time.
 *
 *   data     in  image, mask and range as the levels are going to be made from
 *   threads  in  >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM. An image with more than LOB_LEVELS_MAX_CHANNELS channels is not
 * looked at: it counts as one without data.
 */
lob_status lob_value_spread_of(lob_value_spread *spread, const lob_data *data, int threads);

#endif
