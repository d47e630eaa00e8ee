/* GrowCut against its references, at every thread count, tile size and key width, and its rules. */
#include "kernels/backends.h"
#include "kernels/growcut/growcut_rule.h"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/levels/levels.h"
#include "tests/reference/growcut_automaton.h"
#include "tests/reference/growcut_case.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

#include <float.h>
#include <stdlib.h>

static lob_status grow(const growcut_case *c, const lob_growcut_options *options, int threads,
                       const lob_growcut_output *out, lob_growcut_stats *stats)
{
    return lob_growcut_cpu(out, stats, &c->in, options, THREADS(threads), NULL);
}

/* A random case may have no seed on data; then there is nothing to compare. */
static bool grows(const growcut_case *c, const lob_growcut_output *out, lob_growcut_stats *stats)
{
    const lob_status st = grow(c, &c->options, 1, out, stats);
    if (st != LOB_OK && st != LOB_EDATA) fail_msg("%s: %s", c->shape, lob_status_text(st));
    return st == LOB_OK;
}

/* How fine the engine's fixed point is for a case, as growcut_rule.h states it. */
static growcut_rounding rounding_of(const growcut_case *c)
{
    const lob_data data = {
        &c->image, c->mask, {c->options.range[0], c->options.range[1]}
    };
    const lob_view view = lob_view_whole(c->image.dims);
    uint16_t span[LOB_GROWCUT_MAX_CHANNELS];
    lob_levels levels;
    lob_levels_scan(&levels, span, &data, &view, 1);
    const lob_growcut_rule rule = lob_growcut_rule_of(&c->options, &levels, span, &c->image, &view);
    const bool whole = c->image.channels == 1 || c->options.norm != LOB_NORM_L2;
    const growcut_rounding r = {whole ? 0 : ldexp(0.5, -rule.fraction), 0.5 / rule.unit};
    return r;
}

/* The rounding of float64 products and sums themselves. */
static double tiny(double cost)
{
    return 1e-9 * (1 + fabs(cost));
}

static int compare_with_automaton(growcut_case *c)
{
    lob_growcut_output out = growcut_output_make(c);
    lob_growcut_stats stats;
    int compared = 0;
    if (grows(c, &out, &stats)) {
        const size_t n = (size_t)c->n;
        const growcut_rounding rounding = rounding_of(c);
        int32_t *label = malloc(n * sizeof *label), *other = malloc(n * sizeof *other);
        double *cost = malloc(n * sizeof *cost), *other_cost = malloc(n * sizeof *other_cost);
        double *second = malloc(n * sizeof *second), *error = malloc(n * sizeof *error);
        double *other_error = malloc(n * sizeof *other_error);
        growcut_automaton(label, cost, error, &c->in, &c->options, rounding, 0);
        for (size_t v = 0; v < n; v++) second[v] = INFINITY;
        for (int32_t l = 1; l <= c->in.labels; l++) {
            growcut_automaton(other, other_cost, other_error, &c->in, &c->options, rounding, l);
            for (size_t v = 0; v < n; v++)
                if (other[v] && label[v] != l)
                    second[v] =
                        fmin(second[v], other_cost[v] - other_error[v] - tiny(other_cost[v]));
        }
        for (int64_t v = 0; v < c->n; v++) {
            const int32_t got = lob_label_at(out.labels, c->seeds.type, v);
            const bool tied = second[v] <= cost[v] + error[v] + tiny(cost[v]);
            if (!tied && got != label[v])
                fail_msg("%s: voxel %lld: label %d, the automaton says %d", c->shape, (long long)v,
                         got, label[v]);
            compared += !tied;
            if ((got == 0) != (label[v] == 0))
                fail_msg("%s: voxel %lld reached or not", c->shape, (long long)v);
        }
        free(label), free(other), free(cost), free(other_cost), free(second), free(error);
        free(other_error);
    }
    growcut_output_free(&out);
    return compared;
}

TEST(automaton_in_float64)
{
    int64_t compared = 0, voxels = 0;
    for (uint64_t number = 1, done = 0; done < CASES(400); number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_PLAIN, 11);
        if (number % 4 == 0) c.options.rounds = 1 + (int)(number / 4 % 7);
        /* Beyond a few labels one automaton a label takes long and shows nothing new. */
        if (c.in.labels <= 7) {
            compared += compare_with_automaton(&c);
            voxels += c.n;
            done++;
        }
        growcut_case_free(&c);
    }
    print_message("%lld of %lld voxels outside the tie zone\n", (long long)compared,
                  (long long)voxels);
    assert_true(compared > CASES(20000));
}

/* Colours a level or two apart, where a distance rounded to whole levels would decide. */
TEST(automaton_on_faint_colours)
{
    int64_t compared = 0;
    for (uint64_t number = 1; number <= 60; number++) {
        growcut_case c = {.number = number, .n = 5 * 6 * 4};
        uint8_t image[3 * 120], seeds[120] = {0};
        uint64_t random = number;
        for (int i = 0; i < 3 * 120; i++) image[i] = (uint8_t)(random_next(&random) % 5);
        for (int l = 1; l <= 3; l++) seeds[random_next(&random) % 120] = (uint8_t)l;
        c.image = volume_of(image, LOB_U8, (lob_dims){5, 6, 4}, (double[3]){1, 1, 1});
        c.image.channels = 3;
        c.seeds = volume_of(seeds, LOB_U8, c.image.dims, NULL);
        c.options = lob_growcut_defaults();
        c.options.rule = number % 2 ? LOB_RULE_DISTANCE : LOB_RULE_STRENGTH;
        c.options.norm = number % 3 ? LOB_NORM_L2 : LOB_NORM_ALPHAMAX;
        c.in = (lob_growcut_input){&c.image, &c.seeds, 3, NULL, NULL};
        snprintf(c.shape, sizeof c.shape, "faint colours %d", (int)number);
        compared += compare_with_automaton(&c);
    }
    assert_true(compared > 3000);
}

/* Returns whether the case stopped before the fixed point. */
static bool compare_with_reference(const growcut_case *c)
{
    lob_growcut_output want = growcut_output_make(c), got = growcut_output_make(c);
    lob_growcut_stats stats;
    bool fixed_point = true;
    if (grows(c, &got, &stats)) {
        const int64_t rounds = growcut_reference(&want, &fixed_point, &c->in, &c->options);
        const char *differs = growcut_output_differs(c, &got, &want);
        if (differs) fail_msg("%s: %s", c->shape, differs);
        if (stats.rounds != (c->options.rounds ? rounds : 0))
            fail_msg("%s: %d rounds", c->shape, (int)stats.rounds);
        if (stats.fixed_point != fixed_point) fail_msg("%s: fixed point or not", c->shape);
    }
    growcut_output_free(&want);
    growcut_output_free(&got);
    return !fixed_point;
}

TEST(naive_reference)
{
    int stopped = 0;
    for (uint64_t number = 1000; number < 1000 + CASES(400); number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY_3D, 17);
        stopped += compare_with_reference(&c);
        growcut_case_free(&c);
    }
    print_message("%d cases stopped before the fixed point\n", stopped);
    assert_true(stopped > CASES(20));
}

/* The rules that read values, of which few turn up by chance; LOBULE_GROWCUT_CASES of each. */
TEST(rules_that_read_values)
{
    const char *asked = getenv("LOBULE_GROWCUT_CASES");
    const int most = asked ? atoi(asked) : 200;
    int done[LOB_RULE_SQUARE + 1] = {0};
    for (uint64_t number = 50000; done[LOB_RULE_FLOOD] < most; number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY_3D, asked ? 23 : 13);
        c.options.tile = (int)(number % 2) * 4;
        if (lob_growcut_reads_values(c.options.rule) && done[c.options.rule]++ < most)
            compare_with_reference(&c);
        growcut_case_free(&c);
    }
}

/* A flood has shares, which meet after each wave, from 8 planes and 8192 cells each. */
TEST(floods_shared_by_threads)
{
    int shared = 0;
    for (uint64_t number = 70000; shared < 12; number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY_3D, 47);
        lob_growcut_output one = growcut_output_make(&c);
        lob_growcut_stats stats;
        const bool large = c.image.dims.nz >= 32 && c.n >= 4 << 13;
        if (c.options.rule == LOB_RULE_FLOOD && large && grows(&c, &one, &stats)) {
            for (int threads = 2; threads <= 4; threads++) {
                lob_growcut_output again = growcut_output_make(&c);
                assert_ok(grow(&c, &c.options, threads, &again, &stats));
                const char *differs = growcut_output_differs(&c, &one, &again);
                if (differs) fail_msg("%s: %s at %d threads", c.shape, differs, threads);
                growcut_output_free(&again);
            }
            shared++;
        }
        growcut_output_free(&one);
        growcut_case_free(&c);
    }
}

TEST(threads_tiles_keys)
{
    static const int tiles[] = {4, 9, 64};
    static const int keys[] = {0, 32, 64};
    int wide = 0, narrow = 0;
    for (uint64_t number = 2000; number < 2000 + CASES(120); number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY, 37);
        lob_growcut_output first = growcut_output_make(&c);
        lob_growcut_stats stats, other;
        const bool any = grows(&c, &first, &stats);
        for (int run = 0; any && run < 27; run++) {
            lob_growcut_output again = growcut_output_make(&c);
            lob_growcut_options options = c.options;
            options.tile = tiles[run % 3];
            options.key_bits = keys[run / 3 % 3];
            const lob_status st = grow(&c, &options, 1 + run / 9, &again, &other);
            const bool fits = options.key_bits != 32 || stats.key_bits == 32;
            const char *differs = st != (fits ? LOB_OK : LOB_EARG) ? "status"
                                  : !fits                          ? NULL
                                  : !options.key_bits && other.key_bits != stats.key_bits
                                      ? "key bits"
                                  : other.rounds != stats.rounds ? "rounds"
                                  : other.fixed_point != stats.fixed_point
                                      ? "fixed point"
                                      : growcut_output_differs(&c, &first, &again);
            if (differs)
                fail_msg("%s: %s at %d threads, tile %d, key %d", c.shape, differs, 1 + run / 9,
                         options.tile, options.key_bits);
            growcut_output_free(&again);
        }
        wide += any && stats.key_bits == 64;
        narrow += any && stats.key_bits == 32;
        growcut_output_free(&first);
        growcut_case_free(&c);
    }
    print_message("%d cases need wide keys, %d do not\n", wide, narrow);
    assert_true(wide >= CASES(4) && narrow > CASES(10));
}

/* Copy slice `index` across an axis out of one channel of any element size. */
static void *cut(const void *from, size_t bytes, lob_dims dims, int channels, int axis,
                 int64_t index)
{
    const lob_view view = lob_view_slice(dims, axis, index);
    const int64_t n = view.dims.nx * view.dims.ny, whole = dims.nx * dims.ny * dims.nz;
    char *to = malloc((size_t)(n * channels) * bytes);
    for (int c = 0; c < channels; c++)
        for (int64_t y = 0; y < view.dims.ny; y++)
            for (int64_t x = 0; x < view.dims.nx; x++)
                memcpy(to + (size_t)(c * n + y * view.dims.nx + x) * bytes,
                       (const char *)from +
                           (size_t)(c * whole + lob_view_index(&view, x, y, 0)) * bytes,
                       bytes);
    return to;
}

/* Slice `index` of a case as a case of its own. */
static growcut_case slice_of(const growcut_case *c, int64_t index)
{
    const int axis = c->options.slice_axis;
    const lob_view view = lob_view_slice(c->image.dims, axis, index);
    growcut_case s = *c;
    s.n = view.dims.nx * view.dims.ny;
    s.image.dims = s.seeds.dims = view.dims;
    for (int a = 0; a < 3; a++)
        s.image.geometry.spacing_mm[a] = c->image.geometry.spacing_mm[view.axis[a]];
    s.image.data = cut(c->image.data, lob_type_of(c->image.type)->bytes, c->image.dims,
                       c->image.channels, axis, index);
    s.seeds.data =
        cut(c->seeds.data, lob_type_of(c->seeds.type)->bytes, c->image.dims, 1, axis, index);
    if (c->mask) s.mask = cut(c->mask, 1, c->image.dims, 1, axis, index);
    if (c->seed_strength)
        s.seed_strength = cut(c->seed_strength, sizeof(float), c->image.dims, 1, axis, index);
    s.options.slice_axis = 2;
    s.in = (lob_growcut_input){&s.image, &s.seeds, c->in.labels, s.mask, s.seed_strength};
    return s;
}

static void compare_slice(const growcut_case *c, const lob_growcut_output *whole, int64_t index)
{
    growcut_case s = slice_of(c, index);
    s.in.image = &s.image;
    s.in.seeds = &s.seeds;
    lob_growcut_output alone = growcut_output_make(&s);
    const size_t bytes = lob_type_of(c->seeds.type)->bytes;
    const int axis = c->options.slice_axis;
    const lob_status st = grow(&s, &s.options, 1, &alone, NULL);
    lob_growcut_output part = {cut(whole->labels, bytes, c->image.dims, 1, axis, index),
                               cut(whole->strength, sizeof(float), c->image.dims, 1, axis, index),
                               cut(whole->tie, 1, c->image.dims, 1, axis, index)};
    /* A slice without seeds is an error alone and empty in the whole. */
    if (st == LOB_EDATA)
        for (int64_t v = 0; v < s.n; v++)
            assert_int_equal(lob_label_at(part.labels, c->seeds.type, v), 0);
    else if (st != LOB_OK)
        fail_msg("%s: slice %lld: %s", c->shape, (long long)index, lob_status_text(st));
    else if (growcut_output_differs(&s, &alone, &part))
        fail_msg("%s: slice %lld: %s", c->shape, (long long)index,
                 growcut_output_differs(&s, &alone, &part));
    growcut_output_free(&part);
    growcut_output_free(&alone);
    growcut_case_free(&s);
}

TEST(slices_as_they_would_be_alone)
{
    int done = 0;
    for (uint64_t number = 3000; done < CASES(60); number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY, 23);
        lob_growcut_output out = growcut_output_make(&c);
        lob_growcut_stats stats;
        if (c.options.slice_axis >= 0 && grows(&c, &out, &stats)) {
            const int64_t side[3] = {c.image.dims.nx, c.image.dims.ny, c.image.dims.nz};
            for (int64_t i = 0; i < side[c.options.slice_axis]; i++) compare_slice(&c, &out, i);
            done++;
        }
        growcut_output_free(&out);
        growcut_case_free(&c);
    }
}

/* A row of one-channel uint8 voxels with uint8 seeds, the shortest way to say what is expected. */
typedef struct {
    const char *what;
    lob_dims dims;
    const char *image, *seeds, *want; /* a digit a voxel */
    lob_growcut_kind rule;
    int neighbours, slice_axis;
    double max_cost, min_strength;
} row;

static const row rows[] = {
    ROW("a seed on the border grows inwards", {7, 1, 1}, "1111999", "1000002", "1111222",
        LOB_RULE_DISTANCE, 26, -1, INFINITY, 0),
    ROW("one voxel is its own seed", {1, 1, 1}, "5", "3", "3", LOB_RULE_STRENGTH, 6, -1, INFINITY,
        0),
    ROW("one label takes all it reaches", {5, 1, 1}, "11111", "00400", "44444", LOB_RULE_STRENGTH,
        6, -1, INFINITY, 0),
    ROW("of equal costs the smaller label wins", {5, 1, 1}, "55555", "20001", "21111",
        LOB_RULE_DISTANCE, 6, -1, INFINITY, 0),
    ROW("a seed keeps its label and is not crossed", {5, 1, 1}, "55555", "10200", "11222",
        LOB_RULE_DISTANCE, 6, -1, INFINITY, 0),
    ROW("the full contrast is no passage in the strength rule", {4, 1, 1}, "0099", "1000", "1100",
        LOB_RULE_STRENGTH, 26, -1, INFINITY, 0),
    ROW("and a dear step in the distance rule", {4, 1, 1}, "0099", "1000", "1111",
        LOB_RULE_DISTANCE, 26, -1, INFINITY, 0),
    ROW("no path costs more than the limit", {5, 1, 1}, "02468", "10000", "11100",
        LOB_RULE_DISTANCE, 6, -1, 4, 0),
    ROW("no strength falls below the limit", {3, 1, 1}, "059", "100", "100", LOB_RULE_STRENGTH, 6,
        -1, INFINITY, 0.9),
    ROW("diagonal steps need 8 neighbours", {2, 2, 1}, "0990", "1000", "1001", LOB_RULE_STRENGTH, 8,
        2, INFINITY, 0),
    ROW("and are none with 4", {2, 2, 1}, "0990", "1000", "1000", LOB_RULE_STRENGTH, 4, 2, INFINITY,
        0),
    ROW("a plane of seeds grows off its plane", {1, 2, 3}, "142536", "120000", "121212",
        LOB_RULE_DISTANCE, 6, -1, INFINITY, 0),
    ROW("a flood takes the lower wall, however long the way", {5, 2, 1}, "0903022299", "1000200000",
        "1112211112", LOB_RULE_FLOOD, 4, 2, INFINITY, 0),
    ROW("over a wall comes who stands before it first", {7, 1, 1}, "0090010", "1000002", "1112222",
        LOB_RULE_FLOOD, 6, -1, INFINITY, 0),
    ROW("on a plateau a flood spreads evenly", {7, 1, 1}, "5555555", "2000001", "2221111",
        LOB_RULE_FLOOD, 6, -1, INFINITY, 0),
    ROW("steps count from where the level was reached", {7, 1, 1}, "1155555", "2000010", "2222111",
        LOB_RULE_FLOOD, 6, -1, INFINITY, 0),
    ROW("a seed on a wall floods from the wall's level", {6, 1, 1}, "009000", "001002", "111222",
        LOB_RULE_FLOOD, 6, -1, INFINITY, 0),
    ROW("no flood rises above the limit", {5, 1, 1}, "02400", "10000", "11000", LOB_RULE_FLOOD, 6,
        -1, 3, 0),
    ROW("what is entered costs, not the change", {6, 1, 1}, "099900", "100002", "111222",
        LOB_RULE_VALUE, 6, -1, INFINITY, 0),
    ROW("a high step is cheaper than two half as high", {6, 1, 1}, "044070", "100002", "111222",
        LOB_RULE_VALUE, 6, -1, INFINITY, 0),
    ROW("and dearer with squares", {6, 1, 1}, "044070", "100002", "111122", LOB_RULE_SQUARE, 6, -1,
        INFINITY, 0),
    ROW("slices across x do not see each other", {2, 2, 1}, "1111", "1000", "1010",
        LOB_RULE_DISTANCE, 4, 0, INFINITY, 0),
};

static void digits(uint8_t *voxels, const char *text)
{
    for (; *text; text++) *voxels++ = (uint8_t)(*text - '0');
}

TEST(rules)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t image[16], seeds[16], labels[16], want[16];
        const size_t n = strlen(rows[i].image);
        digits(image, rows[i].image);
        digits(seeds, rows[i].seeds);
        digits(want, rows[i].want);
        const lob_volume im = volume_of(image, LOB_U8, rows[i].dims, NULL);
        const lob_volume se = volume_of(seeds, LOB_U8, rows[i].dims, NULL);
        lob_growcut_options options = lob_growcut_defaults();
        options.rule = rows[i].rule;
        options.neighbours = rows[i].neighbours;
        options.slice_axis = rows[i].slice_axis;
        options.max_cost = rows[i].max_cost;
        options.min_strength = rows[i].min_strength;
        const lob_growcut_input in = {&im, &se, 9, NULL, NULL};
        const lob_growcut_output out = {labels, NULL, NULL};
        assert_ok(lob_backends[0]->growcut(&out, NULL, &in, &options, THREADS(1), NULL));
        if (memcmp(labels, want, n) != 0) fail_msg("%s", rows[i].what);
    }
}

/* Costs past 32 bits: 16-bit steps over a long way, with many labels. The engine must notice alone.
 */
TEST(wide_keys_when_needed)
{
    enum { N = 4000 };
    uint16_t *image = malloc(N * sizeof *image);
    int32_t *seeds = calloc(N, sizeof *seeds), *labels = malloc(N * sizeof *labels);
    for (int i = 0; i < N; i++) image[i] = (uint16_t)(i % 2 ? 60000 : 0);
    seeds[0] = 40000;
    const lob_volume im = volume_of(image, LOB_U16, (lob_dims){N, 1, 1}, NULL);
    const lob_volume se = volume_of(seeds, LOB_I32, (lob_dims){N, 1, 1}, NULL);
    lob_growcut_options options = lob_growcut_defaults();
    options.rule = LOB_RULE_DISTANCE;
    const lob_growcut_input in = {&im, &se, 40000, NULL, NULL};
    const lob_growcut_output out = {labels, NULL, NULL};
    lob_growcut_stats stats;
    lob_error line = {.text = ""};
    assert_ok(lob_growcut_cpu(&out, &stats, &in, &options, THREADS(1), &line));
    assert_int_equal(stats.key_bits, 64);
    assert_int_equal(stats.reached, N);
    assert_true(stats.largest_cost == 60000.0 * (N - 1));
    options.key_bits = 32;
    assert_int_equal(lob_growcut_cpu(&out, &stats, &in, &options, THREADS(1), &line), LOB_EARG);
    assert_true(strlen(line.text) > 0);
    free(image), free(seeds), free(labels);
}

/* Where mm outweigh the levels beyond what 32 bits hold, the nearest seed in mm wins all the same.
 */
TEST(penalty_beyond_the_range)
{
    enum { N = 9 };
    double image[N];
    uint8_t seeds[N] = {2, 0, 0, 0, 0, 0, 0, 0, 1}, labels[N];
    static const uint8_t want[N] = {2, 2, 2, 2, 1, 1, 1, 1, 1};
    for (int i = 0; i < N; i++) image[i] = 1e-9 * (i % 3);
    const lob_volume im = volume_of(image, LOB_F64, (lob_dims){N, 1, 1}, (double[3]){2, 2, 2});
    const lob_volume se = volume_of(seeds, LOB_U8, im.dims, NULL);
    const lob_growcut_input in = {&im, &se, 2, NULL, NULL};
    const lob_growcut_output out = {labels, NULL, NULL};
    static const double penalties[] = {1, 1e3, 1e6, 1e20, 1e100, 1e300};
    for (size_t i = 0; i < COUNT(penalties); i++) {
        lob_growcut_options options = lob_growcut_defaults();
        options.rule = LOB_RULE_DISTANCE;
        options.penalty = penalties[i];
        assert_ok(lob_growcut_cpu(&out, NULL, &in, &options, THREADS(1), NULL));
        assert_memory_equal(labels, want, N);
    }
}

/* A path so dear that its strength is below what a float holds still tells that it was taken. */
TEST(strength_never_vanishes)
{
    enum { N = 200 };
    uint8_t image[N], seeds[N] = {1}, labels[N];
    float strength[N];
    for (int i = 0; i < N; i++) image[i] = (uint8_t)(i % 2);
    const lob_volume im = volume_of(image, LOB_U8, (lob_dims){N, 1, 1}, NULL);
    const lob_volume se = volume_of(seeds, LOB_U8, (lob_dims){N, 1, 1}, NULL);
    lob_growcut_options options = lob_growcut_defaults();
    options.rule = LOB_RULE_DISTANCE;
    const lob_growcut_input in = {&im, &se, 1, NULL, NULL};
    const lob_growcut_output out = {labels, strength, NULL};
    assert_ok(lob_growcut_cpu(&out, NULL, &in, &options, THREADS(1), NULL));
    for (int i = 0; i < N; i++) {
        const float want = fmaxf((float)exp(-i), FLT_MIN); /* a level a step, and dmax is 1 */
        if (labels[i] != 1 || strength[i] != want) fail_msg("voxel %d: %g", i, strength[i]);
    }
}

/* What a row of voxels looks like after some rounds of the automaton. */
TEST(stopped_after_rounds)
{
    enum { N = 5 };
    static const struct {
        const char *what, *image, *seeds;
        int rounds;
        const char *want, *tie;
        int64_t taken;
        bool fixed_point;
    } cases[] = {
        {"a round reaches the next voxel",        "55555", "10000", 1,  "11000", "00000", 1, false},
        {"and another the one after it",          "55555", "10000", 2,  "11100", "00000", 2, false},
        {"the last that changes is the last",     "55555", "10000", 4,  "11111", "00000", 4, true },
        {"more rounds than that are not taken",   "55555", "10000", 99, "11111", "00000", 4, true },
        {"a short dear path comes first",         "00005", "10002", 1,  "11022", "00000", 1, false},
        {"and loses to a long cheap one",         "00005", "10002", 3,  "11112", "00000", 3, true },
        {"seeds keep their labels",               "55555", "20100", 2,  "21111", "01000", 2, true },
        {"two labels at a cost are a tie",        "55555", "20001", 2,  "22111", "00100", 2, false},
        {"but not before the second has arrived", "55555", "20001", 1,  "22011", "00000", 1, false},
        {"all seeds: nothing changes",            "12345", "11221", 1,  "11221", "00000", 0, true },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t image[N], seeds[N], labels[N], tie[N];
        digits(image, cases[i].image);
        digits(seeds, cases[i].seeds);
        const lob_volume im = volume_of(image, LOB_U8, (lob_dims){N, 1, 1}, NULL);
        const lob_volume se = volume_of(seeds, LOB_U8, (lob_dims){N, 1, 1}, NULL);
        lob_growcut_options options = lob_growcut_defaults();
        options.rule = LOB_RULE_DISTANCE;
        options.rounds = cases[i].rounds;
        const lob_growcut_input in = {&im, &se, 2, NULL, NULL};
        const lob_growcut_output out = {labels, NULL, tie};
        lob_growcut_stats stats;
        for (options.tile = 0; options.tile <= 4; options.tile += 4) {
            assert_ok(lob_growcut_cpu(&out, &stats, &in, &options, THREADS(1), NULL));
            for (int v = 0; v < N; v++)
                if (labels[v] != cases[i].want[v] - '0' || tie[v] != cases[i].tie[v] - '0')
                    fail_msg("%s: voxel %d: %d%s", cases[i].what, v, labels[v],
                             tie[v] ? ", a tie" : "");
            if (stats.rounds != cases[i].taken || stats.fixed_point != cases[i].fixed_point)
                fail_msg("%s: %d rounds%s", cases[i].what, (int)stats.rounds,
                         stats.fixed_point ? ", fixed point" : "");
        }
    }
}
