/* How components behave as a call: options that make no sense, progress, cancelling, memory, and
 * what is left when an allocation fails. */
#include "kernels/components/components.h"
#include "kernels/components/components_stream.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

/* Noise, of which the largest component is nearly all, with holes. */
typedef struct {
    uint8_t *voxels;
    lob_volume image;
    lob_components_input in;
    int64_t n;
} cube;

static void cube_make(cube *c, int64_t side)
{
    c->n = side * side * side;
    c->voxels = malloc((size_t)c->n);
    uint32_t random = 1;
    for (int64_t i = 0; i < c->n; i++) {
        random = random * 1664525 + 1013904223;
        c->voxels[i] = random >> 30 ? (uint8_t)(1 + (random >> 20) % 2) : 0;
    }
    c->image = volume_of(c->voxels, LOB_U8, (lob_dims){side, side, side}, NULL);
    c->in = (lob_components_input){.image = &c->image, .intensities = &c->image};
}

/* Everything that takes memory of its own. */
static lob_components_options everything(void)
{
    lob_components_options o = lob_components_defaults();
    o.join = LOB_JOIN_EQUAL;
    o.neighbours = 6;
    o.order = LOB_ORDER_SIZE;
    o.min_voxels = 2;
    o.fill_holes = true;
    o.keep_values = true;
    o.regions = true;
    return o;
}

TEST(bad_options_have_their_line)
{
    cube c;
    cube_make(&c, 4);
    lob_components_options bad[16];
    size_t n = 0;
    for (; n < COUNT(bad); n++) bad[n] = lob_components_defaults();
    n = 0;
    bad[n++].neighbours = 8;
    bad[n++].neighbours = 0;
    bad[n].slice_axis = 1, bad[n++].neighbours = 26;
    bad[n].slice_axis = 3, bad[n++].neighbours = 8;
    bad[n++].slice_axis = -2;
    bad[n].join = LOB_JOIN_TOLERANCE, bad[n++].tolerance = -1;
    bad[n].join = LOB_JOIN_TOLERANCE, bad[n++].tolerance = NAN;
    bad[n].ranged = true, bad[n].range[0] = 2, bad[n++].range[1] = 1;
    bad[n].ranged = true, bad[n++].range[0] = NAN;
    bad[n++].min_voxels = -1;
    bad[n].min_voxels = 5, bad[n++].max_voxels = 4;
    bad[n++].largest = -1;
    bad[n++].keep_values = true;
    bad[n++].type = LOB_U16;
    for (size_t i = 0; i < n; i++) {
        lob_error error = {.text = ""};
        lob_components_output r;
        const lob_status st = lob_components_cpu(&r, &c.in, &bad[i], THREADS(1), &error);
        if (st != LOB_EARG || error.text[0] == '\0' || r.labels)
            fail_msg("row %d: %s: %s", (int)i, lob_status_text(st), error.text);
    }
    free(c.voxels);
}

TEST(bad_images_have_their_line)
{
    cube c;
    cube_make(&c, 4);
    enum { CHANNELS, NO_DIMS, HUGE_DIMS, OTHER_INTENSITIES, BAD };
    const lob_components_options options = lob_components_defaults();
    lob_volume images[BAD] = {c.image, c.image, c.image, c.image}, other = c.image;
    images[CHANNELS].channels = LOB_COMPONENTS_MAX_CHANNELS + 1;
    images[NO_DIMS].dims.ny = 0;
    images[HUGE_DIMS].dims = (lob_dims){INT64_MAX / 2, 3, 1};
    other.dims.nz = 3;
    for (int i = 0; i < BAD; i++) {
        lob_components_input in = {.image = &images[i]};
        lob_error error = {.text = ""};
        lob_components_output r;
        if (i == OTHER_INTENSITIES) in.intensities = &other;
        assert_int_equal(lob_components_cpu(&r, &in, &options, THREADS(1), &error), LOB_EDATA);
        assert_true(error.text[0] != '\0');
    }
    free(c.voxels);
}

/* Values that no label type holds. */
TEST(values_that_cannot_be_kept)
{
    double value = 0;
    const lob_volume image = volume_of(&value, LOB_F64, (lob_dims){1, 1, 1}, NULL);
    const lob_components_input in = {.image = &image};
    lob_components_options options = lob_components_defaults();
    options.join = LOB_JOIN_EQUAL;
    options.keep_values = true;
    const double bad[] = {-1, 0.5, 2147483648.0};
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_error error = {.text = ""};
        lob_components_output r;
        value = bad[i];
        assert_int_equal(lob_components_cpu(&r, &in, &options, THREADS(1), &error), LOB_EDATA);
        assert_non_null(strstr(error.text, "cannot be kept"));
    }
    value = 2147483647;
    lob_components_output r;
    assert_ok(lob_components_cpu(&r, &in, &options, THREADS(1), NULL));
    assert_int_equal(((int32_t *)r.labels)[0], 2147483647);
    lob_components_output_free(&r);
}

TEST(progress_rises_and_cancels)
{
    cube c;
    cube_make(&c, 40);
    const lob_components_options options[] = {lob_components_defaults(), everything()};
    for (size_t o = 0; o < COUNT(options); o++)
        for (int threads = 1; threads < 4; threads++)
            for (int tenth = 0; tenth <= 11; tenth++) {
                progress_log t = {.stop_at = tenth / 10.0};
                const lob_context context = {.threads = threads, .progress = listen, .user = &t};
                lob_components_output r;
                const lob_status st = lob_components_cpu(&r, &c.in, &options[o], &context, NULL);
                assert_int_equal(st, tenth <= 10 ? LOB_ECANCEL : LOB_OK);
                if (st == LOB_OK) assert_true(t.last == 1.0);
                if (st != LOB_OK) assert_null(r.labels);
                lob_components_output_free(&r);
            }
    free(c.voxels);
}

TEST(memory_is_bounded)
{
    cube c;
    cube_make(&c, 40);
    const lob_components_options options[] = {lob_components_defaults(), everything()};
    for (size_t o = 0; o < COUNT(options); o++) {
        lob_context context = {.threads = 2};
        lob_components_output r;
        assert_ok(lob_components_cpu(&r, &c.in, &options[o], &context, NULL));
        const int64_t needed = r.working_bytes;
        assert_true(needed > c.n / 8);
        lob_components_output_free(&r);
        context.max_memory = needed;
        assert_ok(lob_components_cpu(&r, &c.in, &options[o], &context, NULL));
        lob_components_output_free(&r);
        for (context.max_memory = 1; context.max_memory < needed;
             context.max_memory += 1 + needed / 50) {
            lob_error error = {.text = ""};
            assert_int_equal(lob_components_cpu(&r, &c.in, &options[o], &context, &error),
                             LOB_ENOMEM);
            assert_non_null(strstr(error.text, "allowed"));
        }
    }
    free(c.voxels);
}

/* At most 5 bytes a voxel where the foreground is of natural shape: balls, in equal labels. */
TEST(natural_shapes_take_little)
{
    enum { SIDE = 96 };
    cube c;
    cube_make(&c, SIDE);
    for (int64_t i = 0; i < c.n; i++) {
        const int64_t x = i % SIDE % 24 - 12, y = i / SIDE % SIDE % 24 - 12;
        const int64_t z = i / SIDE / SIDE % 24 - 12;
        c.voxels[i] = x * x + y * y + z * z < 120 ? (uint8_t)(1 + i / 7 % 7 / 6) : 0;
    }
    lob_components_options options[] = {lob_components_defaults(), everything()};
    options[1].fill_holes = false;
    for (size_t o = 0; o < COUNT(options); o++) {
        lob_components_output r;
        assert_ok(lob_components_cpu(&r, &c.in, &options[o], THREADS(2), NULL));
        if (r.working_bytes > 5 * c.n)
            fail_msg("%.2f bytes a voxel", (double)r.working_bytes / (double)c.n);
        lob_components_output_free(&r);
    }
    free(c.voxels);
}

/* What an attempt works on, made before it. */
typedef struct {
    cube c;
    lob_components_options options;
    int64_t planes;
} trial;

static lob_status whole_attempt(void *user)
{
    const trial *t = user;
    lob_components_output r;
    lob_error error = {.text = ""};
    const lob_status st = lob_components_cpu(&r, &t->c.in, &t->options, THREADS(2), &error);
    assert_true((st == LOB_OK) == (error.text[0] == '\0'));
    assert_true((st == LOB_OK) == (r.labels != NULL));
    assert_true((st == LOB_OK && t->options.regions) == (r.regions != NULL));
    lob_components_output_free(&r);
    return st;
}

static lob_volume slab_image;

static lob_status read_planes(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                              lob_error *error)
{
    const trial *t = user;
    slab_image = t->c.image;
    slab_image.data = t->c.voxels + z * slab_image.dims.nx * slab_image.dims.ny;
    slab_image.dims.nz = planes;
    *slab = (lob_components_input){.image = &slab_image, .intensities = &slab_image};
    return LOB_OK;
}

static lob_status drop_planes(void *user, const void *labels, lob_type type, int64_t z,
                              int64_t planes, lob_error *error)
{
    return LOB_OK;
}

static lob_status streamed_attempt(void *user)
{
    const trial *t = user;
    const lob_components_stream stream = {.read = read_planes, .write = drop_planes, .user = user};
    lob_components_output r;
    lob_error error = {.text = ""};
    const lob_status st =
        lob_components_streamed(&r, &stream, t->c.image.dims, t->planes, &t->options,
                                lob_components_cpu, THREADS(2), &error);
    assert_true((st == LOB_OK) == (error.text[0] == '\0'));
    assert_true((st == LOB_OK && t->options.regions) == (r.regions != NULL));
    lob_components_output_free(&r);
    return st;
}

/* A call whose memory is counted: all of it is labels, or in working_bytes, but for small change.
 */
static lob_status measured_call(lob_components_output *r, const trial *t,
                                const lob_context *context, int64_t *taken)
{
    const lob_components_stream stream = {
        .read = read_planes, .write = drop_planes, .user = (void *)t};
    const int64_t before = alloc_fail_bytes();
    alloc_fail_peak_begin();
    const lob_status st =
        t->planes ? lob_components_streamed(r, &stream, t->c.image.dims, t->planes, &t->options,
                                            lob_components_cpu, context, NULL)
                  : lob_components_cpu(r, &t->c.in, &t->options, context, NULL);
    *taken = alloc_fail_peak() - before;
    return st;
}

TEST(all_that_is_taken_is_told)
{
    enum { SMALL_CHANGE = 1 << 16 };
    lob_components_options table = lob_components_defaults(), sized = everything();
    table.join = LOB_JOIN_EQUAL;
    table.neighbours = 6;
    table.regions = true;
    sized.fill_holes = false;
    const lob_components_options options[] = {table, sized, everything()};
    const int64_t slabs[] = {0, 1, 12, 60}; /* 0: not in slabs */
    trial t;
    cube_make(&t.c, 60);
    for (size_t o = 0; o < COUNT(options); o++)
        for (size_t k = 0; k < COUNT(slabs); k++) {
            const int64_t planes = slabs[k];
            if (options[o].fill_holes && planes > 0 && planes < 60) continue;
            lob_context context = {.threads = 2};
            lob_components_output r;
            int64_t taken;
            t.options = options[o];
            t.planes = planes;
            const int64_t labels = planes == 0 ? 4 * t.c.n : 0;
            assert_ok(measured_call(&r, &t, &context, &taken));
            const int64_t needed = r.working_bytes, table_bytes = r.count * (64 + 48);
            lob_components_output_free(&r);
            if (taken > needed + labels + SMALL_CHANGE)
                fail_msg("options %d, %d planes: %lld bytes were taken, %lld are told of", (int)o,
                         (int)planes, (long long)taken, (long long)needed);
            assert_true(needed > table_bytes && table_bytes > 2 * SMALL_CHANGE);

            context.max_memory = needed;
            assert_ok(measured_call(&r, &t, &context, &taken));
            assert_true(taken <= needed + labels + SMALL_CHANGE);
            lob_components_output_free(&r);
            context.max_memory = table_bytes;
            assert_int_equal(measured_call(&r, &t, &context, &taken), LOB_ENOMEM);
            assert_true(taken <= table_bytes + labels + SMALL_CHANGE);
            if (planes == 1) assert_true(r.working_bytes > table_bytes / 3); /* it had begun */
            lob_components_output_free(&r);
        }
    free(t.c.voxels);
}

TEST(an_allocation_that_fails_leaves_nothing)
{
    trial t = {.options = everything(), .planes = 7};
    cube_make(&t.c, 20);
    assert_true(alloc_fail_sweep("all options", whole_attempt, &t) >= 30);
    t.options.fill_holes = false;
    assert_true(alloc_fail_sweep("slabs", streamed_attempt, &t) >= 60);
    t.options.join = LOB_JOIN_TOLERANCE;
    t.options.keep_values = false;
    assert_true(alloc_fail_sweep("tolerance", whole_attempt, &t) >= 20);
    t.options = lob_components_defaults();
    assert_true(alloc_fail_sweep("defaults", whole_attempt, &t) >= 8);
    free(t.c.voxels);
}
