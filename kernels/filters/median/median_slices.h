/*
 * Medians of 64 neighbouring voxels of a row at once, by slices of bits, on the CPU.
 *
 * A word holds one bit of the keys of 64 neighbouring voxels of a row. A slice is the words of one
 * bit: of the rows of a tile and around it, in the planes of its neighbourhood, each shifted by all
 * the places along x. So the words of all places of a row of voxels, and of the rows beside it, lie
 * in a slice at offsets that are the same for all rows. One more slice says what is data.
 *
 * The median is found from the highest bit to the lowest. For each place a word says for which of
 * the 64 the key there can still be the median; vertical counters (a word for each bit of 64
 * counts) count how many of these keys have the next bit set. The median has it where they are
 * more than the data above the median. This header is not installed.
 */
#ifndef LOB_MEDIAN_SLICES_H
#define LOB_MEDIAN_SLICES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LOB_SLICE_WIDE = 64,      /* voxels of a word */
    LOB_SLICE_ROWS = 32,      /* of a tile */
    LOB_SLICE_PLANES = 16,    /* of a tile, which goes through them */
    LOB_SLICE_TOGETHER = 4,   /* rows of a tile whose medians are found together */
    LOB_SLICE_REACH = 31,     /* along x: the places around a word lie in two words */
    LOB_SLICE_MOST = 2 << 20, /* bytes that a thread's slices may take */
};

/* A neighbourhood in slices. Word (x, y, z) of a slice, of the place at x from the left and of row
 * y of plane z, both from the first around the tile, is at (z % deep * wide + x) * high + y. */
typedef struct {
    int64_t wide, high, deep;
    int64_t size;        /* words of a slice */
    int64_t bits;        /* slices of keys; the next is data */
    int64_t places;      /* of a neighbourhood, filled up to a multiple of 8 */
    uint64_t *slice;     /* bits + 1 slices */
    uint64_t *open;      /* LOB_SLICE_TOGETHER words for each place */
    uint32_t *offset;    /* of each place in a slice */
    uint64_t set, clear; /* bits that some data read so far have, and have not */
} lob_median_slices;

/* Whether keys of so many bits, with so many places around, are to be found so; and the bytes of
 * scratch that it takes. */
bool lob_median_by_slices(const int64_t radius[3], int64_t bits);
int64_t lob_median_slices_bytes(const int64_t radius[3], int64_t bits);

/* Lay out slices in scratch, before anything is read. */
void lob_median_slices_lay(lob_median_slices *s, void *scratch, const int64_t radius[3],
                           int64_t bits);

/* The medians of LOB_SLICE_TOGETHER rows from row y of the tile on: for each bit, from the lowest
 * on, words of these rows, and behind them whether there are data. */
void lob_median_slices_find(uint64_t (*medians)[LOB_SLICE_TOGETHER], const lob_median_slices *s,
                            int64_t y);

#endif
