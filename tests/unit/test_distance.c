/* The distance transform against a look at every pair of voxels. */
#include "distance_reference.h"
#include "kernels/distance/distance.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

static const struct {
    const char *what;
    lob_dims dims;
    double spacing_mm[3];
    int one_in; /* voxels per voxel of the set; 1: all, 0: none */
} cases[] = {
    {"prime sides, isotropic",         {11, 13, 7},  {1, 1, 1},          40  },
    {"prime sides, anisotropic",       {11, 13, 7},  {0.7, 1.3, 5},      40  },
    {"crowded",                        {17, 5, 19},  {1.5, 1.5, 2},      3   },
    {"lonely voxels",                  {23, 11, 13}, {2, 0.31, 1},       1000},
    {"the longest axis first",         {67, 3, 5},   {1, 2, 3},          30  },
    {"the longest axis in the middle", {5, 61, 7},   {1, 2, 3},          100 },
    {"the longest axis last",          {3, 5, 59},   {3, 0.1, 0.2},      100 },
    {"more than one block of lines",   {37, 41, 3},  {1, 1.1, 1.2},      200 },
    {"a plane",                        {31, 29, 1},  {1, 0.5, 9},        50  },
    {"a plane across x",               {1, 29, 31},  {1, 0.5, 9},        50  },
    {"a line",                         {1, 101, 1},  {1, 0.3, 1},        20  },
    {"one voxel in the set",           {1, 1, 1},    {1, 1, 1},          1   },
    {"one voxel, empty set",           {1, 1, 1},    {1, 1, 1},          0   },
    {"full",                           {7, 5, 3},    {1, 1, 1},          1   },
    {"empty",                          {7, 5, 3},    {1, 1, 1},          0   },
    {"tiny spacing",                   {7, 11, 5},   {1e-6, 2e-6, 1e-5}, 30  },
};

TEST(agrees_with_brute_force)
{
    for (size_t c = 0; c < COUNT(cases); c++) {
        const lob_dims d = cases[c].dims;
        const int64_t n = d.nx * d.ny * d.nz;
        uint8_t *const set = calloc((size_t)n, 1);
        float *const got = malloc((size_t)n * sizeof *got);
        float *const again = malloc((size_t)n * sizeof *again);
        assert_true(set && got && again);
        uint64_t state = 7 + c;
        for (int64_t i = 0; i < n; i++)
            set[i] = cases[c].one_in && random_below(&state, cases[c].one_in) == 0 ? 200 : 0;

        assert_ok(lob_distance_squared(got, set, d, cases[c].spacing_mm, 1));
        for (int64_t i = 0; i < n; i++) {
            const float want = (float)reference_distance_squared(set, d, cases[c].spacing_mm, i);
            /* Two voxels equally near may round apart in double, so one step of a float is let be.
             */
            if (!(got[i] == want || got[i] == nextafterf(want, 0) ||
                  got[i] == nextafterf(want, INFINITY)))
                fail_msg("%s: voxel %d: %.9g, not %.9g", cases[c].what, (int)i, (double)got[i],
                         (double)want);
        }
        for (int threads = 2; threads <= 5; threads++) {
            assert_ok(lob_distance_squared(again, set, d, cases[c].spacing_mm, threads));
            if (memcmp(got, again, (size_t)n * sizeof *got) != 0)
                fail_msg("%s: %d threads give other bytes", cases[c].what, threads);
        }
        free(set);
        free(got);
        free(again);
    }
}

TEST(whole_spacing_is_exact)
{
    const lob_dims d = {97, 89, 83};
    const int64_t n = d.nx * d.ny * d.nz;
    uint8_t *const set = calloc((size_t)n, 1);
    float *const got = malloc((size_t)n * sizeof *got);
    assert_true(set && got);
    set[0] = 1;
    assert_ok(lob_distance_squared(got, set, d, (double[]){1, 2, 3}, 2));
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny * 2, z = i / d.nx / d.ny * 3;
        if (got[i] != (float)(x * x + y * y + z * z)) fail_msg("voxel %d", (int)i);
    }
    free(set);
    free(got);
}
