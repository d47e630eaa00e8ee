/* Supervoxels when any one allocation fails: no leak, no crash, and a status that says so. */
#include "alloc_fail.h"
#include "kernels/supervoxels/supervoxels.h"
#include "tests/reference/supervoxels_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static lob_status attempt(void *user)
{
    static int32_t labels[31 * 31 * 31];
    const supervoxels_case *c = user;
    const lob_context context = {.threads = 3};
    return lob_supervoxels_cpu(labels, NULL, &c->in, &c->options, &context, NULL);
}

static void any_allocation_fails(void **state)
{
    (void)state;
    int64_t reported = 0;
    int swept = 0;
    for (uint64_t number = 1; swept < 12; number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, 13);
        if (attempt(&c) == LOB_OK) {
            reported += alloc_fail_sweep(c.shape, attempt, &c);
            swept++;
        }
        supervoxels_case_free(&c);
    }
    assert_true(reported > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
