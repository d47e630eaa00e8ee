/* Counting working memory, and allocating within the limit. */
#include "kernels/budget.h"

#include "kernels/device/device.h"
#include "volumes/bytes.h"
#include "volumes/volume.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>

static lob_status refuse_count(const lob_budget *budget, lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "%s: more bytes are needed than can be counted",
                    budget->who);
}

lob_status lob_budget_hold(lob_budget *budget, int64_t bytes, lob_error *error)
{
    char needed[LOB_BYTES_TEXT], allowed[LOB_BYTES_TEXT];
    if (bytes > INT64_MAX - budget->held) return refuse_count(budget, error);
    const int64_t held = budget->held + bytes;
    if (budget->limit > 0 && bytes >= 0 && held > budget->limit) {
        lob_bytes_texts(needed, held, allowed, budget->limit);
        return lob_fail(error, LOB_ENOMEM, "%s: working memory of %s is more than the %s allowed",
                        budget->who, needed, allowed);
    }
    budget->held = held;
    if (held > budget->peak) budget->peak = held;
    return LOB_OK;
}

void lob_budget_release(lob_budget *budget, int64_t bytes)
{
    budget->held -= bytes;
}

static lob_status take(lob_budget *budget, void *block, int64_t count, size_t size, bool zero,
                       lob_error *error)
{
    void **out = block;
    const int64_t bytes = lob_product(count, (int64_t)size, 1, 1);
    char asked[LOB_BYTES_TEXT];
    *out = NULL;
    if (bytes < 0) return refuse_count(budget, error);
    LOB_TRY(lob_budget_hold(budget, bytes, error));
    *out = zero ? lob_voxel_memory_zero(bytes) : lob_voxel_memory(bytes);
    if (*out) return LOB_OK;
    lob_budget_release(budget, bytes);
    return lob_fail(error, LOB_ENOMEM, "no memory for %s: %s more were asked for", budget->who,
                    lob_bytes_text(asked, bytes));
}

lob_status lob_budget_alloc(lob_budget *budget, void *block, int64_t count, size_t size,
                            lob_error *error)
{
    return take(budget, block, count, size, false, error);
}

lob_status lob_budget_calloc(lob_budget *budget, void *block, int64_t count, size_t size,
                             lob_error *error)
{
    return take(budget, block, count, size, true, error);
}

lob_status lob_budget_alloc_at(lob_budget *budget, lob_device *device, void *block, int64_t bytes,
                               lob_error *error)
{
    if (!device) return lob_budget_alloc(budget, block, bytes, 1, error);
    *(void **)block = NULL;
    if (bytes < 0) return refuse_count(budget, error);
    LOB_TRY(lob_budget_hold(budget, bytes, error));
    const lob_status st = lob_device_alloc(device, block, bytes, error);
    if (st != LOB_OK) lob_budget_release(budget, bytes);
    return st;
}

void lob_budget_free_at(lob_budget *budget, lob_device *device, void *block, int64_t bytes)
{
    if (device && block) lob_budget_release(budget, bytes);
    if (device)
        lob_device_free(device, block);
    else
        lob_budget_free(budget, block, bytes, 1);
}

lob_context lob_budget_inner(const lob_budget *budget, const lob_context *context)
{
    lob_context inner = *context;
    if (inner.max_memory > 0) {
        const int64_t left = inner.max_memory - budget->held;
        inner.max_memory = left > 1 ? left : 1; /* 0 would be no limit */
    }
    return inner;
}

void lob_budget_free(lob_budget *budget, void *block, int64_t count, size_t size)
{
    if (block) lob_budget_release(budget, count * (int64_t)size);
    free(block);
}
