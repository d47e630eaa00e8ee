/* The order of bytes in numbers. */
#include "io/byte_order.h"

#include <string.h>

bool lob_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

uint64_t lob_little_number(const unsigned char *bytes, int n)
{
    uint64_t number = 0;
    while (n-- > 0) number = number << 8 | bytes[n];
    return number;
}

void lob_put_little_number(unsigned char *bytes, uint64_t number, int n)
{
    for (int i = 0; i < n; i++) bytes[i] = (unsigned char)(number >> 8 * i);
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
