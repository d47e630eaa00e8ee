/* Volumes in ordinary memory and on GPUs: making them, and copying them from one to the other. */
#include "kernels/arrays.h"

#include "kernels/device/device.h"
#include "volumes/bytes.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

lob_place lob_context_place(const lob_context *context)
{
    if (!context->device) return (lob_place){0};
    return (lob_place){LOB_PLACE_CUDA, lob_device_number(context->device)};
}

static int64_t bytes_of(const lob_volume *grid, lob_type type, int channels)
{
    return lob_product(lob_dims_voxels(grid->dims), channels, (int64_t)lob_type_of(type)->bytes, 1);
}

static void release(void *device, void *data)
{
    lob_device_free(device, data);
}

lob_status lob_array_alloc(lob_device *device, void **array, int64_t bytes, lob_error *error)
{
    char asked[LOB_BYTES_TEXT];
    if (device) return lob_device_alloc(device, array, bytes, error);
    *array = malloc((size_t)bytes);
    if (*array) return LOB_OK;
    return lob_fail(error, LOB_ENOMEM, "no memory for an array of %s",
                    lob_bytes_text(asked, bytes));
}

void lob_array_free(lob_device *device, void *data)
{
    if (device)
        lob_device_free(device, data);
    else
        free(data);
}

lob_status lob_volume_adopt_at(lob_volume *out, const lob_volume *like, void **data, lob_type type,
                               int channels, lob_device *device)
{
    LOB_TRY(lob_volume_adopt(out, like, data, type, channels));
    if (!device) return LOB_OK;
    out->place = (lob_place){LOB_PLACE_CUDA, lob_device_number(device)};
    out->release = release;
    out->owner = device;
    return LOB_OK;
}

lob_status lob_check_memory(lob_place place, const lob_volume *a, const lob_volume *b,
                            lob_error *error)
{
    const lob_place places[] = {place, a ? a->place : place, b ? b->place : place};
    for (int i = 0; i < 3; i++)
        if (places[i].kind != LOB_PLACE_MEMORY)
            return lob_fail(error, LOB_EARG, "an array on a GPU was given to the CPU");
    return LOB_OK;
}

/* Voxels at a place that is ordinary memory or the context's. */
static lob_status make(lob_volume *out, const lob_volume *like, lob_type type, int channels,
                       lob_place place, const lob_context *context, lob_error *error)
{
    const int64_t bytes = bytes_of(like, type, channels);
    lob_device *const device = place.kind == LOB_PLACE_MEMORY ? NULL : context->device;
    char asked[LOB_BYTES_TEXT];
    void *data = NULL;
    *out = lob_volume_empty();
    if (bytes < 0) return lob_fail(error, LOB_ENOMEM, "a volume too large to count its bytes");
    if (device)
        LOB_TRY(lob_device_alloc(device, &data, bytes, error));
    else
        data = lob_voxel_memory(bytes);
    if (data && lob_volume_adopt_at(out, like, &data, type, channels, device) == LOB_OK)
        return LOB_OK;
    lob_array_free(device, data);
    return lob_fail(error, LOB_ENOMEM, "no memory for a volume of %s",
                    lob_bytes_text(asked, bytes));
}

lob_status lob_volume_at(lob_volume *out, const lob_volume *like, lob_type type, int channels,
                         const lob_context *context, lob_error *error)
{
    return make(out, like, type, channels, lob_context_place(context), context, error);
}

static bool reachable(lob_place place, lob_place device)
{
    return place.kind == LOB_PLACE_MEMORY || lob_place_same(place, device);
}

lob_status lob_volume_move(lob_volume *out, const lob_volume *in, lob_place to,
                           const lob_context *context, lob_error *error)
{
    const lob_place here = lob_context_place(context);
    const bool from_device = in->place.kind != LOB_PLACE_MEMORY;
    const bool to_device = to.kind != LOB_PLACE_MEMORY;
    *out = lob_volume_empty();
    if (!reachable(in->place, here) || !reachable(to, here))
        return lob_fail(error, LOB_EDEVICE, "a volume on a GPU that the context does not have");
    LOB_TRY(make(out, in, in->type, in->channels, to, context, error));
    out->slope = in->slope;
    out->inter = in->inter;
    const int64_t bytes = bytes_of(in, in->type, in->channels);
    lob_status st = LOB_OK;
    if (from_device || to_device) lob_device_begin(context->device);
    if (from_device && to_device)
        st = lob_device_copy(context->device, out->data, in->data, bytes, error);
    else if (from_device)
        st = lob_device_download(context->device, out->data, in->data, bytes, error);
    else if (to_device)
        st = lob_device_upload(context->device, out->data, in->data, bytes, error);
    else
        memcpy(out->data, in->data, (size_t)bytes);
    if (from_device || to_device) lob_device_end(context->device);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}
