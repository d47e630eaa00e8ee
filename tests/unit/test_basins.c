/* Joining basins: rows that say what is meant, and random volumes against the definition. */
#include "kernels/merge/basins.h"
#include "tests/reference/basins_reference.h"
#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

enum { MAX = 9 };

static void digits(uint8_t *voxels, const char *text)
{
    for (; *text; text++) *voxels++ = (uint8_t)(*text - '0');
}

TEST(rows)
{
    static const struct {
        const char *what, *image, *labels, *want;
        lob_basins_options options;
    } cases[] = {
        {"a wall lower than the height goes",      "13231", "11222", "11111", {3, 0, 0}  },
        {"a wall as high as it stays",             "13231", "11222", "11222", {1, 0, 0}  },
        {"the higher bottom counts",               "03522", "11222", "11222", {3, 0, 0}  },
        {"and with a greater height it goes",      "03522", "11222", "11111", {3.1, 0, 0}},
        {"the smaller label stays, not the lower", "52111", "22111", "11111", {9, 0, 0}  },
        {"a share of the way to the level",        "04044", "11222", "11222", {0, 0.4, 9}},
        {"is more where the level is higher",      "04044", "11222", "11111", {0, 0.5, 9}},
        {"what lies apart stays apart",            "00500", "11022", "11022", {9, 0, 0}  },
        {"joined ones have the lowest bottom",     "02314", "12233", "11111", {3.5, 0, 0}},
        {"three in a row, one wall too high",      "01808", "11233", "11133", {2, 0, 0}  },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t image[5], labels[5], want[5];
        int32_t to[MAX + 1];
        digits(image, cases[i].image);
        digits(labels, cases[i].labels);
        digits(want, cases[i].want);
        const lob_volume im = volume_of(image, LOB_U8, (lob_dims){5, 1, 1}, NULL);
        const lob_label_grid grid = {labels, LOB_U8, MAX, im.dims};
        assert_ok(lob_basins_cpu(to, NULL, &grid, &im, &cases[i].options, THREADS(1), NULL));
        for (int v = 0; v < 5; v++)
            if (to[labels[v]] != want[v])
                fail_msg("%s: voxel %d: %d", cases[i].what, v, to[labels[v]]);
    }
}

typedef struct {
    lob_volume image;
    lob_label_grid grid;
    lob_basins_options options;
} basins_case;

static basins_case make_case(uint64_t number)
{
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_I32};
    uint64_t state = number * 7919 + 3;
    basins_case c = {.image = lob_volume_empty()};
    c.grid.dims = (lob_dims){1 + random_below(&state, 8), 1 + random_below(&state, 7),
                             1 + random_below(&state, 6)};
    c.image.dims = c.grid.dims;
    c.image.type = random_chance(&state, 50) ? LOB_F32 : LOB_U8;
    c.image.slope = random_chance(&state, 30) ? -0.5 : 1;
    c.grid.type = types[random_below(&state, 3)];
    c.grid.count = 1 + random_below(&state, MAX);
    const int64_t n = lob_voxels(&c.image);
    void *labels = malloc((size_t)n * sizeof(int32_t));
    c.image.data = malloc((size_t)n * sizeof(float));
    const bool plateaus = random_chance(&state, 50), gaps = random_chance(&state, 30);
    for (int64_t v = 0; v < n; v++) {
        const double value = (double)random_below(&state, plateaus ? 4 : 250);
        put_number(&c.image, v, c.image.type == LOB_F32 && gaps && v % 5 == 0 ? NAN : value);
        const bool again = v > 0 && random_chance(&state, 60);
        lob_label_put(labels, c.grid.type, v,
                      again ? lob_label_at(labels, c.grid.type, v - 1)
                            : (int32_t)random_below(&state, c.grid.count + 1));
    }
    c.grid.labels = labels;
    c.options.height = (double)random_below(&state, plateaus ? 4 : 100);
    c.options.share = random_chance(&state, 50) ? random_double(&state) : 0;
    c.options.level = (double)random_below(&state, 300);
    return c;
}

TEST(as_defined_at_every_thread_count)
{
    int joined = 0;
    for (uint64_t number = 0; number < CASES(400); number++) {
        basins_case c = make_case(number);
        int32_t want[MAX + 1], got[MAX + 1];
        lob_basins_stats counted, stats;
        basins_reference(want, &counted, &c.grid, &c.image, &c.options);
        for (int threads = 1; threads <= 5; threads += 2) {
            assert_ok(
                lob_basins_cpu(got, &stats, &c.grid, &c.image, &c.options, THREADS(threads), NULL));
            if (memcmp(want, got, (size_t)(c.grid.count + 1) * sizeof *got) != 0)
                fail_msg("case %d, %d threads", (int)number, threads);
            if (stats.basins != counted.basins || stats.left != counted.left ||
                stats.contacts != counted.contacts)
                fail_msg("case %d, %d threads: counts", (int)number, threads);
        }
        joined += stats.left < stats.basins;
        free((void *)c.grid.labels);
        lob_volume_free(&c.image);
    }
    assert_true(joined > CASES(100));
}

TEST(labels_without_a_value_count)
{
    float image[4] = {1, NAN, NAN, 2};
    const uint8_t labels[4] = {1, 2, 2, 3};
    int32_t to[4];
    lob_basins_stats stats;
    const lob_volume im = volume_of(image, LOB_F32, (lob_dims){4, 1, 1}, NULL);
    const lob_label_grid grid = {labels, LOB_U8, 3, im.dims};
    const lob_basins_options options = {.height = 9};
    assert_ok(lob_basins_cpu(to, &stats, &grid, &im, &options, THREADS(1), NULL));
    assert_int_equal(stats.basins, 3);
    assert_int_equal(stats.left, 3);
}

/* Three labels with large numbers: four further tables are within a byte for each voxel. */
TEST(tables_of_threads_stay_small)
{
    enum { SIDE = 64, VOXELS = SIDE * SIDE * SIDE, LARGEST = 8000 };
    static const int64_t tables[] = {1, 2, 4}; /* that fit the limit */
    uint8_t *const image = malloc(VOXELS);
    int32_t *const labels = malloc(VOXELS * sizeof *labels);
    int32_t *const want = malloc((LARGEST + 1) * sizeof *want);
    int32_t *const got = malloc((LARGEST + 1) * sizeof *got);
    for (int v = 0; v < VOXELS; v++) {
        image[v] = (uint8_t)(v * 7 % 101);
        labels[v] = v % SIDE < 20 ? 3 : v % SIDE < 40 ? 4000 : LARGEST;
    }
    const lob_volume im = volume_of(image, LOB_U8, (lob_dims){SIDE, SIDE, SIDE}, NULL);
    const lob_label_grid grid = {labels, LOB_I32, LARGEST, im.dims};
    const lob_basins_options options = {.height = 30};
    const int64_t table = (LARGEST + 1 + 2 + 2 * SIDE) * 8;
    lob_basins_stats one, many;
    assert_ok(lob_basins_cpu(want, &one, &grid, &im, &options, THREADS(1), NULL));
    assert_int_equal(one.working_bytes, table + 2 * (int64_t)sizeof(lob_contact) + 5 * 16);
    assert_ok(lob_basins_cpu(got, &many, &grid, &im, &options, THREADS(64), NULL));
    assert_int_equal(many.working_bytes, one.working_bytes + 4 * table);
    assert_memory_equal(got, want, (LARGEST + 1) * sizeof *got);
    for (size_t i = 0; i < COUNT(tables); i++) {
        const int64_t limit = one.working_bytes + (tables[i] - 1) * table;
        const lob_context context = {.threads = 3, .max_memory = limit};
        const int64_t used = tables[i] < 3 ? tables[i] : 3;
        assert_ok(lob_basins_cpu(got, &many, &grid, &im, &options, &context, NULL));
        assert_int_equal(many.working_bytes, one.working_bytes + (used - 1) * table);
        assert_memory_equal(got, want, (LARGEST + 1) * sizeof *got);
    }
    const lob_context less = {.threads = 3, .max_memory = one.working_bytes - 1};
    assert_int_equal(lob_basins_cpu(got, NULL, &grid, &im, &options, &less, NULL), LOB_ENOMEM);
    free(image);
    free(labels);
    free(want);
    free(got);
}

TEST(bad_options)
{
    static const lob_basins_options bad[] = {
        {-1,       0,   0       },
        {INFINITY, 0,   0       },
        {NAN,      0,   0       },
        {0,        1.1, 0       },
        {0,        NAN, 0       },
        {0,        0.5, NAN     },
        {0,        0.5, INFINITY},
    };
    basins_case c = make_case(1);
    int32_t to[MAX + 1];
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_error line = {.text = ""};
        if (lob_basins_cpu(to, NULL, &c.grid, &c.image, &bad[i], THREADS(1), &line) != LOB_EARG ||
            !line.text[0])
            fail_msg("options %d were taken", (int)i);
    }
    c.image.channels = 2;
    assert_int_equal(lob_basins_cpu(to, NULL, &c.grid, &c.image, &c.options, THREADS(1), NULL),
                     LOB_EARG);
    c.image.channels = 1;
    c.image.dims.nx++;
    assert_int_equal(lob_basins_cpu(to, NULL, &c.grid, &c.image, &c.options, THREADS(1), NULL),
                     LOB_EDATA);
    free((void *)c.grid.labels);
    lob_volume_free(&c.image);
}
