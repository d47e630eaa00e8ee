/* Memory for the flood's queues and lists. */
#include "kernels/growcut/cpu/flood_queues.h"

#include <string.h>

enum { BLOCK = 256 };

typedef struct lob_flood_block {
    struct lob_flood_block *next;
    lob_flood_chunk chunks[BLOCK];
} block;

/* A budget is for one thread at a time. */
static lob_status take(lob_flood_pool *pool, void *memory, int64_t count, size_t size)
{
    lob_status st;
#pragma omp critical(lob_flood_memory)
    st = lob_budget_alloc(pool->budget, memory, count, size, pool->error);
    return st;
}

static void give(lob_flood_pool *pool, void *memory, int64_t count, size_t size)
{
#pragma omp critical(lob_flood_memory)
    lob_budget_free(pool->budget, memory, count, size);
}

void lob_flood_pool_free(lob_flood_pool *pool)
{
    for (block *next, *at = pool->blocks; at; at = next) {
        next = at->next;
        give(pool, at, 1, sizeof *at);
    }
    pool->blocks = NULL;
    pool->unused = NULL;
}

void lob_flood_list_free(lob_flood_pool *pool, lob_flood_list *list)
{
    give(pool, list->cell, list->capacity, sizeof *list->cell);
    give(pool, list->label, list->capacity, sizeof *list->label);
    *list = (lob_flood_list){0};
}

lob_status lob_flood_more_chunks(lob_flood_pool *pool)
{
    block *more;
    LOB_TRY(take(pool, &more, 1, sizeof *more));
    more->next = pool->blocks;
    pool->blocks = more;
    for (int i = 0; i < BLOCK; i++) {
        more->chunks[i].next = pool->unused;
        pool->unused = &more->chunks[i];
    }
    return LOB_OK;
}

lob_status lob_flood_list_grow(lob_flood_pool *pool, lob_flood_list *list, int64_t more)
{
    lob_flood_list larger = {.n = list->n, .capacity = 3 * list->capacity / 2 + more};
    lob_status st = take(pool, &larger.cell, larger.capacity, sizeof *list->cell);
    if (st == LOB_OK) st = take(pool, &larger.label, larger.capacity, sizeof *list->label);
    if (st != LOB_OK) {
        lob_flood_list_free(pool, &larger);
        return st;
    }
    if (list->n > 0) {
        memcpy(larger.cell, list->cell, (size_t)list->n * sizeof *list->cell);
        memcpy(larger.label, list->label, (size_t)list->n * sizeof *list->label);
    }
    lob_flood_list_free(pool, list);
    *list = larger;
    return LOB_OK;
}
