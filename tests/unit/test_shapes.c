/* Shapes of regions: failing allocations, cancelling, threads, and volumes of one voxel. What comes
 * of the counts is compared with other programs by tests/command/test_shapes.py. */
#include "kernels/regions/shape_slabs.h"
#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

enum { NX = 13, NY = 11, NZ = 7, N = NX * NY * NZ, LABELS = 6 };

/* Everything that is measured of a volume. */
typedef struct {
    lob_region regions[LABELS];
    lob_region_moments moments[LABELS];
    lob_region_border border[LABELS];
    lob_region_slices slices[LABELS];
    lob_region_hull hulls[LABELS];
    double percentiles[LABELS * LOB_PERCENTILES];
} results;

/* Scattered voxels, a box and a label without voxels. */
static void fill(uint8_t *labels, float *image)
{
    uint64_t random = 7;
    for (int i = 0; i < N; i++) {
        labels[i] = i % NX > 5 && i / NX % NY > 6 ? 5 : (uint8_t)random_below(&random, 5);
        image[i] = random_below(&random, 9) ? (float)random_below(&random, 1000) : NAN;
    }
}

typedef struct {
    lob_context context;
    results *out;
} job;

static lob_status measure(void *user)
{
    static uint8_t labels[N];
    static float image[N];
    const job *const j = user;
    results *const r = j->out;
    const lob_dims dims = {NX, NY, NZ};
    const double mm[] = {1, 2, 0.5};
    fill(labels, image);
    const lob_volume volume = volume_of(image, LOB_F32, dims, mm);
    const lob_regions_input in = {labels, LOB_U8, LABELS, dims, &volume};
    const lob_regions_input alone = {labels, LOB_U8, LABELS, dims, NULL};
    const lob_shape_frame frame = lob_shape_frame_of(&volume.geometry, dims);
    memset(r, 0, sizeof *r);
    LOB_TRY(lob_regions_cpu(r->regions, NULL, NULL, &alone, &(lob_context){.threads = 1}, NULL));
    LOB_TRY(lob_regions_moments(r->moments, r->regions, &in, &j->context, NULL));
    LOB_TRY(lob_regions_border(r->border, &in, &j->context, NULL));
    LOB_TRY(lob_regions_slices(r->slices, r->regions, &in, &j->context, NULL));
    LOB_TRY(lob_regions_hulls(r->hulls, r->regions, &in, &frame, &j->context, NULL));
    return lob_regions_percentiles(r->percentiles, r->regions, &in, &j->context, NULL);
}

TEST(allocations_may_fail)
{
    for (int threads = 1; threads < 4; threads++) {
        results out;
        job j = {{.threads = threads}, &out};
        assert_true(alloc_fail_sweep("shapes", measure, &j) >= 14);
    }
}

TEST(threads_do_not_matter)
{
    results one, more;
    job j = {{.threads = 1}, &one};
    assert_ok(measure(&j));
    assert_true(one.border[0].crossings[0] > 0 && one.hulls[4].voxels == 7 * 4 * 7);
    assert_true(one.border[4].euler == 1 && isnan(one.hulls[5].voxels));
    for (int threads = 2; threads < 6; threads++) {
        job k = {{.threads = threads}, &more};
        assert_ok(measure(&k));
        assert_memory_equal(&one, &more, sizeof one);
    }
}

enum { MOST_CORNERS = 4096 };

/* All but percentiles from slabs of so many planes: as `measure` makes them of the whole. */
typedef struct {
    int threads, planes;
    results *out;
} slabs_job;

static lob_status measure_slabs(void *user)
{
    static uint8_t labels[N];
    static float image[N];
    static lob_hull_corner corners[MOST_CORNERS];
    static const int32_t names[LABELS] = {1, 2, 3, 4, 5, 6};
    const slabs_job *const j = user;
    results *const r = j->out;
    const lob_context context = {.threads = j->threads};
    const lob_dims dims = {NX, NY, NZ};
    const lob_geometry g = lob_geometry_of_spacing((double[3]){1, 2, 0.5});
    const lob_shape_frame frame = lob_shape_frame_of(&g, dims);
    lob_region_counts sums[LABELS];
    int64_t n = 0, count;
    fill(labels, image);
    memset(r, 0, sizeof *r);
    memset(sums, 0, sizeof sums);
    for (int z = 0; z < NZ; z += j->planes) {
        const int planes = z + j->planes < NZ ? j->planes : NZ - z;
        const lob_regions_input in = {
            labels + z * NX * NY, LOB_U8, LABELS, {NX, NY, planes},
                     NULL
        };
        lob_region regions[LABELS];
        lob_regions_input stack = in;
        lob_region_moments moments[LABELS];
        lob_region_border border[LABELS];
        lob_region_slices slices[LABELS];
        lob_hull_corner *some;
        if (z > 0) stack.labels = labels + (z - 1) * NX * NY;
        if (z > 0) stack.dims.nz++;
        LOB_TRY(lob_regions_cpu(regions, NULL, NULL, &in, &(lob_context){.threads = 1}, NULL));
        LOB_TRY(lob_regions_moments_sum(moments, &in, z, &context, NULL));
        LOB_TRY(lob_regions_border_under(border, &stack, z > 0, &context, NULL));
        LOB_TRY(lob_regions_slices(slices, regions, &in, &context, NULL));
        LOB_TRY(lob_regions_hull_corners(&some, &count, regions, &in, names, z, &context, NULL));
        assert_true(n + count <= MOST_CORNERS);
        if (count > 0) memcpy(corners + n, some, (size_t)count * sizeof *some);
        free(some);
        n = lob_hull_corners_join(corners, n + count);
        for (int i = 0; i < LABELS; i++) {
            if (regions[i].voxels == 0) continue;
            regions[i].first += z * NX * NY;
            regions[i].low[2] += z;
            regions[i].high[2] += z;
            regions[i].sum[2] += z * regions[i].voxels;
            slices[i].where += z;
            lob_region_counts_add(&sums[i], &(lob_region_counts){moments[i], border[i], slices[i]});
            lob_region_add(&r->regions[i], &regions[i]);
        }
    }
    for (int i = 0; i < LABELS; i++) {
        r->moments[i] = sums[i].moments;
        r->border[i] = sums[i].border;
        r->slices[i] = sums[i].slices;
    }
    LOB_TRY(lob_regions_moments_move(r->moments, r->regions, names, LABELS, NULL));
    return lob_hulls_of_corners(r->hulls, r->regions, names, LABELS, corners, n, dims, &frame,
                                &context, NULL);
}

TEST(slabs_do_not_matter)
{
    results whole, slabs;
    job one = {{.threads = 2}, &whole};
    assert_ok(measure(&one));
    for (int planes = 1; planes <= NZ; planes++) {
        slabs_job j = {1 + planes % 3, planes, &slabs};
        assert_ok(measure_slabs(&j));
        assert_memory_equal(whole.regions, slabs.regions, sizeof whole.regions);
        assert_memory_equal(whole.moments, slabs.moments, sizeof whole.moments);
        assert_memory_equal(whole.border, slabs.border, sizeof whole.border);
        assert_memory_equal(whole.slices, slabs.slices, sizeof whole.slices);
        assert_memory_equal(whole.hulls, slabs.hulls, sizeof whole.hulls);
    }
    slabs_job two = {1, 4, &slabs};
    assert_true(alloc_fail_sweep("shapes of slabs", measure_slabs, &two) >= 14);
}

TEST(may_be_cancelled)
{
    results out;
    progress_log stop = {.stop_at = 0};
    job j = {
        {.threads = 1, .progress = listen, .user = &stop},
        &out
    };
    assert_int_equal(measure(&j), LOB_ECANCEL);
}

TEST(one_voxel)
{
    uint8_t label = 1;
    lob_region region;
    lob_region_border border;
    lob_region_hull hull;
    const lob_dims dims = {1, 1, 1};
    const lob_geometry g = lob_geometry_of_spacing((double[3]){1, 1, 1});
    const lob_regions_input in = {&label, LOB_U8, 1, dims, NULL};
    const lob_context context = {.threads = 2};
    const lob_shape_frame frame = lob_shape_frame_of(&g, dims);
    assert_ok(lob_regions_cpu(&region, NULL, NULL, &in, &context, NULL));
    assert_ok(lob_regions_border(&border, &in, &context, NULL));
    assert_ok(lob_regions_hulls(&hull, &region, &in, &frame, &context, NULL));
    for (int d = 0; d < LOB_BORDER_DIRECTIONS; d++) assert_int_equal(border.crossings[d], 2);
    assert_true(border.euler == 1 && hull.voxels == 1.0 && hull.feret_mm == 1.0);
}

TEST(a_region_too_large)
{
    uint8_t label = 1;
    static const int32_t name = 17;
    lob_region_moments moments = {{0}};
    const lob_region region = {
        .voxels = INT64_C(1) << 40, .high = {1 << 20, 1, 1}
    };
    const lob_regions_input in = {
        &label, LOB_U8, 1, {1, 1, 1},
           NULL
    };
    lob_error error = {.text = ""};
    assert_int_equal(
        lob_regions_moments(&moments, &region, &in, &(lob_context){.threads = 1}, &error),
        LOB_EDATA);
    assert_non_null(strstr(error.text, "label 1 is too large"));
    assert_int_equal(lob_regions_moments_move(&moments, &region, &name, 1, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "label 17 is too large"));
}
