/* Memory of 0 that stays between volumes of strokes. */
#include "kernels/arrays.h"
#include "kernels/segment/segment_job.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 512,      /* bytes: less comes quickly */
    PIECE = 1 << 14,  /* that are looked at at once */
    SEVERAL = 1 << 20 /* by several threads from here on */
};

/* Clear a block, which volumes no longer lie in, where there is more than 0. */
static void give_back(void *owner, void *data)
{
    struct lob_segment_zero *const block = owner;
    uint8_t *const bytes = data;
#pragma omp parallel for num_threads(block->bytes < SEVERAL ? 1 : block->threads) schedule(static)
    for (int64_t at = 0; at < block->bytes; at += PIECE) {
        const int64_t left = block->bytes - at;
        lob_clear(bytes + at, (size_t)(left < PIECE ? left : PIECE));
    }
    block->taken = false;
}

static void drop(lob_segment_zeros *zeros, struct lob_segment_zero *block)
{
    if (block->data) lob_budget_release(zeros->budget, block->bytes);
    free(block->data);
    *block = (struct lob_segment_zero){0};
}

/* A block of at least so many bytes, or one that may become one; NULL: all are in use. */
static struct lob_segment_zero *find(lob_segment_zeros *zeros, int64_t bytes)
{
    struct lob_segment_zero *best = NULL;
    for (int i = 0; i < LOB_SEGMENT_ZEROS; i++) {
        struct lob_segment_zero *const block = &zeros->block[i];
        if (block->taken) continue;
        if (!best || (best->bytes < bytes && block->bytes > best->bytes)) best = block;
    }
    return best;
}

lob_status lob_segment_zeros_take(lob_segment_zeros *zeros, lob_volume *out, const lob_volume *grid)
{
    const int64_t bytes = lob_voxels(grid);
    struct lob_segment_zero *const block = zeros && bytes >= LEAST ? find(zeros, bytes) : NULL;
    if (!block) return lob_volume_like(out, grid, LOB_U8, 1);
    if (block->bytes < bytes) {
        const int64_t room = bytes + bytes / 8; /* strokes come one by one */
        drop(zeros, block);
        if (lob_budget_hold(zeros->budget, room, NULL) != LOB_OK) return LOB_ENOMEM;
        block->data = lob_voxel_memory_zero(room);
        block->bytes = room;
        if (!block->data) {
            lob_budget_release(zeros->budget, room);
            block->bytes = 0;
            return LOB_ENOMEM;
        }
    }
    block->taken = true;
    block->threads = zeros->threads;
    *out = lob_segment_grid(grid->dims, &grid->geometry);
    out->data = block->data;
    out->type = LOB_U8;
    out->release = give_back;
    out->owner = block;
    return LOB_OK;
}

bool lob_segment_zeros_hold(const lob_volume *volume)
{
    return volume->release == give_back;
}

void lob_segment_zeros_drop(lob_segment_zeros *zeros)
{
    for (int i = 0; i < LOB_SEGMENT_ZEROS; i++)
        if (!zeros->block[i].taken) drop(zeros, &zeros->block[i]);
}
