/*
 * The algebra of rows of bits: 32 voxels along x are the bits of a word, and joining them takes
 * fewer unions than there are joined pairs. Compiled for the CPU and for CUDA.
 *
 * A run is a stretch of joined voxels in a word. Pairs between a row A and a row B before it are
 * kept as three words: bit x of same, back and ahead says that A[x] is joined with B[x], B[x - 1]
 * and B[x + 1]. Pairs that follow from others need no union; nothing here asks for more than the
 * pairs themselves, so that it holds for every criterion.
 */
#ifndef LOB_COMPONENTS_ROWS_H
#define LOB_COMPONENTS_ROWS_H

#include "volumes/both.h"

#include <stdint.h>

typedef struct {
    uint32_t back, same, ahead;
} lob_row_pairs;

/* Bits 0..bit. */
LOB_BOTH uint32_t lob_bits_to(int bit)
{
    return ~UINT32_C(0) >> (31 - bit);
}

/* The voxels before these, with the last one of the word to the left; and the ones after. */
LOB_BOTH uint32_t lob_bits_back(uint32_t word, uint32_t left)
{
    return word << 1 | left >> 31;
}

LOB_BOTH uint32_t lob_bits_ahead(uint32_t word, uint32_t right)
{
    return word >> 1 | right << 31;
}

/* Where runs start; bit x of joined: voxel x is joined with voxel x - 1. */
LOB_BOTH uint32_t lob_run_starts(uint32_t filled, uint32_t joined)
{
    return filled & ~(joined & ~UINT32_C(1));
}

/*
 * The lowest bit of each stretch; bit x of joined: bits x and x - 1 are of one stretch. Bit 31 of
 * left: a stretch that comes in from the left, where joined says so, had its lowest bit there.
 */
LOB_BOTH uint32_t lob_lowest_bits(uint32_t bits, uint32_t joined, uint32_t left)
{
    const uint32_t in = left >> 31;
    uint32_t from = bits | (joined & in), through = joined; /* they fill stretches upwards */
    for (int step = 1; step < 32; step *= 2) {
        from |= through & from << step;
        through &= through << step;
    }
    return bits & ~(joined & (from << 1 | in));
}

/*
 * One pair for each two runs that touch: the others follow through the runs.
 *
 *   a, b     in  bit x: A's (B's) voxel x is joined with its voxel x - 1
 *   b_right  in  the same of B's word to the right; 0 where it is not known
 *   left     in  same of the pairs of the words to the left; 0 where it is not known
 *
 * Afterwards bit x of same says that the runs of A[x] and B[x] touch, not that these two voxels are
 * a pair; back and ahead are left where a run ends at one end of the pair and starts at the other.
 */
LOB_BOTH lob_row_pairs lob_row_pairs_needed(lob_row_pairs e, uint32_t a, uint32_t b,
                                            uint32_t b_right, uint32_t left)
{
    const uint32_t a_ahead = a >> 1, b_ahead = lob_bits_ahead(b, b_right);
    const uint32_t a_back = a & ~UINT32_C(1); /* whose voxel x - 1 is in this word */
    const uint32_t touching = e.same | (e.back & b) | (e.back & a_back) >> 1 | (e.ahead & b_ahead) |
                              (e.ahead & a_ahead) << 1;
    lob_row_pairs needed;
    needed.same = lob_lowest_bits(touching, a & b, left);
    needed.back = e.back & ~(b | a_back);
    needed.ahead = e.ahead & ~(b_ahead | a_ahead);
    return needed;
}

#endif
