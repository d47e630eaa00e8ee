/* Lists: arrays that grow an element at a time, and what is in order. */
#ifndef LOB_LISTS_H
#define LOB_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Room for one more element. The room doubles where the count is a power of two, so no one needs to
 * remember it.
 *
 *   array  in/out  address of a pointer to `count` elements of `each` bytes, malloc'ed; NULL for
 * none
 *
 * Returns whether there was memory; without it the array stays as it is.
 */
bool lob_grow(void *array, int64_t count, size_t each);

/* Orders for qsort and bsearch, of numbers, none of them NaN, or of pointers to texts, by bytes; or
 * of structs that begin with one. */
int lob_by_real(const void *a, const void *b);
int lob_by_float(const void *a, const void *b);
int lob_by_int32(const void *a, const void *b);
int lob_by_int64(const void *a, const void *b);
int lob_by_text(const void *a, const void *b);

/* How many of `count` ascending numbers are less than `value`. They lie `each` bytes apart. */
static inline int64_t lob_count_below(const int32_t *first, int64_t count, size_t each,
                                      int32_t value)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (*(const int32_t *)(const void *)((const char *)first + (size_t)middle * each) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
