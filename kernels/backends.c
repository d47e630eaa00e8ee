/* The table of backends; choosing one and opening its device. */
#include "kernels/backends.h"

#include "kernels/backend_cuda.h"
#include "kernels/device/device.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/supervoxels/supervoxels_slabs.h"

#include <omp.h>
#include <string.h>

static const lob_backend cpu = {
    .name = "cpu",
    .appearance = lob_appearance_cpu,
    .basins = lob_basins_cpu,
    .growcut = lob_growcut_cpu,
    .growcut_slabs = lob_growcut_slabs,
    .supervoxels = lob_supervoxels_cpu,
    .supervoxels_slabs = lob_supervoxels_slabs,
    .components = lob_components_cpu,
    .filter = lob_filter_cpu,
    .distance = lob_distance_cpu,
    .labels = lob_labels_cpu,
    .maxima = lob_maxima_cpu,
    .morphology = lob_morphology_cpu,
    .refine = lob_refine_cpu,
    .regions = lob_regions_cpu,
    .resample = lob_resample_cpu,
    .threshold = lob_threshold_cpu,
};

#ifdef LOB_WITH_CUDA
/* A function of the backend: the call of these arguments, while no other thread uses the device. */
#define IN_TURN(name, arguments, ...)                                                 \
    static lob_status name(__VA_ARGS__, const lob_context *context, lob_error *error) \
    {                                                                                 \
        lob_error_begin(error);                                                       \
        lob_device_begin(context->device);                                            \
        const lob_status st = lob_##name##_cuda arguments;                            \
        lob_device_end(context->device);                                              \
        return lob_error_end(error, st);                                              \
    }

IN_TURN(appearance, (shares, stats, in, options, context, error), void *shares,
        lob_appearance_stats *stats, const lob_appearance_input *in,
        const lob_appearance_options *options)
IN_TURN(basins, (to, stats, grid, image, options, context, error), int32_t *to,
        lob_basins_stats *stats, const lob_label_grid *grid, const lob_volume *image,
        const lob_basins_options *options)
IN_TURN(growcut, (out, stats, in, options, context, error), const lob_growcut_output *out,
        lob_growcut_stats *stats, const lob_growcut_input *in, const lob_growcut_options *options)
IN_TURN(growcut_slabs, (out, stats, in, options, slab, context, error),
        const lob_growcut_output *out, lob_growcut_stats *stats, const lob_growcut_input *in,
        const lob_growcut_options *options, const lob_growcut_slab *slab)
IN_TURN(components, (out, in, options, context, error), lob_components_output *out,
        const lob_components_input *in, const lob_components_options *options)
IN_TURN(filter, (out, in, options, context, error), lob_filter_output *out,
        const lob_filter_input *in, const lob_filter_options *options)
IN_TURN(distance, (out, in, options, context, error), const lob_distance_output *out,
        const lob_distance_input *in, const lob_distance_options *options)
IN_TURN(labels, (out, in, options, context, error), lob_labels_output *out,
        const lob_labels_input *in, const lob_labels_options *options)
IN_TURN(maxima, (out, in, options, context, error), lob_maxima_output *out,
        const lob_maxima_input *in, const lob_maxima_options *options)
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
IN_TURN(supervoxels_slabs, (labels, stats, in, options, planes, team, context, error),
        int32_t *labels, lob_supervoxels_stats *stats, const lob_supervoxels_input *in,
        const lob_supervoxels_options *options, int64_t planes, lob_team *team)
IN_TURN(threshold, (labels, stats, in, options, context, error), uint8_t *labels,
        lob_threshold_stats *stats, const lob_threshold_input *in,
        const lob_threshold_options *options)

static const lob_backend cuda = {
    .name = "cuda",
    .appearance = appearance,
    .basins = basins,
    .growcut = growcut,
    .growcut_slabs = growcut_slabs,
    .components = components,
    .filter = filter,
    .distance = distance,
    .labels = labels,
    .maxima = maxima,
    .morphology = morphology,
    .refine = refine,
    .regions = regions,
    .resample = resample,
    .supervoxels = supervoxels,
    .supervoxels_slabs = supervoxels_slabs,
    .threshold = threshold,
};

const lob_backend *const lob_backends[] = {&cpu, &cuda, NULL};
#else
const lob_backend *const lob_backends[] = {&cpu, NULL};
#endif

const lob_backend *lob_backend_named(const char *name)
{
    const lob_backend *const *b = lob_backends;
    while (*b && strcmp((*b)->name, name) != 0) b++;
    return *b;
}

lob_status lob_backend_open(const lob_backend **backend, lob_context *context, const char *choice,
                            lob_error *error)
{
    const lob_backend *const gpu = lob_backend_named("cuda");
    const bool best = strcmp(choice, "best") == 0;
    const int most = omp_get_max_threads();
    *backend = NULL;
    *context = (lob_context){.threads = most < LOB_THREADS_MOST ? most : LOB_THREADS_MOST};
    if (best || strcmp(choice, cpu.name) == 0) {
        const bool opened =
            best && gpu && lob_device_open(&context->device, "auto", NULL) == LOB_OK;
        *backend = opened ? gpu : &cpu;
        return LOB_OK;
    }
    if (!gpu || strncmp(choice, gpu->name, strlen(gpu->name)) != 0)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "this build has no backend named %s", choice);
    const lob_status st = lob_device_open(&context->device, choice, error);
    if (st == LOB_OK) *backend = gpu;
    return st;
}

void lob_backend_close(lob_context *context)
{
    lob_device_close(context->device);
    context->device = NULL;
}
