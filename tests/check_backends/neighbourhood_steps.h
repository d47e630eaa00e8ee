/* The GPU's median and box, as the checks call them: one step on an image, without a chain. */
#ifndef LOB_NEIGHBOURHOOD_STEPS_H
#define LOB_NEIGHBOURHOOD_STEPS_H

#include "kernels/device/device.h"
#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Bytes that the step's work needs. */
int64_t neighbourhood_step_bytes(const lob_filter_image *in, const lob_filter_call *call);

/* Put the step into the device's queue; images, mask and work are on the device. */
lob_status neighbourhood_step(lob_device *device, const lob_filter_image *out,
                              const lob_filter_image *in, const lob_filter_call *call, void *work,
                              lob_error *error);

/* The same on the CPU. */
lob_status neighbourhood_step_cpu(const lob_filter_image *out, const lob_filter_image *in,
                                  const lob_filter_call *call, int threads, lob_error *error);

LOB_END_DECLS

#endif
