/*
 * Queues and lists of cells for the flood: a cell's number, and the label that came to it. They
 * take their memory from a pool; a pool and what it feeds are used by one thread at a time.
 */
#ifndef LOB_FLOOD_QUEUES_H
#define LOB_FLOOD_QUEUES_H

#include "kernels/budget.h"

enum { LOB_FLOOD_CHUNK = 30 };

/* Cells of a queue. */
typedef struct lob_flood_chunk {
    struct lob_flood_chunk *next;
    int64_t cell[LOB_FLOOD_CHUNK];
    uint32_t label[LOB_FLOOD_CHUNK];
} lob_flood_chunk;

/* All chunks but the first are full. */
typedef struct {
    lob_flood_chunk *first;
    int64_t n; /* cells of the first */
} lob_flood_queue;

typedef struct {
    int64_t *cell;
    uint32_t *label;
    int64_t n, capacity;
} lob_flood_list;

/* Chunks are had by the block. Pools may share a budget: they take from it one at a time. */
typedef struct {
    lob_budget *budget;
    lob_error *error;
    lob_flood_chunk *unused;
    struct lob_flood_block *blocks;
} lob_flood_pool;

/* Give back every chunk; the queues that had them are void. */
void lob_flood_pool_free(lob_flood_pool *pool);
void lob_flood_list_free(lob_flood_pool *pool, lob_flood_list *list);

/* Slow paths of the two below. LOB_OK or LOB_ENOMEM. */
lob_status lob_flood_more_chunks(lob_flood_pool *pool);
lob_status lob_flood_list_grow(lob_flood_pool *pool, lob_flood_list *list, int64_t more);

/* Make room for so many more. */
static inline lob_status lob_flood_list_room(lob_flood_pool *pool, lob_flood_list *list,
                                             int64_t more)
{
    return list->n + more <= list->capacity ? LOB_OK : lob_flood_list_grow(pool, list, more);
}

static inline lob_status lob_flood_enqueue(lob_flood_pool *pool, lob_flood_queue *queue,
                                           int64_t cell, uint32_t label)
{
    if (!queue->first || queue->n == LOB_FLOOD_CHUNK) {
        if (!pool->unused) LOB_TRY(lob_flood_more_chunks(pool));
        lob_flood_chunk *const another = pool->unused;
        pool->unused = another->next;
        another->next = queue->first;
        *queue = (lob_flood_queue){another, 0};
    }
    queue->first->cell[queue->n] = cell;
    queue->first->label[queue->n++] = label;
    return LOB_OK;
}

/* Give back the queue's first chunk. */
static inline void lob_flood_drop_chunk(lob_flood_pool *pool, lob_flood_queue *queue)
{
    lob_flood_chunk *const done = queue->first;
    *queue = (lob_flood_queue){done->next, LOB_FLOOD_CHUNK};
    done->next = pool->unused;
    pool->unused = done;
}

#endif
