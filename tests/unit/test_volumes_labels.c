/* Renumbering labels and undoing it: by rows, and against sorting every voxel. */
#include "volumes/labels.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/lists.h"

enum { ROW = 8 }; /* voxels of a row below, as 2 x 2 x 2 */

static const struct {
    const char *what;
    lob_type type;
    double slope, inter;
    double stored[ROW];
    int32_t count;
    double values[ROW];
    double dense[ROW];
} good[] = {
    ROW("nothing but background", LOB_U8, 1, 0, {0}, 0, {0}, {0}),
    ROW("one label everywhere", LOB_U8, 1, 0, {7, 7, 7, 7, 7, 7, 7, 7}, 1, {7},
        {1, 1, 1, 1, 1, 1, 1, 1}),
    ROW("one label, one voxel, the last", LOB_I16, 1, 0, {0, 0, 0, 0, 0, 0, 0, 9}, 1, {9},
        {0, 0, 0, 0, 0, 0, 0, 1}),
    ROW("already dense", LOB_U8, 1, 0, {0, 1, 2, 3, 3, 2, 1, 0}, 3, {1, 2, 3},
        {0, 1, 2, 3, 3, 2, 1, 0}),
    ROW("gaps close and the order stays", LOB_U8, 1, 0, {200, 0, 7, 255, 7, 0, 0, 200}, 3,
        {7, 200, 255}, {2, 0, 1, 3, 1, 0, 0, 2}),
    ROW("int8", LOB_I8, 1, 0, {127, 1, 0, 5, 5, 5, 1, 127}, 3, {1, 5, 127},
        {3, 1, 0, 2, 2, 2, 1, 3}),
    ROW("uint16", LOB_U16, 1, 0, {65535, 1, 0, 0, 0, 0, 0, 300}, 3, {1, 300, 65535},
        {3, 1, 0, 0, 0, 0, 0, 2}),
    ROW("int16", LOB_I16, 1, 0, {32767, 1, 0, 0, 0, 0, 0, 300}, 3, {1, 300, 32767},
        {3, 1, 0, 0, 0, 0, 0, 2}),
    ROW("uint32 up to the largest label", LOB_U32, 1, 0, {INT32_MAX, 0, 65536, 65535, 0, 0, 0, 0},
        3, {65535, 65536, INT32_MAX}, {3, 0, 2, 1, 0, 0, 0, 0}),
    ROW("int32 up to the largest label", LOB_I32, 1, 0, {INT32_MAX, 0, 65536, 65535, 0, 0, 0, 0}, 3,
        {65535, 65536, INT32_MAX}, {3, 0, 2, 1, 0, 0, 0, 0}),
    ROW("uint64", LOB_U64, 1, 0, {INT32_MAX, 0, 4, 0, 0, 0, 0, 0}, 2, {4, INT32_MAX},
        {2, 0, 1, 0, 0, 0, 0, 0}),
    ROW("int64", LOB_I64, 1, 0, {INT32_MAX, 0, 4, 0, 0, 0, 0, 0}, 2, {4, INT32_MAX},
        {2, 0, 1, 0, 0, 0, 0, 0}),
    ROW("float32", LOB_F32, 1, 0, {16777216, 0, 4, 4, 0, 0, 0, 0}, 2, {4, 16777216},
        {2, 0, 1, 1, 0, 0, 0, 0}),
    ROW("float64 up to the largest label", LOB_F64, 1, 0, {INT32_MAX, 0, 4, 4, 0, 0, 0, 0}, 2,
        {4, INT32_MAX}, {2, 0, 1, 1, 0, 0, 0, 0}),
    ROW("reals a little off are the nearest label, not the one below", LOB_F32, 1, 0,
        {2.99995, 3.00007, 3, 0, 0, 0, 1.0009, 0.9991}, 2, {1, 3}, {2, 2, 2, 0, 0, 0, 1, 1}),
    ROW("a little below 0 is background", LOB_F32, 1, 0, {-0.0009, -0.0, 0.0009, 5, 0, 0, 0, 0}, 1,
        {5}, {0, 0, 0, 1, 0, 0, 0, 0}),
    ROW("a little above the largest", LOB_F64, 1, 0, {2147483647.0005, 0, 0, 0, 0, 0, 0, 0}, 1,
        {INT32_MAX}, {1, 0, 0, 0, 0, 0, 0, 0}),
    ROW("a slope of 2", LOB_U8, 2, 0, {0, 1, 2, 2, 0, 0, 0, 255}, 3, {2, 4, 510},
        {0, 1, 2, 2, 0, 0, 0, 3}),
    ROW("an intercept takes background along", LOB_U8, 1, 10, {0, 1, 1, 0, 0, 0, 0, 0}, 2, {10, 11},
        {1, 2, 2, 1, 1, 1, 1, 1}),
    ROW("an intercept lifts negative numbers", LOB_I16, 1, 1024,
        {-1024, -1023, 0, 5, 5, -1024, 0, 0}, 3, {1, 1024, 1029}, {0, 1, 2, 3, 3, 0, 2, 2}),
    ROW("a slope that a float32 rounded", LOB_U8, 0.0039215688593685627, 0,
        {0, 255, 255, 0, 0, 0, 0, 0}, 1, {1}, {0, 1, 1, 0, 0, 0, 0, 0}),
    ROW("a negative slope turns the order round", LOB_U8, -1, 255,
        {255, 254, 0, 0, 254, 255, 255, 255}, 2, {1, 255}, {0, 1, 2, 2, 1, 0, 0, 0}),
    ROW("labels that share their low bits", LOB_I32, 1, 0,
        {65536, 131072, 196608, 262144, 65536, 131072, 196608, 0}, 4,
        {65536, 131072, 196608, 262144}, {1, 2, 3, 4, 1, 2, 3, 0}),
};

TEST(the_largest_label_of_each_type)
{
    const uint8_t small[] = {3, 0, 255, 7};
    const int16_t middle[] = {0, 32767, 2, 32766};
    const int32_t large[] = {1, 0, 0, INT32_MAX};
    for (int threads = 1; threads < 4; threads++) {
        assert_int_equal(lob_label_largest(small, LOB_U8, 4, threads), 255);
        assert_int_equal(lob_label_largest(middle, LOB_I16, 4, threads), 32767);
        assert_int_equal(lob_label_largest(large, LOB_I32, 4, threads), INT32_MAX);
        assert_int_equal(lob_label_largest(small, LOB_U8, 2, threads), 3);
        assert_int_equal(lob_label_largest(small, LOB_U8, 0, threads), 0);
    }
}

TEST(test_good)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        const char *what = good[i].what;
        lob_volume volume = zeros(good[i].type, (lob_dims){2, 2, 2}, 1);
        volume.slope = good[i].slope;
        volume.inter = good[i].inter;
        for (int k = 0; k < ROW; k++) put_number(&volume, k, good[i].stored[k]);

        lob_label_set set;
        memset(&set, 0x5a, sizeof set);
        lob_error error = {.text = ""};
        const lob_status status = lob_labels_dense(&volume, &set, "a.nii", &error);
        if (status != LOB_OK) fail_msg("%s: %s", what, error.text);
        if (set.count != good[i].count) fail_msg("%s: %d labels", what, set.count);
        if (volume.type != LOB_U8 || volume.slope != 1.0 || volume.inter != 0.0)
            fail_msg("%s: stored as %s", what, lob_type_of(volume.type)->name);
        const uint8_t *dense = volume.data;
        for (int k = 0; k < ROW; k++)
            if (dense[k] != good[i].dense[k]) fail_msg("%s: voxel %d is %d", what, k, dense[k]);
        for (int k = 0; k < set.count; k++) {
            int64_t voxels = 0;
            for (int j = 0; j < ROW; j++) voxels += dense[j] == k + 1;
            if (set.values[k] != good[i].values[k]) fail_msg("%s: label %d", what, set.values[k]);
            if (set.voxels[k] != voxels)
                fail_msg("%s: label %d has %lld voxels", what, set.values[k],
                         (long long)set.voxels[k]);
        }

        assert_ok(lob_labels_restore(&volume, &set));
        const int32_t largest = set.count ? set.values[set.count - 1] : 0;
        if (volume.type != lob_label_type(largest))
            fail_msg("%s: restored as %s", what, lob_type_of(volume.type)->name);
        double back[ROW];
        lob_values(back, volume.data, volume.type, 0, ROW);
        for (int k = 0; k < ROW; k++)
            if (back[k] != nearbyint(good[i].slope * good[i].stored[k] + good[i].inter))
                fail_msg("%s: voxel %d restored as %g", what, k, back[k]);
        lob_label_set_free(&set);
        lob_volume_free(&volume);
    }
}

static const struct {
    const char *what;
    lob_type type;
    double slope, inter;
    double bad; /* stored at voxel 1,2,3 of 4 x 5 x 6 and everywhere after */
    const char *says;
} bad[] = {
    {"half a label",                        LOB_F32, 1,   0,   2.5,                   "1,2,3 (counted from 0) holds 2.5, not a whole number"},
    {"off by more than rounding",           LOB_F64, 1,   0,   2.9985,                "holds 2.9985, not a whole number"                    },
    {"not a number",                        LOB_F32, 1,   0,   NAN,                   "nan, not a number that a label can be"               },
    {"infinity",                            LOB_F64, 1,   0,   INFINITY,              "holds inf, not a number that a label can be"         },
    {"negative infinity",                   LOB_F32, 1,   0,   -INFINITY,             "holds -inf, not a number that a label can be"        },
    {"a negative byte",                     LOB_I8,  1,   0,   -1,                    "1,2,3 (counted from 0) holds -1, below 0"            },
    {"air in a CT scan",                    LOB_I16, 1,   0,   -1024,                 "holds -1024, below 0"                                },
    {"the most negative int32",             LOB_I32, 1,   0,   INT32_MIN,             "holds -2147483648, below 0"                          },
    {"the most negative int64",             LOB_I64, 1,   0,   INT64_MIN,             "below 0"                                             },
    {"a small negative real",               LOB_F32, 1,   0,   -0.25,                 "holds -0.25, below 0"                                },
    {"2^31 in uint32",                      LOB_U32, 1,   0,   2147483648.0,          "holds 2147483648, above the largest label"           },
    {"2^31 in int64",                       LOB_I64, 1,   0,   2147483648.0,          "holds 2147483648, above the largest label"           },
    {"2^31 in uint64",                      LOB_U64, 1,   0,   2147483648.0,          "holds 2147483648, above the largest label"           },
    {"2^63 in uint64 is not negative",      LOB_U64, 1,   0,   9223372036854775808.0, "above the largest"                                   },
    {"2^31 in float32",                     LOB_F32, 1,   0,   2147483648.0,          "holds 2147483648, above the largest label"           },
    {"the largest real there is",           LOB_F64, 1,   0,   1.7e308,               "above the largest label"                             },
    {"scaled past the largest",             LOB_I32, 2,   0,   1073741824,            "holds 2147483648, above"                             },
    {"scaled to halves",                    LOB_U8,  0.5, 0,   3,                     "holds 1.5, not a whole number"                       },
    {"an intercept that makes it negative", LOB_U8,  1,   -2,  1,                     "0,0,0 (counted from 0) holds -2"                     },
    {"an intercept that is no number",      LOB_U8,  1,   NAN, 1,                     "0,0,0 (counted from 0) holds nan"                    },
};

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

TEST(test_bad)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *what = bad[i].what;
        const lob_dims dims = {4, 5, 6};
        lob_volume volume = zeros(bad[i].type, dims, 1);
        volume.slope = bad[i].slope;
        volume.inter = bad[i].inter;
        for (int64_t k = 1 + 4 * (2 + 5 * 3); k < 120; k++) put_number(&volume, k, bad[i].bad);
        const size_t bytes = 120 * lob_type_of(volume.type)->bytes;
        const lob_volume before = volume;
        void *data = malloc(bytes);
        assert_non_null(data);
        memcpy(data, volume.data, bytes);

        lob_label_set set;
        memset(&set, 0x5a, sizeof set);
        lob_error error = {.text = ""};
        const lob_status status = lob_labels_dense(&volume, &set, "scan.nii", &error);
        if (status != LOB_EDATA) fail_msg("%s: %s", what, lob_status_text(status));
        if (strcmp(error.file, "scan.nii") != 0 || !strstr(error.text, bad[i].says))
            fail_msg("%s: says: %s", what, error.text);
        if (set.count != 0 || set.values || set.voxels) fail_msg("%s: the set is not empty", what);
        if (!same_bytes(&volume, &before, sizeof volume) || !same_bytes(volume.data, data, bytes))
            fail_msg("%s: the volume was changed", what);
        if (lob_labels_dense(&volume, &set, "scan.nii", NULL) != LOB_EDATA)
            fail_msg("%s: without a line for the message it passes", what);
        free(data);
        lob_volume_free(&volume);
    }
}

TEST(test_channels)
{
    lob_volume volume = zeros(LOB_U8, (lob_dims){3, 3, 3}, 1);
    volume.channels = 3;
    lob_label_set set;
    lob_error error;
    assert_int_equal(lob_labels_dense(&volume, &set, "rgb.nii", &error), LOB_EDATA);
    assert_string_equal(error.text, "no label volume: it has 3 channels, labels have one");
    assert_int_equal(set.count, 0);
    lob_volume_free(&volume);
}

TEST(test_label_type)
{
    assert_int_equal(lob_label_type(0), LOB_U8);
    assert_int_equal(lob_label_type(255), LOB_U8);
    assert_int_equal(lob_label_type(256), LOB_I16);
    assert_int_equal(lob_label_type(32767), LOB_I16);
    assert_int_equal(lob_label_type(32768), LOB_I32);
    assert_int_equal(lob_label_type(INT32_MAX), LOB_I32);
    lob_label_set_free(NULL);
    lob_label_set none = {.count = 0};
    lob_label_set_free(&none);
    lob_label_set_free(&none);
}

/* The labels 1 + step * [0, count) in a mixed order, in a volume that is not a multiple of a block.
 */
static const struct {
    const char *what;
    lob_type type;
    lob_dims dims;
    int32_t count;
    double step;
    int run; /* voxels that carry one label before the next comes */
    lob_type dense, restored;
} crowds[] = {
    {"255 labels fit a byte",                LOB_U8,  {31, 37, 5},  255,   1,       1,    LOB_U8,  LOB_U8 },
    {"255 labels far apart",                 LOB_I32, {31, 37, 5},  255,   8000000, 3,    LOB_U8,  LOB_I32},
    {"300 labels do not",                    LOB_I32, {31, 37, 5},  300,   1,       1,    LOB_I16, LOB_I16},
    {"300 labels, large ones",               LOB_U32, {31, 37, 5},  300,   7000000, 1,    LOB_I16, LOB_I32},
    {"300 labels as float32",                LOB_F32, {31, 37, 5},  300,   50000,   2,    LOB_I16, LOB_I32},
    {"300 labels as float64, dense already", LOB_F64, {31, 37, 5},  300,   1,       2,    LOB_I16, LOB_I16},
    {"300 labels as int64",                  LOB_I64, {31, 37, 5},  300,   65536,   1,    LOB_I16, LOB_I32},
    {"300 labels as uint64",                 LOB_U64, {31, 37, 5},  300,   7,       5,    LOB_I16, LOB_I16},
    {"32767 labels in int16",                LOB_I16, {331, 37, 5}, 32767, 1,       1,    LOB_I16, LOB_I16},
    {"32768 labels in uint16 must widen",    LOB_U16, {331, 37, 5}, 32768, 1,       1,    LOB_I32, LOB_I32},
    {"40000 labels in uint16 must widen",    LOB_U16, {331, 37, 5}, 40000, 1,       1,    LOB_I32, LOB_I32},
    {"40000 labels in int32",                LOB_I32, {331, 37, 5}, 40000, 1,       1,    LOB_I32, LOB_I32},
    {"40000 labels up to the largest",       LOB_I32, {331, 37, 5}, 40000, 53687,   1,    LOB_I32, LOB_I32},
    {"40000 labels in float64",              LOB_F64, {331, 37, 5}, 40000, 53687,   1,    LOB_I32, LOB_I32},
    {"all labels in a few slots",            LOB_I32, {331, 37, 5}, 30000, 65537,   1,    LOB_I16, LOB_I32},
    {"labels push each other out by runs",
     LOB_I32,                                         {331, 37, 5},
     3000,                                                                 700001,
     5,                                                                                   LOB_I16,
     LOB_I32                                                                                              },
    {"every voxel a label of its own",       LOB_I32, {331, 37, 5}, 61235, 35000,   1,    LOB_I32, LOB_I32},
    {"a line of voxels",                     LOB_I32, {1, 4099, 1}, 3,     1000000, 1365, LOB_U8,  LOB_I32},
    {"one voxel",                            LOB_I32, {1, 1, 1},    1,     1,       1,    LOB_U8,  LOB_U8 },
};

static double crowd_value(size_t row, int64_t voxel)
{
    /* 2654435761 is a prime above every count, so its multiples reach every label. */
    const uint64_t which =
        (uint64_t)(voxel / crowds[row].run) * 2654435761u % (uint64_t)crowds[row].count;
    return 1.0 + crowds[row].step * (double)which;
}

TEST(test_crowds)
{
    for (size_t i = 0; i < COUNT(crowds); i++) {
        const char *what = crowds[i].what;
        lob_volume volume = zeros(crowds[i].type, crowds[i].dims, 1);
        const int64_t voxels = lob_voxels(&volume);
        for (int64_t k = 0; k < voxels; k++) put_number(&volume, k, crowd_value(i, k));

        lob_label_set set;
        lob_error error = {.text = ""};
        if (lob_labels_dense(&volume, &set, "crowd", &error) != LOB_OK)
            fail_msg("%s: %s", what, error.text);
        if (set.count != crowds[i].count) fail_msg("%s: %d labels", what, set.count);
        if (volume.type != crowds[i].dense)
            fail_msg("%s: dense as %s", what, lob_type_of(volume.type)->name);
        for (int32_t k = 0; k < set.count; k++) {
            if (set.values[k] != 1.0 + crowds[i].step * k)
                fail_msg("%s: label %d is %d", what, k, set.values[k]);
        }
        int64_t *left = malloc((size_t)set.count * sizeof *left); /* voxels not yet met */
        assert_non_null(left);
        memcpy(left, set.voxels, (size_t)set.count * sizeof *left);
        for (int64_t k = 0; k < voxels; k++) {
            const double dense = number_at(&volume, k);
            if (1.0 + crowds[i].step * (dense - 1.0) != crowd_value(i, k))
                fail_msg("%s: voxel %lld became %g", what, (long long)k, dense);
            left[(int32_t)dense - 1]--;
        }
        for (int32_t k = 0; k < set.count; k++)
            if (left[k] != 0)
                fail_msg("%s: label %d has %lld voxels, %lld too many", what, set.values[k],
                         (long long)set.voxels[k], (long long)left[k]);
        free(left);
        assert_ok(lob_labels_restore(&volume, &set));
        if (volume.type != crowds[i].restored)
            fail_msg("%s: restored as %s", what, lob_type_of(volume.type)->name);
        for (int64_t k = 0; k < voxels; k++) {
            const double back = number_at(&volume, k);
            if (back != crowd_value(i, k))
                fail_msg("%s: voxel %lld restored as %g", what, (long long)k, back);
        }
        lob_label_set_free(&set);
        lob_volume_free(&volume);
    }
}

static uint32_t next(uint64_t *seed) /* 31 bits */
{
    return (uint32_t)(random_next(seed) >> 33);
}

/* Sort all voxels and look at where the value changes. */
static void check_by_sorting(uint64_t seed, const lob_label_set *set, double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, lob_by_real);
    int32_t found = 0;
    for (int64_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && values[i + run] == values[i];) run++;
        if (values[i] == 0.0) continue;
        if (found >= set->count || set->values[found] != values[i] || set->voxels[found] != run)
            fail_msg("seed %llu, %lld voxels: label %d should be %g with %lld voxels",
                     (unsigned long long)seed, (long long)n, found, values[i], (long long)run);
        found++;
    }
    if (found != set->count)
        fail_msg("seed %llu: %d labels, not %d", (unsigned long long)seed, set->count, found);
}

TEST(test_random)
{
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        const uint64_t seed_here = seed;
        const lob_type type = (lob_type)(next(&seed) % LOB_TYPES);
        const lob_dims dims = {1 + next(&seed) % 40, 1 + next(&seed) % 40, 1 + next(&seed) % 9};
        /* The top bits decide how large labels get: from one bit to all that the type holds. */
        int bits = type == LOB_F32 ? 24 : 31;
        const int width = (int)(8 * lob_type_of(type)->bytes) - (lob_type_of(type)->lowest < 0);
        if (lob_type_of(type)->is_integer && width < bits) bits = width;
        bits = 1 + (int)(next(&seed) % (uint32_t)bits);
        lob_volume volume = zeros(type, dims, 1);
        const int64_t n = lob_voxels(&volume);
        double *values = malloc((size_t)n * sizeof *values);
        assert_non_null(values);
        for (int64_t i = 0; i < n; i++) {
            values[i] = i && next(&seed) % 3 ? values[i - 1] : next(&seed) >> (31 - bits);
            put_number(&volume, i, values[i]);
        }
        lob_label_set set;
        assert_ok(lob_labels_dense(&volume, &set, "random", NULL));
        assert_int_equal(volume.type, lob_label_type(set.count));
        for (int64_t i = 0; i < n; i++) {
            const double dense = number_at(&volume, i);
            const double value = dense == 0.0 ? 0.0 : set.values[(int32_t)dense - 1];
            if (value != values[i])
                fail_msg("seed %llu: voxel %lld of %s, %g, became %g",
                         (unsigned long long)seed_here, (long long)i, lob_type_of(type)->name,
                         values[i], value);
        }
        assert_ok(lob_labels_restore(&volume, &set));
        for (int64_t i = 0; i < n; i++) {
            const double back = number_at(&volume, i);
            if (back != values[i])
                fail_msg("seed %llu: voxel %lld restored as %g", (unsigned long long)seed_here,
                         (long long)i, back);
        }
        check_by_sorting(seed_here, &set, values, n);
        lob_label_set_free(&set);
        free(values);
        lob_volume_free(&volume);
    }
}

/* Kernels hand back labels in a type of their own choice. */
TEST(test_restore_from_any_type)
{
    int32_t values[] = {3, 300, INT32_MAX};
    for (int type = 0; type < LOB_TYPES; type++)
        for (int32_t count = 0; count <= 3; count++) {
            const lob_label_set set = {.count = count, .values = values};
            lob_volume volume = zeros((lob_type)type, (lob_dims){17, 13, 11}, 1);
            const int64_t n = lob_voxels(&volume);
            for (int64_t i = 0; i < n; i++) put_number(&volume, i, (double)(i % (count + 1)));
            assert_ok(lob_labels_restore(&volume, &set));
            assert_int_equal(volume.type, lob_label_type(count ? values[count - 1] : 0));
            for (int64_t i = 0; i < n; i++) {
                const double got = number_at(&volume, i);
                const int64_t label = i % (count + 1);
                if (got != (label ? values[label - 1] : 0))
                    fail_msg("%s, %d labels: voxel %lld is %g", lob_type_of((lob_type)type)->name,
                             count, (long long)i, got);
            }
            lob_volume_free(&volume);
        }
}

TEST(test_pack)
{
    enum { N = 5000 };
    const struct {
        lob_type from, to;
        int32_t largest;
    } rows[] = {
        {LOB_I32, LOB_U8,  255    },
        {LOB_I32, LOB_I16, 256    },
        {LOB_I32, LOB_I32, 32768  },
        {LOB_U8,  LOB_I16, 32767  },
        {LOB_I32, LOB_I32, 1 << 30},
        {LOB_I32, LOB_U8,  0      },
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        lob_volume volume = zeros(rows[r].from, (lob_dims){N, 1, 1}, 1);
        const int32_t step = rows[r].from == LOB_U8 ? 255 : rows[r].largest;
        for (int i = 0; i < N; i++)
            lob_label_put(volume.data, volume.type, i, (int32_t)((int64_t)step * i / (N - 1)));
        assert_ok(lob_labels_pack(&volume, rows[r].largest));
        assert_int_equal(volume.type, rows[r].to);
        for (int i = 0; i < N; i++)
            assert_int_equal(lob_label_at(volume.data, volume.type, i),
                             (int64_t)step * i / (N - 1));
        lob_volume_free(&volume);
    }
}
