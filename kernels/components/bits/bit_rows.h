/*
 * Bit rows: a row of nx voxels as words of 64 columns, the lowest bit first; bits past nx are 0.
 * The CPU makes two of each row of an image, foreground and run starts, and joins by these alone.
 */
#ifndef LOB_BIT_ROWS_H
#define LOB_BIT_ROWS_H

#include "kernels/components/components_voxel.h"
#include "kernels/simd_clones.h"
#include "volumes/volume.h"

/* A maximal stretch of joined foreground voxels along x, across words too: columns [start, end). */
typedef struct {
    uint32_t start, end;
} lob_run;

static inline int64_t lob_bit_words(int64_t nx)
{
    return (nx + 63) / 64;
}

/* The foreground of a row. Returns the number of voxels in the mask that are not finite. */
int64_t lob_bits_foreground(uint64_t *foreground, const lob_volume *image, const uint8_t *mask,
                            const lob_component_rule *rule, int64_t row);

/*
 * Bit x: voxel x of row a equals voxel x + dx of row b in every channel, and both lie in the
 * volume, foreground or not. dx is -1, 0 or 1.
 */
void lob_bits_equal(uint64_t *bits, const lob_volume *image, int64_t a, int64_t b, int dx);

/* The same for voxels whose sum of differences is at most rule->limit. */
void lob_bits_within(uint64_t *bits, const lob_volume *image, const lob_component_rule *rule,
                     int64_t a, int64_t b, int dx);

/* Move bit x of a row to x + 1, into out. */
static inline void lob_bits_shift_up(uint64_t *out, const uint64_t *bits, int64_t words)
{
    uint64_t carry = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t word = bits[w];
        out[w] = word << 1 | carry;
        carry = word >> 63;
    }
}

/* Make run starts of a row where starts has the voxels that are joined with the one before. */
static inline void lob_bits_start_runs(uint64_t *starts, const uint64_t *foreground, int64_t words)
{
    uint64_t before = 0;
    for (int64_t w = 0; w < words; w++) {
        starts[w] = foreground[w] & ~(starts[w] & (foreground[w] << 1 | before));
        before = foreground[w] >> 63;
    }
}

/* Run starts in word w of a row. starts NULL: a run starts where foreground follows background. */
static inline uint64_t lob_bits_starts(const uint64_t *foreground, const uint64_t *starts,
                                       int64_t w)
{
    return starts ? starts[w]
                  : foreground[w] & ~(foreground[w] << 1 | (w > 0 ? foreground[w - 1] >> 63 : 0));
}

/*
 * List the runs of a row; returns their number. starts as in lob_bits_starts.
 *
 *   runs  out  at most nx
 */
static inline int64_t lob_bits_runs(lob_run *runs, const uint64_t *foreground,
                                    const uint64_t *starts, int64_t words, int64_t nx)
{
    int64_t count = 0;
    uint64_t before = 0; /* 1: the last column of the word before is foreground */
    bool open = false;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t here = foreground[w], shifted = here << 1 | before;
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
