/*
 * Joined pairs of two rows of bits, and which of them need a union.
 *
 * Bit x of a word is voxel x of 32 along x. The pairs between a row A and a row B before it are
 * three words: bit x of same, back and ahead says that A[x] is joined with B[x], B[x - 1] and
 * B[x + 1]. A pair that others imply needs no union. Nothing but the pairs themselves is
 * used, so this holds for every criterion.
 */
#ifndef LOB_ROW_PAIRS_CUDA_CUH
#define LOB_ROW_PAIRS_CUDA_CUH

#include <stdint.h>

namespace lob::components
{

typedef struct {
    uint32_t back, same, ahead;
} row_pairs;

/* Bits 0..bit. */
static __device__ inline uint32_t bits_to(int bit)
{
    return ~UINT32_C(0) >> (31 - bit);
}

/* Bit x of the result is bit x - 1 of the row; left: the row's word to the left. */
static __device__ inline uint32_t bits_back(uint32_t word, uint32_t left)
{
    return word << 1 | left >> 31;
}

/* Bit x of the result is bit x + 1 of the row; right: the row's word to the right. */
static __device__ inline uint32_t bits_ahead(uint32_t word, uint32_t right)
{
    return word >> 1 | right << 31;
}

/* The first voxels of runs; bit x of joined: voxel x is joined with voxel x - 1. */
static __device__ inline uint32_t run_starts(uint32_t filled, uint32_t joined)
{
    return filled & ~(joined & ~UINT32_C(1));
}

/*
 * Of the bits in each stretch the lowest; bit x of joined: bits x and x - 1 are of one stretch.
 * Bit 31 of left: the stretch that comes in from the left has its lowest bit there.
 */
static __device__ inline uint32_t lowest_bits(uint32_t bits, uint32_t joined, uint32_t left)
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
 * One pair for each two runs that touch: it implies the others, through the runs.
 *
 *   a, b     in  bit x: voxel x of A (of B) is joined with voxel x - 1 of the same row
 *   b_right  in  the same of B's word to the right; 0 where it is not known
 *   left     in  `same` of the pairs of the words to the left; 0 where it is not known
 *
 * Afterwards bit x of same says that the runs of A[x] and B[x] touch, not that these two voxels are
 * a pair; back and ahead are left where a run ends at one end of the pair and starts at the other.
 */
static __device__ inline row_pairs needed_pairs(row_pairs e, uint32_t a, uint32_t b,
                                                uint32_t b_right, uint32_t left)
{
    const uint32_t a_ahead = a >> 1, b_ahead = bits_ahead(b, b_right);
    const uint32_t a_back = a & ~UINT32_C(1); /* whose voxel x - 1 is in this word */
    const uint32_t touching = e.same | (e.back & b) | (e.back & a_back) >> 1 | (e.ahead & b_ahead) |
                              (e.ahead & a_ahead) << 1;
    row_pairs needed;
    needed.same = lowest_bits(touching, a & b, left);
    needed.back = e.back & ~(b | a_back);
    needed.ahead = e.ahead & ~(b_ahead | a_ahead);
    return needed;
}

static __device__ inline bool any_pair(const row_pairs &e)
{
    return e.same | e.back | e.ahead;
}

} /* namespace lob::components */

#endif
