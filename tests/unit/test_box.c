/* Box on the CPU against the definition: all types, edges, masks, threads, slabs. */
#include "tests/unit/cmocka_test.h"

#include "kernels/filters/box/box.h"
#include "kernels/filters/pointwise_voxel.h"
#include "tests/reference/neighbourhood_case.h"
#include "tests/reference/neighbourhood_reference.h"

enum { CASES = 600, WORK = 300000 };

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
