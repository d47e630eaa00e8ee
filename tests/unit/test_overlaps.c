/* Overlap and surface distances against their definitions, and what is refused. */
#include "kernels/scores/overlaps.h"
#include "tests/reference/overlaps_reference.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

enum { BLOB, NOISE, EMPTY, FULL, APART };

static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    int a, b;
} cases[] = {
    {"blobs on prime sides",                     {17, 13, 11}, {1, 1, 1},     BLOB,  BLOB },
    {"blobs, anisotropic",                       {19, 13, 7},  {0.7, 0.9, 3}, BLOB,  BLOB },
    {"a blob against noise",                     {13, 11, 7},  {1, 2, 3},     BLOB,  NOISE},
    {"noise against noise",                      {7, 5, 11},   {1, 1, 2.5},   NOISE, NOISE},
    {"a plane",                                  {23, 19, 1},  {1, 0.5, 9},   BLOB,  BLOB },
    {"a line",                                   {1, 1, 41},   {1, 0.5, 9},   NOISE, NOISE},
    {"one voxel",                                {1, 1, 1},    {1, 1, 1},     FULL,  FULL },
    {"empty against full",                       {5, 4, 3},    {1, 1, 1},     EMPTY, FULL },
    {"empty against empty",                      {5, 4, 3},    {1, 1, 1},     EMPTY, EMPTY},
    {"full against full",                        {5, 4, 3},    {1, 1, 1},     FULL,  FULL },
    {"labels of one are not those of the other", {9, 7, 5},    {1, 1, 1},     NOISE, APART},
};

static void fill(uint8_t *out, lob_dims d, int how, uint64_t *state)
{
    const double cx = (double)random_below(state, d.nx), cy = (double)random_below(state, d.ny);
    const double cz = (double)random_below(state, d.nz);
    for (int64_t i = 0; i < d.nx * d.ny * d.nz; i++) {
        const double x = (double)(i % d.nx) - cx, y = (double)(i / d.nx % d.ny) - cy;
        const double r = sqrt(x * x + y * y + pow((double)(i / d.nx / d.ny) - cz, 2));
        const uint64_t any = random_next(state);
        out[i] = how == BLOB    ? (r < 3           ? 3
                                   : r < 6         ? 70
                                   : r < 7         ? 0
                                   : any % 50 == 0 ? 9
                                                   : 0)
                 : how == NOISE ? (uint8_t)(any % 4)
                 : how == APART ? (uint8_t)(any % 4 + 100)
                 : how == FULL  ? 255
                                : 0;
    }
}

static void check_number(const char *what, int32_t label, const char *name, double got, double want)
{
    if (isnan(got) && isnan(want)) return;
    if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-12))
        fail_msg("%s: label %d: %s is %.10g, not %.10g", what, (int)label, name, got, want);
}

static void check_row(const char *what, const lob_overlap *got, const lob_overlap *want)
{
    assert_int_equal(got->label, want->label);
    assert_int_equal(got->voxels_a, want->voxels_a);
    assert_int_equal(got->voxels_b, want->voxels_b);
    assert_int_equal(got->common, want->common);
    check_number(what, got->label, "dice", got->dice, want->dice);
    check_number(what, got->label, "jaccard", got->jaccard, want->jaccard);
    check_number(what, got->label, "hd95", got->hd95_mm, want->hd95_mm);
    check_number(what, got->label, "mean distance", got->mean_surface_mm, want->mean_surface_mm);
    check_number(what, got->label, "volume", got->volume_a_mm3, want->volume_a_mm3);
    check_number(what, got->label, "volume", got->volume_b_mm3, want->volume_b_mm3);
}

TEST(agrees_with_the_definitions)
{
    for (size_t c = 0; c < COUNT(cases); c++) {
        const lob_dims d = cases[c].dims;
        const size_t n = (size_t)(d.nx * d.ny * d.nz);
        uint8_t *const a = malloc(n), *const b = malloc(n);
        assert_true(a && b);
        uint64_t state = 99 + c;
        fill(a, d, cases[c].a, &state);
        fill(b, d, cases[c].b, &state);
        const lob_volume va = volume_of(a, LOB_U8, d, cases[c].spacing_mm);
        const lob_volume vb = volume_of(b, LOB_U8, d, cases[c].spacing_mm);

        lob_overlap *rows = NULL, *again = NULL;
        int32_t count = 0, count_again = 0;
        int equal = 0;
        lob_context context = {.threads = 1};
        assert_ok(lob_compare_labels(&rows, &count, &equal, &va, "a", &vb, "b", 1, &context, NULL));
        assert_int_equal(equal, memcmp(a, b, n) == 0);

        int32_t row = 0;
        for (int32_t label = 1; label <= 255; label++) {
            if (!memchr(a, label, n) && !memchr(b, label, n)) continue;
            lob_overlap want;
            reference_overlap(&want, label, a, b, d, cases[c].spacing_mm);
            assert_true(row < count);
            check_row(cases[c].what, &rows[row++], &want);
        }
        assert_int_equal(row, count);

        context.threads = 3;
        assert_ok(lob_compare_labels(&again, &count_again, &equal, &va, "a", &vb, "b", 1, &context,
                                     NULL));
        assert_int_equal(count, count_again);
        if (count && memcmp(rows, again, (size_t)count * sizeof *rows) != 0)
            fail_msg("%s: three threads give other bytes", cases[c].what);
        free(rows);
        free(again);
        free(a);
        free(b);
    }
}

TEST(types_may_differ)
{
    float a[] = {0, 1, 2, 70000, 70000, 5};
    int64_t b[] = {0, 1, 2, 70000, 5, 5};
    const lob_dims d = {6, 1, 1};
    const lob_volume va = volume_of(a, LOB_F32, d, (double[]){1, 1, 1});
    const lob_volume vb = volume_of(b, LOB_I64, d, (double[]){1, 1, 1});
    lob_overlap *rows = NULL;
    int32_t count = 0;
    int equal = 1;
    assert_ok(lob_compare_labels(&rows, &count, &equal, &va, "a", &vb, "b", 0, THREADS(2), NULL));
    assert_int_equal(count, 4);
    assert_int_equal(equal, 0);
    assert_int_equal(rows[3].label, 70000);
    assert_true(rows[3].dice == 2.0 / 3.0 && isnan(rows[3].hd95_mm));
    free(rows);
}

/* Two rows of cubes, the labels of the second moved by a voxel: many small boxes. */
static void make_cubes(uint8_t *a, uint8_t *b, lob_dims d)
{
    for (int64_t i = 0; i < d.nx * d.ny * d.nz; i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny;
        a[i] = (uint8_t)(1 + x / 8 + 8 * (y / 8));
        b[i] = (uint8_t)(1 + (x + 1) % d.nx / 8 + 8 * (y / 8));
    }
}

static lob_status compare_within(lob_overlap **rows, const lob_volume *a, const lob_volume *b,
                                 int threads, int64_t max_memory)
{
    const lob_context context = {.threads = threads, .max_memory = max_memory};
    int32_t count = 0;
    int equal = 0;
    return lob_compare_labels(rows, &count, &equal, a, "a", b, "b", 1, &context, NULL);
}

/* What is enough for one thread is enough for many, with the same bits; a byte less is not. */
TEST(memory_is_shared)
{
    enum { LABELS = 32 };
    const lob_dims d = {64, 32, 9};
    uint8_t a[64 * 32 * 9], b[64 * 32 * 9];
    make_cubes(a, b, d);
    const lob_volume va = volume_of(a, LOB_U8, d, (double[]){1, 1, 2});
    const lob_volume vb = volume_of(b, LOB_U8, d, (double[]){1, 1, 2});
    lob_overlap *want = NULL, *rows = NULL;
    assert_ok(compare_within(&want, &va, &vb, 1, 0));
    int64_t too_little = 1, enough = 1 << 26;
    while (enough - too_little > 1) {
        const int64_t middle = (too_little + enough) / 2;
        const lob_status st = compare_within(&rows, &va, &vb, 1, middle);
        *(st == LOB_OK ? &enough : &too_little) = middle;
        free(rows);
        rows = NULL;
    }
    assert_true(enough > 65536 * 8); /* the histogram counts */
    for (int threads = 1; threads <= 8; threads++) {
        assert_ok(compare_within(&rows, &va, &vb, threads, enough));
        assert_memory_equal(rows, want, LABELS * sizeof *rows);
        free(rows);
        assert_int_equal(compare_within(&rows, &va, &vb, threads, too_little), LOB_ENOMEM);
    }
    free(want);
}

TEST(refuses)
{
    float a[] = {0, 1, 2.5f}, whole[] = {0, 1, 2};
    const double mm[] = {1, 1, 1};
    const lob_volume half = volume_of(a, LOB_F32, (lob_dims){3, 1, 1}, mm);
    const lob_volume good = volume_of(whole, LOB_F32, (lob_dims){3, 1, 1}, mm);
    const lob_volume turned = volume_of(whole, LOB_F32, (lob_dims){1, 3, 1}, mm);
    progress_log stop = {.stop_at = 0};
    const lob_context one = {.threads = 1},
                      cancels = {.threads = 1, .progress = listen, .user = &stop};
    const lob_context narrow = {.threads = 1, .max_memory = 1};
    const struct {
        const char *what;
        const lob_volume *b;
        const lob_context *context;
        lob_status want;
    } bad[] = {
        {"a half label",       &half,   &one,     LOB_EDATA  },
        {"other dims",         &turned, &one,     LOB_EDATA  },
        {"cancelled",          &good,   &cancels, LOB_ECANCEL},
        {"one byte of memory", &good,   &narrow,  LOB_ENOMEM },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_overlap *rows = (lob_overlap *)&rows;
        int32_t count = 7;
        int equal = 1;
        lob_error error = {.text = ""};
        const lob_status got = lob_compare_labels(&rows, &count, &equal, &good, "a.nii", bad[i].b,
                                                  "b.nii", 1, bad[i].context, &error);
        if (got != bad[i].want || rows || count || !error.text[0])
            fail_msg("%s: %s: %s", bad[i].what, lob_status_text(got), error.text);
    }
}

TEST(stops_at_any_report)
{
    const lob_dims d = {64, 32, 9};
    uint8_t a[64 * 32 * 9], b[64 * 32 * 9];
    make_cubes(a, b, d);
    const lob_volume va = volume_of(a, LOB_U8, d, (double[]){1, 1, 2});
    const lob_volume vb = volume_of(b, LOB_U8, d, (double[]){1, 1, 2});
    int stopped = 0;
    for (lob_status st = LOB_ECANCEL; st == LOB_ECANCEL; stopped++) {
        progress_log log = {.stop_at = 2, .stop_after = stopped + 1};
        const lob_context context = {.threads = 1, .progress = listen, .user = &log};
        lob_overlap *rows;
        int32_t count;
        int equal;
        st = lob_compare_labels(&rows, &count, &equal, &va, "a", &vb, "b", 1, &context, NULL);
        assert_true(st == LOB_OK ? rows && count == 32 : st == LOB_ECANCEL && !rows && !count);
        free(rows);
    }
    assert_true(stopped > 64); /* before all labels, and at both surfaces of each */
}
