/* Components slab by slab: the labels, table and counts of the volume in one piece. */
#include "kernels/share.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_slabs.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "volumes/labels.h"

static lob_status streamed(lob_components_output *result, components_slabs *t, int64_t planes,
                           const lob_context *context, lob_error *error)
{
    return components_slabs_run(result, t, planes, lob_components_cpu, context, error);
}

static int64_t largest_of(const void *labels, lob_type type, int64_t n)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (lob_label_at(labels, type, i) > largest) largest = lob_label_at(labels, type, i);
    return largest;
}

static void compare_case(const components_case *c, const lob_components_output *want,
                         lob_status expected, int64_t planes)
{
    components_slabs t = components_slabs_of(c);
    lob_components_output got;
    lob_error error = {.text = ""};
    const bool refused = c->options.fill_holes && planes < c->image.dims.nz;
    const lob_status st = streamed(&got, &t, planes, THREADS(1 + (int)(c->number % 3)), &error);
    if (st != (refused ? LOB_EARG : expected))
        fail_msg("%s: %lld planes: %s (%s)", c->shape, (long long)planes, lob_status_text(st),
                 error.text);
    if (st == LOB_OK) {
        assert_null(got.labels);
        assert_int_equal(t.written, c->image.dims.nz);
        got.labels = t.labels;
        const char *differs = components_result_differs(&got, want, c->n);
        if (differs) fail_msg("%s: %lld planes: %s differ", c->shape, (long long)planes, differs);
        assert_int_equal(t.largest, largest_of(t.labels, t.type, c->n));
        got.labels = NULL;
    }
    lob_components_output_free(&got);
    components_slabs_free(&t);
}

TEST(random_cases)
{
    for (uint64_t number = 50000; number < 50000 + CASES(400); number++) {
        components_case c;
        components_case_make(&c, number, number % 40 ? 2500 : 20000);
        lob_components_output want;
        const lob_status expected = components_reference(&want, &c.in, &c.options);
        const int64_t nz = c.image.dims.nz, some[] = {1, 2, 3, nz / 2 + 1, nz, nz + 7};
        for (size_t k = 0; k < COUNT(some); k++) compare_case(&c, &want, expected, some[k]);
        lob_components_output_free(&want);
        components_case_free(&c);
    }
}

/* A case with several slabs of one plane and no odd options. */
static void make_plain(components_case *c, bool regions)
{
    for (uint64_t number = 60000;; number++) {
        components_case_make(c, number, 6000);
        c->options = lob_components_defaults();
        c->options.regions = regions;
        if (c->image.dims.nz >= 8 && c->image.type == LOB_U8 && c->image.channels == 1 &&
            c->image.dims.nx > 8)
            return;
        components_case_free(c);
    }
}

/* How a run ends, which frees what it is given and makes; a run that fails leaves no regions. */
static lob_status ends(int64_t *working_bytes, components_slabs t, int64_t planes,
                       const lob_context *context, lob_error *error)
{
    lob_components_output got;
    const lob_status st = streamed(&got, &t, planes, context, error);
    if (st != LOB_OK) assert_null(got.regions);
    *working_bytes = got.working_bytes;
    lob_components_output_free(&got);
    components_slabs_free(&t);
    return st;
}

TEST(a_read_that_fails_ends_the_call)
{
    components_case c;
    make_plain(&c, true);
    for (int64_t at = 0; at < 2 * c.image.dims.nz; at++) {
        components_slabs t = components_slabs_of(&c);
        int64_t bytes;
        lob_error error = {.text = ""};
        t.fail_at = at;
        assert_int_equal(ends(&bytes, t, 1, THREADS(2), &error), LOB_EIO);
        assert_string_equal(error.text, "planes cannot be read");
    }
    components_case_free(&c);
}

/* What a table made of other data would do to labels that it does not know. */
TEST(planes_that_change_are_noticed)
{
    components_case c;
    make_plain(&c, false);
    free(c.mask);
    c.mask = NULL;
    c.in.mask = NULL;
    for (int some = 0; some < 2; some++) {
        memset(c.image.data, some ? 0 : 1, (size_t)c.n);
        components_slabs t = components_slabs_of(&c);
        int64_t bytes;
        lob_error error = {.text = ""};
        t.change_at = (int)c.image.dims.nz + 1;
        t.change_to_some = some;
        assert_int_equal(ends(&bytes, t, 1, THREADS(1), &error), LOB_EDATA);
        assert_non_null(strstr(error.text, "changed"));
    }
    components_case_free(&c);
}

TEST(memory_is_bounded)
{
    components_case c;
    make_plain(&c, true);
    lob_context context = {.threads = 1};
    int64_t needed, taken, min = 0;
    assert_ok(ends(&needed, components_slabs_of(&c), 2, &context, NULL));
    assert_true(needed >= c.image.dims.nx * c.image.dims.ny * 2 * 4);
    for (int64_t max = 1; max <= needed; max += 1 + needed / 97) {
        lob_error error = {.text = ""};
        context.max_memory = max;
        const lob_status st = ends(&taken, components_slabs_of(&c), 2, &context, &error);
        if (st == LOB_OK) {
            if (!min) min = max;
            assert_true(taken <= max);
        } else {
            assert_int_equal(st, LOB_ENOMEM);
            assert_non_null(strstr(error.text, "allowed"));
        }
    }
    context.max_memory = needed;
    assert_ok(ends(&taken, components_slabs_of(&c), 2, &context, NULL));
    components_case_free(&c);
}

TEST(planes_follow_the_memory)
{
    const lob_dims dims = {100, 100, 50};
    assert_int_equal(lob_components_stream_planes(dims, 2, 0), 50);
    assert_int_equal(lob_components_stream_planes(dims, 2, 1), 1);
    assert_int_equal(lob_components_stream_planes(dims, 2, INT64_C(1) << 40), 50);
    const int64_t some = lob_components_stream_planes(dims, 2, 2000000);
    assert_true(some > 1 && some < 50);
}

TEST(shares_of_progress_end_at_1)
{
    progress_log heard = {.stop_at = 2};
    const lob_context context = {.threads = 1, .progress = listen, .user = &heard};
    lob_share share = {.caller = &context};
    const lob_context inner = lob_share_context(&share, context);
    for (int i = 0; i < 20; i++) { /* of doubles 20 times 0.05 is more than 1 */
        assert_ok(lob_share_next(&share, share.to + 0.05));
        assert_ok(lob_report(&inner, 1));
    }
    assert_true(heard.last == 1);
}

TEST(progress_rises_and_cancels)
{
    components_case c;
    make_plain(&c, true);
    for (int64_t planes = 1; planes <= c.image.dims.nz; planes += c.image.dims.nz - 1)
        for (int step = 0; step < 5; step++) {
            progress_log heard = {.stop_at = step < 4 ? 0.3 * step : 2};
            const lob_context context = {.threads = 2, .progress = listen, .user = &heard};
            int64_t bytes;
            const lob_status st = ends(&bytes, components_slabs_of(&c), planes, &context, NULL);
            assert_int_equal(st, step < 4 ? LOB_ECANCEL : LOB_OK);
            if (st == LOB_OK) assert_true(heard.last == 1.0);
        }
    components_case_free(&c);
}
