/*
 * Blur and desaturation of an RGB image as a report on porting them to CUDA has it (Silva and
 * Soares, Performance Impact of CUDA on Image Manipulation Algorithms): one version for each step
 * of the way. The blur is the mean of the (2r+1)^2 pixels around, of those inside of the image;
 * desaturation mixes it with the luminance.
 */
#ifndef LOB_BLUR_STEPS_CUDA_H
#define LOB_BLUR_STEPS_CUDA_H

#include "volumes/both.h"

#include <stdint.h>

LOB_BEGIN_DECLS

enum {
    BLUR_PORT,      /* V01: an int for each colour, a test for each neighbour, two kernels */
    BLUR_BOUNDS,    /* V02: bounds before the loops, floats */
    BLUR_PACKED,    /* V03: four bytes a pixel */
    BLUR_FUSED,     /* V04: both in one kernel */
    BLUR_SEPARABLE, /* V05: along x, then along y and desaturation */
    BLUR_STEPS
};

/* One image on the device, as a step needs it. */
typedef struct {
    void *in, *between, *out; /* nx*ny pixels of blur_pixel_bytes */
    int nx, ny, radius;
    float amount; /* of desaturation, 0..1 */
} blur_image;

/* Bytes of a pixel in a step's images. */
int blur_pixel_bytes(int step);

/* Enqueue a step's kernels in a stream. */
void blur_step(const blur_image *image, int step, void *stream);

LOB_END_DECLS

#endif
