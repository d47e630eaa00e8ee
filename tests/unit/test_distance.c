/* The distance transform against a look at every pair of voxels. */
#include "kernels/distance/distance.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/morphology/morphology.h"
#include "tests/reference/distance_case.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    int one_in; /* voxels per voxel of the set; 1: all, 0: none */
} cases[] = {
    {"prime sides, isotropic",         {11, 13, 7},  {1, 1, 1},          40  },
    {"prime sides, anisotropic",       {11, 13, 7},  {0.7, 1.3, 5},      40  },
    {"crowded",                        {17, 5, 19},  {1.5, 1.5, 2},      3   },
    {"lonely voxels",                  {23, 11, 13}, {2, 0.31, 1},       1000},
    {"the longest axis first",         {67, 3, 5},   {1, 2, 3},          30  },
    {"the longest axis in the middle", {5, 61, 7},   {1, 2, 3},          100 },
    {"the longest axis last",          {3, 5, 59},   {3, 0.1, 0.2},      100 },
    {"more than one block of lines",   {37, 41, 3},  {1, 1.1, 1.2},      200 },
    {"a plane",                        {31, 29, 1},  {1, 0.5, 9},        50  },
    {"a plane across x",               {1, 29, 31},  {1, 0.5, 9},        50  },
    {"a line",                         {1, 101, 1},  {1, 0.3, 1},        20  },
    {"one voxel in the set",           {1, 1, 1},    {1, 1, 1},          1   },
    {"one voxel, empty set",           {1, 1, 1},    {1, 1, 1},          0   },
    {"full",                           {7, 5, 3},    {1, 1, 1},          1   },
    {"empty",                          {7, 5, 3},    {1, 1, 1},          0   },
    {"tiny spacing",                   {7, 11, 5},   {1e-6, 2e-6, 1e-5}, 30  },
};

TEST(agrees_with_brute_force)
{
    for (size_t c = 0; c < COUNT(cases); c++) {
        const lob_dims d = cases[c].dims;
        const int64_t n = d.nx * d.ny * d.nz;
        uint8_t *const set = calloc((size_t)n, 1);
        float *const got = malloc((size_t)n * sizeof *got);
        float *const again = malloc((size_t)n * sizeof *again);
        assert_true(set && got && again);
        uint64_t state = 7 + c;
        for (int64_t i = 0; i < n; i++)
            set[i] = cases[c].one_in && random_below(&state, cases[c].one_in) == 0 ? 200 : 0;

        assert_ok(lob_distance_squared(got, set, d, cases[c].spacing_mm, 1));
        for (int64_t i = 0; i < n; i++) {
            const float want = (float)reference_distance_squared(set, d, cases[c].spacing_mm, i);
            /* Two voxels equally near may round apart in double, so one step of a float is let be.
             */
            if (!(got[i] == want || got[i] == nextafterf(want, 0) ||
                  got[i] == nextafterf(want, INFINITY)))
                fail_msg("%s: voxel %d: %.9g, not %.9g", cases[c].what, (int)i, (double)got[i],
                         (double)want);
        }
        for (int threads = 2; threads <= 5; threads++) {
            assert_ok(lob_distance_squared(again, set, d, cases[c].spacing_mm, threads));
            if (memcmp(got, again, (size_t)n * sizeof *got) != 0)
                fail_msg("%s: %d threads give other bytes", cases[c].what, threads);
        }
        free(set);
        free(got);
        free(again);
    }
}

TEST(whole_spacing_is_exact)
{
    const lob_dims d = {97, 89, 83};
    const int64_t n = d.nx * d.ny * d.nz;
    uint8_t *const set = calloc((size_t)n, 1);
    float *const got = malloc((size_t)n * sizeof *got);
    assert_true(set && got);
    set[0] = 1;
    assert_ok(lob_distance_squared(got, set, d, (double[]){1, 2, 3}, 2));
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny * 2, z = i / d.nx / d.ny * 3;
        if (got[i] != (float)(x * x + y * y + z * z)) fail_msg("voxel %d", (int)i);
    }
    free(set);
    free(got);
}

/* ---- labels, signs, limits ---- */

enum { CASES = 150, CASE_VOXELS = 1500 };

static bool nearly(double got, double want)
{
    return got == want || fabs(got - want) <= 2e-7 * fabs(want);
}

/* As the options say it, of a squared distance. */
static double expected(const distance_case *c, double squared, bool inside)
{
    const double max = c->options.max;
    if (squared > max * max * (1 + 1e-6)) squared = INFINITY;
    const double value = c->options.squared ? squared : sqrt(squared);
    return c->options.kind == LOB_DISTANCE_SIGNED && inside ? -value : value;
}

static void check_distance(const distance_case *c, const float *got)
{
    for (int64_t i = 0; i < c->n; i++) {
        const bool inside = reference_distance_label(&c->in, i) != 0;
        const double squared = reference_distance_of(&c->in, c->options.kind, i, 0);
        const double want = expected(c, squared, inside);
        if (!nearly((double)got[i], want))
            fail_msg("%s: voxel %d: %.9g, not %.9g", c->shape, (int)i, (double)got[i], want);
    }
}

/* The nearest label is as near as any, and no smaller one is clearly as near. */
static void check_feature(const distance_case *c, const void *got)
{
    lob_distance_input found = c->in;
    found.labels = got;
    found.only = 0;
    for (int64_t i = 0; i < c->n; i += 3) {
        const uint32_t label = reference_distance_label(&found, i);
        const double best = reference_distance_of(&c->in, LOB_DISTANCE_TO_SET, i, 0);
        const bool none = !isfinite(best) || best > c->options.max * c->options.max * (1 + 1e-6);
        if (none != (label == 0)) fail_msg("%s: voxel %d has label %u", c->shape, (int)i, label);
        if (none) continue;
        const double to_label = reference_distance_of(&c->in, LOB_DISTANCE_TO_SET, i, label);
        if (!(to_label <= best * (1 + 1e-7)))
            fail_msg("%s: voxel %d: label %u is not nearest", c->shape, (int)i, label);
        for (uint32_t smaller = label < 6 ? 1 : label; smaller < label; smaller++)
            if (reference_distance_of(&c->in, LOB_DISTANCE_TO_SET, i, smaller) <= best)
                fail_msg("%s: voxel %d: label %u is as near as %u", c->shape, (int)i, smaller,
                         label);
    }
}

TEST(agrees_with_the_definitions)
{
    for (uint64_t number = 0; number < CASES; number++) {
        distance_case c;
        distance_case_make(&c, number, CASE_VOXELS);
        const size_t bytes = (size_t)c.n * lob_type_of(c.in.type)->bytes;
        float *distance[2] = {NULL, NULL};
        void *feature[2] = {NULL, NULL};
        for (int t = 0; t < 2; t++) {
            const lob_context context = {.threads = 1 + 2 * t};
            if (c.distance) distance[t] = calloc((size_t)c.n, sizeof(float));
            if (c.feature) feature[t] = calloc(bytes, 1);
            const lob_distance_output out = {distance[t], feature[t]};
            assert_ok(lob_distance_cpu(&out, &c.in, &c.options, &context, NULL));
        }
        if (c.distance) {
            check_distance(&c, distance[0]);
            assert_memory_equal(distance[0], distance[1], (size_t)c.n * sizeof(float));
        }
        if (c.feature) {
            check_feature(&c, feature[0]);
            assert_memory_equal(feature[0], feature[1], bytes);
        }
        for (int t = 0; t < 2; t++) {
            free(distance[t]);
            free(feature[t]);
        }
        distance_case_free(&c);
    }
}

TEST(long_lines_are_searched)
{
    /* Far apart, so that looking outward is given up. */
    const lob_dims d = {3, 700, 2};
    enum { N = 3 * 700 * 2 };
    static int32_t labels[N], nearest[N];
    static float got[N];
    labels[1] = 7;
    labels[N - 2] = 5;
    const lob_distance_kind kinds[] = {LOB_DISTANCE_TO_SET, LOB_DISTANCE_SIGNED,
                                       LOB_DISTANCE_TO_OTHER};
    const double spacing[2][3] = {
        {1,   1,   1},
        {0.3, 0.7, 2}
    };
    for (int k = 0; k < 6; k++) {
        lob_distance_input in = {.labels = labels, .type = LOB_I32, .dims = d};
        memcpy(in.spacing, spacing[k / 3], sizeof in.spacing);
        lob_distance_options options = lob_distance_defaults();
        options.kind = kinds[k % 3];
        const lob_distance_output out = {got, k % 3 == 0 ? nearest : NULL};
        const lob_context context = {.threads = 2};
        assert_ok(lob_distance_cpu(&out, &in, &options, &context, NULL));
        for (int64_t i = 0; i < N; i++) {
            const double want = sqrt(reference_distance_of(&in, options.kind, i, 0));
            if (!nearly(fabs((double)got[i]), want))
                fail_msg("kind %d, voxel %d: %.9g, not %.9g", k % 3, (int)i, (double)got[i], want);
        }
        if (k % 3 == 0) assert_int_equal(nearest[N / 8], 7);
        if (k % 3 == 0) assert_int_equal(nearest[N - N / 8], 5);
    }
}

TEST(refuses_what_it_cannot_do)
{
    uint8_t label = 1;
    float value;
    lob_error error = {.text = ""};
    const lob_context context = {.threads = 1};
    const lob_distance_output out = {&value, NULL}, both = {&value, &label};
    const lob_distance_input fine = {
        .labels = &label, .type = LOB_U8, .dims = {1, 1, 1},
                .spacing = {1, 1, 1}
    };
    const lob_distance_options plain = lob_distance_defaults();
    lob_distance_options other = plain, below = plain;
    lob_distance_input real = fine, wide = fine, flat = fine, lengthy = fine;
    other.kind = LOB_DISTANCE_TO_OTHER;
    below.max = -1;
    real.type = LOB_F32;
    wide.type = LOB_I64;
    flat.spacing[1] = 0;
    lengthy.dims.nx = LOB_DISTANCE_MAX_SIDE + 1;
    assert_int_equal(lob_distance_cpu(&out, &real, &plain, &context, &error), LOB_EARG);
    assert_int_equal(lob_distance_cpu(&out, &wide, &plain, &context, &error), LOB_EARG);
    assert_int_equal(lob_distance_cpu(&out, &flat, &plain, &context, &error), LOB_EARG);
    assert_int_equal(lob_distance_cpu(&out, &lengthy, &plain, &context, &error), LOB_EDATA);
    assert_int_equal(lob_distance_cpu(&out, &fine, &below, &context, &error), LOB_EARG);
    assert_int_equal(lob_distance_cpu(&both, &fine, &other, &context, &error), LOB_EARG);
    assert_ok(lob_distance_cpu(&out, &fine, &plain, &context, &error));
    assert_true(value == 0);
}

/* ---- balls ---- */

/* By the definition: every pair of voxels. */
static uint32_t naive_morphology(const lob_distance_input *in, lob_morphology how, double radius,
                                 int64_t i)
{
    const uint32_t own = reference_distance_label(in, i);
    const double limit = radius * radius * (1 + 1e-6);
    if (how == LOB_MORPHOLOGY_ERODE)
        return reference_distance_of(in, LOB_DISTANCE_TO_OTHER, i, 0) <= limit ? 0 : own;
    if (own) return own;
    const double best = reference_distance_of(in, LOB_DISTANCE_TO_SET, i, 0);
    for (uint32_t label = 1; best <= limit && label <= 200; label++)
        if (reference_distance_of(in, LOB_DISTANCE_TO_SET, i, label) <= best * (1 + 1e-12))
            return label;
    return 0;
}

TEST(balls_shrink_and_grow_labels)
{
    int tried = 0;
    for (uint64_t number = 0; tried < 24; number++) {
        distance_case c;
        distance_case_make(&c, number, 300);
        const lob_morphology how = (lob_morphology)(number % 2);
        const double radius = isfinite(c.options.max) ? fmin(c.options.max, 5) : 2.1;
        lob_distance_input in = c.in;
        lob_morphology_input volume = {.labels = c.labels, .type = c.in.type, .dims = c.in.dims};
        memcpy(volume.spacing, c.in.spacing, sizeof volume.spacing);
        in.only = 0;
        const size_t bytes = (size_t)c.n * lob_type_of(c.in.type)->bytes;
        void *const got = calloc(bytes, 1);
        const lob_context context = {.threads = 2};
        assert_ok(lob_morphology_cpu(got, &volume, how, radius, &context, NULL));
        lob_distance_input after = in;
        after.labels = got;
        for (int64_t i = 0; i < c.n; i++)
            if (reference_distance_label(&after, i) != naive_morphology(&in, how, radius, i))
                fail_msg("%s: how %d, radius %g: voxel %d has label %u", c.shape, (int)how, radius,
                         (int)i, reference_distance_label(&after, i));
        /* In place it is the same. */
        assert_ok(lob_morphology_cpu(c.labels, &volume, how, radius, &context, NULL));
        assert_memory_equal(c.labels, got, bytes);
        free(got);
        distance_case_free(&c);
        tried++;
    }
}

static const struct {
    const char *what;
    lob_dims dims;
    double spacing[3];
    double radius;
    lob_type type;
    int labels; /* besides 0 */
    int block;  /* labels fill blocks of so many voxels along x */
} ball_cases[] = {
    {"rows of several words",          {131, 5, 2}, {1, 1, 1},          3,   LOB_U8,  1, 9 },
    {"several labels",                 {131, 3, 3}, {1, 1, 1},          2,   LOB_I16, 4, 7 },
    {"balls that reach across words",  {200, 3, 1}, {0.1, 1, 1},        2.5, LOB_I32, 1, 40},
    {"runs longer than balls",         {200, 2, 2}, {0.1, 1, 1},        1,   LOB_U16, 3, 61},
    {"a ball as high as the volume",   {64, 3, 5},  {1, 1, 1},          30,  LOB_U8,  2, 30},
    {"a ball of one row",              {127, 4, 2}, {1, 9, 9},          5,   LOB_I32, 2, 8 },
    {"a ball of one voxel",            {67, 5, 2},  {1, 1, 1},          0.9, LOB_U8,  2, 3 },
    {"a ball of one column",           {65, 7, 2},  {9, 1, 9},          3,   LOB_I16, 2, 3 },
    {"spacings without a common unit", {71, 5, 3},  {0.7, 1.3, 2.9},    3.1, LOB_U8,  2, 5 },
    {"planes on their own",            {71, 5, 3},  {1, 1, INFINITY},   2.3, LOB_U8,  1, 5 },
    {"rows on their own",              {71, 5, 3},  {1, INFINITY, 2},   2.3, LOB_U8,  2, 5 },
    {"columns on their own",           {71, 5, 3},  {INFINITY, 1, 1.5}, 2.3, LOB_U8,  1, 5 },
    {"a ball too large for bits",      {71, 5, 3},  {0.05, 0.1, 0.1},   2,   LOB_U8,  2, 30},
    {"no label",                       {71, 5, 3},  {1, 1, 1},          2,   LOB_U8,  0, 5 },
};

/* A volume of its own after a step, by the definition. */
static void naive_step(int32_t *out, const int32_t *labels, const lob_distance_input *like,
                       lob_morphology how, double radius, int64_t n)
{
    lob_distance_input in = *like;
    in.labels = labels;
    in.type = LOB_I32;
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)naive_morphology(&in, how, radius, i);
}

static void naive_steps(int32_t *out, const int32_t *labels, const lob_distance_input *like,
                        lob_morphology how, double radius, int64_t n)
{
    enum { MOST = 1400 };
    static int32_t first[MOST];
    assert_true(n <= MOST);
    if (how == LOB_MORPHOLOGY_DILATE || how == LOB_MORPHOLOGY_ERODE) {
        naive_step(out, labels, like, how, radius, n);
        return;
    }
    const bool opens = how == LOB_MORPHOLOGY_OPEN;
    naive_step(first, labels, like, opens ? LOB_MORPHOLOGY_ERODE : LOB_MORPHOLOGY_DILATE, radius,
               n);
    naive_step(out, first, like, opens ? LOB_MORPHOLOGY_DILATE : LOB_MORPHOLOGY_ERODE, radius, n);
    for (int64_t i = 0; !opens && i < n; i++)
        if (labels[i]) out[i] = labels[i];
}

TEST(balls_of_all_shapes)
{
    for (size_t c = 0; c < 4 * COUNT(ball_cases); c++) {
        const size_t row = c / 4;
        const lob_dims d = ball_cases[row].dims;
        const int64_t n = lob_dims_voxels(d);
        const lob_morphology how = (lob_morphology)(c % 4);
        const int bytes = (int)lob_type_of(ball_cases[row].type)->bytes;
        lob_distance_input in = {.type = ball_cases[row].type, .dims = d};
        lob_morphology_input given = {.type = in.type, .dims = d};
        static int32_t labels[1400], wanted[1400];
        uint64_t state = 3 + row;
        unsigned char *const stored = calloc((size_t)n, (size_t)bytes);
        unsigned char *const got = calloc((size_t)n, (size_t)bytes);
        memcpy(in.spacing, ball_cases[row].spacing, sizeof in.spacing);
        memcpy(given.spacing, in.spacing, sizeof in.spacing);
        assert_true(stored && got);
        for (int64_t i = 0; i < n; i++) {
            const bool begins = i % d.nx % ball_cases[row].block == 0;
            labels[i] =
                begins ? (int32_t)random_below(&state, ball_cases[row].labels + 1) : labels[i - 1];
            lob_distance_put_label(stored, bytes, i, (uint32_t)labels[i]);
        }
        given.labels = stored;
        naive_steps(wanted, labels, &in, how, ball_cases[row].radius, n);
        for (int threads = 1; threads <= 3; threads += 2) {
            const lob_context context = {.threads = threads};
            lob_error error = {.text = ""};
            if (lob_morphology_cpu(got, &given, how, ball_cases[row].radius, &context, &error))
                fail_msg("%s: %s", ball_cases[row].what, error.text);
            for (int64_t i = 0; i < n; i++)
                if (lob_distance_label(got, bytes, i) != (uint32_t)wanted[i])
                    fail_msg("%s: how %d: voxel %d has label %u, not %d", ball_cases[row].what,
                             (int)how, (int)i, lob_distance_label(got, bytes, i), (int)wanted[i]);
        }
        free(stored);
        free(got);
    }
}
