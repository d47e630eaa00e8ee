/* Growing and ordering lists. */
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

bool lob_grow(void *array, int64_t count, size_t each)
{
    void **const at = array;
    if (count > 0 && (count & (count - 1)) != 0) return true;
    void *const larger = realloc(*at, each * (count > 0 ? 2 * (size_t)count : 1));
    if (larger) *at = larger;
    return larger != NULL;
}

#define ORDER(name, type)                                      \
    int name(const void *a, const void *b)                     \
    {                                                          \
        const type x = *(const type *)a, y = *(const type *)b; \
        return (x > y) - (x < y);                              \
    }
ORDER(lob_by_real, double)
ORDER(lob_by_float, float)
ORDER(lob_by_int32, int32_t)
ORDER(lob_by_int64, int64_t)

int lob_by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
