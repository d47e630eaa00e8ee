/* Sizes that overflow, volumes like others, and grids that are or are not the same. */
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/volume.h"

static const struct {
    const char *what;
    int64_t a, b, c, d, want;
} products[] = {
    {"four small ones",                       2,                3,                5, 7, 210             },
    {"one of them 0",                         2,                0,                5, 7, 0               },
    {"0 before what would overflow",          0,                INT64_MAX,        2, 2, 0               },
    {"0 after what would overflow",           INT64_MAX,        INT64_MAX,        2, 0, 0               },
    {"the largest that fits",                 INT64_MAX,        1,                1, 1, INT64_MAX       },
    {"the largest, made of factors",          7,                INT64_MAX / 7,    1, 1, INT64_MAX       },
    {"a power of two just too large",         INT64_C(1) << 31, INT64_C(1) << 31, 2, 1, -1              },
    {"and half of it",                        INT64_C(1) << 31, INT64_C(1) << 31, 1, 1, INT64_C(1) << 62},
    {"wraps to something small and positive", INT64_C(1) << 32, INT64_C(1) << 32, 1, 1, -1              },
    {"overflows at the last factor",          INT64_MAX / 2,    1,                1, 3, -1              },
    {"a negative factor",                     2,                -3,               5, 7, -1              },
    {"two negative factors are no better",    -2,               -3,               5, 7, -1              },
    {"negative beats 0",                      0,                -3,               5, 7, -1              },
    {"the most negative number",              INT64_MIN,        1,                1, 1, -1              },
};

TEST(test_products)
{
    for (size_t i = 0; i < COUNT(products); i++) {
        const int64_t got = lob_product(products[i].a, products[i].b, products[i].c, products[i].d);
        if (got != products[i].want) fail_msg("%s: got %lld", products[i].what, (long long)got);
    }
}

TEST(test_dims)
{
    assert_int_equal(lob_dims_voxels((lob_dims){5, 7, 11}), 385);
    assert_int_equal(lob_dims_voxels((lob_dims){1, 1, 1}), 1);
    assert_int_equal(lob_dims_voxels((lob_dims){0, 7, 11}), -1);
    assert_int_equal(lob_dims_voxels((lob_dims){5, -7, 11}), -1);
    assert_int_equal(lob_dims_voxels((lob_dims){-5, -7, 1}), -1);
    assert_int_equal(lob_dims_voxels((lob_dims){1 << 21, 1 << 21, 1 << 21}), -1);
    assert_int_equal(lob_dims_voxels((lob_dims){INT64_MAX, 1, 1}), INT64_MAX);
    assert_int_equal(lob_dims_voxels((lob_dims){INT64_MAX, INT64_MAX, INT64_MAX}), -1);
}

static unsigned char header_bytes[] = {1, 2, 3, 4, 5};
static unsigned char extension_bytes[] = {9, 8, 7};

/* A volume of nothing but a grid, and a header that nobody frees. */
static lob_volume grid(lob_dims dims, double x_mm, double y_mm, double z_mm)
{
    return volume_of(NULL, LOB_U8, dims, (double[3]){x_mm, y_mm, z_mm});
}

TEST(test_like)
{
    lob_volume like = grid((lob_dims){5, 7, 11}, 0.7, 0.8, 3.0);
    like.header = (lob_header){"NIfTI-1", header_bytes, sizeof header_bytes, extension_bytes,
                               sizeof extension_bytes};
    like.slope = 2.0;
    like.inter = -1024.0;
    like.frames = 30;
    like.frame = 12;

    lob_volume out;
    memset(&out, 0x5a, sizeof out); /* what was there before must not matter */
    assert_ok(lob_volume_like(&out, &like, LOB_I16, 3));
    assert_int_equal(out.type, LOB_I16);
    assert_int_equal(out.channels, 3);
    assert_memory_equal(&out.dims, &like.dims, sizeof like.dims);
    assert_memory_equal(&out.geometry, &like.geometry, sizeof like.geometry);
    assert_true(out.slope == 1.0 && out.inter == 0.0);
    assert_true(out.frames == 1 && out.frame == 0);
    assert_int_equal(lob_voxels(&out), 385);
    for (int i = 0; i < 3 * 385; i++) assert_int_equal(((int16_t *)out.data)[i], 0);

    assert_ptr_equal(out.header.format, like.header.format);
    assert_ptr_not_equal(out.header.bytes, header_bytes); /* a copy */
    assert_int_equal(out.header.size, sizeof header_bytes);
    assert_memory_equal(out.header.bytes, header_bytes, sizeof header_bytes);
    assert_int_equal(out.header.extensions_size, sizeof extension_bytes);
    assert_memory_equal(out.header.extensions, extension_bytes, sizeof extension_bytes);

    lob_volume_free(&out);
    const lob_volume empty = lob_volume_empty();
    assert_null(out.data);
    assert_null(out.header.bytes);
    assert_null(out.header.extensions);
    assert_true(out.slope == empty.slope && out.channels == 1 && out.frames == 1);
    lob_volume_free(&out); /* twice is fine */
    lob_volume_free(NULL);
}

static const struct {
    const char *what;
    lob_dims dims;
    lob_type type;
    int channels;
} impossible[] = {
    {"sides whose product overflows",  {1 << 21, 1 << 21, 1 << 21}, LOB_U8,  1        },
    {"voxels fit, their bytes do not", {INT64_MAX / 4, 1, 1},       LOB_F64, 1        },
    {"one channel fits, all do not",   {INT64_MAX / 4, 1, 1},       LOB_U8,  5        },
    {"a side of 0",                    {5, 0, 7},                   LOB_U8,  1        },
    {"a negative side",                {5, -1, 7},                  LOB_U8,  1        },
    {"no channel",                     {5, 1, 7},                   LOB_U8,  0        },
    {"fewer than no channel",          {5, 1, 7},                   LOB_U8,  INT32_MIN},
};

TEST(test_impossible)
{
    for (size_t i = 0; i < COUNT(impossible); i++) {
        const lob_volume like = grid(impossible[i].dims, 1, 1, 1);
        lob_volume out;
        memset(&out, 0x5a, sizeof out);
        const lob_status status =
            lob_volume_like(&out, &like, impossible[i].type, impossible[i].channels);
        if (status != LOB_ENOMEM || out.data || out.header.bytes || out.slope != 1.0)
            fail_msg("%s: %s", impossible[i].what, lob_status_text(status));
    }
}

/* Each row changes one thing of a grid of 64 x 48 x 20 voxels of 1 x 1 x 3 mm. */
static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    double shift_mm[3];
    double turn; /* in radians, about the third axis */
    int flip;    /* this axis, counted from 1 */
    const char *says[3];
} grids[] = {
    ROW("the same", {64, 48, 20}, {1, 1, 3}, {0}, 0, 0, {NULL}),
    ROW("affine rounded to float32", {64, 48, 20}, {1.0000001, 0.9999999, 3.0000002}, {0}, 0, 0,
        {NULL}),
    ROW("origin rounded to hundredths", {64, 48, 20}, {1, 1, 3}, {0.004, -0.005, 0.003}, 0, 0,
        {NULL}),
    ROW("4.9 % of a voxel to the side", {64, 48, 20}, {1, 1, 3}, {0.049, 0, 0}, 0, 0, {NULL}),
    ROW("5.1 % is too much", {64, 48, 20}, {1, 1, 3}, {0.051, 0, 0}, 0, 0,
        {"first voxels 0.051 mm apart",
         "corners up to 0.051 mm apart (at most 0.05 mm are allowed)"}),
    ROW("a slice more", {64, 48, 21}, {1, 1, 3}, {0}, 0, 0,
        {"64 x 48 x 20 and 64 x 48 x 21 voxels"}),
    ROW("another resolution", {32, 24, 20}, {2, 2, 3}, {0}, 0, 0,
        {"64 x 48 x 20 and 32 x 24 x 20 voxels", "spacing 1 x 1 x 3 and 2 x 2 x 3 mm"}),
    ROW("axes in another order", {20, 64, 48}, {1, 1, 3}, {0}, 0, 0,
        {"64 x 48 x 20 and 20 x 64 x 48 voxels"}),
    ROW("thicker slices", {64, 48, 20}, {1, 1, 3.5}, {0}, 0, 0,
        {"spacing 1 x 1 x 3 and 1 x 1 x 3.5 mm", "corners up to 9.75 mm apart"}),
    ROW("spacing off by a thousandth: it adds up", {64, 48, 20}, {1.001, 1, 3}, {0}, 0, 0,
        {"spacing 1 x 1 x 3 and 1.001 x 1 x 3 mm", "corners up to 0.0635 mm apart"}),
    ROW("small stretches that meet in the far corner alone", {64, 48, 20},
        {1.00047, 1.00063, 3.0015}, {0}, 0, 0,
        {"spacing 1 x 1 x 3 and 1.00047 x 1.00063 x 3.0015 mm", "corners up to 0.0514 mm apart"}),
    ROW("first axis the other way round", {64, 48, 20}, {1, 1, 3}, {0}, 0, 1,
        {"orientation RAS and LAS", "corners up to 127 mm apart"}),
    ROW("flipped in place", {64, 48, 20}, {1, 1, 3}, {63, 0, 0}, 0, 1,
        {"orientation RAS and LAS", "first voxels 63 mm apart", "corners up to 64 mm apart"}),
    ROW("turned by 2 degrees", {64, 48, 20}, {1, 1, 3}, {0}, 0.034906585, 0,
        {"axes turned by 2 degrees"}),
    ROW("turned by a hundredth of a degree", {64, 48, 20}, {1, 1, 3}, {0}, 0.00017453, 0, {NULL}),
    ROW("not a number", {64, 48, 20}, {1, 1, 3}, {NAN, 0, 0}, 0, 0, {"corners up to nan mm apart"}),
};

TEST(test_same_grid)
{
    const lob_volume a = grid((lob_dims){64, 48, 20}, 1, 1, 3);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const double *s = grids[i].spacing_mm;
        lob_volume b = grid(grids[i].dims, s[0], s[1], s[2]);
        double(*affine)[4] = b.geometry.affine;
        for (int row = 0; row < 3; row++) affine[row][3] = grids[i].shift_mm[row];
        if (grids[i].turn > 0.0) {
            affine[0][0] = affine[1][1] = cos(grids[i].turn);
            affine[1][0] = sin(grids[i].turn);
            affine[0][1] = -affine[1][0];
        }
        if (grids[i].flip) affine[grids[i].flip - 1][grids[i].flip - 1] *= -1.0;

        lob_error error = {.text = ""};
        const lob_status status = lob_same_grid(&a, "scan.nii.gz", &b, "seeds.nii", &error);
        const bool same = grids[i].says[0] == NULL;
        if (status != (same ? LOB_OK : LOB_EDATA))
            fail_msg("%s: %s: %s", grids[i].what, lob_status_text(status), error.text);
        if (lob_same_grid(&b, "b", &a, "a", NULL) != status)
            fail_msg("%s: the other way round it is different", grids[i].what);
        if (same && error.text[0]) fail_msg("%s: yet it says: %s", grids[i].what, error.text);
        if (same) continue;
        if (strcmp(error.file, "scan.nii.gz and seeds.nii") != 0)
            fail_msg("%s: names nobody: %s", grids[i].what, error.file);
        for (int part = 0; part < 3 && grids[i].says[part]; part++)
            if (!strstr(error.text, grids[i].says[part]))
                fail_msg("%s: does not say \"%s\": %s", grids[i].what, grids[i].says[part],
                         error.text);
    }
}

/* What a report leaves out matters as much: one change is called by one name. */
TEST(test_same_grid_says_no_more)
{
    const lob_volume a = grid((lob_dims){64, 48, 20}, 1, 1, 3);
    lob_volume b = a;
    b.geometry.affine[2][3] = 3.0;
    lob_error error;
    assert_int_equal(lob_same_grid(&a, "a", &b, "b", &error), LOB_EDATA);
    assert_string_equal(error.text,
                        "not on the same grid: first voxels 3 mm apart, corners up to 3 mm "
                        "apart (at most 0.05 mm are allowed); resample one onto the grid of the "
                        "other");

    /* A single slice has its thickness only between its faces. */
    const lob_volume thin = grid((lob_dims){64, 48, 1}, 1, 1, 3);
    const lob_volume thick = grid((lob_dims){64, 48, 1}, 1, 1, 5);
    assert_int_equal(lob_same_grid(&thin, "a", &thick, "b", &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "spacing 1 x 1 x 3 and 1 x 1 x 5 mm"));
}

TEST(test_long_names)
{
    char a_name[2000], b_name[2000];
    memset(a_name, 'a', sizeof a_name);
    for (size_t i = 0; i + 1 < sizeof b_name; i += 2) memcpy(b_name + i, "\xc3\xb6", 2);
    strcpy(a_name + sizeof a_name - 8, "/a.nii");
    strcpy(b_name + sizeof b_name - 8, "/b.nii");
    const lob_volume a = grid((lob_dims){64, 48, 20}, 1, 1, 3);
    const lob_volume b = grid((lob_dims){64, 48, 21}, 1, 1, 3);
    lob_error error;
    assert_int_equal(lob_same_grid(&a, a_name, &b, b_name, &error), LOB_EDATA);
    assert_true(strlen(error.text) < sizeof error.text - 1); /* nothing was cut off */
    assert_non_null(strstr(error.file, "/a.nii and \xc3\xb6"));
    assert_non_null(strstr(error.file, "/b.nii"));
    assert_non_null(strstr(error.text, "grid of the other"));
}
