/* The plan of a call on device arrays, kept for the next call with the same options and levels. */
#ifndef LOB_SUPERVOXELS_CACHE_H
#define LOB_SUPERVOXELS_CACHE_H

#include "kernels/supervoxels/supervoxels_cuda.h"
#include "kernels/supervoxels/supervoxels_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lob_supervoxels_cache {
    bool made;                       /* the plan */
    lob_supervoxels_options options; /* what it was made for, as the next three */
    lob_volume image;                /* without data */
    lob_levels levels;
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_supervoxels_plan plan;

    const lob_device *device; /* that holds the plan's tables */
    uint64_t sent; /* lob_device_block_uses of their block after they were sent; 0: not sent */
};

/*
 * Make the plan of a call, unless the cache holds one that is the same. Arguments and status are
 * those of lob_supervoxels_plan_make.
 */
lob_status lob_supervoxels_cache_plan(lob_supervoxels_cache *cache, const lob_supervoxels_input *in,
                                      const lob_supervoxels_options *options,
                                      const lob_levels *levels, const lob_extremes *extremes,
                                      lob_error *error);

/* Free the plan and leave the cache all zero. */
void lob_supervoxels_cache_clear(lob_supervoxels_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
