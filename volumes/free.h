/* Memory given back several blocks at a time. */
#ifndef LOB_FREE_H
#define LOB_FREE_H

#include <stddef.h>
#include <stdlib.h>

/* Free blocks, each of which may be NULL: LOB_FREE(names, rows). */
static inline void lob_free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) free(blocks[i]);
}
#define LOB_FREE(...)                          \
    lob_free_all((void *const[]){__VA_ARGS__}, \
                 sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))

#endif
