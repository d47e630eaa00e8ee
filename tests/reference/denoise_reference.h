/* Denoising voxel by voxel, as its header defines it. */
#ifndef LOB_DENOISE_REFERENCE_H
#define LOB_DENOISE_REFERENCE_H

#include "kernels/filters/filter_step.h"

/* The step with this noise, as lob_denoise_cpu; out is float32. */
void denoise_reference(float *out, const lob_filter_image *in, const lob_filter_call *call,
                       double noise);

/* The noise, from sorted residuals. */
double denoise_reference_noise(const lob_filter_image *in, const lob_filter_call *call);

#endif
