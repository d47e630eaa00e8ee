/* Components slab by slab: the labels, table and counts of the volume in one piece. */
#include "kernels/components/components_stream.h"
#include "progress_listener.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_naive.h"
#include "volumes/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A case as a source of planes, and where its labels go. */
typedef struct {
    const components_case *c;
    lob_volume image, intensities; /* of a slab */
    uint8_t *mask;
    uint8_t *labels; /* of the whole volume, of result's type */
    lob_type type;
    int64_t largest, read_next, written; /* planes */
    int64_t fail_at;                     /* this read fails; -1: none */
    int reads, change_at;                /* from this read on voxels are others; 0: never */
    bool change_to_some;                 /* every other one is foreground then, else none */
} tape;

static void copy_planes(lob_volume *to, const lob_volume *from, int64_t z, int64_t planes)
{
    const int64_t plane = from->dims.nx * from->dims.ny;
    const size_t bytes = lob_type_of(from->type)->bytes;
    lob_volume like = *from;
    like.dims.nz = planes;
    lob_volume_free(to);
    assert_int_equal(lob_volume_like(to, &like, from->type, from->channels), LOB_OK);
    to->slope = from->slope;
    to->inter = from->inter;
    for (int64_t c = 0; c < from->channels; c++)
        memcpy((char *)to->data + (size_t)(c * planes * plane) * bytes,
               (const char *)from->data + (size_t)((c * from->dims.nz + z) * plane) * bytes,
               (size_t)(planes * plane) * bytes);
}

static lob_status read_planes(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                              lob_error *error)
{
    tape *t = user;
    const components_case *c = t->c;
    const int64_t plane = c->image.dims.nx * c->image.dims.ny;
    if (z != 0 && z != t->read_next) fail_msg("%s: planes out of order", c->shape);
    t->read_next = z + planes;
    if (t->reads++ == t->fail_at) return lob_fail(error, LOB_EIO, "planes cannot be read");
    copy_planes(&t->image, &c->image, z, planes);
    if (t->change_at && t->reads >= t->change_at)
        for (int64_t i = 0; i < planes * plane; i++)
            ((uint8_t *)t->image.data)[i] = t->change_to_some && i % 2;
    *slab = (lob_components_input){.image = &t->image};
    if (c->in.intensities) {
        copy_planes(&t->intensities, &c->intensities, z, planes);
        slab->intensities = &t->intensities;
    }
    if (c->mask) slab->mask = c->mask + z * plane;
    return LOB_OK;
}

static lob_status begin_labels(void *user, const lob_components_result *result, int64_t largest,
                               lob_error *error)
{
    tape *t = user;
    (void)error;
    if (t->labels) fail_msg("%s: begun twice", t->c->shape);
    t->type = result->type;
    t->largest = largest;
    t->labels = malloc((size_t)t->c->n * lob_type_of(t->type)->bytes);
    return t->labels ? LOB_OK : LOB_ENOMEM;
}

static lob_status write_planes(void *user, const void *labels, lob_type type, int64_t z,
                               int64_t planes, lob_error *error)
{
    tape *t = user;
    (void)error;
    const int64_t plane = t->c->image.dims.nx * t->c->image.dims.ny;
    const size_t bytes = lob_type_of(type)->bytes * (size_t)plane;
    if (type != t->type || z != t->written) fail_msg("%s: written out of order", t->c->shape);
    memcpy(t->labels + (size_t)z * bytes, labels, (size_t)planes * bytes);
    t->written += planes;
    return LOB_OK;
}

static void tape_free(tape *t)
{
    lob_volume_free(&t->image);
    lob_volume_free(&t->intensities);
    free(t->labels);
}

static tape tape_of(const components_case *c)
{
    return (tape){
        .c = c, .image = LOB_VOLUME_EMPTY, .intensities = LOB_VOLUME_EMPTY, .fail_at = -1};
}

static lob_status streamed(lob_components_result *result, tape *t, int64_t planes,
                           const lob_context *context, lob_error *error)
{
    const lob_components_stream stream = {read_planes, begin_labels, write_planes, t};
    return lob_components_streamed(result, &stream, t->c->image.dims, planes, &t->c->options,
                                   lob_components_cpu, context, error);
}

static int64_t largest_of(const void *labels, lob_type type, int64_t n)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (lob_label_at(labels, type, i) > largest) largest = lob_label_at(labels, type, i);
    return largest;
}

static void compare_case(const components_case *c, const lob_components_result *want,
                         lob_status expected, int64_t planes)
{
    tape t = tape_of(c);
    lob_components_result got;
    lob_error error = {.text = ""};
    const lob_context context = {.threads = 1 + (int)(c->number % 3)};
    const bool refused = c->options.fill_holes && planes < c->image.dims.nz;
    const lob_status st = streamed(&got, &t, planes, &context, &error);
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
    lob_components_free(&got);
    tape_free(&t);
}

static void random_cases(void **state)
{
    (void)state;
    for (uint64_t number = 50000; number < 50400; number++) {
        components_case c;
        components_case_make(&c, number, number % 40 ? 2500 : 20000);
        lob_components_result want;
        const lob_status expected = components_naive(&want, &c.in, &c.options);
        const int64_t nz = c.image.dims.nz, some[] = {1, 2, 3, nz / 2 + 1, nz, nz + 7};
        for (size_t k = 0; k < sizeof some / sizeof *some; k++)
            compare_case(&c, &want, expected, some[k]);
        lob_components_free(&want);
        components_case_free(&c);
    }
}

/* A case with several slabs of one plane and no odd options. */
static void make_plain(components_case *c, bool regions)
{
    for (uint64_t number = 60000;; number++) {
        components_case_make(c, number, 6000);
        c->options = (lob_components_options)LOB_COMPONENTS_DEFAULTS;
        c->options.regions = regions;
        if (c->image.dims.nz >= 8 && c->image.type == LOB_U8 && c->image.channels == 1 &&
            c->image.dims.nx > 8)
            return;
        components_case_free(c);
    }
}

static void a_read_that_fails_ends_the_call(void **state)
{
    (void)state;
    components_case c;
    make_plain(&c, true);
    const lob_context context = {.threads = 2};
    for (int64_t at = 0; at < 2 * c.image.dims.nz; at++) {
        tape t = tape_of(&c);
        lob_components_result got;
        lob_error error = {.text = ""};
        t.fail_at = at;
        assert_int_equal(streamed(&got, &t, 1, &context, &error), LOB_EIO);
        assert_string_equal(error.text, "planes cannot be read");
        assert_null(got.regions);
        lob_components_free(&got);
        tape_free(&t);
    }
    components_case_free(&c);
}

/* What a table made of other data would do to labels that it does not know. */
static void planes_that_change_are_noticed(void **state)
{
    (void)state;
    components_case c;
    make_plain(&c, false);
    free(c.mask);
    c.mask = NULL;
    c.in.mask = NULL;
    for (int some = 0; some < 2; some++) {
        memset(c.image.data, some ? 0 : 1, (size_t)c.n);
        tape t = tape_of(&c);
        const lob_context context = {.threads = 1};
        lob_components_result got;
        lob_error error = {.text = ""};
        t.change_at = (int)c.image.dims.nz + 1;
        t.change_to_some = some;
        assert_int_equal(streamed(&got, &t, 1, &context, &error), LOB_EDATA);
        assert_non_null(strstr(error.text, "changed"));
        lob_components_free(&got);
        tape_free(&t);
    }
    components_case_free(&c);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    components_case c;
    make_plain(&c, true);
    lob_context context = {.threads = 1};
    lob_components_result got;
    tape t = tape_of(&c);
    assert_int_equal(streamed(&got, &t, 2, &context, NULL), LOB_OK);
    const int64_t needed = got.working_bytes;
    assert_true(needed >= c.image.dims.nx * c.image.dims.ny * 2 * 4);
    lob_components_free(&got);
    tape_free(&t);
    int64_t least = 0;
    for (int64_t most = 1; most <= needed; most += 1 + needed / 97) {
        lob_error error = {.text = ""};
        t = tape_of(&c);
        context.max_memory = most;
        const lob_status st = streamed(&got, &t, 2, &context, &error);
        if (st == LOB_OK) {
            if (!least) least = most;
            assert_true(got.working_bytes <= most);
        } else {
            assert_int_equal(st, LOB_ENOMEM);
            assert_non_null(strstr(error.text, "allowed"));
        }
        lob_components_free(&got);
        tape_free(&t);
    }
    context.max_memory = needed;
    t = tape_of(&c);
    assert_int_equal(streamed(&got, &t, 2, &context, NULL), LOB_OK);
    lob_components_free(&got);
    tape_free(&t);
    components_case_free(&c);
}

static void planes_follow_the_memory(void **state)
{
    (void)state;
    const lob_dims dims = {100, 100, 50};
    assert_int_equal(lob_components_stream_planes(dims, 2, 0), 50);
    assert_int_equal(lob_components_stream_planes(dims, 2, 1), 1);
    assert_int_equal(lob_components_stream_planes(dims, 2, INT64_C(1) << 40), 50);
    const int64_t some = lob_components_stream_planes(dims, 2, 2000000);
    assert_true(some > 1 && some < 50);
}

static void progress_rises_and_cancels(void **state)
{
    (void)state;
    components_case c;
    make_plain(&c, true);
    for (int64_t planes = 1; planes <= c.image.dims.nz; planes += c.image.dims.nz - 1)
        for (int step = 0; step < 5; step++) {
            told heard = {.stop_at = step < 4 ? 0.3 * step : 2};
            const lob_context context = {.threads = 2, .progress = listen, .user = &heard};
            tape t = tape_of(&c);
            lob_components_result got;
            const lob_status st = streamed(&got, &t, planes, &context, NULL);
            assert_int_equal(st, step < 4 ? LOB_ECANCEL : LOB_OK);
            if (st == LOB_OK) assert_true(heard.last == 1.0);
            lob_components_free(&got);
            tape_free(&t);
        }
    components_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(a_read_that_fails_ends_the_call),
        cmocka_unit_test(planes_that_change_are_noticed),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(planes_follow_the_memory),
        cmocka_unit_test(progress_rises_and_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
