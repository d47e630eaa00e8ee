/* Supervoxels by a team of threads, each with its planes: the bytes of the volume in one piece, and
 * of the reference. */
#include "tests/reference/supervoxels_team.h"
#include "tests/unit/cmocka_test.h"

static supervoxels_team team_of(const supervoxels_case *c)
{
    supervoxels_team a = {.c = c, .cut = lob_supervoxels_slabs};
    for (int r = 0; r < SUPERVOXELS_TEAM_MOST; r++) a.context[r].threads = 1 + r % 3;
    a.labels = malloc((size_t)c->n * sizeof *a.labels);
    return a;
}

static void compare_case(const supervoxels_case *c, const int32_t *want,
                         const lob_supervoxels_stats *stats, lob_status expected, const char *text,
                         int size)
{
    const int ranks = size < c->image.dims.nz ? size : (int)c->image.dims.nz;
    static supervoxels_team a;
    a = team_of(c);
    assert_ok(lob_team_threads(size, supervoxels_team_work, &a));
    for (int r = 0; r < ranks; r++) {
        if (a.status[r] != expected || strcmp(a.error[r].text, text) != 0)
            fail_msg("%s: rank %d of %d: %s (%s), not %s (%s)", c->shape, r, ranks,
                     lob_status_text(a.status[r]), a.error[r].text, lob_status_text(expected),
                     text);
        if (expected == LOB_OK && !supervoxels_stats_equal(&a.stats[r], stats))
            fail_msg("%s: rank %d of %d: statistics differ", c->shape, r, ranks);
    }
    for (int64_t v = 0; expected == LOB_OK && v < c->n; v++)
        if (a.labels[v] != want[v])
            fail_msg("%s: %d ranks: voxel %lld is in %d, not %d", c->shape, ranks, (long long)v,
                     a.labels[v], want[v]);
    free(a.labels);
}

/* By teams of all sizes, or under sanitizers by one or two of them in turn. naive: want what the
 * reference gives, which is slow. */
static void compare_sizes(const supervoxels_case *c, uint64_t number, bool naive)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    const size_t step = 4 / CASES(4);
    int32_t *const want = malloc((size_t)c->n * sizeof *want);
    lob_supervoxels_stats stats = {0};
    lob_error error = {.text = ""};
    lob_status expected =
        lob_supervoxels_cpu(want, &stats, &c->in, &c->options, THREADS(2), &error);
    if (naive && expected == LOB_OK)
        expected = supervoxels_reference(want, &stats, &c->in, &c->options);
    for (size_t k = number % step; k < COUNT(sizes); k += step)
        compare_case(c, want, &stats, expected, error.text, sizes[k]);
    free(want);
}

static void compare_cases(uint64_t first, int count, int64_t max_side, bool naive)
{
    for (uint64_t number = first; number < first + (uint64_t)count; number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, max_side);
        compare_sizes(&c, number, naive);
        supervoxels_case_free(&c);
    }
}

TEST(random_volumes_equal_the_reference)
{
    compare_cases(81000, CASES(200), 13, true);
}

TEST(larger_volumes)
{
    compare_cases(82000, CASES(60), 41, false);
}

/* Which test_supervoxels.c compares with the reference. */
TEST(odd_shapes)
{
    supervoxels_case c;
    for (int number = 0; supervoxels_case_fixed(&c, number); number++) {
        compare_sizes(&c, (uint64_t)number, false);
        supervoxels_case_free(&c);
    }
}

/* One rank's memory does not do: all end alike, with its error. */
TEST(a_rank_without_memory_ends_all)
{
    for (int64_t limit = 100; limit < 2000000; limit = limit * 5 / 4) {
        supervoxels_case c;
        uint64_t number = 83000;
        for (supervoxels_case_make(&c, number, 31); c.image.dims.nz < 6 || c.n < 3000;) {
            supervoxels_case_free(&c);
            supervoxels_case_make(&c, ++number, 31);
        }
        static supervoxels_team a;
        a = team_of(&c);
        a.context[2].max_memory = limit;
        assert_ok(lob_team_threads(3, supervoxels_team_work, &a));
        for (int r = 0; r < 3; r++) {
            assert_int_equal(a.status[r], a.status[2]);
            assert_true(a.status[r] == LOB_OK || a.status[r] == LOB_ENOMEM);
            assert_string_equal(a.error[r].text, a.error[2].text);
        }
        if (limit == 100) assert_int_equal(a.status[0], LOB_ENOMEM);
        free(a.labels);
        supervoxels_case_free(&c);
    }
}
