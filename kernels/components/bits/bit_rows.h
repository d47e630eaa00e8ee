/*
 * Bit rows: what the CPU engine of components makes of an image's rows before it forgets values.
 *
 * A row of nx voxels is words of 64 columns, the lowest bit first; bits past nx are 0. `filled`
 * tells the foreground, `starts` where a run of voxels joined along x begins.
 */
#ifndef LOB_COMPONENTS_BITS_H
#define LOB_COMPONENTS_BITS_H

#include "kernels/components/components_voxel.h"
#include "kernels/simd_clones.h"
#include "volumes/volume.h"

/* Columns [start, end) of a row, joined along x. */
typedef struct {
    uint32_t start, end;
} lob_run;

static inline int64_t lob_bit_words(int64_t nx)
{
    return (nx + 63) / 64;
}

/* Foreground of a row. Returns the number of voxels in the mask that are not finite. */
int64_t lob_bits_filled(uint64_t *filled, const lob_volume *image, const uint8_t *mask,
                        const lob_component_rule *rule, int64_t row);

/*
 * Which voxels x of row a have the values of voxels x + dx of row b, in every channel, where both
 * lie in the volume; foreground or not. dx is -1, 0 or 1.
 */
void lob_bits_equal(uint64_t *bits, const lob_volume *image, int64_t a, int64_t b, int dx);

/* The same, which are within rule->limit of each other. */
void lob_bits_within(uint64_t *bits, const lob_volume *image, const lob_component_rule *rule,
                     int64_t a, int64_t b, int dx);

/* Bit x of a row moved to x + 1, into out. */
static inline void lob_bits_up(uint64_t *out, const uint64_t *bits, int64_t words)
{
    uint64_t carry = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t word = bits[w];
        out[w] = word << 1 | carry;
        carry = word >> 63;
    }
}

/* Where runs start in word w of a row; starts may be NULL: where filled follows not filled. */
static inline uint64_t lob_bits_starts(const uint64_t *filled, const uint64_t *starts, int64_t w)
{
    return starts ? starts[w] : filled[w] & ~(filled[w] << 1 | (w > 0 ? filled[w - 1] >> 63 : 0));
}

/*
 * The runs of a row; returns how many. starts may be NULL: a run starts wherever a filled voxel
 * follows one that is not.
 *
 *   runs  out  as many as there are, at most nx
 */
static inline int64_t lob_bits_runs(lob_run *runs, const uint64_t *filled, const uint64_t *starts,
                                    int64_t words, int64_t nx)
{
    int64_t count = 0;
    uint64_t before = 0; /* the last column of the word before, filled or not */
    bool open = false;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t here = filled[w], shifted = here << 1 | before;
        uint64_t change = here ^ shifted;
        if (starts) change |= starts[w];
        before = here >> 63;
        for (; change; change &= change - 1) {
            const int bit = __builtin_ctzll(change);
            const uint32_t x = (uint32_t)(w * 64 + bit);
            if (open) runs[count++].end = x;
            open = here >> bit & 1;
            if (open) runs[count].start = x;
        }
    }
    if (open) runs[count++].end = (uint32_t)nx;
    return count;
}

#endif
