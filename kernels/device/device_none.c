/* Devices in a build without CUDA: opening one fails, and so does the rest. */
#include "kernels/device/device_letters.h"
#include "kernels/device/device_put.h"

#include <stddef.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static lob_status none(lob_error *error)
{
    return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "built without CUDA");
}

/* A function of these parameters and an error. */
#define FAILS(name, ...)                           \
    lob_status name(__VA_ARGS__, lob_error *error) \
    {                                              \
        return none(error);                        \
    }

/* A function of a device. */
#define GIVES(type, name, value)        \
    type name(const lob_device *device) \
    {                                   \
        return value;                   \
    }

lob_status lob_device_open(lob_device **out, const char *choice, lob_error *error)
{
    *out = NULL;
    return lob_fail_hint(error, LOB_EDEVICE, LOB_HINT_USE_CPU, "%s: built without CUDA", choice);
}

void lob_device_close(lob_device *device) {}
void lob_device_begin(lob_device *device) {}
void lob_device_end(lob_device *device) {}
void lob_device_share(lob_device *device, int sharers) {}
void lob_device_free(lob_device *device, void *memory) {}

lob_device_traffic lob_device_traffic_here(void)
{
    return (lob_device_traffic){0};
}

int lob_device_count(void)
{
    return 0;
}

void lob_device_identity(char text[LOB_DEVICE_IDENTITY], int n)
{
    text[0] = '\0';
}

GIVES(const char *, lob_device_name, "none")
GIVES(int, lob_device_number, -1)
GIVES(int, lob_device_capability, 0)
GIVES(int64_t, lob_device_free_bytes, 0)
GIVES(int64_t, lob_device_total_bytes, 0)
GIVES(void *, lob_device_stream, NULL)
FAILS(lob_device_alloc, lob_device *device, void **memory, int64_t bytes)
FAILS(lob_device_copy, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_offer, lob_device *device)
FAILS(lob_device_fetch, lob_device *device, void *to, const lob_device *there, const void *from,
      int64_t bytes)
FAILS(lob_device_fetched, lob_device *device, const lob_device *by)
FAILS(lob_device_after_fetches, lob_device *device)
FAILS(lob_device_upload, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_download, lob_device *device, void *to, const void *from, int64_t bytes)
FAILS(lob_device_read, lob_device *device, lob_device_reading *reading, const void **part,
      int64_t *n)
FAILS(lob_device_pinned_take, lob_device *device, void **memory, int64_t size)
FAILS(lob_device_fill, lob_device *device, void *memory, unsigned char value, int64_t bytes)
FAILS(lob_device_put, lob_device *device, void *to, const uint64_t *items, int64_t n)
FAILS(lob_device_get, lob_device *device, void *to, const void *from, int bytes, int channels,
      int64_t voxels, const uint64_t *items, int64_t n)
FAILS(lob_device_planes, lob_device *device, uint8_t *held, const void *from, int64_t bytes,
      int64_t n)
FAILS(lob_device_wait, lob_device *device)
FAILS(lob_device_wait_stream, lob_device *device, void *stream)
