/* The table of backends. */
#include "kernels/backends.h"

#include <string.h>

#ifdef LOB_WITH_CUDA
#include "kernels/components/components_cuda.h"
#include "kernels/growcut/growcut_cuda.h"
#include "kernels/regions/regions_cuda.h"
#include "kernels/supervoxels/supervoxels_cuda.h"
#endif

static const lob_backend cpu = {
    .name = "cpu",
    .growcut = lob_growcut_cpu,
    .supervoxels = lob_supervoxels_cpu,
    .components = lob_components_cpu,
    .regions = lob_regions_cpu,
};

#ifdef LOB_WITH_CUDA
static const lob_backend cuda = {
    .name = "cuda",
    .growcut = lob_growcut_cuda,
    .components = lob_components_cuda,
    .regions = lob_regions_cuda,
    .supervoxels = lob_supervoxels_cuda,
};
const lob_backend *const lob_backends[] = {&cpu, &cuda, NULL};
#else
const lob_backend *const lob_backends[] = {&cpu, NULL};
#endif

const lob_backend *lob_backend_named(const char *name)
{
    for (const lob_backend *const *b = lob_backends; *b; b++)
        if (strcmp((*b)->name, name) == 0) return *b;
    return NULL;
}
