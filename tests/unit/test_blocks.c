/* Copies between blocks of a grid, and of numbers with gaps: against going number by number. */
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/blocks.h"

enum { MOST_SIDE = 4, MOST = 4 * 4 * 4 * 4 * 4, MOST_WORD = 8 };

static int64_t numbers_of(const lob_block *b, int axes)
{
    int64_t n = 1;
    for (int a = 0; a < axes; a++) n *= b->size[a];
    return n;
}

/* Where number i of block b is in block `in`; -1: outside. */
static int64_t place_in(const lob_block *in, const lob_block *b, int axes, int64_t i)
{
    int64_t at[LOB_BLOCK_AXES], place = 0;
    for (int a = axes - 1; a >= 0; a--) {
        at[a] = b->first[a] + i % b->size[a] - in->first[a];
        i /= b->size[a];
    }
    for (int a = 0; a < axes; a++) {
        if (at[a] < 0 || at[a] >= in->size[a]) return -1;
        place = place * in->size[a] + at[a];
    }
    return place;
}

TEST(what_two_blocks_have_in_common)
{
    static unsigned char to[MOST * MOST_WORD], want[MOST * MOST_WORD], from[MOST * MOST_WORD];
    const unsigned char fill[MOST_WORD] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t state = 7;
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)random_next(&state);
    for (int k = 0; k < 4000; k++) {
        const int axes = 1 + k % LOB_BLOCK_AXES;
        const size_t word = (size_t)1 << random_below(&state, 4);
        const bool filled = random_chance(&state, 30);
        lob_block a = {.data = to}, b = {.data = filled ? NULL : from};
        for (int d = 0; d < axes; d++) {
            a.first[d] = random_below(&state, 5);
            b.first[d] = a.first[d] + random_below(&state, 4) - 2;
            a.size[d] = 1 + random_below(&state, MOST_SIDE);
            b.size[d] = 1 + random_below(&state, MOST_SIDE);
        }
        memset(to, 0xee, sizeof to);
        memset(want, 0xee, sizeof want);
        for (int64_t i = 0; i < numbers_of(&a, axes); i++) {
            const int64_t place = place_in(&b, &a, axes, i);
            if (place >= 0)
                memcpy(want + (size_t)i * word, filled ? fill : from + (size_t)place * word, word);
        }
        lob_block_copy(&a, &b, axes, word, fill);
        if (memcmp(to, want, sizeof to) != 0) fail_msg("case %d: %d axes differ", k, axes);
    }
}

TEST(numbers_with_gaps_in_both_directions)
{
    enum { N = 7, ROOM = 4 * N };
    static const int64_t steps[] = {1, 3, -1, -2}; /* words */
    unsigned char from[ROOM * MOST_WORD], to[ROOM * MOST_WORD], want[ROOM * MOST_WORD];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)i;
    for (int64_t word = 1; word <= MOST_WORD; word *= 2)
        for (size_t k = 0; k < COUNT(steps) * COUNT(steps); k++) {
            const int64_t out = steps[k / COUNT(steps)] * word, in = steps[k % COUNT(steps)] * word;
            unsigned char *const first = to + (out < 0 ? (1 - N) * out : 0);
            const unsigned char *const first_in = from + (in < 0 ? (1 - N) * in : 0);
            memset(to, 0xee, sizeof to);
            memset(want, 0xee, sizeof want);
            for (int64_t i = 0; i < N; i++)
                memcpy(want + (first - to) + i * out, first_in + i * in, (size_t)word);
            lob_copy_strided(first, out, first_in, in, N, (size_t)word);
            assert_memory_equal(to, want, sizeof to);
        }
}
