/* Box on the CPU against the definition: all types, edges, masks, threads, slabs. */
#include "tests/unit/cmocka_test.h"

#include "kernels/filters/box/box.h"
#include "kernels/filters/pointwise_voxel.h"
#include "tests/reference/neighbourhood_case.h"
#include "tests/reference/neighbourhood_reference.h"
#include "tests/unit/neighbourhood_slabs.h"

enum { CASES = 400, WORK = 200000 };

/* As box.h has it: 5 roundings to float32, of a value and of the maps. */
#define ROUNDINGS (8 * 0x1p-24)

static void run_box(neighbourhood_case *c, const lob_filter_image *out, int threads)
{
    lob_error error = {.text = ""};
    lob_budget budget = {.who = "box"};
    memset(out->data, 0xa5, c->bytes);
    if (lob_box_cpu(out, &c->in, &c->call, THREADS(threads), &budget, &error) != LOB_OK)
        fail_msg("%s: %s", c->shape, error.text);
    assert_int_equal(budget.held, 0);
}

/* Whether a result is a mean of this size, mapped afterwards, but for rounding. */
static bool close_to(float got, double mean, double scale, double most, const lob_filter_map *after)
{
    const float exact = lob_filter_mapped((float)mean, after);
    if (!isfinite(mean))
        return memcmp(&got, &exact, sizeof got) == 0 || (got != got && mean != mean);
    const double slope = after->identity ? 1 : fabs((double)after->factor);
    const double size = after->identity ? 0 : fabs((double)exact) + fabs((double)after->offset);
    return fabs((double)got - (double)exact) <=
           ROUNDINGS * (slope * (scale + fabs(mean)) + size) + slope * most * 3 * 0x1p-40 + 1e-38;
}

static void compare(neighbourhood_case *c)
{
    double *const mean = malloc((size_t)c->n * 2 * sizeof *mean), *const scale = mean + c->n;
    lob_filter_image again = c->out;
    again.data = malloc(c->bytes);
    assert_non_null(mean);
    assert_non_null(again.data);
    box_reference(mean, scale, &c->in, &c->call);
    run_box(c, &c->out, 1);
    run_box(c, &again, 3);
    if (memcmp(c->out.data, again.data, c->bytes) != 0) fail_msg("%s: threads differ", c->shape);
    double places = 1; /* the largest magnitude is at most the largest mean's times these */
    for (int a = 0; a < 3; a++) places *= 2 * c->step.along[a] + 1;
    double most = fabs(c->options.edge_value);
    for (int64_t i = 0; i < c->n; i++) most = fmax(most, scale[i]);
    for (int64_t i = 0; i < c->n; i++) {
        const float got = ((float *)c->out.data)[i];
        if (!close_to(got, mean[i], scale[i], most * places, &c->call.after))
            fail_msg("%s: voxel %lld is %a, its mean %a before the map", c->shape, (long long)i,
                     (double)got, mean[i]);
    }
    free(mean);
    free(again.data);
}

TEST(random_cases_are_the_mean_but_for_rounding)
{
    for (uint64_t number = 0; number < CASES; number++) {
        neighbourhood_case c;
        neighbourhood_case_make(&c, LOB_FILTER_BOX, number, WORK);
        compare(&c);
        neighbourhood_case_free(&c);
    }
}

TEST(slabs_give_the_bytes_of_the_whole)
{
    uint64_t random = 1;
    for (uint64_t number = 0; number < CASES; number++) {
        neighbourhood_case c;
        neighbourhood_case_make(&c, LOB_FILTER_BOX, number, 10 * WORK);
        run_box(&c, &c.out, 2);
        compare_slab(&c, lob_box_cpu, lob_box_reach(&c.step, &c.options, 2), &random);
        neighbourhood_case_free(&c);
    }
}

/* A row of voxels, radius 1: the means that come out. */
static const struct {
    const char *what;
    float in[4];
    lob_edge edge;
    uint8_t mask[4];
    float want[4];
} rows[] = {
    ROW("a window that reaches outside has fewer places", {1, 2, 6, 4}, LOB_EDGE_RENORMALISE,
        {1, 1, 1, 1}, {1.5f, 3, 4, 5}),
    ROW("the edge's value counts as data", {1, 2, 6, 4}, LOB_EDGE_CONSTANT, {1, 1, 1, 1},
        {4, 3, 4, 6.333333492f}),
    ROW("the nearest voxel stands outside", {3, 0, 6, 3}, LOB_EDGE_NEAREST, {1, 1, 1, 1},
        {2, 3, 3, 4}),
    ROW("what the mask leaves out counts nowhere and stays", {1, 50, 3, 5}, LOB_EDGE_RENORMALISE,
        {1, 0, 1, 1}, {1, 50, 4, 4}),
    ROW("NaN in the mask takes the mean of its neighbours", {1, NAN, 3, 5}, LOB_EDGE_RENORMALISE,
        {1, 1, 1, 1}, {1, 2, 4, 4}),
    ROW("infinity is no data either", {1, INFINITY, 3, 5}, LOB_EDGE_RENORMALISE, {1, 1, 1, 1},
        {1, 2, 4, 4}),
};

TEST(a_row_gives_these_means)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lob_filter_step step = {
            .kind = LOB_FILTER_BOX, .along = {1, 0, 0}
        };
        const lob_filter_options options = {.edge = rows[i].edge, .edge_value = 9};
        const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};
        const lob_filter_call call = {.step = &step,
                                      .options = &options,
                                      .mask = rows[i].mask,
                                      .before = identity,
                                      .after = identity};
        float got[4];
        const lob_filter_image in = {
            (void *)rows[i].in, LOB_F32, {4, 1, 1},
               1
        };
        const lob_filter_image out = {
            got, LOB_F32, {4, 1, 1},
              1
        };
        lob_budget budget = {.who = "box"};
        assert_ok(lob_box_cpu(&out, &in, &call, THREADS(1), &budget, NULL));
        for (int k = 0; k < 4; k++)
            if (got[k] != rows[i].want[k])
                fail_msg("%s: voxel %d is %a", rows[i].what, k, (double)got[k]);
    }
}

TEST(cancelling_stops_and_frees)
{
    neighbourhood_case c;
    lob_error error = {.text = ""};
    lob_budget budget = {.who = "box"};
    neighbourhood_case_make(&c, LOB_FILTER_BOX, 3, WORK);
    const lob_context context = {.threads = 1, .progress = stop_at_once};
    assert_int_equal(lob_box_cpu(&c.out, &c.in, &c.call, &context, &budget, &error), LOB_ECANCEL);
    assert_int_equal(budget.held, 0);
    neighbourhood_case_free(&c);
}
