/* Regions: sums against voxel-by-voxel ones, and what the measures make of them. */
#include "kernels/regions/regions.h"
#include "tests/reference/components_case.h"
#include "tests/reference/put_number.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

#include <float.h>

static bool same_fine(const lob_fine_levels *a, const lob_fine_levels *b)
{
    return a->exact == b->exact && a->low_bits == b->low_bits && a->low == b->low &&
           a->per_unit == b->per_unit;
}

/* Labels of random components, measured as `stats` does, are what components measured. */
TEST(random_labels)
{
    int measured = 0;
    for (uint64_t number = 70000; number < 70000 + CASES(1200); number++) {
        components_case c;
        components_case_make(&c, number, 3000);
        c.options.regions = true;
        c.options.keep_values = false;
        c.options.type = LOB_TYPES;
        const lob_context one = {.threads = 1};
        lob_components_output r;
        assert_ok(lob_components_cpu(&r, &c.in, &c.options, &one, NULL));
        const lob_regions_input in = {r.labels, r.type, r.count, c.image.dims, c.in.intensities};
        const size_t rows = (size_t)r.count;
        lob_region *regions = malloc((rows + 1) * sizeof *regions);
        lob_region_values *values = malloc((rows + 1) * sizeof *values);
        for (int threads = 1; threads <= 3; threads++) {
            lob_fine_levels fine = {0};
            assert_ok(lob_regions_cpu(regions, values, &fine, &in, THREADS(threads), NULL));
            if (memcmp(regions, r.regions, rows * sizeof *regions) != 0)
                fail_msg("%s: %d threads: regions differ", c.shape, threads);
            assert_true(!r.values == !c.in.intensities);
            if (r.values && memcmp(values, r.values, rows * sizeof *values) != 0)
                fail_msg("%s: %d threads: values differ", c.shape, threads);
            if (c.in.intensities && !same_fine(&fine, &r.fine))
                fail_msg("%s: fine levels differ", c.shape);
        }
        measured += r.count > 0 && c.in.intensities != NULL;
        free(values);
        free(regions);
        lob_components_output_free(&r);
        components_case_free(&c);
    }
    assert_true(measured > CASES(300));
}

/* A row of values and labels, and the expected region of one label. */
enum { MAX = 4 };
typedef struct {
    const char *what;
    int n;
    lob_type type;
    double slope, inter;
    double in[MAX];
    uint8_t labels[MAX];
    int label;
    double lowest, mean, highest, deviation;
} value_row;

#define WIDE 9007199254740992.0 /* 2^53 */

static const value_row rows[] = {
    ROW(.what = "one voxel", .n = 1, .type = LOB_U8, .slope = 1, .in = {7}, .labels = {1},
        .label = 1, .lowest = 7, .mean = 7, .highest = 7, .deviation = 0),
    ROW(.what = "two values", .n = 2, .type = LOB_I16, .slope = 1, .in = {-3, 5}, .labels = {1, 1},
        .label = 1, .lowest = -3, .mean = 1, .highest = 5, .deviation = 4),
    ROW(.what = "NaN and infinity are left out", .n = 4, .type = LOB_F32, .slope = 1,
        .in = {1, NAN, 3, INFINITY}, .labels = {2, 2, 2, 2}, .label = 2, .lowest = 1, .mean = 2,
        .highest = 3, .deviation = 1),
    ROW(.what = "nothing finite", .n = 2, .type = LOB_F64, .slope = 1, .in = {NAN, 1},
        .labels = {1, 2}, .label = 1, .lowest = NAN, .mean = NAN, .highest = NAN, .deviation = NAN),
    ROW(.what = "a negative slope turns the ends", .n = 2, .type = LOB_I16, .slope = -2,
        .inter = 10, .in = {1, 4}, .labels = {1, 1}, .label = 1, .lowest = 2, .mean = 5,
        .highest = 8, .deviation = 3),
    ROW(.what = "a range wider than 32 bits", .n = 3, .type = LOB_F64, .slope = 1,
        .in = {0, 1e300, 0}, .labels = {1, 1, 1}, .label = 1, .lowest = 0, .mean = 1e300 / 3,
        .highest = 1e300, .deviation = 1e300 * 0.4714045207910317),
    ROW(.what = "narrow, and far from zero", .n = 4, .type = LOB_I64, .slope = 1,
        .in = {WIDE, WIDE + 2, WIDE, WIDE + 2}, .labels = {1, 1, 1, 1}, .label = 1, .lowest = WIDE,
        .mean = WIDE + 1, .highest = WIDE + 2, .deviation = 1),
    ROW(.what = "the ends of float64", .n = 2, .type = LOB_F64, .slope = 1,
        .in = {-DBL_MAX, DBL_MAX}, .labels = {1, 1}, .label = 1, .lowest = -DBL_MAX, .mean = 0,
        .highest = DBL_MAX, .deviation = DBL_MAX),
};

static bool close_to(double a, double b, double scale)
{
    return (isnan(a) && isnan(b)) || fabs(a / scale - b / scale) < 1e-9;
}

TEST(measures)
{
    for (size_t r = 0; r < COUNT(rows); r++) {
        double store[MAX];
        lob_volume image = volume_of(store, rows[r].type, (lob_dims){rows[r].n, 1, 1}, NULL);
        for (int i = 0; i < rows[r].n; i++) put_number(&image, i, rows[r].in[i]);
        const lob_regions_input in = {rows[r].labels, LOB_U8, 2, image.dims, &image};
        const lob_geometry geometry = lob_geometry_of_spacing((double[3]){2, 3, 4});
        const int row = rows[r].label - 1;
        lob_region regions[2];
        lob_region_values values[2];
        lob_fine_levels fine;
        assert_ok(lob_regions_cpu(regions, values, &fine, &in, THREADS(2), NULL));
        const lob_region_measures m = lob_region_measure(&regions[row], &values[row], &geometry,
                                                         &fine, rows[r].slope, rows[r].inter);
        const double scale = fmax(1, fmax(fabs(rows[r].highest), fabs(rows[r].lowest)));
        if (!close_to(m.lowest, rows[r].lowest, scale) || !close_to(m.mean, rows[r].mean, scale) ||
            !close_to(m.highest, rows[r].highest, scale) ||
            !close_to(m.deviation, rows[r].deviation, fmax(1, rows[r].deviation)))
            fail_msg("%s: %.17g %.17g %.17g, deviation %.17g", rows[r].what, m.lowest, m.mean,
                     m.highest, m.deviation);
    }
}

TEST(places)
{
    const int16_t labels[12] = {0, 3, 3, 0, 0, 3, 0, 0, 0, 0, 1, 3};
    const lob_regions_input in = ROW(labels, LOB_I16, 3, {3, 2, 2}, NULL);
    const lob_geometry geometry = lob_geometry_of_spacing((double[3]){2, 3, 4});
    lob_region r[3];
    assert_ok(lob_regions_cpu(r, NULL, NULL, &in, THREADS(1), NULL));
    const lob_region empty = {0};
    assert_memory_equal(&r[1], &empty, sizeof empty);
    assert_int_equal(r[2].voxels, 4);
    assert_int_equal(r[2].first, 1);
    assert_int_equal(r[2].low[0], 1);
    assert_int_equal(r[2].high[0], 2);
    assert_int_equal(r[2].high[2], 1);
    const lob_region_measures m = lob_region_measure(&r[2], NULL, &geometry, NULL, 1, 0);
    assert_true(m.mm3 == 4 * 24);
    assert_true(m.centroid[0] == 7.0 / 4 && m.centroid[1] == 0.5 && m.centroid[2] == 0.25);
    assert_true(m.centroid_mm[0] == 3.5 && m.centroid_mm[2] == 1);
    assert_true(isnan(m.mean) && isnan(m.deviation));
}

/* The sums of 2^32 voxels at the top of the range still fit, and so does what is made of them. */
TEST(the_largest_sums_fit)
{
    const uint64_t n = UINT64_C(1) << 32, top = UINT32_MAX, square = top * top;
    const lob_region r = {.voxels = (int64_t)n};
    const lob_region_values v = {
        .data = (int64_t)n,
        .lowest = (double)top,
        .highest = (double)top,
        .fine = n * top,
        .square = {n * (square & UINT32_MAX), n * (square >> 32)}
    };
    const lob_fine_levels fine = {.exact = true, .per_unit = 1};
    const lob_geometry geometry = lob_geometry_of_spacing((double[3]){1, 1, 1});
    const lob_region_measures m = lob_region_measure(&r, &v, &geometry, &fine, 1, 0);
    assert_true(m.mean == (double)top);
    assert_true(m.deviation == 0);
}

TEST(adding_is_in_any_order)
{
    const lob_region a = ROW(5, 9, {1, 2, 0}, {4, 3, 0}, {9, 12, 0});
    const lob_region b = ROW(2, 4, {0, 3, 1}, {1, 3, 2}, {1, 6, 3});
    lob_region ab = a, ba = b, none = {0}, alone = a;
    lob_region_add(&ab, &b);
    lob_region_add(&ba, &a);
    assert_memory_equal(&ab, &ba, sizeof ab);
    assert_int_equal(ab.first, 4);
    lob_region_add(&alone, &none);
    assert_memory_equal(&alone, &a, sizeof a);
    lob_region_add(&none, &a);
    assert_memory_equal(&none, &a, sizeof a);
}

TEST(values_add_up_in_any_order)
{
    const lob_region_values a = ROW(2, 10, {7, 8}, -1, 4);
    const lob_region_values b = ROW(1, 3, {1, 2}, 3, 5);
    lob_region_values ab = a, ba = b, none = {0}, alone = a;
    lob_region_values_add(&ab, &b);
    lob_region_values_add(&ba, &a);
    assert_memory_equal(&ab, &ba, sizeof ab);
    assert_int_equal(ab.data, 3);
    assert_true(ab.lowest == -1 && ab.highest == 5);
    lob_region_values_add(&alone, &none); /* whose 0 is no value */
    assert_memory_equal(&alone, &a, sizeof a);
    lob_region_values_add(&none, &b);
    assert_memory_equal(&none, &b, sizeof b);
}

TEST(bad_input_has_its_line)
{
    const uint8_t labels[4] = {1, 2, 3, 0};
    uint8_t voxels[4] = {0};
    const lob_volume other = volume_of(voxels, LOB_U8, (lob_dims){1, 2, 1}, NULL);
    lob_region r[3];
    lob_region_values v[3];
    const struct {
        lob_regions_input in;
        lob_status want;
    } bad[] = {
        {{labels, LOB_U8, 2, {4, 1, 1}, NULL},                LOB_EDATA},
        {{labels, LOB_U8, 3, {0, 1, 1}, NULL},                LOB_EARG },
        {{labels, LOB_U8, 3, {1, INT64_C(1) << 31, 1}, NULL}, LOB_EDATA},
        {{labels, LOB_F32, 3, {4, 1, 1}, NULL},               LOB_EARG },
        {{labels, LOB_U8, 3, {2, 2, 1}, &other},              LOB_EARG },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_error error = {.text = ""};
        assert_int_equal(lob_regions_cpu(r, v, NULL, &bad[i].in, THREADS(1), &error), bad[i].want);
        assert_true(error.text[0] != '\0');
    }
}

/* By any number of threads. */
TEST(the_first_wrong_label_is_named)
{
    enum { ROWS = 4096 };
    static int16_t labels[2 * ROWS];
    for (int i = 3001; i < 2 * ROWS; i++) labels[i] = i % 2 ? 7 : -1;
    const lob_regions_input in = ROW(labels, LOB_I16, 6, {2, ROWS, 1}, NULL);
    for (int threads = 1; threads <= 4; threads++) {
        lob_region r[6];
        lob_error error;
        assert_int_equal(lob_regions_cpu(r, NULL, NULL, &in, THREADS(threads), &error), LOB_EDATA);
        assert_string_equal(error.text, "the label of voxel 3001 is not in 0..6");
    }
}

/* Many labels, whose table is larger than small change. */
TEST(tables_of_threads_are_within_the_memory)
{
    enum { SIDE = 30, N = SIDE * SIDE * SIDE, VOXELS = 512, SMALL_CHANGE = 256 };
    static int32_t labels[N];
    static lob_region want[N], got[N];
    static lob_region_values want_values[N], got_values[N];
    for (int i = 0; i < N; i++) labels[i] = 1 + i / VOXELS;
    const lob_volume image = volume_of(labels, LOB_I32, (lob_dims){SIDE, SIDE, SIDE}, NULL);
    const lob_regions_input in = {labels, LOB_I32, 1 + (N - 1) / VOXELS, image.dims, &image};
    const size_t n = (size_t)in.count;
    const int64_t table = in.count * (int64_t)(sizeof *got + sizeof *got_values);
    assert_ok(lob_regions_cpu(want, want_values, NULL, &in, THREADS(1), NULL));
    for (int tables = 0; tables < 3; tables++) {
        const lob_context context = {.threads = 3, .max_memory = tables * table + 1};
        const int64_t before = alloc_fail_bytes();
        alloc_fail_peak_begin();
        assert_ok(lob_regions_cpu(got, got_values, NULL, &in, &context, NULL));
        const int64_t taken = alloc_fail_peak() - before;
        assert_true(taken <= context.max_memory + SMALL_CHANGE);
        if (tables > 0) assert_true(taken >= tables * table); /* as many threads as may be */
        assert_memory_equal(got, want, n * sizeof *want);
        assert_memory_equal(got_values, want_values, n * sizeof *want_values);
    }
}
