/* Medians by slices of bits: laying them out, and the selection. */
#include "kernels/filters/median/median_slices.h"

#include "kernels/simd_clones.h"

#include <string.h>

enum { LEVELS = 16 }; /* bits of a count of places */

/* Words of LOB_SLICE_TOGETHER rows, anywhere in memory. */
typedef uint64_t rows_words
    __attribute__((vector_size(8 * LOB_SLICE_TOGETHER), aligned(8), may_alias));

static void size(lob_median_slices *s, const int64_t radius[3], int64_t bits)
{
    s->wide = 2 * radius[0] + 1;
    s->high = 2 * radius[1] + LOB_SLICE_ROWS;
    s->deep = 2 * radius[2] + 1;
    s->size = s->wide * s->high * s->deep;
    s->bits = bits;
    s->places = (s->wide * (2 * radius[1] + 1) * s->deep + 7) / 8 * 8;
}

static int64_t bytes(const lob_median_slices *s)
{
    return 8 * (s->bits + 1) * s->size + (8 * LOB_SLICE_TOGETHER + 4) * s->places;
}

int64_t lob_median_slices_bytes(const int64_t radius[3], int64_t bits)
{
    lob_median_slices s;
    size(&s, radius, bits);
    return bytes(&s);
}

bool lob_median_by_slices(const int64_t radius[3], int64_t bits)
{
    /* Each radius is at most 1000, so no size overflows. */
    return radius[0] <= LOB_SLICE_REACH && lob_median_slices_bytes(radius, bits) <= LOB_SLICE_MOST;
}

void lob_median_slices_lay(lob_median_slices *s, void *scratch, const int64_t radius[3],
                           int64_t bits)
{
    size(s, radius, bits);
    s->slice = scratch;
    s->set = s->clear = 0;
    s->open = s->slice + (bits + 1) * s->size;
    s->offset = (uint32_t *)(s->open + s->places * LOB_SLICE_TOGETHER);
    memset(s->offset, 0, (size_t)s->places * sizeof *s->offset);
    uint32_t *place = s->offset;
    for (int64_t column = 0; column < s->deep * s->wide; column++)
        for (int64_t y = 0; y <= 2 * radius[1]; y++) *place++ = (uint32_t)(column * s->high + y);
}

/* Add words a and b to sum, and what is carried to carry. */
#define ADD(carry, sum, a, b)                  \
    {                                          \
        const rows_words half_ = (sum) ^ (a);  \
        carry = ((sum) & (a)) | (half_ & (b)); \
        sum = half_ ^ (b);                     \
    }

/* Leave out the keys that differ from `found` in the slice `before`; count those left that are set
 * in `slice`. */
static inline __attribute__((always_inline)) void count_open(rows_words count[LEVELS], int levels,
                                                             const lob_median_slices *s,
                                                             const uint64_t *before,
                                                             const rows_words *found,
                                                             const uint64_t *slice)
{
    const rows_words none = {0}, differ = ~*found;
    rows_words *const open = (rows_words *)s->open;
    rows_words one = none, two = none, four = none;
    for (int l = 3; l < levels; l++) count[l] = none;
    for (int64_t p = 0; p < s->places; p += 8) {
        rows_words set[8], two_a, two_b, four_a, four_b, carry;
        for (int k = 0; k < 8; k++) {
            const int64_t at = s->offset[p + k];
            open[p + k] &= *(const rows_words *)(before + at) ^ differ;
            set[k] = open[p + k] & *(const rows_words *)(slice + at);
        }
        ADD(two_a, one, set[0], set[1])
        ADD(two_b, one, set[2], set[3])
        ADD(four_a, two, two_a, two_b)
        ADD(two_a, one, set[4], set[5])
        ADD(two_b, one, set[6], set[7])
        ADD(four_b, two, two_a, two_b)
        ADD(carry, four, four_a, four_b)
        for (int l = 3; l < levels; l++) {
            const rows_words next = count[l] & carry;
            count[l] ^= carry;
            carry = next;
        }
    }
    count[0] = one, count[1] = two, count[2] = four;
}

LOB_SIMD_CLONES(void, find, (medians, s, y), uint64_t (*medians)[LOB_SLICE_TOGETHER],
                const lob_median_slices *s, int64_t y)
{
    const rows_words none = {0};
    const uint64_t *const data = s->slice + s->bits * s->size + y, *before = data;
    rows_words count[LEVELS], above[LEVELS], found = ~none, any = none;
    int levels = 3;
    while (s->places >> levels) levels++;
    count_open(count, levels, s, before, &found, data);
    for (int l = 0; l < levels; l++) any |= count[l];
    /* Of n data, n - (n + 1) / 2 = n / 2 are above the median. */
    for (int l = 0; l < levels; l++) above[l] = l + 1 < levels ? count[l + 1] : none;
    memcpy(medians[s->bits], &any, sizeof any);
    for (int64_t b = s->bits - 1; b >= 0; b--) {
        if (!((s->set & s->clear) >> b & 1)) {
            memset(medians[b], s->set >> b & 1 ? 0xff : 0, sizeof medians[b]);
            continue;
        }
        const uint64_t *const slice = s->slice + b * s->size + y;
        rows_words less[LEVELS], borrow = none;
        count_open(count, levels, s, before, &found, slice);
        for (int l = 0; l < levels; l++) {
            const rows_words differ = above[l] ^ count[l];
            less[l] = differ ^ borrow;
            borrow = (~differ & borrow) | (~above[l] & count[l]);
        }
        /* Where something is borrowed the median has the bit. */
        for (int l = 0; l < levels; l++) above[l] = (above[l] & borrow) | (less[l] & ~borrow);
        memcpy(medians[b], &borrow, sizeof borrow);
        found = borrow, before = slice;
    }
}

void lob_median_slices_find(uint64_t (*medians)[LOB_SLICE_TOGETHER], const lob_median_slices *s,
                            int64_t y)
{
    const int64_t real = s->wide * s->deep * (s->high - LOB_SLICE_ROWS + 1);
    memset(s->open, 0xff, (size_t)real * LOB_SLICE_TOGETHER * sizeof *s->open);
    memset(s->open + real * LOB_SLICE_TOGETHER, 0,
           (size_t)(s->places - real) * LOB_SLICE_TOGETHER * sizeof *s->open);
    find(medians, s, y);
}
