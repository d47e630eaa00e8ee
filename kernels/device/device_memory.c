/* Budgets of working memory on a GPU, and arrays on their way there and back. */
#include "kernels/device/device_memory.h"

#include "volumes/bytes.h"
#include "volumes/voxel_memory.h"

#include <stddef.h>
#include <stdlib.h>

enum { ALIGNMENT = 256 };

lob_device_budget lob_device_budget_of(const lob_context *context, const char *who, int64_t voxels)
{
    return (lob_device_budget){
        .device = context->device, .max_bytes = context->max_memory, .who = who, .voxels = voxels};
}

int64_t lob_device_budget_held(const lob_device_budget *budget)
{
    int64_t bytes = 0;
    for (int b = 0; b < LOB_DEVICE_BLOCKS; b++) bytes += budget->held[b];
    return bytes;
}

int64_t lob_device_budget_left(const lob_device_budget *budget, lob_device_block block,
                               int64_t wanted)
{
    const int64_t capacity = lob_device_block_capacity(budget->device, block, wanted);
    const int64_t beside = lob_device_budget_held(budget) - budget->held[block];
    const int64_t allowed = budget->max_bytes - beside;
    return budget->max_bytes > 0 && allowed < capacity ? allowed : capacity;
}

void lob_device_budget_hold(lob_device_budget *budget, lob_device_block block, int64_t bytes)
{
    if (bytes > budget->held[block]) budget->held[block] = bytes;
}

lob_status lob_device_budget_refuse(const lob_device_budget *budget, lob_device_block block,
                                    int64_t bytes, lob_error *error)
{
    const int64_t beside = lob_device_budget_held(budget) - budget->held[block];
    const int64_t left = lob_device_budget_left(budget, block, bytes);
    const int64_t needed = beside + bytes, allowed = beside + (left > 0 ? left : 0);
    const double millions = (double)budget->voxels / 1e6;
    char needed_text[LOB_BYTES_TEXT], allowed_text[LOB_BYTES_TEXT];
    lob_bytes_texts(needed_text, needed, allowed_text, allowed);
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "%s: working memory of %s on the GPU, for %.1f million voxels, is more "
                         "than the %s allowed and free, enough for %.1f million",
                         budget->who, needed_text, millions, allowed_text,
                         millions / (double)needed * (double)allowed);
}

lob_status lob_device_budget_take(lob_device_budget *budget, lob_device_block block, int64_t bytes,
                                  void **memory, lob_error *error)
{
    if (bytes > lob_device_budget_left(budget, block, bytes))
        return lob_device_budget_refuse(budget, block, bytes, error);
    const lob_status st = lob_device_block_take(budget->device, block, memory, bytes, error);
    if (st == LOB_OK) lob_device_budget_hold(budget, block, bytes);
    return st;
}

/* ---- arrays ---- */

int64_t lob_device_bytes_of(const lob_volume *volume)
{
    const int64_t bytes = lob_volume_bytes(volume);
    return bytes <= INT64_MAX / 8 ? bytes : -1;
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static lob_status refuse_arrays(int64_t total, int64_t capacity, int64_t voxels, lob_error *error)
{
    char taken[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    lob_bytes_texts(taken, total, left, capacity);
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "the volumes take %s and the GPU has %s free, enough for %.1f million "
                         "voxels without working memory",
                         taken, left, (double)voxels / (double)total * (double)capacity / 1e6);
}

lob_device_array lob_device_volume(void *device, const lob_volume *volume)
{
    const lob_volume none = {.data = NULL};
    const lob_volume *v = volume ? volume : &none;
    return lob_device_input(device, v->data, volume ? lob_device_bytes_of(v) : 0, v->place);
}

lob_device_array lob_device_input(void *device, const void *from, int64_t bytes, lob_place place)
{
    return (lob_device_array){
        .device = device, .from = from, .bytes = from ? bytes : 0, .place = place};
}

lob_device_array lob_device_output(void *device, void *to, int64_t bytes, lob_place place)
{
    return (lob_device_array){.device = device, .to = to, .bytes = bytes, .place = place};
}

static bool travels(const lob_device_array *array)
{
    const bool misplaced = array->aligned && (uintptr_t)array->from % ALIGNMENT != 0;
    return (array->place.kind == LOB_PLACE_MEMORY || misplaced) && array->bytes > 0;
}

/* The place of an array that does not travel. */
static lob_status find(const lob_device *device, const lob_device_array *array, lob_error *error)
{
    const void *const there = array->from ? array->from : array->to;
    *array->device = array->bytes ? (void *)there : NULL;
    if (!*array->device || array->place.kind == LOB_PLACE_MEMORY ||
        array->place.number == lob_device_number(device))
        return LOB_OK;
    return lob_fail(error, LOB_EDEVICE, "an array is on GPU %d, and GPU %d computes",
                    (int)array->place.number, lob_device_number(device));
}

lob_status lob_device_send(lob_device *device, const lob_device_array *arrays, int n,
                           int64_t voxels, lob_error *error)
{
    int64_t total = 0;
    void *block = NULL;
    for (int i = 0; i < n; i++) {
        if (arrays[i].bytes < 0 || arrays[i].bytes > INT64_MAX / 8)
            return lob_device_too_large(error);
        LOB_TRY(find(device, &arrays[i], error));
        if (travels(&arrays[i])) total += aligned(arrays[i].bytes);
    }
    const int64_t capacity = lob_device_block_capacity(device, LOB_DEVICE_ARRAYS, total);
    if (total > capacity) return refuse_arrays(total, capacity, voxels, error);
    lob_status st = lob_device_block_take(device, LOB_DEVICE_ARRAYS, &block, total, error);
    unsigned char *at = block;
    for (int i = 0; i < n && st == LOB_OK; i++) {
        const lob_device_array *a = &arrays[i];
        if (!travels(a)) continue;
        *a->device = at;
        if (a->from)
            st = (a->place.kind == LOB_PLACE_MEMORY ? lob_device_upload : lob_device_copy)(
                device, at, a->from, a->bytes, error);
        at += aligned(a->bytes);
    }
    return st;
}

lob_status lob_device_receive(lob_device *device, const lob_device_array *arrays, int n,
                              lob_error *error)
{
    lob_status st = LOB_OK;
    for (int i = 0; i < n && st == LOB_OK; i++) {
        const lob_device_array *a = &arrays[i];
        if (a->to && travels(a))
            st = lob_device_download(device, a->to, *a->device, a->bytes, error);
    }
    return st;
}

lob_status lob_device_result_room(lob_device *device, void **result, int64_t bytes, lob_place place,
                                  lob_error *error)
{
    *result = NULL;
    if (place.kind == LOB_PLACE_MEMORY) return LOB_OK;
    if (bytes < 0 || bytes > INT64_MAX / 8) return lob_device_too_large(error);
    return lob_device_alloc(device, result, bytes, error);
}

lob_status lob_device_result(lob_device *device, void **result, void *from, int64_t bytes,
                             lob_place place, lob_error *error)
{
    char asked[LOB_BYTES_TEXT];
    *result = place.kind == LOB_PLACE_MEMORY ? lob_voxel_memory(bytes) : from;
    if (*result == from) return LOB_OK;
    if (!*result)
        return lob_fail(error, LOB_ENOMEM, "no memory for a result of %s",
                        lob_bytes_text(asked, bytes));
    const lob_status st = lob_device_download(device, *result, from, bytes, error);
    if (st == LOB_OK) return LOB_OK;
    free(*result);
    *result = NULL;
    return st;
}

/* ---- refusals ---- */

lob_status lob_device_missing(lob_error *error)
{
    return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
}

lob_status lob_device_too_large(lob_error *error)
{
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU, "the volume is too large for a GPU");
}
