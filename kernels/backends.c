/* The table of backends; choosing one and opening its device. */
#include "kernels/backends.h"

#include "kernels/components/components_cuda.h"
#include "kernels/device/device.h"
#include "kernels/distance/distance_cuda.h"
#include "kernels/filters/filters_cuda.h"
#include "kernels/growcut/growcut_cuda.h"
#include "kernels/labels/label_steps_cuda.h"
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/regions/regions_cuda.h"
#include "kernels/resample/resample_cuda.h"
#include "kernels/supervoxels/supervoxels_cuda.h"
#include "kernels/threshold/threshold_cuda.h"

#include <omp.h>
#include <string.h>

static const lob_backend cpu = {
    .name = "cpu",
    .appearance = lob_appearance_cpu,
    .growcut = lob_growcut_cpu,
    .supervoxels = lob_supervoxels_cpu,
    .components = lob_components_cpu,
    .filter = lob_filter_cpu,
    .distance = lob_distance_cpu,
    .labels = lob_labels_cpu,
    .morphology = lob_morphology_cpu,
    .regions = lob_regions_cpu,
    .resample = lob_resample_cpu,
    .threshold = lob_threshold_cpu,
};

#ifdef LOB_WITH_CUDA
static const lob_backend cuda = {
    .name = "cuda",
    .appearance = lob_appearance_cpu, /* see appearance.h */
    .growcut = lob_growcut_cuda,
    .components = lob_components_cuda,
    .filter = lob_filter_cuda,
    .distance = lob_distance_cuda,
    .labels = lob_labels_cuda,
    .morphology = lob_morphology_cuda,
    .regions = lob_regions_cuda,
    .resample = lob_resample_cuda,
    .supervoxels = lob_supervoxels_cuda,
    .threshold = lob_threshold_cuda,
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
    *backend = NULL;
    *context = (lob_context){.threads = omp_get_max_threads()};
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
