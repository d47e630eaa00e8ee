/* Outvoting: small cases by hand, and any number of threads. */
#include "kernels/refine/outvote.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

enum { N = 20, BACKGROUND = 1 };

/* Judge a volume of labels 1..count, and let its voxels have their say if they are asked to. */
static lob_outvote_verdict judge(uint8_t *labels, const uint8_t *first, const uint8_t *plain,
                                 lob_dims dims, int step, int32_t count, int threads)
{
    lob_outvote_count total[LOB_OUTVOTE_LABELS];
    const lob_outvote_input in = {
        labels, first, plain, dims, {step, 1, 1}
    };
    lob_outvote_look(total, &in, threads);
    return lob_outvote_judge(total, count, BACKGROUND);
}

/* A line of voxels: label 2 from the first to the last, background elsewhere. */
static void line(uint8_t *to, int first, int last)
{
    for (int i = 0; i < N; i++) to[i] = i >= first && i <= last ? 2 : BACKGROUND;
}

/* The last voxel of label 2 after first and plain had their say. Plain has it from `from` on. */
static int last_of(int labels, int first, int from, int plain)
{
    uint8_t a[N], b[N], c[N];
    line(a, 0, labels);
    line(b, 0, first);
    line(c, from, plain);
    const lob_outvote_verdict verdict = judge(a, b, c, (lob_dims){N, 1, 1}, 1, 3, 1);
    const int64_t changed = lob_outvote(a, b, c, N, &verdict, 1);
    int last = 0;
    for (int i = 0; i < N; i++)
        if (a[i] == 2) last = i;
    assert_int_equal(changed, last > labels ? last - labels : labels - last);
    return last;
}

TEST(the_odd_one_out_is_outvoted)
{
    assert_int_equal(last_of(5, 9, 0, 10), 9);   /* it takes what both of them hold, */
    assert_int_equal(last_of(12, 9, 0, 10), 12); /* and gives nothing away */
    assert_int_equal(last_of(1, 7, 0, 16), 1);   /* these two do not agree: 16/25, */
    assert_int_equal(last_of(1, 7, 0, 11), 7);   /* and these do: 16/20 */
}

TEST(an_agreement_counts_where_plain_has_most_of_the_first)
{
    assert_int_equal(last_of(8, 9, 1, 12), 9); /* 9 of 10, though labels agree more: 18/19, 18/22 */
    assert_int_equal(last_of(8, 9, 2, 12), 8); /* 8 of 10, and labels agree more: 18/19, 16/21, */
    assert_int_equal(last_of(3, 9, 2, 12), 9); /* and less: 8/14 */
}

TEST(labels_that_are_not_outvoted_keep_their_voxels)
{
    /* 2 is outvoted, 3 is as the first growth has it; what both say of a voxel of 3 does not count
     */
    uint8_t labels[] = {2, 2, 1, 1, 1, 3, 3, 3, 3, 3, 3, 1};
    const uint8_t first[] = {2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 1};
    const uint8_t plain[] = {2, 2, 2, 2, 2, 2, 3, 3, 1, 1, 1, 1};
    const uint8_t wanted[] = {2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 1};
    const lob_outvote_verdict verdict = judge(labels, first, plain, (lob_dims){12, 1, 1}, 1, 3, 1);
    assert_int_equal(lob_outvote(labels, first, plain, 12, &verdict, 1), 3);
    assert_memory_equal(labels, wanted, sizeof wanted);
}

enum { WIDE = 1000, HIGH = 200, VOXELS = WIDE * HIGH }; /* a thread takes 65536 of them at once */

/* The same, voxel by voxel. */
static int64_t plainly(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int count,
                       bool *sharp)
{
    lob_outvote_count total[LOB_OUTVOTE_LABELS] = {0};
    int64_t changed = 0;
    for (int i = 0; i < VOXELS; i++) {
        const uint8_t c = plain[i];
        const bool beside =
            (i % WIDE >= 2 && first[i - 2] == c) || (i % WIDE < WIDE - 2 && first[i + 2] == c) ||
            (i >= WIDE && first[i - WIDE] == c) || (i < VOXELS - WIDE && first[i + WIDE] == c);
        total[labels[i]].labels++;
        total[first[i]].first++;
        total[c].plain++;
        total[first[i]].with_labels += labels[i] == first[i];
        total[first[i]].with_plain += c == first[i];
        total[c].beside += c != first[i] && beside;
    }
    const lob_outvote_verdict verdict = lob_outvote_judge(total, count, BACKGROUND);
    for (int i = 0; i < VOXELS; i++) {
        const uint8_t a = first[i], b = plain[i];
        uint8_t to = 0;
        if (labels[i] > BACKGROUND) continue;
        if (verdict.sharp) to = a > BACKGROUND ? a : verdict.plain[b] ? b : 0;
        if (!verdict.sharp) to = a == b && verdict.both[a] ? a : 0;
        if (to > BACKGROUND) labels[i] = to, changed++;
    }
    *sharp = verdict.sharp;
    return changed;
}

TEST(words_and_threads_give_the_same)
{
    enum { CASES_EACH = 6, COUNT = 8 };
    static uint8_t v[3][VOXELS], own[VOXELS];
    int sharp_cases = 0;
    for (uint64_t number = 0; number < CASES_EACH; number++) {
        uint64_t state = number + 1;
        bool sharp;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < VOXELS; i++) {
                const bool noise = random_below(&state, number % 2 ? 600 : 16) < (k ? 1 : 2);
                v[k][i] = (uint8_t)(noise ? random_below(&state, COUNT + 1) : i / 28000);
            }
        memcpy(own, v[0], VOXELS);
        const int64_t wanted = plainly(v[0], v[1], v[2], COUNT, &sharp);
        assert_true(wanted > 0);
        sharp_cases += sharp;
        for (int threads = 1; threads <= 3; threads += 2) {
            static uint8_t got[VOXELS];
            memcpy(got, own, VOXELS);
            const lob_outvote_verdict verdict =
                judge(got, v[1], v[2], (lob_dims){WIDE, HIGH, 1}, 2, COUNT, threads);
            assert_int_equal(lob_outvote(got, v[1], v[2], VOXELS, &verdict, threads), wanted);
            assert_memory_equal(got, v[0], VOXELS);
        }
    }
    assert_in_range(sharp_cases, 1, CASES_EACH - 1);
}

TEST(what_is_given_nothing_becomes_the_rest)
{
    uint8_t labels[] = {1, 2, 2, 3, 2};
    const uint8_t grown[] = {2, 2, 3, 2, 1};
    const uint8_t wanted[] = {2, 2, 1, 3, 1};
    lob_outvote_verdict verdict = lob_outvote_nothing();
    assert_int_equal(lob_outvote(labels, grown, grown, 5, &verdict, 1), 0);
    verdict.from[BACKGROUND] = verdict.from[2] = verdict.first[2] = true;
    verdict.rest[2] = BACKGROUND;
    assert_int_equal(lob_outvote(labels, grown, grown, 5, &verdict, 1), 3);
    assert_memory_equal(labels, wanted, sizeof wanted);
}

/* Voxels x of label 2 from..to on both of two rows. */
static void bar(uint8_t *to, int from, int last)
{
    for (int i = 0; i < 2 * N; i++) to[i] = i % N >= from && i % N <= last ? 2 : BACKGROUND;
}

static const struct {
    const char *what;
    int first[2], plain[2], step;
    bool wanted;
} bars[] = {
    {"the same in both",                               {2, 17}, {2, 17}, 1, true },
    {"the plain one has a voxel more on each side",    {2, 17}, {1, 18}, 1, true },
    {"and lacks one of sixteen, .9375, less than .94", {2, 17}, {3, 17}, 1, false},
    {"it leaks by two voxels, of which one is beside", {2, 15}, {2, 17}, 1, false},
    {"on a grid half as fine these are one voxel",     {2, 15}, {2, 17}, 2, true },
    {"nothing grew at first",                          {1, 0},  {2, 17}, 1, false},
};

TEST(growth_over_the_image_confirms_what_it_holds_nearly)
{
    for (size_t k = 0; k < sizeof bars / sizeof *bars; k++) {
        uint8_t first[2 * N], plain[2 * N];
        bar(first, bars[k].first[0], bars[k].first[1]);
        bar(plain, bars[k].plain[0], bars[k].plain[1]);
        const lob_outvote_verdict verdict =
            judge(first, first, plain, (lob_dims){N, 2, 1}, bars[k].step, 2, 1);
        const bool sharp = verdict.sharp, *const confirmed = verdict.confirmed;
        if (sharp != bars[k].wanted || confirmed[2] != sharp || confirmed[BACKGROUND])
            fail_msg("%s: %d", bars[k].what, sharp);
    }
}

TEST(most_labels_have_to_be_confirmed)
{
    uint8_t first[] = {2, 2, 2, 2, 3, 3, 3, 3, 1, 1};
    const uint8_t plain[] = {2, 2, 2, 2, 1, 1, 3, 3, 1, 1};
    const lob_dims dims = {10, 1, 1};
    const lob_outvote_verdict one = judge(first, first, plain, dims, 1, 3, 1);
    assert_false(one.sharp);
    assert_true(one.confirmed[2] && !one.confirmed[3]); /* one of two is not most of them */
    assert_true(one.both[2] && !one.both[3]);           /* 2 of 4 voxels: a Dice of .67 */
    const lob_outvote_verdict both = judge(first, first, first, dims, 1, 3, 3);
    assert_true(both.sharp && both.plain[3] && !both.plain[0] && !both.plain[1]);
}

TEST(in_sharp_cases_each_growth_outvotes_by_itself)
{
    /* 2 and 3 are confirmed, 4 has a Dice of .8, 5 one of .5 */
    uint8_t labels[] = {1, 2, 1, 3, 1, 4, 4, 1, 1, 5, 1, 1, 2};
    const uint8_t first[] = {2, 2, 1, 3, 3, 4, 4, 1, 5, 5, 1, 1, 1};
    const uint8_t plain[] = {2, 2, 2, 3, 3, 4, 4, 4, 5, 1, 5, 1, 1};
    const uint8_t wanted[] = {2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 1, 1, 2};
    const lob_outvote_verdict verdict = judge(labels, first, plain, (lob_dims){13, 1, 1}, 1, 5, 1);
    assert_true(verdict.sharp && verdict.plain[4] && !verdict.plain[5]);
    assert_int_equal(lob_outvote(labels, first, plain, 13, &verdict, 1), 5);
    assert_memory_equal(labels, wanted, sizeof wanted);
}
