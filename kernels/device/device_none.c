/* The device of a build without CUDA: there is none, and opening one says so. */
#include "kernels/device/device.h"

#include <stddef.h>

static lob_status none(lob_error *error)
{
    return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "built without CUDA");
}

lob_status lob_device_open(lob_device **out, const char *choice, lob_error *error)
{
    (void)choice;
    *out = NULL;
    return none(error);
}

void lob_device_close(lob_device *device)
{
    (void)device;
}

const char *lob_device_name(const lob_device *device)
{
    (void)device;
    return "none";
}

int lob_device_number(const lob_device *device)
{
    (void)device;
    return -1;
}

int lob_device_capability(const lob_device *device)
{
    (void)device;
    return 0;
}

int64_t lob_device_free_bytes(const lob_device *device)
{
    (void)device;
    return 0;
}

int64_t lob_device_total_bytes(const lob_device *device)
{
    (void)device;
    return 0;
}

lob_device_traffic lob_device_traffic_of(const lob_device *device)
{
    (void)device;
    return (lob_device_traffic){0};
}

lob_status lob_device_upload(lob_device *device, void *to, const void *from, int64_t bytes,
                             lob_error *error)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return none(error);
}

lob_status lob_device_download(lob_device *device, void *to, const void *from, int64_t bytes,
                               lob_error *error)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return none(error);
}

void *lob_device_stream(const lob_device *device)
{
    (void)device;
    return NULL;
}

lob_status lob_device_wait(lob_device *device, lob_error *error)
{
    (void)device;
    return none(error);
}
