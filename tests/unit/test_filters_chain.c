/* Chains of filters: the same bytes whole and in slabs, fused and not, at any number of threads and
 * within any memory; what is refused; what comes out. */
#include "kernels/filters/filter_stages.h"
#include "tests/reference/filters_case.h"
#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"

enum { MAX_VOXELS = 2500 };

static uint64_t cases(void)
{
    const char *many = getenv("LOBULE_FILTER_CASES");
    return many ? strtoull(many, NULL, 10) : 60;
}

/* Each way of running a chain, and whether it may run out of memory. */
static const struct {
    const char *what;
    lob_filter_tuning tuning;
    int threads;
} ways[] = {
    {"three threads",                     ROW(.slab = 0),       3                  },
    {"every step a pass of its own",      ROW(.no_fuse = true), 2                  },
    {"slabs of one position",             ROW(.slab = 1),       2                  },
    {"slabs of three positions, unfused", ROW(.slab = 3,        .no_fuse = true),    1},
    {"slabs of eight positions",                                   ROW(.slab = 8),                              3},
};

TEST(test_every_way_gives_the_same)
{
    const uint64_t n = cases();
    int ran = 0;
    for (uint64_t number = 0; number < n; number++) {
        filters_case c;
        const lob_filter_tuning usual = {0};
        lob_filter_output want, got;
        lob_error error = {.text = ""};
        filters_case_make(&c, number, MAX_VOXELS);
        const lob_status st =
            lob_filter_cpu_tuned(&want, &c.in, &c.options, &usual, THREADS(1), &error);
        if (st != LOB_OK && st != LOB_EDATA) fail_msg("%s: %s", c.shape, error.text);
        ran += st == LOB_OK;
        for (size_t k = 0; k < COUNT(ways); k++) {
            const lob_status other = lob_filter_cpu_tuned(&got, &c.in, &c.options, &ways[k].tuning,
                                                          THREADS(ways[k].threads), &error);
            const char *what = filters_case_differs(&c, st, &want, other, &got);
            if (what) fail_msg("%s: with %s the %s differ", c.shape, ways[k].what, what);
            lob_filter_output_free(&got);
        }
        lob_filter_output_free(&want);
        filters_case_free(&c);
    }
    assert_true(ran > (int)n * 8 / 10);
}

/* A long image through three steps in less and less memory: slabs, and at last a refusal. */
TEST(test_less_memory)
{
    static float voxels[24 * 20 * 300];
    for (size_t i = 0; i < COUNT(voxels); i++) voxels[i] = (float)((i * 7919) % 1000);
    lob_volume image = lob_volume_empty();
    image.data = voxels;
    image.type = LOB_F32;
    image.dims = (lob_dims){24, 20, 300};
    image.geometry = lob_geometry_of_spacing((const double[3]){1, 1, 1});
    const lob_filter_step steps[] = {
        {.kind = LOB_FILTER_MEDIAN,   .along = {1, 1, 1}},
        {.kind = LOB_FILTER_GAUSSIAN, .along = {1, 1, 1}},
        {.kind = LOB_FILTER_MEDIAN,   .along = {1, 1, 1}},
    };
    const lob_filter_input in = {&image, NULL, steps, COUNT(steps)};
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output want, got;
    lob_error error = {.text = ""};
    assert_ok(lob_filter_cpu(&want, &in, &options, THREADS(2), &error));
    assert_true(want.working_bytes <= (int64_t)(12 * COUNT(voxels)));
    bool refused = false, smaller = false;
    for (int64_t limit = want.working_bytes - 1; limit > 100; limit /= 2) {
        const lob_context context = {.threads = 2, .max_memory = limit};
        const lob_status st = lob_filter_cpu(&got, &in, &options, &context, &error);
        if (st == LOB_ENOMEM) {
            refused = true;
            assert_null(got.data);
            assert_non_null(strstr(error.text, "filters"));
            continue;
        }
        assert_ok(st);
        assert_false(refused);
        smaller = true;
        assert_true(got.working_bytes <= limit);
        assert_memory_equal(got.data, want.data, sizeof voxels);
        lob_filter_output_free(&got);
    }
    assert_true(refused && smaller);
    lob_filter_output_free(&want);
}

/* ---- small images ---- */

static lob_volume row_of(void *data, lob_type type, int64_t nx, int channels)
{
    lob_volume v = lob_volume_empty();
    v.data = data;
    v.type = type;
    v.dims = (lob_dims){nx, 1, 1};
    v.channels = channels;
    v.geometry = lob_geometry_of_spacing((const double[3]){1, 1, 1});
    return v;
}

static lob_status run(lob_filter_output *out, const lob_volume *image, const lob_filter_step *steps,
                      int n, lob_error *error)
{
    const lob_filter_input in = {image, NULL, steps, n};
    const lob_filter_options options = lob_filter_defaults();
    return lob_filter_cpu(out, &in, &options, THREADS(1), error);
}

TEST(test_pointwise_values)
{
    static const struct {
        const char *what;
        lob_filter_step step;
        lob_type type;
        double in[4], want[4];
    } rows[] = {
        ROW("clamp keeps the type", ROW(.kind = LOB_FILTER_CLAMP, .low = -3.2, .high = 7.7),
            LOB_I16, ROW(-9, -3, 7, 100), ROW(-3, -3, 7, 8)),
        ROW("clamp leaves NaN and infinity, which are no data",
            ROW(.kind = LOB_FILTER_CLAMP, .low = 0, .high = 1), LOB_F32, ROW(NAN, INFINITY, .5, 2),
            ROW(NAN, INFINITY, .5, 1)),
        ROW("percentiles of the data",
            ROW(.kind = LOB_FILTER_CLAMP, .low = 0, .high = 50, .percent = true), LOB_F32,
            ROW(NAN, 1, 2, 4), ROW(NAN, 1, 2, 2)),
        ROW("scale", ROW(.kind = LOB_FILTER_SCALE, .factor = 2, .offset = -1), LOB_U8,
            ROW(0, 1, 2, 255), ROW(-1, 1, 3, 509)),
        ROW("cast rounds halves to even", ROW(.kind = LOB_FILTER_CAST, .type = LOB_I8), LOB_F32,
            ROW(.5, 1.5, -2.5, -3.5), ROW(0, 2, -2, -4)),
        ROW("cast clamps, and NaN is 0", ROW(.kind = LOB_FILTER_CAST, .type = LOB_U8), LOB_F64,
            ROW(-1, 300, NAN, INFINITY), ROW(0, 255, 0, 255)),
        ROW("a cast to the same type copies", ROW(.kind = LOB_FILTER_CAST, .type = LOB_U16),
            LOB_U16, ROW(0, 1, 2, 65535), ROW(0, 1, 2, 65535)),
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        double room[4], got[4];
        lob_volume image = row_of(room, rows[k].type, 4, 1);
        for (int64_t i = 0; i < 4; i++) put_number(&image, i, rows[k].in[i]);
        lob_filter_output out;
        assert_ok(run(&out, &image, &rows[k].step, 1, NULL));
        lob_values(got, out.data, out.type, 0, 4);
        for (int i = 0; i < 4; i++)
            if (!(got[i] == rows[k].want[i] || (isnan(got[i]) && isnan(rows[k].want[i]))))
                fail_msg("%s: voxel %d is %g, not %g", rows[k].what, i, got[i], rows[k].want[i]);
        lob_filter_output_free(&out);
    }
}

TEST(test_wide_integers_are_exact)
{
    static const struct {
        const char *what;
        uint64_t in;
        lob_type from, to;
        int64_t want;
    } rows[] = {
        {"2^53 + 1 stays",               ((uint64_t)1 << 53) + 1, LOB_U64, LOB_I64, ((int64_t)1 << 53) + 1},
        {"2^64 - 1 is clamped",          UINT64_MAX,              LOB_U64, LOB_I64, INT64_MAX             },
        {"-1 is clamped to 0",           (uint64_t)-1,            LOB_I64, LOB_U64, 0                     },
        {"-2^63 in 16 bits",             (uint64_t)1 << 63,       LOB_I64, LOB_I16, INT16_MIN             },
        {"2^40 in 32 bits without sign", (uint64_t)1 << 40,       LOB_I64, LOB_U32, UINT32_MAX            },
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        uint64_t in = rows[k].in;
        const lob_volume image = row_of(&in, rows[k].from, 1, 1);
        const lob_filter_step step = {.kind = LOB_FILTER_CAST, .type = rows[k].to};
        lob_filter_output out;
        assert_ok(run(&out, &image, &step, 1, NULL));
        int64_t got = 0;
        switch (rows[k].to) {
        case LOB_I64:
        case LOB_U64:
            memcpy(&got, out.data, sizeof got);
            break;
        case LOB_U32:
            got = *(uint32_t *)out.data;
            break;
        default:
            got = *(int16_t *)out.data;
        }
        if (got != rows[k].want)
            fail_msg("%s: %lld, not %lld", rows[k].what, (long long)got, (long long)rows[k].want);
        lob_filter_output_free(&out);
    }
}

/* As on a GPU, and as means and Gaussians read them: by way of double, which rounds twice. */
TEST(test_wide_integers_become_float32_in_one_way)
{
    int64_t in = ((int64_t)1 << 54) + ((int64_t)1 << 30) + 1;
    const lob_volume image = row_of(&in, LOB_I64, 1, 1);
    const lob_filter_step step = {.kind = LOB_FILTER_SCALE, .factor = 1, .offset = 0};
    lob_filter_output out;
    assert_ok(run(&out, &image, &step, 1, NULL));
    assert_int_equal(out.type, LOB_F32);
    assert_true(*(const float *)out.data == (float)((int64_t)1 << 54));
    lob_filter_output_free(&out);
}

TEST(test_colours)
{
    uint8_t rgb[6] = {200, 0, 100, 10, 50, 255}; /* two voxels, planar */
    const lob_volume image = row_of(rgb, LOB_U8, 2, 3);
    const lob_filter_step gray = {.kind = LOB_FILTER_GRAY};
    const lob_filter_step half = {.kind = LOB_FILTER_DESATURATE, .amount = .5};
    lob_filter_output out;
    assert_ok(run(&out, &image, &gray, 1, NULL));
    assert_int_equal(out.channels, 1);
    const float *v = out.data;
    assert_true(fabsf(v[0] - (.299f * 200 + .587f * 100 + .114f * 50)) < 1e-4f);
    const float luminance = v[1];
    lob_filter_output_free(&out);
    assert_ok(run(&out, &image, &half, 1, NULL));
    assert_int_equal(out.channels, 3);
    v = out.data;
    assert_true(fabsf(v[1] - (0 + luminance) / 2) < 1e-4f);
    assert_true(fabsf(v[5] - (255 + luminance) / 2) < 1e-4f);
    lob_filter_output_free(&out);
}

TEST(test_what_is_not_data)
{
    float voxels[8] = {1, NAN, 3, 4, 5, 6, INFINITY, 8}; /* two channels of four */
    const uint8_t mask[4] = {1, 1, 1, 0};
    const lob_volume image = row_of(voxels, LOB_F32, 4, 2);
    const lob_filter_step step = {.kind = LOB_FILTER_SCALE, .factor = 1};
    lob_filter_input in = {&image, mask, &step, 1};
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output out;
    assert_ok(lob_filter_cpu(&out, &in, &options, THREADS(1), NULL));
    assert_int_equal(out.not_data, 3); /* NaN, infinite, outside */
    lob_filter_output_free(&out);
    voxels[1] = voxels[6] = 0;
    in.bounded = true;
    assert_ok(lob_filter_cpu(&out, &in, &options, THREADS(1), NULL));
    assert_int_equal(out.not_data, 0); /* what is known to be bounded is not looked at */
    lob_filter_output_free(&out);
}

/* ---- what is refused ---- */

TEST(test_refused)
{
    static const struct {
        const char *what;
        lob_filter_step step;
        int channels;
        lob_status status;
        const char *text;
    } rows[] = {
        ROW("no such kind", ROW(.kind = LOB_FILTERS), 1, LOB_EARG, "no such kind"),
        ROW("negative sigma", ROW(.kind = LOB_FILTER_GAUSSIAN, .along = {-1}), 1, LOB_EARG,
            "-1 voxels"),
        ROW("NaN sigma", ROW(.kind = LOB_FILTER_GRADIENT, .along = {0, NAN}), 1, LOB_EARG,
            "axis 1"),
        ROW("a sigma that is too large", ROW(.kind = LOB_FILTER_LAPLACIAN, .along = {1001}), 1,
            LOB_EARG, "0 to 1000"),
        ROW("half a radius", ROW(.kind = LOB_FILTER_MEDIAN, .along = {.5}), 1, LOB_EARG,
            "whole number"),
        ROW("half a box", ROW(.kind = LOB_FILTER_BOX, .along = {1.5}), 1, LOB_EARG, "whole number"),
        ROW("limits the wrong way round", ROW(.kind = LOB_FILTER_CLAMP, .low = 2, .high = 1), 1,
            LOB_EARG, "above the upper"),
        ROW("a percentile of 101", ROW(.kind = LOB_FILTER_CLAMP, .high = 101, .percent = true), 1,
            LOB_EARG, "0 to 100"),
        ROW("an infinite factor", ROW(.kind = LOB_FILTER_SCALE, .factor = INFINITY), 1, LOB_EARG,
            "not finite"),
        ROW("more than gray", ROW(.kind = LOB_FILTER_DESATURATE, .amount = 1.5), 3, LOB_EARG,
            "0 to 1"),
        ROW("negative noise", ROW(.kind = LOB_FILTER_DENOISE, .noise = -1), 1, LOB_EARG,
            "at least 0"),
        ROW("no such type", ROW(.kind = LOB_FILTER_CAST, .type = LOB_TYPES), 1, LOB_EARG,
            "no such type"),
        ROW("gray of one channel", ROW(.kind = LOB_FILTER_GRAY), 1, LOB_EDATA, "three channels"),
        ROW("colours of two channels", ROW(.kind = LOB_FILTER_DESATURATE), 2, LOB_EDATA,
            "there are 2"),
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        float voxels[9] = {0};
        const lob_volume image = row_of(voxels, LOB_F32, 3, rows[k].channels);
        lob_filter_output out;
        lob_error error = {.text = ""};
        const lob_status st = run(&out, &image, &rows[k].step, 1, &error);
        if (st != rows[k].status || !strstr(error.text, rows[k].text) || out.data)
            fail_msg("%s: %s: %s", rows[k].what, lob_status_text(st), error.text);
    }
}

TEST(test_percentiles_need_data)
{
    float voxels[3] = {NAN, NAN, INFINITY};
    const lob_volume image = row_of(voxels, LOB_F32, 3, 1);
    const lob_filter_step step = {.kind = LOB_FILTER_CLAMP, .low = 1, .high = 99, .percent = true};
    lob_filter_output out;
    lob_error error = {.text = ""};
    assert_int_equal(run(&out, &image, &step, 1, &error), LOB_EDATA);
    assert_null(out.data);
}

TEST(test_a_constant_beyond_edges_fits_float32)
{
    static const double constants[] = {1e300, -1e39, NAN, INFINITY};
    float voxels[3] = {0};
    const lob_volume image = row_of(voxels, LOB_F32, 3, 1);
    const lob_filter_step step = {.kind = LOB_FILTER_BOX, .along = {1}};
    const lob_filter_input in = {&image, NULL, &step, 1};
    const lob_context context = {.threads = 1};
    for (size_t k = 0; k < COUNT(constants); k++) {
        const lob_filter_options options = {.edge = LOB_EDGE_CONSTANT, .edge_value = constants[k]};
        lob_filter_output out;
        lob_error error = {.text = ""};
        assert_int_equal(lob_filter_cpu(&out, &in, &options, &context, &error), LOB_EARG);
        assert_non_null(strstr(error.text, "float32"));
    }
}

static int stop_at_once(void *user, double done)
{
    return 1;
}

TEST(test_cancelled)
{
    float voxels[64] = {0};
    const lob_volume image = row_of(voxels, LOB_F32, 64, 1);
    const lob_filter_step step = {.kind = LOB_FILTER_GAUSSIAN, .along = {1}};
    const lob_filter_input in = {&image, NULL, &step, 1};
    const lob_filter_options options = lob_filter_defaults();
    const lob_context context = {.threads = 1, .progress = stop_at_once};
    lob_filter_output out;
    assert_int_equal(lob_filter_cpu(&out, &in, &options, &context, NULL), LOB_ECANCEL);
    assert_null(out.data);
}
