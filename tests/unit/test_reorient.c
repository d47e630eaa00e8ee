/* All 48 ways to lay a grid's axes: a voxel keeps its value and its place in the world. */
#include "volumes/reorient.h"

#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdlib.h>

static const double plain[3][4] = {
    {1, 0, 0,   0},
    {0, 1, 0,   0},
    {0, 0, 2.5, 0}
};
static const double oblique[3][4] = {
    {0.8,  -0.45, 0.3, -90 },
    {0.44, 0.79,  0.2, 44.5},
    {0.05, -0.1,  3.1, 700 }
};
static const double left[3][4] = {
    {0,  0,    -3, 5 },
    {-1, 0,    0,  6 },
    {0,  0.75, 0,  -7}
};

static const struct {
    const char *what;
    lob_dims dims;
    int channels;
    const double (*affine)[4];
} grids[] = {
    {"prime sides",                     {5, 7, 11},  1, plain  },
    {"equal sides, sheared and turned", {6, 6, 6},   1, oblique},
    {"three channels, left-handed",     {7, 3, 2},   3, left   },
    {"one slice",                       {9, 4, 1},   2, oblique},
    {"a row of voxels",                 {1, 1, 13},  1, plain  },
    {"rows longer than a cache line",   {130, 3, 5}, 1, left   },
};

/* The 48, made otherwise than the library makes them. */
static lob_turn turn_of(int number)
{
    lob_turn turn = {
        .backwards = {number & 1, number & 2, number & 4}
    };
    turn.axis[0] = number / 8 % 3;
    turn.axis[1] = (turn.axis[0] + 1 + number / 24) % 3;
    turn.axis[2] = 3 - turn.axis[0] - turn.axis[1];
    return turn;
}

static lob_volume make(size_t row, lob_type type)
{
    const int64_t n = lob_dims_voxels(grids[row].dims);
    lob_volume v = lob_volume_empty();
    v.dims = grids[row].dims;
    v.type = type;
    v.channels = grids[row].channels;
    v.slope = 2.0;
    v.inter = -1.0;
    assert_true(lob_geometry_of_affine(&v.geometry, grids[row].affine));
    const size_t bytes = (size_t)n * (size_t)v.channels * lob_type_of(type)->bytes;
    uint64_t seed = row * 100 + (uint64_t)type;
    v.data = malloc(bytes);
    assert_non_null(v.data);
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)v.data)[i] = (uint8_t)random_next(&seed);
    v.header = (lob_header){"NIfTI-1", calloc(1, 5), 5, NULL, 0};
    return v;
}

/* Where voxel (x, y, z) of channel c is stored. */
static const unsigned char *voxel_at(const lob_volume *v, const int64_t at[3], int c)
{
    const int64_t i = at[0] + v->dims.nx * (at[1] + v->dims.ny * at[2]);
    return (const unsigned char *)v->data +
           (size_t)(i + c * lob_voxels(v)) * lob_type_of(v->type)->bytes;
}

/* Every voxel of b is the voxel of a at the same place in the world. */
static void check_places(const lob_volume *a, const lob_volume *b, const char *what, int number)
{
    const size_t bytes = lob_type_of(a->type)->bytes;
    assert_int_equal(lob_voxels(a), lob_voxels(b));
    for (int64_t i = 0; i < lob_voxels(b); i++) {
        const int64_t at[3] = {i % b->dims.nx, i / b->dims.nx % b->dims.ny,
                               i / b->dims.nx / b->dims.ny};
        const double voxel[3] = {(double)at[0], (double)at[1], (double)at[2]};
        double world[3], old[3];
        int64_t there[3];
        lob_voxel_to_world(world, &b->geometry, voxel);
        lob_world_to_voxel(old, &a->geometry, world);
        for (int k = 0; k < 3; k++) {
            there[k] = (int64_t)lrint(old[k]);
            if (fabs(old[k] - (double)there[k]) > 1e-6 || there[k] < 0 ||
                there[k] >= lob_side(a->dims, k))
                fail_msg("%s, turn %d: no voxel of the volume", what, number);
        }
        for (int c = 0; c < a->channels; c++)
            if (memcmp(voxel_at(a, there, c), voxel_at(b, at, c), bytes) != 0)
                fail_msg("%s, turn %d, %s: voxel %lld of channel %d has another's value", what,
                         number, lob_type_of(a->type)->name, (long long)i, c);
    }
}

static void check_turn(size_t row, lob_type type, int number)
{
    const char *what = grids[row].what;
    const lob_turn turn = turn_of(number);
    lob_volume a = make(row, type), b = make(row, type);
    assert_int_equal(lob_volume_reorient(&b, &turn), LOB_OK);
    check_places(&a, &b, what, number);
    if (b.header.bytes || b.header.format || b.slope != 2.0 || b.inter != -1.0 || b.type != type)
        fail_msg("%s, turn %d: header, scale or type", what, number);
    for (int k = 0; k < 3; k++)
        if (b.geometry.spacing_mm[k] != a.geometry.spacing_mm[turn.axis[k]])
            fail_msg("%s, turn %d: spacing", what, number);

    /* and back again by what lob_turn_onto finds */
    lob_turn back;
    if (!lob_turn_onto(&back, &b, &a)) fail_msg("%s, turn %d: no way back", what, number);
    assert_int_equal(lob_volume_reorient(&b, &back), LOB_OK);
    const size_t bytes = (size_t)lob_voxels(&a) * (size_t)a.channels * lob_type_of(type)->bytes;
    if (lob_same_grid(&a, "a", &b, "b", NULL) != LOB_OK || memcmp(a.data, b.data, bytes) != 0)
        fail_msg("%s, turn %d: not the same after the way back", what, number);
    lob_volume_free(&a);
    lob_volume_free(&b);
}

static void test_turns(void **state)
{
    for (size_t row = 0; row < COUNT(grids); row++)
        for (int type = 0; type < LOB_TYPES; type++)
            for (int number = 0; number < 48; number++) check_turn(row, (lob_type)type, number);
}

/* What no turn mends; each row changes a cube's geometry. */
static const struct {
    const char *what;
    double scale, shift_mm, degrees;
    bool found;
} others[] = {
    {"nothing",                      1,    0,    0,  true },
    {"within the tolerance",         1,    0.04, 0,  true },
    {"a tenth of a voxel beside",    1,    0.1,  0,  false},
    {"voxels a hundredth larger",    1.01, 0,    0,  false},
    {"turned by five degrees",       1,    0,    5,  false},
    {"turned by ninety degrees",     1,    0,    90, true },
    {"a shift that is not a number", 1,    NAN,  0,  false},
};

static void test_onto(void **state)
{
    const double spacing[3] = {1, 1, 1}, half = 4.5; /* the middle of ten voxels */
    lob_volume cube = lob_volume_empty();
    cube.dims = (lob_dims){10, 10, 10};
    cube.geometry = lob_geometry_of_spacing(spacing);
    for (size_t i = 0; i < COUNT(others); i++) {
        const double angle = others[i].degrees * acos(-1.0) / 180.0;
        const double c = cos(angle) * others[i].scale, s = sin(angle) * others[i].scale;
        const double affine[3][4] = {
            {c, -s, 0, half - c * half + s * half + others[i].shift_mm},
            {s, c,  0, half - s * half - c * half                     },
            {0, 0,  1, 0                                              }
        };
        lob_volume other = cube;
        memcpy(other.geometry.affine, affine, sizeof affine);
        other.geometry.spacing_mm[0] = other.geometry.spacing_mm[1] = others[i].scale;
        lob_turn turn;
        memset(&turn, 0x5a, sizeof turn);
        const lob_turn before = turn;
        const bool found = lob_turn_onto(&turn, &other, &cube);
        if (found != others[i].found) fail_msg("%s: found %d", others[i].what, found);
        if (!found && memcmp(&turn, &before, sizeof turn) != 0)
            fail_msg("%s: not found, but written", others[i].what);
    }
}

static lob_status attempt(void *user)
{
    const lob_turn turn = {
        .axis = {2,    0,     1   },
          .backwards = {true, false, true}
    };
    lob_volume *v = user;
    const lob_volume before = *v;
    const lob_status st = lob_volume_reorient(v, &turn);
    if (st != LOB_OK) assert_memory_equal(v, &before, sizeof before);
    return st;
}

static void test_memory(void **state)
{
    lob_volume v = make(0, LOB_I16);
    free(v.header.bytes); /* which the first turn that succeeds would do */
    v.header = (lob_header){.format = NULL};
    assert_int_equal(alloc_fail_sweep("reorient", attempt, &v), 1);
    lob_volume_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_onto),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
