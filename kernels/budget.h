/*
 * The budget of a call's working memory on the CPU: what it holds, and what its caller allows.
 * Inputs and outputs do not count. (On a GPU it is lob_device_budget of device_memory.h.)
 */
#ifndef LOB_BUDGET_H
#define LOB_BUDGET_H

#include "volumes/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of one thread at a time. */
typedef struct {
    const char *who; /* "components", for messages */
    int64_t limit;   /* bytes; 0: none */
    int64_t held, peak;
} lob_budget;

/*
 * Count bytes as held; a block that became smaller counts as negative bytes.
 *
 * Returns LOB_OK or LOB_ENOMEM (more than the limit, or than can be counted); a refusal counts
 * nothing.
 */
lob_status lob_budget_hold(lob_budget *budget, int64_t bytes, lob_error *error);
void lob_budget_release(lob_budget *budget, int64_t bytes);

/*
 * Allocate within the budget. Large blocks ask the system for huge pages and return to it when they
 * are freed.
 *
 *   block  out  address of a pointer; count * size bytes, not cleared; NULL on failure
 *
 * Returns LOB_OK or LOB_ENOMEM (nothing is counted).
 */
lob_status lob_budget_alloc(lob_budget *budget, void *block, int64_t count, size_t size,
                            lob_error *error);

/* Free what lob_budget_alloc gave; NULL is fine. */
void lob_budget_free(lob_budget *budget, void *block, int64_t count, size_t size);

/* The allocation alone, for blocks that are outputs. NULL where there is no memory. */
void *lob_alloc_pages(int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
