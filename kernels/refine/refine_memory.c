/* The arrays of a refining job, and the blocks that they lie in. */
#include "kernels/refine/refine_job.h"

enum { ALIGN = 64 };

/* The end of an array that lies between two places; 0: none does. */
static uintptr_t end_of_one(const lob_refine_job *j, uintptr_t first, uintptr_t end)
{
    for (int k = 0; k < LOB_REFINE_OWNED; k++) {
        const uintptr_t at = (uintptr_t)j->owned[k].data;
        const uintptr_t behind = at + (uintptr_t)j->owned[k].bytes;
        if (at && at < end && behind > first) return (behind + ALIGN - 1) / ALIGN * ALIGN;
    }
    return 0;
}

/* The first place in a block with so many bytes free; NULL: it has none. */
static void *room_in(const lob_refine_job *j, const struct lob_refine_block *block, int64_t bytes)
{
    uintptr_t at = (uintptr_t)block->data, end;
    while ((end = end_of_one(j, at, at + (uintptr_t)bytes)) != 0) at = end;
    const int64_t before = (int64_t)(at - (uintptr_t)block->data);
    return block->data && bytes <= block->bytes - before ? block->data + before : NULL;
}

void lob_refine_trim(lob_refine_job *j)
{
    for (int k = 1; k <= LOB_REFINE_OWNED; k++) {
        struct lob_refine_block *const block = &j->block[k];
        const uintptr_t at = (uintptr_t)block->data;
        if (end_of_one(j, at, at + (uintptr_t)block->bytes)) continue;
        lob_budget_free(&j->budget, block->data, block->bytes, 1);
        *block = (struct lob_refine_block){0};
    }
}

/* A new block of so many bytes, in place of those that nothing lies in. */
static lob_status add_block(lob_refine_job *j, void **data, int64_t bytes)
{
    struct lob_refine_block *block = &j->block[1];
    lob_refine_trim(j);
    while (block->data) block++; /* in each lies an array, and this one does not yet */
    LOB_TRY(lob_budget_alloc(&j->budget, data, bytes, 1, j->error));
    *block = (struct lob_refine_block){*data, bytes};
    return LOB_OK;
}

static bool lies_in_block(const lob_refine_job *j, const void *data)
{
    bool lies = false;
    for (int k = 0; k <= LOB_REFINE_OWNED; k++) {
        const uintptr_t first = (uintptr_t)j->block[k].data, at = (uintptr_t)data;
        lies = lies || (at >= first && at < first + (uintptr_t)j->block[k].bytes);
    }
    return lies;
}

void lob_refine_drop(lob_refine_job *j, lob_refine_owned which)
{
    void *const data = j->owned[which].data;
    if (!lies_in_block(j, data))
        lob_budget_free_at(&j->budget, j->device, data, j->owned[which].bytes);
    j->owned[which].data = NULL;
    j->owned[which].bytes = 0;
}

lob_status lob_refine_take(lob_refine_job *j, lob_refine_owned which, int64_t n, size_t size)
{
    const int64_t bytes = lob_product(n, (int64_t)size, 1, 1);
    void *data = NULL;
    lob_refine_drop(j, which);
    if (j->device) {
        j->owned[which].bytes = bytes;
        return lob_budget_alloc_at(&j->budget, j->device, &j->owned[which].data, bytes, j->error);
    }
    for (int k = 0; k <= LOB_REFINE_OWNED && bytes >= 0 && !data; k++)
        data = room_in(j, &j->block[k], bytes);
    if (!data) LOB_TRY(add_block(j, &data, bytes));
    j->owned[which].data = data;
    j->owned[which].bytes = bytes;
    return LOB_OK;
}

void lob_refine_free(lob_refine_job *j)
{
    for (int k = 0; k < LOB_REFINE_OWNED; k++) lob_refine_drop(j, (lob_refine_owned)k);
    lob_refine_trim(j);
}
