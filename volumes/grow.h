/* Arrays that grow an element at a time. */
#ifndef LOB_GROW_H
#define LOB_GROW_H

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

#endif
