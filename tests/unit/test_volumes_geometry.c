/* Affines: what is refused, the way to the world and back, and what directions are called. */
#include "volumes/geometry.h"

#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

#include <float.h>

#define h 0.70710678118654752 /* sine and cosine of 45 degrees */

static const struct {
    const char *what;
    double affine[3][4];
    bool taken;
} affines[] = {
    {"the identity",                      {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},                true },
    {"left-handed, as radiology has it",  {{-1, 0, 0, 9}, {0, 1, 0, 9}, {0, 0, 1, 9}},               true },
    {"flat voxels, a thousandth thick",   {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1e-3, 0}},             true },
    {"nanometres",                        {{1e-9, 0, 0, 0}, {0, 1e-9, 0, 0}, {0, 0, 1e-9, 0}},       true },
    {"squares of lengths would overflow",
     {{1e200, 0, 0, 0}, {0, 1e200, 0, 0}, {0, 0, 1e200, 0}},
     true                                                                                                 },
    {"squares would vanish",              {{1e-200, 0, 0, 0}, {0, 1e-200, 0, 0}, {0, 0, 1e-200, 0}}, true },
    {"a strong shear still spans space",  {{1, 1, 0, 0}, {0, 1e-3, 0, 0}, {0, 0, 1, 0}},             true },
    {"all zero",                          {{0}},                                                     false},
    {"a zero column",                     {{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}},                false},
    {"two equal columns",                 {{1, 1, 0, 0}, {2, 2, 0, 0}, {0, 0, 1, 0}},                false},
    {"columns in one plane",              {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}},                false},
    {"almost in one plane",               {{1, 1, 0, 0}, {0, 1e-7, 0, 0}, {0, 0, 1, 0}},             false},
    {"not a number in a column",          {{NAN, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},              false},
    {"not a number in the origin",        {{1, 0, 0, 0}, {0, 1, 0, NAN}, {0, 0, 1, 0}},              false},
    {"infinity",                          {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, INFINITY, 0}},         false},
    {"a length beyond all numbers",
     {{DBL_MAX, 0, 0, 0}, {DBL_MAX, 1, 0, 0}, {DBL_MAX, 0, 1, 0}},
     false                                                                                                },
};

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

TEST(test_affines)
{
    for (size_t i = 0; i < COUNT(affines); i++) {
        lob_geometry got, untouched;
        memset(&got, 0x5a, sizeof got);
        untouched = got;
        const bool taken = lob_geometry_of_affine(&got, affines[i].affine);
        if (taken != affines[i].taken) fail_msg("%s: taken %d", affines[i].what, taken);
        if (!taken && !same_bytes(&got, &untouched, sizeof got))
            fail_msg("%s: refused, but the output was written", affines[i].what);
        if (!taken) continue;
        if (!same_bytes(got.affine, affines[i].affine, sizeof got.affine))
            fail_msg("%s: the affine was changed", affines[i].what);
        for (int axis = 0; axis < 3; axis++)
            if (!(got.spacing_mm[axis] > 0.0) || !isfinite(got.spacing_mm[axis]))
                fail_msg("%s: spacing %g", affines[i].what, got.spacing_mm[axis]);
    }
}

TEST(test_spacing)
{
    /* Decimal fractions come back as they went in, not one rounding further. */
    const double spacing[3] = {0.7, 0.1, 2.4000000953674316};
    const lob_geometry made = lob_geometry_of_spacing(spacing);
    lob_geometry read;
    assert_true(lob_geometry_of_affine(&read, made.affine));
    assert_memory_equal(made.spacing_mm, spacing, sizeof spacing);
    assert_memory_equal(read.spacing_mm, spacing, sizeof spacing);
    char code[4];
    lob_orientation(code, &made);
    assert_string_equal(code, "RAS");

    const double oblique[3][4] = {
        {3, 0,   -8, 0},
        {4, 0,   6,  0},
        {0, 0.5, 0,  0}
    };
    assert_true(lob_geometry_of_affine(&read, oblique));
    assert_true(read.spacing_mm[0] == 5 && read.spacing_mm[1] == 0.5 && read.spacing_mm[2] == 10);
}

static double next(uint64_t *seed) /* in [-1, 1) */
{
    return 2.0 * random_double(seed) - 1.0;
}

static const struct {
    const char *what;
    double affine[3][4];
    double mm3, mm2[3];
} sizes[] = {
    {"along the world's axes",       {{-2, 0, 0, 5}, {0, 3, 0, 5}, {0, 0, 5, 5}},  30, {15, 10, 6}                  },
    {"axes that change places",      {{0, 0, 5, 0}, {2, 0, 0, 0}, {0, 3, 0, 0}},   30, {15, 10, 6}                  },
    {"z leans over along y",         {{1, 0, 0, 0}, {0, 1, 1.5, 0}, {0, 0, 2, 0}}, 2,  {2, 2.5, 1}                  },
    {"turned, and y leans over too",
     {{3, 4, 0, 0}, {4, 7, 0, 0}, {0, 0, 2, 0}},
     10,                                                                               {2 * 8.06225774829855, 10, 5}},
    {"as flat as an affine may be",
     {{1, 1, 0, 0}, {0, 2e-6, 0, 0}, {0, 0, 1, 0}},
     2e-6,                                                                             {1 + 2e-12, 1, 2e-6}         },
};

TEST(test_sizes)
{
    for (size_t i = 0; i < COUNT(sizes); i++) {
        lob_geometry g;
        assert_true(lob_geometry_of_affine(&g, sizes[i].affine));
        const double mm3 = lob_voxel_mm3(&g);
        if (!(fabs(mm3 - sizes[i].mm3) <= 1e-12 * sizes[i].mm3))
            fail_msg("%s: %.17g mm3", sizes[i].what, mm3);
        for (int axis = 0; axis < 3; axis++) {
            const double mm2 = lob_face_mm2(&g, axis);
            if (!(fabs(mm2 - sizes[i].mm2[axis]) <= 1e-12 * sizes[i].mm2[axis]))
                fail_msg("%s: %.17g mm2 across %d", sizes[i].what, mm2, axis);
        }
    }
}

static bool is_box(const lob_geometry *g)
{
    const double *mm = g->spacing_mm;
    return lob_voxel_mm3(g) == mm[0] * mm[1] * mm[2] && lob_face_mm2(g, 0) == mm[1] * mm[2] &&
           lob_face_mm2(g, 1) == mm[0] * mm[2] && lob_face_mm2(g, 2) == mm[0] * mm[1];
}

/* Whether or not a determinant's last bits would say so. */
TEST(test_unsheared_sizes_are_products)
{
    uint64_t seed = 3;
    for (int round = 0; round < 500; round++) {
        double q[4], affine[3][4] = {{0}}, length = 0;
        for (int i = 0; i < 4; i++) q[i] = next(&seed), length += q[i] * q[i];
        for (int i = 0; i < 4; i++) q[i] /= sqrt(length);
        const double w = q[0], x = q[1], y = q[2], z = q[3];
        const double turn[3][3] = {
            {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y)    },
            {2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x)    },
            {2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)}
        };
        for (int column = 0; column < 3; column++) {
            const double mm = 0.1 + 5 * random_double(&seed);
            for (int row = 0; row < 3; row++) /* as a header holds it */
                affine[row][column] = (float)(mm * turn[row][column]);
        }
        lob_geometry g;
        assert_true(lob_geometry_of_affine(&g, affine));
        if (!is_box(&g)) fail_msg("round %d", round);
    }
    lob_geometry none = {
        .spacing_mm = {0.7, 0.3, 2.1}
    };
    assert_true(is_box(&none)); /* no affine */
    for (int column = 0; column < 3; column++) none.affine[0][column] = none.spacing_mm[column];
    assert_true(is_box(&none)); /* all in a line */
}

TEST(test_round_trip)
{
    uint64_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        const uint64_t seed_here = seed;
        double affine[3][4];
        const double scale = pow(10.0, 3.0 * next(&seed));
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 4; column++) affine[row][column] = scale * next(&seed);
        lob_geometry geometry;
        if (!lob_geometry_of_affine(&geometry, affine)) continue;

        double voxel[3], world[3], back[3];
        for (int axis = 0; axis < 3; axis++) voxel[axis] = 500.0 * next(&seed);
        lob_voxel_to_world(world, &geometry, voxel);
        lob_world_to_voxel(back, &geometry, world);
        /* How skewed the axes are decides how many digits are left. */
        for (int axis = 0; axis < 3; axis++)
            if (!(fabs(back[axis] - voxel[axis]) < 1e-7))
                fail_msg("seed %llu: voxel %g came back as %g", (unsigned long long)seed_here,
                         voxel[axis], back[axis]);
        lob_voxel_to_world(voxel, &geometry, voxel);
        assert_memory_equal(voxel, world, sizeof world); /* the same array in and out */
        lob_world_to_voxel(voxel, &geometry, voxel);
        assert_memory_equal(voxel, back, sizeof back);
    }
}

TEST(test_world)
{
    const double affine[3][4] = {
        {0, 0,   -2, 10},
        {3, 0,   0,  20},
        {0, 0.5, 0,  30}
    };
    lob_geometry geometry;
    assert_true(lob_geometry_of_affine(&geometry, affine));
    double world[3], voxel[3];
    lob_voxel_to_world(world, &geometry, (double[3]){1, 2, 3});
    assert_true(world[0] == 4 && world[1] == 23 && world[2] == 31);
    lob_world_to_voxel(voxel, &geometry, world);
    assert_true(voxel[0] == 1 && voxel[1] == 2 && voxel[2] == 3);
}

static const struct {
    const char *what;
    double affine[3][3]; /* the origin has no say */
    const char *code;
    int sagittal, coronal, axial; /* axes across the planes */
} directions[] = {
    {"neurological axial",                                             {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},          "RAS", 0, 1, 2},
    {"DICOM axial",                                                    {{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}},        "LPS", 0, 1, 2},
    {"radiological",                                                   {{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}},         "LAS", 0, 1, 2},
    {"every axis backwards",                                           {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}},       "LPI", 0, 1, 2},
    {"sagittal slices",                                                {{0, 0, 1}, {-1, 0, 0}, {0, 1, 0}},         "PSR", 2, 0, 1},
    {"coronal slices",                                                 {{-1, 0, 0}, {0, 0, 1}, {0, 1, 0}},         "LSA", 0, 2, 1},
    {"anterior first",                                                 {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}},          "ARS", 1, 0, 2},
    {"inferior first",                                                 {{0, -1, 0}, {0, 0, -1}, {-1, 0, 0}},       "ILP", 1, 2, 0},
    {"spacing has no say",                                             {{0.1, 0, 0}, {0, 0, 80}, {0, -3, 0}},      "RIA", 0, 2, 1},
    {"a tilted gantry",                                                {{1, 0, 0}, {0, 0.9, -0.4}, {0, 0.4, 0.9}}, "RAS", 0, 1, 2},
    {"past 45 degrees about x",                                        {{1, 0, 0}, {0, 0.5, -0.8}, {0, 0.8, 0.5}}, "RSP", 0, 2, 1},
    {"two axes that both lean to A: the closer one has it",
     {{0.3, 0.6, 0}, {0.9, 0.8, 0}, {0, 0, 1}},
     "ARS",                                                                                                               1,
     0,                                                                                                                         2},
    {"at 45 degrees the first of R, A, S wins",                        {{h, -h, 0}, {h, h, 0}, {0, 0, 1}},         "RAS", 0, 1, 2},
    {"and again backwards",                                            {{-h, h, 0}, {-h, -h, 0}, {0, 0, 1}},       "LPS", 0, 1, 2},
    {"a tie but for the last bit is a tie",
     {{h, -h, 0}, {h * (1 + 4e-16), h, 0}, {0, 0, 1}},
     "RAS",                                                                                                               0,
     1,                                                                                                                         2},
    {"shear is removed first: as they are, the columns would say RPS",
     {{2, 2, -2}, {1, -1, 2}, {1, 1, 1}},
     "RSA",                                                                                                               0,
     2,                                                                                                                         1},
};

TEST(test_directions)
{
    for (size_t i = 0; i < COUNT(directions); i++) {
        double affine[3][4];
        for (int row = 0; row < 3; row++) {
            memcpy(affine[row], directions[i].affine[row], 3 * sizeof affine[row][0]);
            affine[row][3] = -1000.0 * row;
        }
        lob_geometry geometry;
        if (!lob_geometry_of_affine(&geometry, affine)) fail_msg("%s: refused", directions[i].what);
        char code[4] = "???";
        lob_orientation(code, &geometry);
        if (strcmp(code, directions[i].code) != 0) fail_msg("%s: got %s", directions[i].what, code);
        const int sagittal = lob_anatomical_axis(&geometry, LOB_SAGITTAL);
        const int coronal = lob_anatomical_axis(&geometry, LOB_CORONAL);
        const int axial = lob_anatomical_axis(&geometry, LOB_AXIAL);
        if (sagittal != directions[i].sagittal || coronal != directions[i].coronal ||
            axial != directions[i].axial)
            fail_msg("%s: planes across %d %d %d", directions[i].what, sagittal, coronal, axial);
    }
}

/* Turning a volume's axes about permutes the letters and flips the letters, whatever the rotation.
 */
TEST(test_permutations)
{
    static const int orders[6][3] = {
        {0, 1, 2},
        {0, 2, 1},
        {1, 0, 2},
        {1, 2, 0},
        {2, 0, 1},
        {2, 1, 0}
    };
    static const char opposite[128] = {
        ['R'] = 'L', ['L'] = 'R', ['A'] = 'P', ['P'] = 'A', ['S'] = 'I', ['I'] = 'S'};
    uint64_t seed = 7;
    for (int round = 0; round < 500; round++) {
        const uint64_t seed_here = seed;
        double affine[3][4] = {{0}};
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++) affine[row][column] = next(&seed);
        lob_geometry geometry;
        if (!lob_geometry_of_affine(&geometry, affine)) continue;
        char code[4];
        lob_orientation(code, &geometry);
        for (int turn = 0; turn < 48; turn++) {
            const int *order = orders[turn % 6];
            double turned[3][4] = {{0}};
            char want[4] = {0}, got[4];
            for (int axis = 0; axis < 3; axis++) {
                const bool flip = (turn / 6) >> axis & 1;
                for (int row = 0; row < 3; row++)
                    turned[row][axis] = flip ? -affine[row][order[axis]] : affine[row][order[axis]];
                want[axis] = flip ? opposite[(int)code[order[axis]]] : code[order[axis]];
            }
            lob_geometry other;
            assert_true(lob_geometry_of_affine(&other, turned));
            lob_orientation(got, &other);
            if (strcmp(got, want) != 0)
                fail_msg("seed %llu, turn %d: %s became %s, not %s", (unsigned long long)seed_here,
                         turn, code, got, want);
        }
    }
}
