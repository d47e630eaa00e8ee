/* How GrowCut behaves as a call: progress, cancelling, memory limits, options that make no sense.
 */
#include "kernels/growcut/growcut.h"
#include "tests/reference/growcut_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

/* A long row of dear steps from a seed with a large label: 32-bit keys overflow near its end. */
typedef struct {
    uint16_t *image;
    int32_t *seeds, *labels;
    uint8_t *tie;
    lob_volume image_volume, seeds_volume;
    lob_growcut_input in;
} long_row;

enum { LENGTH = 4000, LABEL = 40000 };

static void long_row_make(long_row *r)
{
    r->image = malloc(LENGTH * sizeof *r->image);
    r->seeds = calloc(LENGTH, sizeof *r->seeds);
    r->labels = malloc(LENGTH * sizeof *r->labels);
    r->tie = malloc(LENGTH);
    for (int i = 0; i < LENGTH; i++) r->image[i] = (uint16_t)(i % 2 ? 60000 : 0);
    r->seeds[0] = LABEL;
    r->image_volume = volume_of(r->image, LOB_U16, (lob_dims){LENGTH, 1, 1}, NULL);
    r->seeds_volume = volume_of(r->seeds, LOB_I32, (lob_dims){LENGTH, 1, 1}, NULL);
    r->in = (lob_growcut_input){&r->image_volume, &r->seeds_volume, LABEL, NULL, NULL};
}

static void long_row_free(long_row *r)
{
    free(r->image);
    free(r->seeds);
    free(r->labels);
    free(r->tie);
}

/* Through the narrow keys' try, the wide keys' and the pass for ties, to the end. */
TEST(progress_rises_over_all_passes)
{
    for (int tie = 0; tie < 2; tie++)
        for (int key_bits = 0; key_bits <= 64; key_bits += 64) {
            long_row r;
            long_row_make(&r);
            progress_log t = {.stop_at = 2};
            const lob_context context = {.threads = 1, .progress = listen, .user = &t};
            lob_growcut_options options = lob_growcut_defaults();
            options.rule = LOB_RULE_DISTANCE;
            options.tile = 16;
            options.key_bits = key_bits;
            const lob_growcut_output out = {r.labels, NULL, tie ? r.tie : NULL};
            lob_growcut_stats stats;
            assert_ok(lob_growcut_cpu(&out, &stats, &r.in, &options, &context, NULL));
            assert_int_equal(stats.key_bits, 64);
            assert_true(t.calls > 100);
            assert_true(t.last == 1.0);
            long_row_free(&r);
        }
}

TEST(progress_rises_in_random_cases)
{
    for (uint64_t number = 9000; number < 9000 + CASES(200); number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY_CALL, 19);
        lob_growcut_output out = growcut_output_make(&c);
        progress_log t = {.stop_at = 2};
        const lob_context context = {
            .threads = 1 + (int)(number % 3),
            .max_memory = number % 2 ? 1 << 20 : 0,
            .progress = listen,
            .user = &t,
        };
        const lob_status st = lob_growcut_cpu(&out, NULL, &c.in, &c.options, &context, NULL);
        if (st == LOB_OK && t.last != 1.0) fail_msg("%s: ends at %g", c.shape, t.last);
        growcut_output_free(&out);
        growcut_case_free(&c);
    }
}

/* Flood a row of n voxels of one level, with the highest at its end, from the first on. */
static lob_status flood_plateau(int64_t n, lob_error *line)
{
    uint16_t *const image = calloc((size_t)n + 1, sizeof *image);
    int32_t *const seeds = calloc((size_t)n + 1, sizeof *seeds);
    int32_t *const labels = malloc(((size_t)n + 1) * sizeof *labels);
    image[n] = UINT16_MAX;
    seeds[0] = INT32_MAX;
    const lob_volume values = volume_of(image, LOB_U16, (lob_dims){n + 1, 1, 1}, NULL);
    const lob_volume strokes = volume_of(seeds, LOB_I32, (lob_dims){n + 1, 1, 1}, NULL);
    const lob_growcut_input in = {&values, &strokes, INT32_MAX, NULL, NULL};
    const lob_growcut_output out = {labels, NULL, NULL};
    lob_growcut_options options = lob_growcut_defaults();
    options.rule = LOB_RULE_FLOOD;
    const lob_status st = lob_growcut_cpu(&out, NULL, &in, &options, THREADS(1), line);
    if (st == LOB_OK) assert_int_equal(labels[n], INT32_MAX);
    free(image);
    free(seeds);
    free(labels);
    return st;
}

/* Wider than the keys of a GPU hold: 62 bits, less 31 of labels, less 17 of levels. */
TEST(flood_crosses_a_wide_plateau)
{
    assert_ok(flood_plateau(1 << 14, NULL));
    assert_ok(flood_plateau((1 << 14) + 1, NULL));
}

/* A cube that one seed in a corner takes: what a call does is easy to tell. */
typedef struct {
    uint8_t *image, *seeds, *labels;
    lob_volume image_volume, seeds_volume;
    lob_growcut_input in;
    int64_t n;
} cube;

static void cube_make(cube *c, int64_t side)
{
    c->n = side * side * side;
    c->image = malloc((size_t)c->n);
    c->seeds = calloc((size_t)c->n, 1);
    c->labels = malloc((size_t)c->n);
    for (int64_t v = 0; v < c->n; v++) {
        c->image[v] = (uint8_t)(v * v % 97);
        c->seeds[v] = v % (side * side) == 0; /* one in every slice across z */
    }
    c->image_volume = volume_of(c->image, LOB_U8, (lob_dims){side, side, side}, NULL);
    c->seeds_volume = volume_of(c->seeds, LOB_U8, (lob_dims){side, side, side}, NULL);
    c->in = (lob_growcut_input){&c->image_volume, &c->seeds_volume, 1, NULL, NULL};
}

static void cube_free(cube *c)
{
    free(c->image);
    free(c->seeds);
    free(c->labels);
}

static lob_growcut_options options_of(int slice_axis)
{
    lob_growcut_options options = lob_growcut_defaults();
    options.slice_axis = slice_axis;
    options.neighbours = slice_axis < 0 ? 26 : 8;
    return options;
}

TEST(cancelled)
{
    cube c;
    cube_make(&c, 37);
    for (int axis = -1; axis < 3; axis += 3) {
        progress_log t = {.stop_at = 0.5};
        const lob_context context = {.threads = 2, .progress = listen, .user = &t};
        const lob_growcut_options options = options_of(axis);
        const lob_growcut_output out = {c.labels, NULL, NULL};
        assert_int_equal(lob_growcut_cpu(&out, NULL, &c.in, &options, &context, NULL), LOB_ECANCEL);
        assert_true(t.last >= 0.5);
    }
    cube_free(&c);
}

static lob_status within(const cube *c, int slice_axis, int threads, int64_t max_memory,
                         lob_growcut_stats *stats, lob_error *line)
{
    const lob_context context = {.threads = threads, .max_memory = max_memory};
    const lob_growcut_options options = options_of(slice_axis);
    const lob_growcut_output out = {c->labels, NULL, NULL};
    return lob_growcut_cpu(&out, stats, &c->in, &options, &context, line);
}

/* What waits to grow counts too: the reported peak is enough, and a byte less is not. */
TEST(memory_limit_counts_everything)
{
    cube c;
    cube_make(&c, 40);
    for (int axis = -1; axis < 3; axis += 3) {
        lob_growcut_stats free_run, bound;
        lob_error line = {.text = ""};
        assert_ok(within(&c, axis, 1, 0, &free_run, &line));
        const int64_t peak = free_run.working_bytes;
        assert_ok(within(&c, axis, 1, peak, &bound, &line));
        assert_int_equal(bound.working_bytes, peak);
        for (int64_t less = 1; less < peak; less *= 7) {
            assert_int_equal(within(&c, axis, 1, peak - less, NULL, &line), LOB_ENOMEM);
            assert_non_null(strstr(line.text, "working memory"));
        }
    }
    cube_free(&c);
}

/* Slices share the limit: where one fits, they are grown one after another, to the same bytes.
 */
TEST(slices_share_the_limit)
{
    cube c;
    cube_make(&c, 24);
    lob_growcut_stats alone, many;
    lob_error line = {.text = ""};
    assert_ok(within(&c, 2, 1, 0, &alone, &line));
    uint8_t *want = malloc((size_t)c.n);
    memcpy(want, c.labels, (size_t)c.n);
    for (int threads = 1; threads <= 8; threads++)
        for (int factor = 1; factor <= 4; factor++) {
            const int64_t max = alone.working_bytes * factor + 4096 * threads;
            memset(c.labels, 0x5A, (size_t)c.n);
            assert_ok(within(&c, 2, threads, max, &many, &line));
            assert_true(many.working_bytes <= max);
            assert_int_equal(many.reached, c.n);
            assert_int_equal(many.data_voxels, c.n);
            assert_memory_equal(c.labels, want, (size_t)c.n);
        }
    assert_int_equal(within(&c, 2, 4, alone.working_bytes / 4, &many, &line), LOB_ENOMEM);
    assert_non_null(strstr(line.text, "working memory"));
    free(want);
    cube_free(&c);
}

TEST(bad_options)
{
    static const struct {
        const char *what;
        size_t offset;
        double value;
    } bad[] = {
        {"a penalty below zero",        offsetof(lob_growcut_options, penalty),      -1      },
        {"a penalty that is no number", offsetof(lob_growcut_options, penalty),      NAN     },
        {"a strength above one",        offsetof(lob_growcut_options, min_strength), 1.5     },
        {"a cost below zero",           offsetof(lob_growcut_options, max_cost),     -1      },
        {"a range upside down",         offsetof(lob_growcut_options, range),        INFINITY},
    };
    growcut_case c;
    growcut_case_make(&c, 17, GROWCUT_PLAIN, 5);
    lob_growcut_output out = growcut_output_make(&c);
    const lob_context context = {.threads = 1};
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_growcut_options options = lob_growcut_defaults();
        options.range[1] = 100;
        memcpy((char *)&options + bad[i].offset, &bad[i].value, sizeof(double));
        lob_error line = {.text = ""};
        if (lob_growcut_cpu(&out, NULL, &c.in, &options, &context, &line) != LOB_EARG ||
            !line.text[0])
            fail_msg("%s was taken", bad[i].what);
    }
    static const int wrong[][2] = {
        {8,  -1},
        {26, 2 },
        {7,  -1},
        {4,  3 }
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        lob_growcut_options options = lob_growcut_defaults();
        options.neighbours = wrong[i][0];
        options.slice_axis = wrong[i][1];
        assert_int_equal(lob_growcut_cpu(&out, NULL, &c.in, &options, &context, NULL), LOB_EARG);
    }
    lob_growcut_options backwards = lob_growcut_defaults();
    backwards.rounds = -1;
    assert_int_equal(lob_growcut_cpu(&out, NULL, &c.in, &backwards, &context, NULL), LOB_EARG);
    growcut_output_free(&out);
    growcut_case_free(&c);
}
