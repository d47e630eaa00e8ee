/* The order of bytes in numbers. */
#include "io/byte_order.h"

#include <stdint.h>
#include <string.h>

bool lob_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

#define SWAP_WORDS(bits)                             \
    for (size_t i = 0; i < bytes; i += (bits) / 8) { \
        uint##bits##_t word;                         \
        memcpy(&word, numbers + i, sizeof word);     \
        word = __builtin_bswap##bits(word);          \
        memcpy(numbers + i, &word, sizeof word);     \
    }

void lob_swap_words(unsigned char *numbers, size_t bytes, size_t word_bytes)
{
    switch (word_bytes) {
    case 2:
        SWAP_WORDS(16) break;
    case 4:
        SWAP_WORDS(32) break;
    case 8:
        SWAP_WORDS(64) break;
    default:
        break;
    }
}
