/* The table of backends; choosing one and opening its device. */
#include "kernels/backends.h"

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
extern const lob_backend lob_backend_cuda; /* backends_cuda.cu */

const lob_backend *const lob_backends[] = {&cpu, &lob_backend_cuda, NULL};
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
    if (strncmp(choice, "cuda", strlen("cuda")) != 0)
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "no backend is named %s",
                             choice);
    const lob_status st = lob_device_open(&context->device, choice, error);
    if (st == LOB_OK) *backend = gpu;
    return st;
}

void lob_backend_close(lob_context *context)
{
    lob_device_close(context->device);
    context->device = NULL;
}
