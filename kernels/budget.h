/*
 * The budget of a call's working memory on the CPU: how much it holds and how much it may hold.
 * Inputs and outputs do not count. For a GPU's blocks it is lob_device_budget in
 * device/device_memory.h.
 */
#ifndef LOB_BUDGET_H
#define LOB_BUDGET_H

#include "kernels/context.h"

#include <stddef.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/* Used by one thread at a time. held and peak are 0 before. */
typedef struct {
    const char *who; /* "components", for messages */
    int64_t limit;   /* bytes; 0: none */
    int64_t held;    /* bytes */
    int64_t peak;    /* the largest held so far */
} lob_budget;

/*
 * Count bytes as held; negative bytes for a block that became smaller.
 *
 * Returns LOB_OK or LOB_ENOMEM (over the limit, or more than an int64_t counts); then nothing is
 * counted.
 */
lob_status lob_budget_hold(lob_budget *budget, int64_t bytes, lob_error *error);

/* Count bytes as held no longer. */
void lob_budget_release(lob_budget *budget, int64_t bytes);

/*
 * Allocate count * size bytes within the budget. Large blocks use huge pages where the system has
 * them, and return to the system when they are freed.
 *
 *   block  out  address of a pointer to the block, whose content is unspecified; NULL on failure
 *
 * Returns LOB_OK, or LOB_ENOMEM and counts nothing.
 */
lob_status lob_budget_alloc(lob_budget *budget, void *block, int64_t count, size_t size,
                            lob_error *error);

/* The same with every byte 0. */
lob_status lob_budget_calloc(lob_budget *budget, void *block, int64_t count, size_t size,
                             lob_error *error);

/*
 * The same in memory of a device, or in ordinary memory where that is NULL: what calls on either
 * place keep while they call other algorithms.
 */
lob_status lob_budget_alloc_at(lob_budget *budget, lob_device *device, void *block, int64_t bytes,
                               lob_error *error);
void lob_budget_free_at(lob_budget *budget, lob_device *device, void *block, int64_t bytes);

/* The context of a call's inner call, with what the budget leaves of its memory. */
lob_context lob_budget_inner(const lob_budget *budget, const lob_context *context);

/* Free a block of lob_budget_alloc; NULL is allowed and counts nothing. */
void lob_budget_free(lob_budget *budget, void *block, int64_t count, size_t size);

LOB_END_DECLS

#endif
