/* The backend of the GPU: each call has its device to itself. */
#include "kernels/backend_cuda.h"

#include "kernels/appearance/appearance_cuda.h"
#include "kernels/components/components_cuda.h"
#include "kernels/device/device.h"
#include "kernels/distance/distance_cuda.h"
#include "kernels/filters/filters_cuda.h"
#include "kernels/growcut/growcut_cuda.h"
#include "kernels/labels/label_steps_cuda.h"
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/refine/refine_cuda.h"
#include "kernels/regions/regions_cuda.h"
#include "kernels/resample/resample_cuda.h"
#include "kernels/supervoxels/supervoxels_cuda.h"
#include "kernels/threshold/threshold_cuda.h"

/* A function of the backend: the call of these arguments, while no other thread uses the device. */
#define IN_TURN(name, arguments, ...)                                                 \
    static lob_status name(__VA_ARGS__, const lob_context *context, lob_error *error) \
    {                                                                                 \
        lob_device_begin(context->device);                                            \
        const lob_status st = lob_##name##_cuda arguments;                            \
        lob_device_end(context->device);                                              \
        return st;                                                                    \
    }

IN_TURN(appearance, (shares, stats, in, options, context, error), float *shares,
        lob_appearance_stats *stats, const lob_appearance_input *in,
        const lob_appearance_options *options)
IN_TURN(growcut, (out, stats, in, options, context, error), const lob_growcut_output *out,
        lob_growcut_stats *stats, const lob_growcut_input *in, const lob_growcut_options *options)
IN_TURN(components, (out, in, options, context, error), lob_components_output *out,
        const lob_components_input *in, const lob_components_options *options)
IN_TURN(filter, (out, in, options, context, error), lob_filter_output *out,
        const lob_filter_input *in, const lob_filter_options *options)
IN_TURN(distance, (out, in, options, context, error), const lob_distance_output *out,
        const lob_distance_input *in, const lob_distance_options *options)
IN_TURN(labels, (out, in, options, context, error), lob_labels_output *out,
        const lob_labels_input *in, const lob_labels_options *options)
IN_TURN(morphology, (out, in, how, radius, context, error), void *out,
        const lob_morphology_input *in, lob_morphology how, double radius)
IN_TURN(refine, (out, stats, in, options, context, error), void *out, lob_refine_stats *stats,
        const lob_refine_input *in, const lob_refine_options *options)
IN_TURN(regions, (regions, values, fine, in, context, error), lob_region *regions,
        lob_region_values *values, lob_fine_levels *fine, const lob_regions_input *in)
IN_TURN(resample, (out, in, options, context, error), void *out, const lob_resample_input *in,
        const lob_resample_options *options)
IN_TURN(supervoxels, (labels, stats, in, options, context, error), int32_t *labels,
        lob_supervoxels_stats *stats, const lob_supervoxels_input *in,
        const lob_supervoxels_options *options)
IN_TURN(threshold, (labels, stats, in, options, context, error), uint8_t *labels,
        lob_threshold_stats *stats, const lob_threshold_input *in,
        const lob_threshold_options *options)

const lob_backend lob_backend_cuda = {
    .name = "cuda",
    .appearance = appearance,
    .growcut = growcut,
    .components = components,
    .filter = filter,
    .distance = distance,
    .labels = labels,
    .morphology = morphology,
    .refine = refine,
    .regions = regions,
    .resample = resample,
    .supervoxels = supervoxels,
    .threshold = threshold,
};
