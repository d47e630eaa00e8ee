/* Median on the CPU against the definition: all types, edges, masks, threads. */
#include "tests/unit/cmocka_test.h"

#include "kernels/filters/median/median.h"
#include "tests/reference/neighbourhood_case.h"
#include "tests/reference/neighbourhood_reference.h"

enum { CASES = 600, WORK = 200000 };

static void compare(neighbourhood_case *c, void *want)
{
    lob_error error = {.text = ""};
    median_reference(want, c->out.type, &c->in, &c->call);
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
