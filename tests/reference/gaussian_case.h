/* Random calls of the Gaussian steps: images of every type, masks, NaN, edges, axes. */
#ifndef LOB_TESTS_GAUSSIAN_CASE_H
#define LOB_TESTS_GAUSSIAN_CASE_H

#include "kernels/filters/filter_step.h"

typedef struct {
    lob_volume image;
    uint8_t *mask; /* NULL: everything is data */
    lob_filter_step step;
    lob_filter_options options;
    lob_filter_input in; /* one step on the image */
    bool finite;         /* no voxel of the image is NaN or infinite */
    char shape[320];     /* a line for messages */
} gaussian_case;

/*
 * Make a case of at most max_voxels voxels per channel.
 *
 *   large  in  some axes may have a sigma of up to 40 voxels, coarse where the options allow
 */
void gaussian_case_make(gaussian_case *c, uint64_t number, int64_t max_voxels, bool large);
void gaussian_case_free(gaussian_case *c);

/* The call of the step itself, with maps that do nothing. */
lob_filter_call gaussian_case_call(const gaussian_case *c);

#endif
