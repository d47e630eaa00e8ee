/* Open addressing in a table of keys, for the blocks that add up what they find by key. */
#ifndef LOB_HASH_TABLE_CUH
#define LOB_HASH_TABLE_CUH

#include <stdint.h>

namespace lob
{

/*
 * The slot of a key in a table of 2^BITS, where it has one or is given one; -1: the first PROBES
 * slots that it might have are taken by others. Keys are not 0, which marks a free slot.
 */
template <int BITS, int PROBES> static __device__ inline int hash_slot(uint32_t *keys, uint32_t key)
{
    uint32_t at = key * 2654435761u >> (32 - BITS);
#pragma unroll 1
    for (int i = 0; i < PROBES; i++, at = (at + 1) % (1u << BITS)) {
        uint32_t there = *(volatile uint32_t *)&keys[at];
        if (there == 0) there = atomicCAS(&keys[at], 0u, key);
        if (there == 0 || there == key) return (int)at;
    }
    return -1;
}

} /* namespace lob */

#endif
