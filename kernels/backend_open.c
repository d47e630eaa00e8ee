/* Choosing a backend and opening its device. */
#include "kernels/backend_open.h"

#include "kernels/device/device.h"

#include <omp.h>
#include <string.h>

lob_status lob_backend_open(const lob_backend **backend, lob_context *context, const char *choice,
                            lob_error *error)
{
    const lob_backend *const cpu = lob_backends[0], *const gpu = lob_backends[1];
    const bool best = strcmp(choice, "best") == 0;
    *backend = NULL;
    *context = (lob_context){.threads = omp_get_max_threads()};
    if (best || strcmp(choice, cpu->name) == 0) {
        const bool opened =
            best && gpu && lob_device_open(&context->device, "auto", NULL) == LOB_OK;
        *backend = opened ? gpu : cpu;
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
