/* Choosing a backend and opening its device. */
#include "kernels/backend_open.h"

#include "kernels/device/device.h"

#include <omp.h>
#include <string.h>

/* The backend whose name is choice, or choice up to its colon. */
static const lob_backend *backend_named(const char *choice)
{
    const size_t n = strcspn(choice, ":");
    for (const lob_backend *const *b = lob_backends; *b; b++)
        if (strlen((*b)->name) == n && strncmp((*b)->name, choice, n) == 0) return *b;
    return NULL;
}

lob_status lob_backend_open(const lob_backend **backend, lob_context *context, const char *choice,
                            lob_error *error)
{
    const lob_backend *const cpu = lob_backends[0], *const gpu = lob_backends[1];
    *backend = NULL;
    *context = (lob_context){.threads = omp_get_max_threads()};
    if (strcmp(choice, "best") == 0) {
        const bool opened = gpu && lob_device_open(&context->device, "auto", NULL) == LOB_OK;
        *backend = opened ? gpu : cpu;
        return LOB_OK;
    }
    const lob_backend *const named = backend_named(choice);
    if (!named || (named == cpu && strcmp(choice, cpu->name) != 0))
        return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU,
                             "this build has no backend named %s", choice);
    const lob_status st = named == cpu ? LOB_OK : lob_device_open(&context->device, choice, error);
    if (st == LOB_OK) *backend = named;
    return st;
}

void lob_backend_close(lob_context *context)
{
    lob_device_close(context->device);
    context->device = NULL;
}
