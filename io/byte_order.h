/* The order of bytes in numbers: this machine's, and turning the other into it. */
#ifndef LOB_BYTE_ORDER_H
#define LOB_BYTE_ORDER_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this machine's least significant byte first? */
bool lob_little_endian(void);

/*
 * Turn the bytes of every number round.
 *
 *   numbers     inout  bytes of them, whole numbers; aligned or not
 *   word_bytes  in     2, 4 or 8 for each number; numbers of any other size stay as they are
 */
void lob_swap_words(unsigned char *numbers, size_t bytes, size_t word_bytes);

/* A number of n bytes, at most 8, the least significant first on every machine; and put so. */
uint64_t lob_little_number(const unsigned char *bytes, int n);
void lob_put_little_number(unsigned char *bytes, uint64_t number, int n);

#endif
