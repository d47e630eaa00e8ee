/* Outvoting: small cases by hand, and any number of threads. */
#include "kernels/refine/outvote.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

enum { N = 20, BACKGROUND = 1 };

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
    const int64_t changed = lob_outvote(a, b, c, N, BACKGROUND, 1);
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
    assert_int_equal(lob_outvote(labels, first, plain, 12, BACKGROUND, 1), 3);
    assert_memory_equal(labels, wanted, sizeof wanted);
}

/* The same, voxel by voxel. */
static int64_t plainly(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int n)
{
    lob_outvote_count total[LOB_OUTVOTE_LABELS] = {0};
    int64_t changed = 0;
    for (int i = 0; i < n; i++) {
        total[labels[i]].labels++;
        total[first[i]].first++;
        total[plain[i]].plain++;
        total[first[i]].with_labels += labels[i] == first[i];
        total[first[i]].with_plain += plain[i] == first[i];
    }
    const lob_outvote_verdict verdict = lob_outvote_judge(total, BACKGROUND);
    for (int i = 0; i < n; i++) changed += lob_outvote_at(labels, first, plain, i, &verdict);
    return changed;
}

TEST(words_and_threads_give_the_same)
{
    enum { VOXELS = 200000 }; /* of which a thread takes 65536 at once, and of runs 8 */
    static uint8_t v[3][VOXELS], own[VOXELS], many[VOXELS];
    for (uint64_t number = 0; number < 5; number++) {
        uint64_t state = number + 1;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < VOXELS; i++)
                v[k][i] =
                    (uint8_t)(random_below(&state, 60) > (k ? 0 : 1) ? i / 28000
                                                                     : random_below(&state, 8));
        memcpy(own, v[0], VOXELS);
        memcpy(many, v[0], VOXELS);
        const int64_t wanted = plainly(v[0], v[1], v[2], VOXELS);
        assert_true(wanted > 0);
        assert_int_equal(lob_outvote(own, v[1], v[2], VOXELS, BACKGROUND, 1), wanted);
        assert_int_equal(lob_outvote(many, v[1], v[2], VOXELS, BACKGROUND, 3), wanted);
        assert_memory_equal(own, v[0], VOXELS);
        assert_memory_equal(many, v[0], VOXELS);
    }
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
        bool confirmed[3], agree[3];
        const int step[3] = {bars[k].step, 1, 1};
        bar(first, bars[k].first[0], bars[k].first[1]);
        bar(plain, bars[k].plain[0], bars[k].plain[1]);
        const bool sharp = lob_outvote_confirm(confirmed, agree, first, plain, (lob_dims){N, 2, 1},
                                               step, 2, BACKGROUND, 1);
        if (sharp != bars[k].wanted || confirmed[2] != sharp || confirmed[BACKGROUND])
            fail_msg("%s: %d", bars[k].what, sharp);
    }
}

TEST(most_labels_have_to_be_confirmed)
{
    const uint8_t first[] = {2, 2, 2, 2, 3, 3, 3, 3, 1, 1},
                  plain[] = {2, 2, 2, 2, 1, 1, 3, 3, 1, 1};
    const int step[3] = {1, 1, 1};
    const lob_dims dims = {10, 1, 1};
    bool confirmed[4], agree[4];
    assert_false(lob_outvote_confirm(confirmed, agree, first, plain, dims, step, 3, 1, 1));
    assert_true(confirmed[2] && !confirmed[3]); /* one of two is not most of them */
    assert_true(agree[2] && !agree[3]);         /* 2 of 4 voxels: a Dice of .67 */
    assert_true(lob_outvote_confirm(confirmed, agree, first, first, dims, step, 3, 1, 3));
    assert_true(agree[3] && !agree[0] && !agree[1]);
}
