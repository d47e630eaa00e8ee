/* Supervoxels against the reference, at every thread count, and what each must be by itself. */
#include "kernels/supervoxels/supervoxels_plan.h"
#include "tests/reference/random.h"
#include "tests/reference/supervoxels_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

static lob_status cut(int32_t *labels, lob_supervoxels_stats *stats, const supervoxels_case *c,
                      int threads)
{
    lob_error error = {.text = ""};
    const lob_status st =
        lob_supervoxels_cpu(labels, stats, &c->in, &c->options, THREADS(threads), &error);
    if ((st == LOB_OK) != (error.text[0] == '\0')) fail_msg("%s: '%s'", c->shape, error.text);
    return st;
}

/* Run a case and compare labels and status with the reference. */
static lob_status compare(const supervoxels_case *c, int threads)
{
    const size_t bytes = (size_t)c->n * sizeof(int32_t);
    int32_t *got = malloc(bytes), *want = malloc(bytes);
    lob_supervoxels_stats found, wanted;
    const lob_status st = cut(got, &found, c, threads);
    const lob_status expected = supervoxels_reference(want, &wanted, &c->in, &c->options);
    if (st != expected) fail_msg("%s: %s", c->shape, lob_status_text(st));
    for (int64_t v = 0; st == LOB_OK && v < c->n; v++)
        if (got[v] != want[v])
            fail_msg("%s: voxel %lld is in %d, the reference says %d", c->shape, (long long)v,
                     got[v], want[v]);
    if (st == LOB_OK && !supervoxels_stats_equal(&found, &wanted)) fail_msg("%s: stats", c->shape);
    free(got), free(want);
    return st;
}

TEST(equals_the_reference)
{
    int cut_up = 0;
    for (uint64_t number = 1; number <= CASES(350); number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, number % 10 == 0 ? 17 : 11);
        cut_up += compare(&c, 1 + (int)(number % 5)) == LOB_OK;
        supervoxels_case_free(&c);
    }
    print_message("%d cases compared\n", cut_up);
    assert_true(cut_up > CASES(280));
}

/* Under sanitizers test_supervoxels_team.c cuts them, in one piece too. */
TEST(odd_shapes_equal_the_reference)
{
    if (CASES(4) < 4) skip();
    supervoxels_case c;
    for (int number = 0; supervoxels_case_fixed(&c, number); number++) {
        if (compare(&c, 1 + number % 3) != LOB_OK) fail_msg("%s: not cut", c.shape);
        supervoxels_case_free(&c);
    }
}

TEST(same_at_any_thread_count)
{
    for (uint64_t number = 1001; number <= 1000 + CASES(80); number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, 41);
        const size_t bytes = (size_t)c.n * sizeof(int32_t);
        int32_t *one = malloc(bytes), *many = malloc(bytes);
        lob_supervoxels_stats a, b;
        const lob_status st = cut(one, &a, &c, 1);
        for (int threads = 2; threads <= 5 && st == LOB_OK; threads++) {
            assert_ok(cut(many, &b, &c, threads));
            if (memcmp(one, many, bytes) != 0 || !supervoxels_stats_equal(&a, &b))
                fail_msg("%s: %d threads differ from one", c.shape, threads);
        }
        free(one), free(many);
        supervoxels_case_free(&c);
    }
}

/* Is a voxel data? As kernels/levels tells. */
static bool is_data(const supervoxels_case *c, int64_t v)
{
    const lob_data data = {
        &c->image, c->mask, {c->options.range[0], c->options.range[1]}
    };
    const lob_view view = lob_view_whole(c->image.dims);
    const lob_dims d = c->image.dims;
    uint8_t yes;
    lob_levels_data_row(&yes, &data, &view, v % d.nx, v / d.nx % d.ny, v / d.nx / d.ny, 1);
    return yes;
}

/* Voxels of the label that `first` has which a walk over faces from it reaches. */
static int64_t reach(const supervoxels_case *c, const int32_t *labels, uint8_t *seen,
                     int64_t *stack, int64_t first)
{
    const int64_t side[3] = {c->image.dims.nx, c->image.dims.ny, c->image.dims.nz};
    int64_t height = 0, reached = 0;
    stack[height++] = first;
    seen[first] = 1;
    while (height > 0) {
        const int64_t v = stack[--height];
        reached++;
        for (int64_t a = 0, stride = 1; a < 3; stride *= side[a], a++)
            for (int step = -1; step <= 1; step += 2) {
                const int64_t x = v / stride % side[a] + step, u = v + step * stride;
                if (a == c->options.slice_axis || x < 0 || x >= side[a]) continue;
                if (seen[u] || labels[u] != labels[v]) continue;
                seen[u] = 1;
                stack[height++] = u;
            }
    }
    return reached;
}

/* Every data voxel has a label and no other, labels are 1..K as a raster scan first meets them, and
 * each is one piece in its slice. */
static void check_labels(const supervoxels_case *c, const int32_t *labels, int64_t supervoxels)
{
    uint8_t *seen = calloc((size_t)c->n, 1);
    int64_t *stack = malloc((size_t)c->n * sizeof *stack);
    int64_t *voxels = calloc((size_t)supervoxels + 1, sizeof *voxels);
    int32_t highest = 0;
    for (int64_t v = 0; v < c->n; v++) {
        if (labels[v] < 0 || labels[v] > supervoxels || (labels[v] > 0) != is_data(c, v))
            fail_msg("%s: voxel %lld has label %d", c->shape, (long long)v, labels[v]);
        voxels[labels[v]]++;
    }
    for (int64_t v = 0; v < c->n; v++) {
        if (labels[v] <= highest) continue;
        if (labels[v] != ++highest) fail_msg("%s: label %d before its turn", c->shape, labels[v]);
        if (reach(c, labels, seen, stack, v) != voxels[highest])
            fail_msg("%s: label %d is in pieces", c->shape, highest);
    }
    if (highest != supervoxels) fail_msg("%s: %d labels", c->shape, highest);
    free(seen), free(stack), free(voxels);
}

TEST(labels_are_whole)
{
    for (uint64_t number = 2001; number <= 2000 + CASES(300); number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, 31);
        int32_t *labels = malloc((size_t)c.n * sizeof *labels);
        lob_supervoxels_stats stats;
        if (cut(labels, &stats, &c, 2) == LOB_OK) check_labels(&c, labels, stats.supervoxels);
        free(labels);
        supervoxels_case_free(&c);
    }
}

/* ---- made images ---- */

/* uint16 noise about a level, one channel. */
static void make(supervoxels_case *c, lob_dims dims, const double spacing_mm[3], double noise)
{
    *c = (supervoxels_case){.n = lob_dims_voxels(dims), .options = lob_supervoxels_defaults()};
    uint16_t *data = malloc((size_t)c->n * sizeof *data);
    uint64_t state = 77;
    for (int64_t v = 0; v < c->n; v++) data[v] = (uint16_t)(2000 + noise * random_double(&state));
    c->image = volume_of(data, LOB_U16, dims, spacing_mm);
    c->in.image = &c->image;
}

TEST(cubes_in_mm)
{
    const double spacing[3] = {5, 1, 1};
    supervoxels_case c;
    make(&c, (lob_dims){24, 120, 120}, spacing, 40);
    ((uint16_t *)c.image.data)[0] = 4000; /* of whose range the noise is a hundredth */
    for (int method = LOB_SLIC; method <= LOB_LSC; method++) {
        int32_t *labels = malloc((size_t)c.n * sizeof *labels);
        lob_supervoxels_stats stats;
        c.options.method = (lob_supervoxels_method)method;
        c.options.size_mm = 20;
        if (method == LOB_SLICO) c.options.iterations = 3;
        assert_ok(cut(labels, &stats, &c, 2));
        assert_true(stats.cells[0] == 6 && stats.cells[1] == 6 && stats.cells[2] == 6);
        double *sum = calloc((size_t)stats.supervoxels + 1, 7 * sizeof *sum), square[3] = {0};
        for (int64_t v = 0; v < c.n; v++) {
            const double mm[3] = {(double)(v % 24) * 5, (double)(v / 24 % 120),
                                  (double)(v / 24 / 120)};
            double *s = sum + labels[v] * 7;
            s[0]++;
            for (int a = 0; a < 3; a++) s[1 + a] += mm[a], s[4 + a] += mm[a] * mm[a];
        }
        for (int64_t k = 1; k <= stats.supervoxels; k++)
            for (int a = 0; a < 3; a++) {
                const double *s = sum + k * 7, mean = s[1 + a] / s[0];
                square[a] += (s[4 + a] / s[0] - mean * mean) * s[0] / (double)c.n;
            }
        for (int a = 0; a < 3; a++) {
            /* A side of s mm of voxels of h has the variance (s^2 - h^2) / 12. */
            const double side = sqrt(12 * square[a] + spacing[a] * spacing[a]);
            print_message("method %d: %.1f mm along axis %d\n", method, side, a);
            assert_true(side > 15 && side < 26);
        }
        free(sum), free(labels);
    }
    lob_volume_free(&c.image);
}

TEST(counts_come_near)
{
    static const struct {
        lob_dims dims;
        double mm[3];
        int64_t count;
        int slice_axis;
        int64_t cells[3];
        int64_t voxels_a_data;
    } cases[] = {
        {{100, 100, 100}, {1, 1, 1}, 1000, -1, {10, 10, 10}, 1},
        {{100, 100, 100}, {1, 1, 1}, 125,  -1, {10, 10, 10}, 8}, /* the rest lies outside a mask */
        {{400, 200, 1},   {1, 1, 9}, 200,  -1, {20, 10, 1},  1},
        {{60, 100, 100},  {5, 1, 1}, 3000, -1, {30, 10, 10}, 1},
        {{64, 64, 10},    {1, 1, 8}, 640,  -1, {8, 8, 10},   1}, /* slices thicker than a cell */
        {{100, 80, 7},    {1, 1, 1}, 80,   2,  {10, 8, 7},   1}, /* of each slice */
        {{1000, 1000, 2}, {1, 1, 1}, 100,  -1, {10, 10, 1},  1}, /* thinner than a cell */
        {{5, 4, 3},       {1, 1, 1}, 9999, -1, {5, 4, 3},    1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_supervoxels_options o = lob_supervoxels_defaults();
        const lob_volume image = volume_of(NULL, LOB_U8, cases[i].dims, cases[i].mm);
        lob_supervoxels_plan plan;
        const lob_extremes extremes = {.any = true};
        lob_levels levels = {.exact = true, .per_unit = 1};
        levels.data_voxels = lob_dims_voxels(image.dims) / cases[i].voxels_a_data;
        o.count = cases[i].count;
        o.slice_axis = cases[i].slice_axis;
        const lob_supervoxels_input in = {&image, NULL};
        assert_int_equal(lob_supervoxels_plan_make(&plan, &in, &o, &levels, &extremes,
                                                   &(lob_context){.threads = 1}, NULL),
                         0);
        for (int a = 0; a < 3; a++)
            if (plan.rule.cells[a] != cases[i].cells[a])
                fail_msg("case %zu: %d cells along axis %d at %g mm", i, plan.rule.cells[a], a,
                         plan.size_mm);
        lob_supervoxels_plan_free(&plan);
    }
}

/* ---- colours ---- */

static double root(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* CIELAB of an sRGB colour, straight from the definition. */
static void lab_of(double lab[3], const uint8_t rgb[3])
{
    static const double to_xyz[3][3] = {
        {0.4124564, 0.3575761, 0.1804375},
        {0.2126729, 0.7151522, 0.0721750},
        {0.0193339, 0.1191920, 0.9503041}
    };
    static const double white[3] = {0.95047, 1, 1.08883};
    double f[3] = {0};
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const double v = rgb[c] / 255.0;
            sum += to_xyz[i][c] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
        }
        f[i] = root(sum / white[i]);
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

TEST(colours_as_cie_says)
{
    uint8_t rgb[3] = {255, 0, 0};
    lob_volume image = volume_of(rgb, LOB_U8, (lob_dims){1, 1, 1}, (double[]){1, 1, 1});
    lob_supervoxels_plan plan;
    lob_supervoxels_options o = lob_supervoxels_defaults();
    const lob_levels levels = {.exact = true, .per_unit = 1, .data_voxels = 1};
    image.channels = 3;
    o.lab = true;
    o.size_mm = 1;
    const lob_supervoxels_input in = {&image, NULL};
    assert_ok(lob_supervoxels_check(&in, &o, NULL));
    assert_ok(lob_supervoxels_plan_make(&plan, &in, &o, &levels, NULL, &(lob_context){.threads = 1},
                                        NULL));
    for (int i = 0; i < LOB_LAB_ROOTS; i++)
        assert_int_equal(plan.root[i], (int)(root(i / 65535.0) * 65535 + 0.5));
    double worst = 0;
    for (int r = 0; r < 256; r += 5)
        for (int g = 0; g < 256; g += 5)
            for (int b = 0; b < 256; b += 5) {
                uint16_t got[3];
                double want[3];
                const uint8_t colour[3] = {(uint8_t)r, (uint8_t)g, (uint8_t)b};
                lob_lab(got, colour[0], colour[1], colour[2], plan.linear, plan.root);
                lab_of(want, colour);
                for (int c = 0; c < 3; c++) {
                    const double unit = (double)got[c] / LOB_LAB_UNIT - (c ? 128 : 0);
                    worst = fmax(worst, fabs(unit - want[c]));
                }
            }
    print_message("CIELAB is at most %.4f units off\n", worst);
    assert_true(worst < 0.08);
    lob_supervoxels_plan_free(&plan);
}

/* ---- calls ---- */

TEST(still_is_still)
{
    supervoxels_case c;
    make(&c, (lob_dims){40, 37, CASES(56) / 2 + 1}, (double[]){1, 1, 1}, 500);
    c.options.size_mm = 8;
    for (int method = LOB_SLIC; method <= LOB_LSC; method++) {
        int32_t *early = malloc((size_t)c.n * sizeof *early);
        int32_t *late = malloc((size_t)c.n * sizeof *late);
        lob_supervoxels_stats a, b;
        c.options.method = (lob_supervoxels_method)method;
        c.options.iterations = 2000;
        c.options.until_still = true;
        assert_ok(cut(early, &a, &c, 2));
        print_message("method %d: still after %d iterations\n", method, a.iterations);
        assert_true(a.iterations < 2000);
        c.options.iterations = a.iterations + 1; /* one more changes nothing */
        c.options.until_still = false;
        assert_ok(cut(late, &b, &c, 2));
        assert_memory_equal(early, late, (size_t)c.n * sizeof *early);
        free(early), free(late);
    }
    lob_volume_free(&c.image);
}

/* Cut with one option changed from a call that works, and compare the result. */
#define REFUSED(status, change)                                                         \
    do {                                                                                \
        c.options = good;                                                               \
        c.options.change;                                                               \
        const lob_status got = cut(labels, NULL, &c, 1);                                \
        if (got != (status)) fail_msg("options.%s: %s", #change, lob_status_text(got)); \
    } while (0)

TEST(bad_options_are_told)
{
    supervoxels_case c;
    make(&c, (lob_dims){6, 5, 4}, (double[]){1, 1, 1}, 9);
    lob_supervoxels_options good = lob_supervoxels_defaults();
    int32_t labels[120];
    good.size_mm = 2;
    REFUSED(LOB_OK, size_mm = 3);
    REFUSED(LOB_EARG, size_mm = 0);
    REFUSED(LOB_EARG, count = 3); /* and a size */
    REFUSED(LOB_EARG, size_mm = -2);
    REFUSED(LOB_EARG, size_mm = NAN);
    REFUSED(LOB_EARG, size_mm = INFINITY);
    REFUSED(LOB_EARG, size_mm = 1e-300); /* beyond floats */
    REFUSED(LOB_EARG, count = -1);
    REFUSED(LOB_EARG, compactness = 0);
    REFUSED(LOB_EARG, compactness = NAN);
    REFUSED(LOB_EARG, ratio = 0);
    REFUSED(LOB_EARG, iterations = 0);
    REFUSED(LOB_EARG, range[0] = INFINITY; c.options.range[1] = 0);
    REFUSED(LOB_EARG, smallest = 1.5);
    REFUSED(LOB_EARG, slice_axis = 3);
    REFUSED(LOB_EARG, lab = true); /* of one channel */
    REFUSED(LOB_EARG, method = (lob_supervoxels_method)3);
    REFUSED(LOB_EDATA, range[1] = 4); /* nothing is that low */
    c.image.channels = LOB_SUPERVOXELS_MAX_CHANNELS + 1;
    REFUSED(LOB_EDATA, size_mm = 2);
    c.image.channels = 1;
    lob_volume_free(&c.image);
}

TEST(progress_and_cancel)
{
    supervoxels_case c;
    make(&c, (lob_dims){20, 21, 22}, (double[]){1, 1, 1}, 300);
    int32_t *labels = malloc((size_t)c.n * sizeof *labels);
    c.options.size_mm = 5;
    for (int stop = 0; stop < 60; stop += 7) {
        progress_log l = {.stop_at = 2, .stop_after = stop};
        const lob_context context = {.threads = 2, .progress = listen, .user = &l};
        const lob_status st = lob_supervoxels_cpu(labels, NULL, &c.in, &c.options, &context, NULL);
        assert_int_equal(st, stop ? LOB_ECANCEL : LOB_OK);
        if (!stop) assert_true(l.last == 1 && l.calls > 60);
    }
    free(labels);
    lob_volume_free(&c.image);
}

/* Connectivity follows the iterations, and can be cancelled as these can. How often several threads
 * report depends on which of them comes first, so there it is the progress that decides. */
TEST(connectivity_is_cancelled)
{
    supervoxels_case c;
    make(&c, (lob_dims){20, 40, 42}, (double[]){1, 1, 1}, 30000);
    int32_t *labels = malloc((size_t)c.n * sizeof *labels);
    c.options.size_mm = 5;
    for (int threads = 1; threads <= 3; threads++) {
        progress_log all = {.stop_at = 2};
        lob_context context = {.threads = threads, .progress = listen, .user = &all};
        assert_ok(lob_supervoxels_cpu(labels, NULL, &c.in, &c.options, &context, NULL));
        for (int before = 1; before <= 6; before++) {
            progress_log l = {.stop_at = 2, .stop_after = all.calls - before};
            if (threads > 1) l = (progress_log){.stop_at = 0.9 + 0.008 * before};
            context.user = &l;
            assert_int_equal(lob_supervoxels_cpu(labels, NULL, &c.in, &c.options, &context, NULL),
                             LOB_ECANCEL);
            assert_true(l.last > 0.9 && l.last < 1);
            assert_true(threads > 1 ? l.last >= l.stop_at : l.calls == l.stop_after);
        }
    }
    free(labels);
    lob_volume_free(&c.image);
}

/* Steps far enough apart to stand out from the noise, of 12 bits, or as bytes of colours. */
static void make_steps(supervoxels_case *c, lob_dims dims, int channels, bool bytes)
{
    make(c, dims, (double[]){1, 1, 1}, 300);
    const uint16_t *noise = c->image.data;
    uint8_t *data = malloc((size_t)(c->n * channels) * (bytes ? 1 : sizeof *noise));
    for (int channel = 0; channel < channels; channel++)
        for (int64_t v = 0; v < c->n; v++) {
            const int64_t z = v / dims.nx / dims.ny, i = channel * c->n + v;
            const int64_t level = noise[(v + channel) % c->n] + z / 24 * 4000 / (channel + 1) +
                                  v % dims.nx / 50 * 2000;
            if (bytes)
                data[i] = (uint8_t)(level / 128 % 256);
            else
                ((uint16_t *)(void *)data)[i] = (uint16_t)level;
        }
    free(c->image.data);
    c->image.data = data;
    c->image.channels = channels;
    c->image.type = bytes ? LOB_U8 : LOB_U16;
}

/* Given less memory than it took, a run keeps to that, to the same labels, or says that it cannot.
 */
static bool keeps_to(int64_t limit, const supervoxels_case *c, const int32_t *labels, int threads)
{
    const lob_context context = {.threads = threads, .max_memory = limit};
    lob_supervoxels_stats stats;
    lob_error error = {.text = ""};
    int32_t *got = malloc((size_t)c->n * sizeof *got);
    const lob_status st = lob_supervoxels_cpu(got, &stats, &c->in, &c->options, &context, &error);
    if (st == LOB_OK) {
        assert_true(stats.working_bytes <= limit);
        assert_memory_equal(got, labels, (size_t)c->n * sizeof *got);
    } else {
        assert_int_equal(st, LOB_ENOMEM);
        assert_non_null(strstr(error.text, "working memory"));
    }
    free(got);
    return st == LOB_OK;
}

/* What a single thread takes, which is enough for it, and a byte less is not. */
static int64_t needs_alone(const supervoxels_case *c, int32_t *labels)
{
    lob_supervoxels_stats stats;
    assert_ok(cut(labels, &stats, c, 1));
    assert_true(keeps_to(stats.working_bytes, c, labels, 1));
    assert_false(keeps_to(stats.working_bytes - 1, c, labels, 1));
    return stats.working_bytes;
}

/* At most 4 bytes a voxel, with up to three channels from cells of 64 voxels on; and the
 * reported memory is enough. */
TEST(memory_as_promised)
{
    static const struct {
        lob_dims dims;
        int channels;
        bool lab, until_still;
        double size;
        int threads;
    } rows[] = {
        {{128, 128, 96}, 1, false, false, 8,  2 },
        {{128, 128, 96}, 1, false, false, 4,  2 },
        {{60, 61, 62},   1, false, false, 4,  16},
        {{96, 96, 96},   1, false, true,  5,  2 },
        {{800, 600, 1},  3, true,  false, 16, 2 },
        {{400, 335, 1},  3, true,  false, 16, 16},
        {{800, 600, 1},  3, true,  false, 8,  2 },
        {{96, 96, 96},   3, true,  false, 4,  2 },
        {{96, 64, 64},   5, false, false, 8,  2 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        supervoxels_case c;
        const int64_t nz = rows[i].dims.nz;
        lob_dims dims = rows[i].dims;
        if (nz > 62) dims.nz = CASES(nz); /* 4 bytes a voxel are enough for a quarter, too */
        make_steps(&c, dims, rows[i].channels, rows[i].lab);
        int32_t *labels = malloc((size_t)c.n * sizeof *labels);
        c.options.size_mm = rows[i].size;
        c.options.lab = rows[i].lab;
        c.options.until_still = rows[i].until_still;
        c.options.iterations = 2 + CASES(4) / 4;
        for (int method = LOB_SLIC; method <= LOB_LSC; method++) {
            if (CASES(4) == 1 && method != (int)i % 3) continue;
            lob_supervoxels_stats stats;
            c.options.method = (lob_supervoxels_method)method;
            assert_ok(cut(labels, &stats, &c, rows[i].threads));
            const double bytes = (double)stats.working_bytes / (double)c.n;
            print_message("%d channels, size %g, method %d: %.2f bytes a voxel, %lld pieces\n",
                          rows[i].channels, rows[i].size, method, bytes,
                          (long long)stats.fragments);
            assert_true(bytes <= 4);
            assert_true(keeps_to(stats.working_bytes, &c, labels, rows[i].threads));
            keeps_to(stats.working_bytes / 2, &c, labels, rows[i].threads);
            const int64_t alone = needs_alone(&c, labels);
            assert_false(keeps_to(alone / 2, &c, labels, rows[i].threads));
            if (rows[i].threads > 2) /* whose clusters take more than their pieces */
                assert_true(keeps_to(alone, &c, labels, rows[i].threads));
        }
        free(labels);
        lob_volume_free(&c.image);
    }
}
