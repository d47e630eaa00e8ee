/* Boxes of volumes: found, widened, cut out and laid back; failing allocations too. */
#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/crop.h"

enum { NX = 7, NY = 5, NZ = 3 };

static const lob_dims dims = {NX, NY, NZ};

/* Two channels of int16, each voxel with a number of its own, somewhere in the world. */
static lob_volume numbered(void)
{
    const double affine[3][4] = {
        {0,   -2, 0, 10 },
        {1.5, 0,  0, -20},
        {0,   .5, 3, 30 }
    };
    lob_volume v = zeros(LOB_I16, dims, 2);
    assert_true(lob_geometry_of_affine(&v.geometry, affine));
    for (int i = 0; i < 2 * NX * NY * NZ; i++) ((int16_t *)v.data)[i] = (int16_t)(i + 1);
    return v;
}

static int16_t at(const lob_volume *v, int64_t x, int64_t y, int64_t z, int64_t channel)
{
    const lob_dims d = v->dims;
    return ((const int16_t *)v->data)[((channel * d.nz + z) * d.ny + y) * d.nx + x];
}

TEST(box_of)
{
    lob_box box = {
        {9, 9, 9},
        {9, 9, 9}
    };
    lob_volume v = zeros(LOB_F32, dims, 2);
    float *const voxels = v.data;
    assert_false(lob_box_of(&box, &v));
    voxels[0] = NAN;
    assert_false(lob_box_of(&box, &v));
    assert_int_equal(box.first[0], 9); /* untouched */
    voxels[(1 * NY + 2) * NX + 6] = -1;
    voxels[NX * NY * NZ + (2 * NY + 1) * NX + 3] = .5f; /* in the other channel */
    assert_true(lob_box_of(&box, &v));
    const lob_box want = {
        {3, 1, 1},
        {4, 2, 2}
    };
    assert_memory_equal(&box, &want, sizeof box);
    v.inter = 1; /* now what is stored as 0 counts, and -1 does not */
    assert_true(lob_box_of(&box, &v));
    const lob_box whole = {
        {0,  0,  0 },
        {NX, NY, NZ}
    };
    assert_memory_equal(&box, &whole, sizeof box);
    lob_volume_free(&v);
}

/* Rows longer than the blocks that are converted at a time. */
TEST(box_of_a_long_row)
{
    lob_volume v = zeros(LOB_U8, (lob_dims){5000, 2, 1}, 1);
    lob_box box;
    ((uint8_t *)v.data)[5000 + 2047] = 1;
    ((uint8_t *)v.data)[5000 + 4999] = 1;
    assert_true(lob_box_of(&box, &v));
    const lob_box want = {
        {2047, 1, 0},
        {2953, 1, 1}
    };
    assert_memory_equal(&box, &want, sizeof box);
    lob_volume_free(&v);
}

TEST(widen)
{
    lob_box box = {
        {3, 1, 1},
        {2, 2, 1}
    };
    lob_box_widen(&box, (int64_t[3]){1, 1, 0}, dims);
    const lob_box want = {
        {2, 0, 1},
        {4, 4, 1}
    };
    assert_memory_equal(&box, &want, sizeof box);
    lob_box_widen(&box, (int64_t[3]){INT64_C(1) << 40, 1, INT64_C(1) << 40}, dims);
    const lob_box whole = {
        {0,  0,  0 },
        {NX, NY, NZ}
    };
    assert_memory_equal(&box, &whole, sizeof box);
}

TEST(meet)
{
    static const struct {
        const char *what;
        lob_box a, b, both;
    } rows[] = {
        {"a corner",     {{0, 1, 2}, {4, 4, 4}}, {{3, -1, 5}, {9, 3, 9}}, {{3, 1, 5}, {1, 1, 1}}},
        {"inside",       {{0, 0, 0}, {9, 9, 9}}, {{2, 3, 4}, {1, 2, 3}},  {{2, 3, 4}, {1, 2, 3}}},
        {"side by side", {{0, 0, 0}, {4, 4, 4}}, {{4, 0, 0}, {4, 4, 4}},  {.size = {0}}         },
        {"apart",        {{0, 0, 0}, {4, 4, 4}}, {{1, 1, 9}, {2, 2, 2}},  {.size = {0}}         },
        {"nothing",      {{5, 5, 5}, {0, 0, 0}}, {{0, 0, 0}, {9, 9, 9}},  {.size = {0}}         },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lob_box there = lob_box_meet(&rows[i].a, &rows[i].b);
        const lob_box back = lob_box_meet(&rows[i].b, &rows[i].a);
        if (memcmp(&there, &rows[i].both, sizeof there) != 0 ||
            memcmp(&back, &there, sizeof back) != 0)
            fail_msg("%s", rows[i].what);
    }
}

/* Every box of the volume: voxels and their places in the world; laid back, zeros around it. */
TEST(every_box)
{
    const lob_volume whole = numbered();
    uint64_t state = 5;
    for (int n = 0; n < 200; n++) {
        lob_box box;
        for (int a = 0; a < 3; a++) {
            box.first[a] = random_below(&state, lob_side(dims, a));
            box.size[a] = 1 + random_below(&state, lob_side(dims, a) - box.first[a]);
        }
        lob_volume v = numbered();
        int64_t first[3];
        assert_ok(lob_volume_crop(&v, &box));
        assert_true(lob_place_in(first, &v, &whole));
        assert_memory_equal(first, box.first, sizeof first);
        for (int64_t c = 0; c < 2; c++)
            for (int64_t z = 0; z < box.size[2]; z++)
                for (int64_t y = 0; y < box.size[1]; y++)
                    for (int64_t x = 0; x < box.size[0]; x++)
                        assert_int_equal(at(&v, x, y, z, c),
                                         at(&whole, x + first[0], y + first[1], z + first[2], c));
        assert_ok(lob_volume_place(&v, first, &whole));
        assert_memory_equal(&v.geometry, &whole.geometry, sizeof v.geometry);
        for (int64_t i = 0; i < 2 * NX * NY * NZ; i++) {
            const int64_t xyz[3] = {i % NX, i / NX % NY, i / (NX * NY) % NZ};
            bool inside = true;
            for (int a = 0; a < 3; a++)
                inside = inside && xyz[a] >= first[a] && xyz[a] < first[a] + box.size[a];
            assert_int_equal(((int16_t *)v.data)[i], inside ? i + 1 : 0);
        }
        lob_volume_free(&v);
    }
    lob_volume one = whole;
    lob_volume_free(&one);
}

/* A part that reaches beyond the grid on one side, or lies beside it. */
TEST(place_beyond)
{
    const lob_volume onto = volume_of(NULL, LOB_I16, (lob_dims){4, 4, 4}, (double[3]){1, 1, 1});
    lob_volume v = numbered();
    assert_ok(lob_volume_place(&v, (int64_t[3]){-2, 1, -1}, &onto));
    const lob_volume from = numbered();
    for (int64_t z = 0; z < 4; z++)
        for (int64_t y = 0; y < 4; y++)
            for (int64_t x = 0; x < 4; x++) {
                const bool inside = y >= 1 && z + 1 < NZ;
                assert_int_equal(at(&v, x, y, z, 1),
                                 inside ? at(&from, x + 2, y - 1, z + 1, 1) : 0);
            }
    assert_ok(lob_volume_place(&v, (int64_t[3]){-9, 0, 0}, &onto));
    for (int i = 0; i < 2 * 64; i++) assert_int_equal(((int16_t *)v.data)[i], 0);
    lob_volume_free(&v);
    v = from;
    lob_volume_free(&v);
}

TEST(grids_that_are_no_part)
{
    const lob_volume onto = volume_of(NULL, LOB_U8, dims, (double[3]){1, 1, 2});
    static const struct {
        const char *what;
        double scale, shift;
        bool is_part;
    } rows[] = {
        {"the same grid",            1.0,  0.0,    true },
        {"three voxels beside",      1.0,  3.0,    true },
        {"far away, but in step",    1.0,  -400.0, true },
        {"half a voxel beside",      1.0,  0.5,    false},
        {"voxels a tenth larger",    1.1,  0.0,    false},
        {"farther than numbers go",  1.0,  1e12,   false},
        {"flipped",                  -1.0, 0.0,    false},
        {"the rounding of a header", 1.0,  1e-6,   true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double affine[3][4] = {
            {rows[i].scale, 0, 0, rows[i].shift},
            {0,             1, 0, 0            },
            {0,             0, 2, 0            }
        };
        int64_t first[3] = {77, 77, 77};
        lob_volume v = volume_of(NULL, LOB_U8, dims, NULL);
        assert_true(lob_geometry_of_affine(&v.geometry, affine));
        if (lob_place_in(first, &v, &onto) != rows[i].is_part ||
            (first[0] == 77) == rows[i].is_part)
            fail_msg("%s: %s", rows[i].what, rows[i].is_part ? "no part" : "a part");
    }
}

/* A scan whose planes at an end, or nearly all of them, hold one value, which may be NaN. */
TEST(field_of_view)
{
    enum { SIDE = 12 };
    static const struct {
        const char *what;
        int axis, from, to; /* planes that are not filled, */
        int border;         /* the first of them but for so many rows */
        float step;         /* between their voxels */
        int64_t first, size;
    } rows[] = {
        {"a third, low",              0, 4, SIDE,     0,  1, 4, SIDE - 4},
        {"a third, high",             1, 0, SIDE - 4, 0,  1, 0, SIDE - 4},
        {"both ends",                 2, 3, SIDE - 3, 0,  1, 3, SIDE - 6},
        {"all but one plane",         2, 7, 8,        0,  1, 7, 1       },
        {"less than a quarter",       1, 2, SIDE,     0,  1, 0, SIDE    },
        {"nothing",                   0, 0, SIDE,     0,  1, 0, SIDE    },
        {"what begins slowly",        0, 4, SIDE,     10, 1, 0, SIDE    },
        {"a third of the plane ends", 0, 4, SIDE,     8,  1, 4, SIDE - 4},
        {"another value alone",       0, 4, SIDE,     0,  0, 0, SIDE    },
    };
    const lob_dims sides = {SIDE, SIDE, SIDE};
    for (size_t k = 0; k < COUNT(rows); k++) {
        lob_volume v = zeros(LOB_F32, sides, 1);
        lob_box want = lob_box_whole(sides);
        for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
            const int place[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
            const int plane = place[rows[k].axis], from = rows[k].from;
            const bool seen =
                plane >= from && plane < rows[k].to && (plane > from || place[1] >= rows[k].border);
            ((float *)v.data)[i] = seen ? 5 + rows[k].step * (float)i : k % 2 ? -9 : NAN;
        }
        want.first[rows[k].axis] = rows[k].first;
        want.size[rows[k].axis] = rows[k].size;
        for (int threads = 1; threads <= 3; threads++) {
            const lob_box found = lob_field_of_view(&v, threads);
            if (memcmp(&found, &want, sizeof want) != 0)
                fail_msg("%s, %d threads", rows[k].what, threads);
        }
        lob_volume_free(&v);
    }
}

static lob_status crop_attempt(void *user)
{
    lob_volume v = numbered();
    const lob_volume before = v;
    const lob_status st = lob_volume_crop(&v, user);
    if (st != LOB_OK) assert_memory_equal(&v, &before, sizeof v);
    lob_volume_free(&v);
    return st;
}

static lob_status place_attempt(void *user)
{
    lob_volume v = numbered();
    const lob_volume before = v;
    const lob_status st = lob_volume_place(&v, (int64_t[3]){1, 0, 0}, user);
    if (st != LOB_OK) assert_memory_equal(&v, &before, sizeof v);
    lob_volume_free(&v);
    return st;
}

TEST(without_memory)
{
    lob_box box = {
        {1, 1, 1},
        {2, 2, 2}
    };
    lob_volume v = numbered(), onto = v;
    alloc_fail_at(2); /* the first is that of numbered() */
    assert_int_equal(crop_attempt(&box), LOB_ENOMEM);
    alloc_fail_at(2);
    assert_int_equal(place_attempt(&onto), LOB_ENOMEM);
    alloc_fail_at(0);
    assert_ok(crop_attempt(&box));
    assert_ok(place_attempt(&onto));
    lob_volume_free(&v);
}
