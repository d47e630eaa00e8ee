/* Appearance: against a naive reference, over threads and memory limits, and what it refuses. */
#include "kernels/appearance/strokes.h"
#include "kernels/filters/filters.h"
#include "kernels/resample/resample.h"
#include "tests/reference/appearance_case.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

static lob_status run(float *shares, const appearance_case *c, int threads, int64_t memory,
                      lob_error *error)
{
    const lob_context context = {.threads = threads, .max_memory = memory};
    lob_appearance_stats stats;
    return lob_appearance_cpu(shares, &stats, &c->in, &c->options, &context, error);
}

static int channels_of(const appearance_case *c)
{
    return lob_appearance_channels(&c->in, &c->options);
}

static float *shares_of(const appearance_case *c)
{
    float *shares = calloc((size_t)(c->n * channels_of(c)), sizeof *shares);
    assert_non_null(shares);
    return shares;
}

/* Values come after the shares: 0 at the least under strokes, 1 at the greatest, in the first
 * view's channels. */
static void check_values(const appearance_case *c, const float *got)
{
    const lob_volume *const view = c->in.views[0];
    double *const value = calloc((size_t)c->n, sizeof *value);
    assert_non_null(value);
    for (int k = 0; k < (c->options.values ? view->channels : 0); k++) {
        double low = INFINITY, high = -INFINITY;
        lob_values(value, view->data, view->type, k * c->n, c->n);
        for (int64_t i = 0; i < c->n; i++) {
            value[i] = view->slope * value[i] + view->inter;
            if (lob_label_at(c->in.seeds, c->in.seed_type, i) == 0 || !isfinite(value[i])) continue;
            low = fmin(low, value[i]);
            high = fmax(high, value[i]);
        }
        for (int64_t i = 0; i < c->n && high > low; i++) {
            const double at = isnan(value[i]) ? 0 : (value[i] - low) / (high - low);
            const double want = fmin(fmax(at, 0), 1) / view->channels;
            if (!(fabs(want - (double)got[k * c->n + i]) < 1e-4))
                fail_msg("%s: value of voxel %lld: %g, not %g", c->shape, (long long)i,
                         (double)got[k * c->n + i], want);
        }
    }
    free(value);
}

/* Scores are rounded to 1/1024 nat for each channel and for the place: shares are off by a quarter
 * of that at most, beside a voxel whose float32 distance is rounded the other way. */
TEST(is_what_the_header_says)
{
    for (uint64_t number = 0; number < 60; number++) {
        appearance_case c;
        lob_error error = {.text = ""};
        appearance_case_make(&c, number, 400);
        const int wanted = c.in.labels - 1;
        float *got = shares_of(&c);
        double *scores = calloc((size_t)(c.n * wanted), sizeof *scores), total;
        assert_non_null(scores);
        assert_int_equal(run(got, &c, 2, 0, &error), LOB_OK);
        appearance_reference(scores, &c.in, &c.options);
        for (int64_t i = 0; i < c.n; i++) {
            total = 1;
            for (int k = 0; k < wanted; k++) total += exp(fmin(fmax(scores[k * c.n + i], -16), 16));
            for (int k = 0; k < wanted; k++) {
                const double want = exp(fmin(fmax(scores[k * c.n + i], -16), 16)) / total;
                if (!(fabs(want - (double)got[k * c.n + i]) < 2e-3))
                    fail_msg("%s: voxel %lld of label %d: %g, not %g", c.shape, (long long)i, k,
                             (double)got[k * c.n + i], want);
            }
        }
        check_values(&c, got + wanted * c.n);
        free(scores);
        free(got);
        appearance_case_free(&c);
    }
}

/* Shares plane by plane onto another grid are those of all planes, resampled. */
TEST(onto_a_grid_is_what_resampling_gives)
{
    for (uint64_t number = 0; number < 150; number++) {
        appearance_case c;
        lob_error error = {.text = ""};
        appearance_case_make(&c, number, 5000);
        const size_t bytes = (size_t)(lob_voxels(&c.grid) * channels_of(&c)) * sizeof(float);
        lob_volume fine = lob_volume_empty();
        float *got = malloc(bytes), *want = malloc(bytes), *all = shares_of(&c);
        assert_true(got && want);
        assert_int_equal(run(all, &c, 2, 0, &error), LOB_OK);
        fine.dims = c.image[0].dims;
        fine.geometry = c.image[0].geometry;
        fine.type = LOB_F32;
        fine.channels = channels_of(&c);
        fine.data = all;
        const lob_resample_input in = {&fine, c.grid.dims, c.grid.geometry, {0}};
        const lob_resample_options options = lob_resample_defaults();
        const lob_context context = {.threads = 2};
        assert_int_equal(lob_resample_cpu(want, &in, &options, &context, &error), LOB_OK);
        c.in.grid = &c.grid;
        assert_int_equal(run(got, &c, 1 + (int)(number % 3), 0, &error), LOB_OK);
        if (memcmp(got, want, bytes) != 0) fail_msg("%s: shares on a grid differ", c.shape);
        free(got);
        free(want);
        free(all);
        appearance_case_free(&c);
    }
}

/* Levels are shares through filters. */
static void check_levels(const appearance_case *c, const float *shares, const lob_volume *grid)
{
    lob_error error = {.text = ""};
    const double mm = c->number % 7 == 0 ? 12 : c->number % 5 == 0 ? 0 : 0.1 + c->number % 11 * 0.2;
    lob_filter_step steps[] = {
        {.kind = LOB_FILTER_GAUSSIAN},
        { .kind = LOB_FILTER_SCALE,              .factor = 255},
        { .kind = LOB_FILTER_CAST,             .type = LOB_U8}
    };
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output want;
    lob_volume image = lob_volume_empty();
    image.dims = grid->dims;
    image.geometry = grid->geometry;
    image.type = LOB_F32;
    image.channels = channels_of(c);
    image.data = (void *)shares;
    options.edge = LOB_EDGE_NEAREST;
    for (int a = 0; a < 3; a++)
        steps[0].along[a] = lob_side(grid->dims, a) > 1 ? mm / grid->geometry.spacing_mm[a] : 0;
    const lob_filter_input in = {
        .image = &image, .steps = steps + (mm == 0), .step_count = 3 - (mm == 0)};
    const lob_context context = {.threads = 1 + (int)(c->number % 3)};
    assert_int_equal(lob_filter_cpu(&want, &in, &options, &context, &error), LOB_OK);

    appearance_case levels = *c;
    const size_t n = (size_t)(lob_voxels(grid) * image.channels);
    uint8_t *got = malloc(n);
    lob_appearance_stats stats;
    assert_non_null(got);
    levels.options.levels = true;
    levels.options.blur_mm = mm;
    assert_int_equal(lob_appearance_cpu(got, &stats, &levels.in, &levels.options, &context, &error),
                     LOB_OK);
    if (memcmp(got, want.data, n) != 0)
        fail_msg("%s: levels blurred by %g mm differ", c->shape, mm);
    free(got);
    lob_filter_output_free(&want);
}

TEST(levels_are_what_filters_make_of_shares)
{
    for (uint64_t number = 0; number < 150; number++) {
        appearance_case c;
        lob_error error = {.text = ""};
        appearance_case_make(&c, number, 5000);
        float *shares = shares_of(&c);
        assert_int_equal(run(shares, &c, 2, 0, &error), LOB_OK);
        check_levels(&c, shares, &c.image[0]);
        c.in.grid = &c.grid;
        assert_int_equal(run(shares, &c, 2, 0, &error), LOB_OK);
        check_levels(&c, shares, &c.grid);
        free(shares);
        appearance_case_free(&c);
    }
}

TEST(threads_give_the_same)
{
    for (uint64_t number = 0; number < 40; number++) {
        appearance_case c;
        lob_error error = {.text = ""};
        appearance_case_make(&c, number, 20000);
        float *one = shares_of(&c), *many = shares_of(&c);
        assert_int_equal(run(one, &c, 1, 0, &error), LOB_OK);
        assert_int_equal(run(many, &c, 1 + (int)(number % 5), 0, &error), LOB_OK);
        if (memcmp(one, many, (size_t)(c.n * channels_of(&c)) * sizeof *one) != 0)
            fail_msg("%s: threads differ", c.shape);
        free(one);
        free(many);
        appearance_case_free(&c);
    }
}

/* A table gives stored values of 16 bits at most their bins; real ones have none. */
TEST(whole_numbers_are_as_real_ones)
{
    enum { NX = 44, N = NX * 40 * 38 };
    static const lob_type types[] = {LOB_U8, LOB_I8, LOB_U16, LOB_I16};
    static uint8_t seeds[N];
    static float number[N], shares[2][2 * N];
    uint64_t state = 5;
    for (int i = 0; i < N; i++) seeds[i] = (uint8_t)(random_chance(&state, 2) * (1 + i % 3));
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        lob_volume whole = zeros(types[t], (lob_dims){NX, 40, 38}, 1), real = whole;
        const bool wide = lob_type_of(types[t])->bytes == 2;
        for (int i = 0; i < N; i++) {
            double stored;
            if (wide)
                ((uint16_t *)whole.data)[i] = (uint16_t)random_next(&state);
            else
                ((uint8_t *)whole.data)[i] = (uint8_t)random_next(&state);
            lob_values(&stored, whole.data, types[t], i, 1);
            number[i] = (float)(0.3 * stored - 7);
        }
        whole.slope = 0.3;
        whole.inter = -7;
        real.type = LOB_F32;
        real.data = number;
        for (int k = 0; k < 2; k++) {
            const lob_volume *const view = k ? &real : &whole;
            const appearance_case c = {
                .in =
                    {.views = &view, .view_count = 1, .seeds = seeds, .labels = 3, .background = 3},
                .options = lob_appearance_defaults()
            };
            assert_int_equal(run(shares[k], &c, 2, 0, NULL), LOB_OK);
        }
        assert_memory_equal(shares[0], shares[1], sizeof shares[0]);
        lob_volume_free(&whole);
    }
}

TEST(keeps_to_its_memory)
{
    appearance_case c;
    lob_error error = {.text = ""};
    appearance_case_make(&c, 3, 20000);
    c.in.outline = NULL;
    c.options.far = 4;
    float *shares = shares_of(&c);
    assert_int_equal(run(shares, &c, 2, 1000, &error), LOB_ENOMEM);
    assert_non_null(strstr(error.text, "appearance"));
    free(shares);
    appearance_case_free(&c);
}

static int stop(void *user, double done)
{
    (void)done;
    return ++*(int *)user == 2;
}

TEST(can_be_cancelled)
{
    appearance_case c;
    lob_appearance_stats stats;
    lob_error error = {.text = ""};
    int calls = 0;
    const lob_context context = {.threads = 1, .progress = stop, .user = &calls};
    appearance_case_make(&c, 3, 2000);
    float *shares = shares_of(&c);
    assert_int_equal(lob_appearance_cpu(shares, &stats, &c.in, &c.options, &context, &error),
                     LOB_ECANCEL);
    free(shares);
    appearance_case_free(&c);
}

TEST(refuses)
{
    appearance_case c;
    appearance_case_make(&c, 3, 200);
    float *shares = shares_of(&c);
    const lob_appearance_options good = lob_appearance_defaults();
    lob_appearance_options bad[14];
    for (int i = 0; i < 14; i++) bad[i] = good;
    bad[0].bins = 1;
    bad[1].bins = LOB_APPEARANCE_MAX_BINS + 1;
    bad[2].whole = 1.5;
    bad[3].far = NAN;
    bad[4].far_quantile = -0.1;
    bad[5].shape = 17;
    bad[6].shape_mm = -1;
    bad[7].bin_sigma = INFINITY;
    bad[8].local = 1.01;
    bad[9].local_mm = 0;
    bad[10].local_axis = 3;
    bad[11].partial_volume = 1.1;
    bad[12].blocks = 0;
    bad[13].far_mm = -1;
    for (int i = 0; i < 14; i++) {
        lob_error error = {.text = ""};
        c.options = bad[i];
        assert_int_equal(run(shares, &c, 1, 0, &error), LOB_EARG);
        assert_non_null(strstr(error.text, "out of its range"));
    }
    free(shares);
    appearance_case_free(&c);
}

/* A bright and a dark body, each darker on the right: what is body and what is not changes places
 * from left to right, which strokes as a whole cannot tell. */
TEST(learns_from_strokes_nearby)
{
    enum { N = 121, ROWS = 9, SLICES = 3 };
    const int64_t n = (int64_t)N * ROWS * SLICES;
    lob_volume image = lob_volume_empty();
    const lob_volume *const views[] = {&image};
    uint8_t *const seeds = calloc((size_t)n, 1);
    float *const shares = calloc((size_t)n, sizeof *shares);
    lob_appearance_options options = lob_appearance_defaults();
    const lob_context context = {.threads = 2};
    image.type = LOB_I16;
    image.dims = (lob_dims){N, ROWS, SLICES};
    image.geometry = lob_geometry_of_spacing((double[]){1, 1, 4});
    image.channels = 1;
    image.slope = 1;
    image.data = calloc((size_t)n, sizeof(int16_t));
    assert_true(seeds && shares && image.data);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % N, y = i / N % ROWS;
        const bool body = y < ROWS / 2;
        ((int16_t *)image.data)[i] = (int16_t)((body ? 200 : 100) - x);
        if (x % 20 == 0 && (y == 1 || y == ROWS - 2)) seeds[i] = body ? 1 : 2;
    }
    const lob_appearance_input in = {.views = views,
                                     .view_count = 1,
                                     .seeds = seeds,
                                     .seed_type = LOB_U8,
                                     .labels = 2,
                                     .background = 2};
    options.far = 0;
    for (int local = 0; local < 2; local++) {
        lob_appearance_stats stats;
        lob_error error = {.text = ""};
        int64_t wrong = 0;
        options.local = local;
        assert_int_equal(lob_appearance_cpu(shares, &stats, &in, &options, &context, &error),
                         LOB_OK);
        for (int64_t i = 0; i < n; i++) wrong += (shares[i] > 0.5F) != (i / N % ROWS < ROWS / 2);
        if (local ? wrong * 50 > n : wrong * 20 < n)
            fail_msg("local %d: %lld of %lld voxels are wrong", local, (long long)wrong,
                     (long long)n);
    }
    free(shares);
    free(seeds);
    lob_volume_free(&image);
}

/* ---- strokes ---- */

/* What looks otherwise is left out of strokes that do not, and stays in those that do. */
TEST(strokes_that_agree)
{
    enum { NX = 12, NY = 4 };
    const lob_dims dims = {NX, NY, 1};
    uint8_t seeds[NX * NY] = {0}, shares[2 * NX * NY] = {0}, kept[NX * NY], want[NX * NY];
    uint8_t *const one = shares, *const three = shares + NX * NY; /* label 2 is the background */
    for (int x = 0; x < 5; x++) {
        seeds[x] = 1; /* a stroke of which a voxel looks like label 3, and one like nothing much */
        one[x] = 200;
        seeds[3 * NX + x] = 3; /* one that looks like the background as a whole */
        three[3 * NX + x] = 5;
        seeds[NX + 7 + x] = 2; /* and one of the background, of which two look like label 1 */
    }
    one[2] = 20;
    three[2] = 190;
    one[3] = 30;
    three[3] = 100;
    one[NX + 7] = 240;
    one[NX + 8] = 226; /* of which 29 are left: less than 8 times as much */
    memcpy(want, seeds, sizeof want);
    want[2] = want[NX + 7] = 0;
    int n = 0; /* they are those of strokes alone */
    for (int i = 0; i < 2 * NX * NY; i++)
        if (seeds[i % (NX * NY)]) shares[n++] = shares[i];
    assert_int_equal(lob_strokes_agree(kept, seeds, shares, dims, 3, 2, THREADS(1), NULL), LOB_OK);
    assert_memory_equal(kept, want, sizeof want);
}

/* A drawing mirrored along axes, a bit each of turn, and with x and y exchanged where turn is > 7.
 */
static void turned(char out[64], const char *rows, int64_t nx, int64_t ny, int turn)
{
    const int64_t n = (int64_t)strlen(rows), nz = n / (nx * ny);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = turn & 1 ? nx - 1 - i % nx : i % nx;
        const int64_t y = turn & 2 ? ny - 1 - i / nx % ny : i / nx % ny;
        const int64_t z = turn & 4 ? nz - 1 - i / (nx * ny) : i / (nx * ny);
        out[turn > 7 ? (z * nx + x) * ny + y : (z * ny + y) * nx + x] = rows[i];
    }
    out[n] = 0;
}

static int32_t background_of(const char *rows, int64_t nx, int64_t ny, int *axis)
{
    uint8_t seeds[64];
    lob_strokes strokes;
    const int64_t n = (int64_t)strlen(rows);
    for (int64_t i = 0; i < n; i++) seeds[i] = (uint8_t)(rows[i] == '.' ? 0 : rows[i] - '0');
    const lob_dims dims = {nx, ny, n / (nx * ny)};
    assert_int_equal(lob_strokes_count(&strokes, seeds, LOB_U8, dims, 3, NULL, 2, NULL), LOB_OK);
    int32_t background;
    assert_int_equal(lob_strokes_background(&background, &strokes, seeds, LOB_U8, NULL), LOB_OK);
    *axis = lob_strokes_axis(&strokes);
    lob_strokes_free(&strokes);
    return background;
}

TEST(finds_the_background)
{
    static const struct {
        const char *what;
        const char *rows;
        int64_t nx, ny;
        int32_t background;
        int axis;
    } rows[] = {
        {"the label around another",         "222212222",                   3,  3, 2, -1},
        {"no stroke at all",                 ".........",                   3,  3, 0, -1},
        {"the longer of two side by side",   "1.......3....2222",           17, 1, 2, -1},
        {"a dot beside a line",              "11111..2",                    8,  1, 2, -1},
        {"of equals the larger label",       "1.2",                         3,  1, 2, -1},
        {"drawn in one slice across z",      "........1.2.............",    2,  4, 2, 2 },
        {"another label alone at both ends", "222222222.1112111.222222222", 3,  3, 1, 2 },
        {"one slip of it at the edge",       "111112121111",                4,  3, 1, -1},
        {"two that follow each other",       "11212",                       5,  1, 2, -1},
        {"a label alone on its rows",        "1221..1.........3.3.3.",      11, 2, 1, -1},
    };
    for (size_t i = 0; i < 16 * sizeof rows / sizeof *rows; i++) {
        const int turn = i % 16;
        const int64_t nx = rows[i / 16].nx, ny = rows[i / 16].ny;
        char drawn[64];
        int axis;
        turned(drawn, rows[i / 16].rows, nx, ny, turn);
        const int32_t got = background_of(drawn, turn > 7 ? ny : nx, turn > 7 ? nx : ny, &axis);
        if (got != rows[i / 16].background || axis != rows[i / 16].axis)
            fail_msg("%s, turn %d: label %d, axis %d", rows[i / 16].what, turn, got, axis);
    }
}

TEST(finds_drawn_slices)
{
    /* A slice's strokes lie on its diagonal. */
    static const char *const slices[] = {
        "12......", /* both labels */
        "11......", /* one alone */
        "12222222", /* both, many */
        "........", /* nothing */
        "21111111", /* both */
    };
    uint8_t seeds[5 * 64] = {0};
    lob_strokes strokes;
    int64_t drawn[5];
    const lob_dims dims = {8, 8, 5};
    for (int z = 0; z < 5; z++)
        for (int k = 0; k < 8; k++)
            if (slices[z][k] != '.') seeds[z * 64 + k * 9] = (uint8_t)(slices[z][k] - '0');
    assert_int_equal(lob_strokes_count(&strokes, seeds, LOB_U8, dims, 2, NULL, 3, NULL), LOB_OK);
    assert_int_equal(lob_strokes_axis(&strokes), 2);
    assert_int_equal(lob_strokes_drawn(drawn, &strokes, 1, 2), 3);
    assert_int_equal(drawn[0], 0);
    assert_int_equal(drawn[1], 2);
    assert_int_equal(drawn[2], 4);
    lob_strokes_free(&strokes);
}

/* Counts of a part with all strokes, laid out, are those of the whole. */
TEST(counts_of_a_part_are_laid_out)
{
    enum { NX = 11, NY = 9, NZ = 7 };
    const lob_dims whole = {NX, NY, NZ}, part = {6, 5, 4};
    const int64_t first[3] = {2, 3, 1};
    uint64_t state = 5;
    for (uint64_t number = 0; number < CASES(60); number++) {
        uint8_t all[NX * NY * NZ] = {0}, some[6 * 5 * 4];
        lob_strokes wanted, counted, laid;
        for (int64_t i = 0; i < 6 * 5 * 4; i++) {
            const int64_t x = i % 6, y = i / 6 % 5, z = i / 30;
            some[i] = random_chance(&state, 12) ? (uint8_t)(1 + random_below(&state, 3)) : 0;
            all[((z + first[2]) * NY + y + first[1]) * NX + x + first[0]] = some[i];
        }
        assert_int_equal(lob_strokes_count(&wanted, all, LOB_U8, whole, 3, NULL, 1, NULL), LOB_OK);
        assert_int_equal(lob_strokes_count(&counted, some, LOB_U8, part, 3, NULL, 1, NULL), LOB_OK);
        assert_int_equal(lob_strokes_lay(&laid, &counted, whole, first, NULL), LOB_OK);
        assert_memory_equal(&laid.dims, &wanted.dims, sizeof wanted.dims);
        assert_memory_equal(laid.across, wanted.across, (NX + NY + NZ) * 3 * sizeof *wanted.across);
        assert_memory_equal(laid.planes, wanted.planes, NX + NY + NZ);
        lob_strokes_free(&wanted);
        lob_strokes_free(&counted);
        lob_strokes_free(&laid);
    }
}

/* Of two channels the second alone tells labels apart: where their values are mixed up, no stroke
 * looks like another label. */
TEST(corrections_are_told_by_any_channel)
{
    enum { NX = 12, NY = 4, NZ = 4, PLANE = NX * NY, N = PLANE * NZ };
    enum { WX = 15, WY = 9, WZ = 7, W = WX * WY * WZ };
    static int16_t image[2 * W];
    const lob_dims dims = {NX, NY, NZ};
    const int64_t first[3] = {2, 3, 1};
    uint8_t seeds[N] = {0}, want[N] = {0}, got[N] = {0};
    double values[2 * N];
    lob_strokes strokes;
    lob_volume volume = lob_volume_empty();
    volume.data = image;
    volume.type = LOB_I16;
    volume.channels = 2;
    volume.dims = (lob_dims){WX, WY, WZ};
    for (int x = 0; x < NX; x++) {
        seeds[x] =
            1; /* slice 0 has both labels, slice 2 strokes of one, the second like the other */
        seeds[2 * NX + x] = 2;
        seeds[2 * PLANE + x] = 1;
        seeds[2 * PLANE + 3 * NX + x] = 1;
    }
    for (int i = 0; i < W; i++) image[i] = (int16_t)(i % 50);
    for (int i = 0; i < N; i++) {
        const int x = i % NX, y = i / NX % NY, z = i / PLANE;
        image[W + ((z + 1) * WY + y + 3) * WX + x + 2] =
            (int16_t)(y < 2 ? 100 + x % 3 : 900 + x % 3);
    }
    memcpy(want, seeds, sizeof want);
    memset(want + 2 * PLANE + 3 * NX, 0, NX);
    assert_ok(lob_strokes_count(&strokes, seeds, LOB_U8, dims, 2, NULL, 2, NULL));
    assert_int_equal(lob_strokes_voxels(&strokes), 4 * NX);
    lob_strokes_values(values, seeds, &strokes, &volume, first);
    for (int c = 0, k = 0; c < 2; c++)
        for (int i = 0; i < N; i++) {
            const int at = ((i / PLANE + 1) * WY + i / NX % NY + 3) * WX + i % NX + 2;
            if (seeds[i]) assert_true(values[k++] == image[c * W + at]);
        }
    assert_ok(lob_strokes_leave_corrections(got, seeds, &strokes, values, 2, 2, THREADS(1), NULL));
    assert_memory_equal(got, want, sizeof want);
    lob_strokes_free(&strokes);
}

/* Slices that another plane's strokes merely cross are not drawn. */
TEST(finds_planes_of_two_axes)
{
    uint8_t seeds[8 * 64] = {0};
    lob_strokes strokes;
    int64_t drawn[8];
    const lob_dims dims = {8, 8, 8};
    for (int k = 0; k < 8; k++) {
        const uint8_t label = k > 1 && k < 6 ? 1 : 2;
        seeds[3 * 64 + 3 * 8 + k] = label;
        seeds[k * 64 + k * 8 + 3] = label;
    }
    assert_int_equal(lob_strokes_count(&strokes, seeds, LOB_U8, dims, 2, NULL, 3, NULL), LOB_OK);
    assert_int_equal(lob_strokes_drawn(drawn, &strokes, 1, 0), 1);
    assert_int_equal(drawn[0], 3);
    assert_int_equal(lob_strokes_drawn(drawn, &strokes, 1, 1), 0);
    assert_int_equal(lob_strokes_drawn(drawn, &strokes, 1, 2), 1);
    assert_int_equal(drawn[0], 3);
    lob_strokes_free(&strokes);
}
