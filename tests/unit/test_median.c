/* Median on the CPU against the definition: all types, edges, masks, threads. */
#include "tests/unit/cmocka_test.h"

#include "kernels/filters/median/median.h"
#include "tests/reference/neighbourhood_case.h"
#include "tests/reference/neighbourhood_reference.h"
#include "tests/unit/neighbourhood_slabs.h"

enum { CASES = 300, WORK = 150000 };

static void compare(neighbourhood_case *c, void *want)
{
    lob_error error = {.text = ""};
    median_reference(want, &c->in, &c->call);
    for (int threads = 1; threads <= 3; threads += 2) {
        lob_budget budget = {.who = "median"};
        memset(c->out.data, 0xa5, c->bytes);
        if (lob_median_cpu(&c->out, &c->in, &c->call, THREADS(threads), &budget, &error) != LOB_OK)
            fail_msg("%s: %s", c->shape, error.text);
        if (memcmp(c->out.data, want, c->bytes) != 0) {
            size_t i = 0;
            while (((char *)c->out.data)[i] == ((char *)want)[i]) i++;
            fail_msg("%s: differs in byte %zu of %zu", c->shape, i, c->bytes);
        }
        assert_int_equal(budget.held, 0);
    }
}

TEST(random_cases_equal_the_definition)
{
    for (uint64_t number = 0; number < CASES; number++) {
        neighbourhood_case c;
        neighbourhood_case_make(&c, LOB_FILTER_MEDIAN, number, WORK);
        void *const want = malloc(c.bytes);
        assert_non_null(want);
        compare(&c, want);
        free(want);
        neighbourhood_case_free(&c);
    }
}

TEST(slabs_give_the_bytes_of_the_whole)
{
    uint64_t random = 1;
    for (uint64_t number = 0; number < CASES; number++) {
        neighbourhood_case c;
        lob_budget budget = {.who = "median"};
        neighbourhood_case_make(&c, LOB_FILTER_MEDIAN, number, WORK);
        assert_ok(lob_median_cpu(&c.out, &c.in, &c.call, THREADS(2), &budget, NULL));
        compare_slab(&c, lob_median_cpu, lob_median_reach(&c.step, &c.options, 2), &random);
        neighbourhood_case_free(&c);
    }
}

/* A row of int16 voxels, radius 1: the medians that come out. */
static const struct {
    const char *what;
    int16_t in[4];
    lob_edge edge;
    uint8_t mask[4];
    int16_t want[4];
} rows[] = {
    ROW("of two data the lower one is the median", {7, 2, 6, 4}, LOB_EDGE_RENORMALISE, {1, 1, 1, 1},
        {2, 6, 4, 4}),
    ROW("the edge's value, 8.5, is rounded to even", {7, 20, 6, 40}, LOB_EDGE_CONSTANT,
        {1, 1, 1, 1}, {8, 7, 20, 8}),
    ROW("the nearest voxel stands outside", {7, 2, 6, 4}, LOB_EDGE_NEAREST, {1, 1, 1, 1},
        {7, 6, 4, 4}),
    ROW("the last voxel stands before the first", {7, 2, 6, 4}, LOB_EDGE_WRAP, {1, 1, 1, 1},
        {4, 6, 4, 6}),
    ROW("the second voxel stands before the first", {7, 2, 6, 4}, LOB_EDGE_MIRROR, {1, 1, 1, 1},
        {2, 6, 4, 6}),
    ROW("what the mask leaves out counts nowhere and stays", {7, 2, 6, 4}, LOB_EDGE_RENORMALISE,
        {1, 0, 1, 1}, {7, 2, 4, 4}),
};

TEST(a_row_gives_these_medians)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lob_filter_step step = {
            .kind = LOB_FILTER_MEDIAN, .along = {1, 0, 0}
        };
        const lob_filter_options options = {.edge = rows[i].edge, .edge_value = 8.5};
        const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};
        const lob_filter_call call = {.step = &step,
                                      .options = &options,
                                      .mask = rows[i].mask,
                                      .finite = true,
                                      .before = identity,
                                      .after = identity};
        int16_t got[4];
        const lob_filter_image in = {
            (void *)rows[i].in, LOB_I16, {4, 1, 1},
               1
        };
        const lob_filter_image out = {
            got, LOB_I16, {4, 1, 1},
              1
        };
        lob_budget budget = {.who = "median"};
        assert_ok(lob_median_cpu(&out, &in, &call, THREADS(1), &budget, NULL));
        if (memcmp(got, rows[i].want, sizeof got) != 0)
            fail_msg("%s: got %d %d %d %d", rows[i].what, got[0], got[1], got[2], got[3]);
    }
}

TEST(cancelling_stops_and_frees)
{
    neighbourhood_case c;
    lob_error error = {.text = ""};
    lob_budget budget = {.who = "median"};
    neighbourhood_case_make(&c, LOB_FILTER_MEDIAN, 3, WORK);
    const lob_context context = {.threads = 1, .progress = stop_at_once};
    assert_int_equal(lob_median_cpu(&c.out, &c.in, &c.call, &context, &budget, &error),
                     LOB_ECANCEL);
    assert_int_equal(budget.held, 0);
    neighbourhood_case_free(&c);
}
