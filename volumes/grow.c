/* Arrays that grow. */
#include "volumes/grow.h"

#include <stdlib.h>

bool lob_grow(void *array, int64_t count, size_t each)
{
    void **const at = array;
    if (count > 0 && (count & (count - 1)) != 0) return true;
    void *const larger = realloc(*at, each * (count > 0 ? 2 * (size_t)count : 1));
    if (larger) *at = larger;
    return larger != NULL;
}
