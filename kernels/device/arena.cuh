/* A block of device memory handed out array by array. */
#ifndef LOB_ARENA_CUH
#define LOB_ARENA_CUH

#include <stdint.h>

namespace lob
{

/*
 * The same function lays out a block twice: once with base NULL, when `used` adds up what is
 * needed and every array is NULL, and once with the block's address.
 */
struct arena {
    unsigned char *base;
    int64_t used;

    explicit arena(void *block = nullptr) : base((unsigned char *)block), used(0) {}

    /* n items, aligned to 256 bytes. */
    template <typename T> T *take(int64_t n)
    {
        T *const here = base ? (T *)(base + used) : nullptr;
        used += (n * (int64_t)sizeof(T) + 255) / 256 * 256;
        return here;
    }
};

} /* namespace lob */

#endif
