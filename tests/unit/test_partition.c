/* Measures of an over-segmentation: by hand, against their definitions, and what is refused. */
#include "kernels/pair_table.h"
#include "kernels/scores/partition.h"
#include "tests/reference/partition_reference.h"
#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

static void check_number(const char *what, const char *name, double got, double want)
{
    if (isnan(got) && isnan(want)) return;
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-12))
        fail_msg("%s: %s is %.12g, not %.12g", what, name, got, want);
}

static void check(const char *what, const lob_partition *got, const lob_partition *want)
{
    const struct {
        const char *name;
        double got, want;
    } rows[] = {
        {"voxels",          (double)got->voxels,        (double)want->voxels       },
        {"supervoxels",     (double)got->supervoxels,   (double)want->supervoxels  },
        {"regions",         (double)got->regions,       (double)want->regions      },
        {"boundary recall", got->boundary_recall,       want->boundary_recall      },
        {"under",           got->under_segmentation,    want->under_segmentation   },
        {"under, Neubert",  got->under_segmentation_np, want->under_segmentation_np},
        {"accuracy",        got->achievable_accuracy,   want->achievable_accuracy  },
        {"explained",       got->explained_variation,   want->explained_variation  },
        {"compactness",     got->compactness,           want->compactness          },
        {"contour density", got->contour_density,       want->contour_density      },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_number(what, rows[i].name, rows[i].got, rows[i].want);
}

/* ---- by hand ---- */

#define PI 3.14159265358979323846

static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    uint8_t labels[32], truth[32];
    lob_partition_options options;
    lob_partition want;
} by_hand[] = {
    ROW(.what = "two squares that are the two regions", .dims = {4, 2, 1}, .spacing_mm = {1, 1, 5},
        .labels = {1, 1, 2, 2, 1, 1, 2, 2}, .truth = {0, 0, 7, 7, 0, 0, 7, 7},
        .options = {.in_voxels = true, .slice_axis = -1},
        .want = {8, 2, 2, 1, 0, 0, 1, NAN, PI / 4, 0.5}),
    /* region 1 is met by both squares, region 2 by one: 8 + 4 - 8; 2 of 4 leak either way. Of the
    truth's boundary columns 2 and 3, the squares' boundary has the first. */
    ROW(.what = "half of one square leaks", .dims = {4, 2, 1}, .spacing_mm = {1, 1, 1},
        .labels = {1, 1, 2, 2, 1, 1, 2, 2}, .truth = {1, 1, 1, 2, 1, 1, 1, 2},
        .options = {.in_voxels = true, .slice_axis = -1},
        .want = {8, 2, 2, 0.5, 0.5, 0.5, 0.75, NAN, PI / 4, 0.5}),
    /* now 6 x 2 mm: area 12, perimeter 16 */
    ROW(.what = "a tolerance of a voxel finds the other column too", .dims = {4, 2, 1},
        .spacing_mm = {3, 1, 1}, .labels = {1, 1, 2, 2, 1, 1, 2, 2},
        .truth = {1, 1, 1, 2, 1, 1, 1, 2},
        .options = {.tolerance = 1, .in_voxels = true, .slice_axis = -1},
        .want = {8, 2, 2, 1, 0.5, 0.5, 0.75, NAN, 4 * PI * 12 / 256, 0.5}),
    ROW(.what = "which lies 3 mm away", .dims = {4, 2, 1}, .spacing_mm = {3, 1, 1},
        .labels = {1, 1, 2, 2, 1, 1, 2, 2}, .truth = {1, 1, 1, 2, 1, 1, 1, 2},
        .options = {.tolerance = 2.9, .slice_axis = -1},
        .want = {8, 2, 2, 0.5, 0.5, 0.5, 0.75, NAN, 4 * PI * 12 / 256, 0.5}),
    ROW(.what = "exactly 5 percent do not count, in equation 6", .dims = {20, 1, 1},
        .spacing_mm = {1, 1, 1},
        .labels = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, .truth = {1},
        .options = {.tolerance = 100, .slice_axis = -1},
        .want = {20, 1, 2, 0, 0, 0.1, 0.95, NAN, 4 * PI * 20 / (42 * 42), 0}),
    ROW(.what = "a cube beside what is not measured", .dims = {3, 2, 2}, .spacing_mm = {2, 2, 2},
        .labels = {9, 9, 0, 9, 9, 0, 9, 9, 0, 9, 9, 0},
        .truth = {5, 5, 6, 5, 5, 6, 5, 5, 6, 5, 5, 6}, .options = {.slice_axis = -1},
        .want = {8, 1, 1, NAN, 0, 0, 1, NAN, PI / 6, 0}),
    ROW(.what = "slices have no faces in common, and no boundaries", .dims = {2, 2, 2},
        .spacing_mm = {1, 1, 9}, .labels = {1, 1, 1, 1, 2, 2, 2, 2},
        .truth = {3, 3, 3, 3, 4, 4, 4, 4}, .options = {.slice_axis = 2},
        .want = {8, 2, 2, NAN, 0, 0, 1, NAN, PI / 4, 0}),
};

/* Voxels of 2 mm3 with faces of 2, 2.5 and 1 mm2, where z leans over along y; and those across x,
 * of 2 mm2 with sides of 1 and 2.5 mm. */
TEST(compactness_is_that_of_sheared_voxels)
{
    static const double leaning[3][4] = {
        {1, 0, 0,   0},
        {0, 1, 1.5, 0},
        {0, 0, 2,   0}
    };
    uint8_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const double any[3] = {1, 1, 1};
    lob_volume labels = volume_of(ones, LOB_U8, (lob_dims){2, 2, 2}, any);
    assert_true(lob_geometry_of_affine(&labels.geometry, leaning));
    const lob_partition_input in = {
        .labels = &labels, .label_count = 1, .truth = &labels, .truth_count = 1};
    for (int axis = -1; axis <= 0; axis++) {
        const lob_partition_options options = {.slice_axis = axis};
        lob_partition got;
        assert_ok(lob_partition_measure(&got, &in, &options, THREADS(1), NULL));
        check_number("eight voxels", "compactness", got.compactness,
                     axis < 0 ? 36 * PI * 16 * 16 / (44.0 * 44 * 44) : 4 * PI * 16 / (28.0 * 28));
    }
}

TEST(agrees_with_a_pencil)
{
    for (size_t i = 0; i < COUNT(by_hand); i++) {
        const lob_volume labels =
            volume_of((void *)by_hand[i].labels, LOB_U8, by_hand[i].dims, by_hand[i].spacing_mm);
        lob_volume truth = labels;
        truth.data = (void *)by_hand[i].truth;
        const lob_partition_input in = {&labels, 9, &truth, 7, NULL};
        lob_partition got;
        assert_ok(lob_partition_measure(&got, &in, &by_hand[i].options, THREADS(2), NULL));
        check(by_hand[i].what, &got, &by_hand[i].want);
    }
}

/* ---- against the definitions ---- */

static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    int labels, regions, channels; /* labels above 200: noise, else cells of a grid */
    lob_partition_options options;
} cases[] = {
    {"a grid in 3D",       {11, 7, 5},  {1, 1, 1},     40,  3,   1, {1.0, true, -1} },
    {"anisotropic, in mm", {7, 11, 5},  {0.7, 0.9, 3}, 30,  5,   1, {1.5, false, -1}},
    {"no tolerance",       {7, 5, 6},   {1, 2, 3},     20,  5,   3, {0.0, true, -1} },
    {"noise in noise",     {7, 5, 6},   {1, 2, 3},     255, 255, 2, {1.0, false, -1}},
    {"one slice",          {13, 11, 1}, {0.5, 0.7, 9}, 20,  4,   3, {2.0, true, -1} },
    {"one slice across x", {1, 11, 13}, {0.5, 0.7, 2}, 20,  4,   1, {1.0, false, -1}},
    {"slices across x",    {5, 11, 7},  {0.5, 0.7, 9}, 40,  4,   1, {2.0, true, 0}  },
    {"slices across y",    {7, 5, 11},  {0.5, 0.7, 9}, 40,  4,   0, {1.0, false, 1} },
    {"slices across z",    {11, 7, 5},  {0.5, 0.7, 9}, 40,  4,   1, {1.0, false, 2} },
    {"a line",             {1, 41, 1},  {1, 2, 3},     9,   3,   1, {2.0, false, -1}},
    {"one voxel",          {1, 1, 1},   {1, 2, 3},     1,   1,   1, {0.0, true, -1} },
    {"one supervoxel",     {5, 5, 5},   {1, 1, 1},     1,   4,   1, {3.0, true, -1} },
    {"one region",         {5, 5, 5},   {1, 1, 1},     9,   1,   1, {3.0, true, -1} },
};

static void fill(uint8_t *out, lob_dims d, int labels, int first, int holes, uint64_t *state)
{
    const int64_t across = (int64_t)ceil(cbrt(labels));
    for (int64_t i = 0; i < d.nx * d.ny * d.nz; i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny, z = i / d.nx / d.ny;
        const int64_t cell = x * across / d.nx + across * (y * across / d.ny) +
                             across * across * (z * across / d.nz);
        const bool random = labels > 200 || random_chance(state, 10);
        out[i] = (uint8_t)(first + (random ? random_below(state, labels) : cell % labels));
        if (random_chance(state, holes)) out[i] = 0;
    }
}

TEST(agrees_with_the_definitions)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lob_dims d = cases[i].dims;
        const size_t n = (size_t)(d.nx * d.ny * d.nz);
        const int channels = cases[i].channels;
        uint8_t *const labels = malloc(n), *const truth = malloc(n);
        double *const image = malloc((n * 3 + 1) * sizeof *image);
        assert_true(labels && truth && image);
        uint64_t random = 7 + i;
        fill(labels, d, cases[i].labels, 1, n > 1 ? 10 : 0, &random);
        fill(truth, d, cases[i].regions, 0, 0, &random);
        for (size_t k = 0; k < n * (size_t)channels; k++)
            image[k] =
                random_chance(&random, 3) && n > 1 ? NAN : (double)random_below(&random, 60000);

        const lob_volume vl = volume_of(labels, LOB_U8, d, cases[i].spacing_mm);
        const lob_volume vt = volume_of(truth, LOB_U8, d, cases[i].spacing_mm);
        lob_volume vi = volume_of(image, LOB_F64, d, cases[i].spacing_mm);
        vi.channels = channels;
        vi.slope = -3.0; /* changes nothing */
        lob_partition want;
        reference_partition(&want, labels, truth, channels ? image : NULL, channels, d,
                            cases[i].spacing_mm, &cases[i].options);
        const lob_partition_input in = {&vl, 255, &vt, 255, channels ? &vi : NULL};
        lob_partition got, again;
        memset(&got, 0, sizeof got);
        memset(&again, 0, sizeof again);
        lob_context context = {.threads = 1};
        assert_ok(lob_partition_measure(&got, &in, &cases[i].options, &context, NULL));
        /* The image's levels are 16-bit numbers; of 60000 whole ones they lose little. */
        if (channels) {
            assert_true(isnan(want.explained_variation) ||
                        fabs(want.explained_variation - got.explained_variation) < 1e-4);
            want.explained_variation = got.explained_variation;
        }
        check(cases[i].what, &got, &want);
        for (context.threads = 2; context.threads < 5; context.threads++) {
            assert_ok(lob_partition_measure(&again, &in, &cases[i].options, &context, NULL));
            assert_memory_equal(&got, &again, sizeof got);
        }
        free(labels);
        free(truth);
        free(image);
    }
}

/* Integers are used as they are: the figure is that of the definition, in every type of label. */
TEST(explained_variation_is_exact)
{
    int16_t image[] = {-3, -1, 7, 9, 9, 1000};
    int32_t labels[] = {1, 1, 2, 2, 2, 0};
    int16_t truth[] = {0, 0, 300, 300, 1, 2};
    const lob_dims d = {6, 1, 1};
    const double mm[] = {1, 1, 1};
    const lob_volume vl = volume_of(labels, LOB_I32, d, mm), vt = volume_of(truth, LOB_I16, d, mm);
    const lob_volume vi = volume_of(image, LOB_I16, d, mm);
    const lob_partition_input in = {&vl, 2, &vt, 300, &vi};
    const lob_partition_options options = {.tolerance = 1, .in_voxels = true, .slice_axis = -1};
    lob_partition got;
    assert_ok(lob_partition_measure(&got, &in, &options, THREADS(3), NULL));
    const double mean = 21.0 / 5, other = 25.0 / 3;
    const double between = 2 * pow(-2 - mean, 2) + 3 * pow(other - mean, 2);
    const double all = 9 + 1 + 49 + 81 + 81 - 5 * mean * mean;
    check_number("integers", "explained variation", got.explained_variation, between / all);
    assert_int_equal(got.regions, 3);

    const int16_t flat[] = {5, 5, 5, 5, 5, 1000};
    lob_volume still = vi;
    still.data = (void *)flat;
    const lob_partition_input constant = {&vl, 2, &vt, 300, &still};
    assert_ok(lob_partition_measure(&got, &constant, &options, THREADS(3), NULL));
    assert_true(isnan(got.explained_variation));
}

/* ---- the table of pairs ---- */

TEST(pairs_are_counted)
{
    enum { SIDE = 97 };
    static int64_t want[SIDE][SIDE];
    memset(want, 0, sizeof want);
    lob_budget budget = {.who = "pairs", .limit = 1 << 22};
    lob_pair_table *tables;
    assert_ok(lob_pair_tables_make(&tables, 2, &budget, NULL));
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) {
        const int64_t a = random_below(&random, SIDE), b = random_below(&random, SIDE);
        const int64_t count = 1 + random_below(&random, INT64_C(1) << 40);
        want[a][b] += count;
        /* large labels, so that all bits of the key are in use */
        assert_ok(
            lob_pair_add(&tables[i % 2], UINT32_MAX - (uint32_t)a, (uint32_t)b * 40000000U, count));
    }
    assert_ok(lob_pair_tables_join(tables, 2));
    int64_t found = 0;
    for (int64_t i = 0; i < tables[0].slot_count; i++) {
        const lob_pair *const pair = &tables[0].slots[i];
        if (!pair->count) continue;
        found++;
        assert_true(want[UINT32_MAX - pair->a][pair->b / 40000000U] == pair->count);
    }
    assert_int_equal(found, tables[0].used);
    for (int a = 0; a < SIDE; a++)
        for (int b = 0; b < SIDE; b++) found -= want[a][b] > 0;
    assert_int_equal(found, 0);
    lob_pair_tables_free(tables, 2, &budget);
    assert_int_equal(budget.held, 0);
}

/* ---- what is refused ---- */

TEST(refuses)
{
    uint8_t one[] = {1, 1, 2, 2}, none[] = {0, 0, 0, 0};
    int16_t below[] = {1, -1, 2, 2};
    const double mm[] = {1, 1, 1};
    const lob_dims d = {4, 1, 1};
    const lob_volume good = volume_of(one, LOB_U8, d, mm), empty = volume_of(none, LOB_U8, d, mm);
    const lob_volume turned = volume_of(one, LOB_U8, (lob_dims){1, 4, 1}, mm);
    const lob_volume negative = volume_of(below, LOB_I16, d, mm);
    lob_volume real = good, deep = good;
    real.type = LOB_F64;
    deep.channels = 65;
    progress_log stop = {.stop_at = nextafter(0.5, 1)};
    const lob_context plain = {.threads = 1},
                      cancels = {.threads = 1, .progress = listen, .user = &stop};
    const lob_context narrow = {.threads = 1, .max_memory = 1};
    const lob_partition_options fine = {.slice_axis = -1}, below_zero = {-1, false, -1};
    const lob_partition_options nan = {NAN, false, -1}, axis = {.slice_axis = 3};
    const struct {
        const char *what;
        lob_partition_input in;
        const lob_partition_options *options;
        const lob_context *context;
        lob_status want;
    } bad[] = {
        {"a negative tolerance",     {&good, 2, &good, 2, NULL},     &below_zero, &plain,   LOB_EARG   },
        {"a tolerance of NaN",       {&good, 2, &good, 2, NULL},     &nan,        &plain,   LOB_EARG   },
        {"a fourth axis",            {&good, 2, &good, 2, NULL},     &axis,       &plain,   LOB_EARG   },
        {"other dims of the truth",  {&good, 2, &turned, 2, NULL},   &fine,       &plain,   LOB_EDATA  },
        {"other dims of the image",  {&good, 2, &good, 2, &turned},  &fine,       &plain,   LOB_EDATA  },
        {"labels that are reals",    {&real, 2, &good, 2, NULL},     &fine,       &plain,   LOB_EDATA  },
        {"a truth of reals",         {&good, 2, &real, 2, NULL},     &fine,       &plain,   LOB_EDATA  },
        {"too many channels",        {&good, 2, &good, 2, &deep},    &fine,       &plain,   LOB_EDATA  },
        {"a label above its count",  {&good, 1, &good, 2, NULL},     &fine,       &plain,   LOB_EDATA  },
        {"a region above its count", {&good, 2, &good, 1, NULL},     &fine,       &plain,   LOB_EDATA  },
        {"a label below 0",          {&negative, 2, &good, 2, NULL}, &fine,       &plain,   LOB_EDATA  },
        {"a region below 0",         {&good, 2, &negative, 2, NULL}, &fine,       &plain,   LOB_EDATA  },
        {"no supervoxel",            {&empty, 2, &good, 2, NULL},    &fine,       &plain,   LOB_EDATA  },
        {"a byte of memory",         {&good, 2, &good, 2, NULL},     &fine,       &narrow,  LOB_ENOMEM },
        {"cancelled",                {&good, 2, &good, 2, NULL},     &fine,       &cancels, LOB_ECANCEL},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_partition out;
        lob_error error = {.text = ""};
        const lob_status got =
            lob_partition_measure(&out, &bad[i].in, bad[i].options, bad[i].context, &error);
        if (got != bad[i].want || !error.text[0])
            fail_msg("%s: %s: %s", bad[i].what, lob_status_text(got), error.text);
    }
}

/* ---- memory ---- */

static lob_status measure_noise(const lob_context *context)
{
    enum { NX = 31, NY = 29, NZ = 3, N = NX * NY * NZ };
    static uint8_t labels[N], truth[N], image[N];
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        labels[i] = (uint8_t)random_below(&random, 256);
        truth[i] = (uint8_t)random_below(&random, 9);
        image[i] = (uint8_t)random_below(&random, 256);
    }
    const lob_dims d = {NX, NY, NZ};
    const double mm[] = {1, 1, 1};
    const lob_volume vl = volume_of(labels, LOB_U8, d, mm), vt = volume_of(truth, LOB_U8, d, mm);
    const lob_volume vi = volume_of(image, LOB_U8, d, mm);
    const lob_partition_input in = {&vl, 255, &vt, 8, &vi};
    const lob_partition_options options = {.tolerance = 1, .slice_axis = -1};
    lob_partition out;
    lob_error error = {.text = ""};
    const lob_status st = lob_partition_measure(&out, &in, &options, context, &error);
    assert_true((st == LOB_OK) == (error.text[0] == '\0'));
    return st;
}

static lob_status noise_attempt(void *threads)
{
    return measure_noise(THREADS(*(int *)threads));
}

TEST(allocations_may_fail)
{
    for (int threads = 1; threads < 4; threads++)
        assert_true(alloc_fail_sweep("partition", noise_attempt, &threads) >= 12);
}

TEST(memory_is_bounded)
{
    int64_t too_little = 1, enough = 1 << 24;
    while (enough - too_little > 1) {
        const lob_context context = {.threads = 2, .max_memory = (too_little + enough) / 2};
        *(measure_noise(&context) == LOB_OK ? &enough : &too_little) = context.max_memory;
    }
    assert_true(enough > 5 * 31 * 29 * 3 && enough < 1 << 20);
}
