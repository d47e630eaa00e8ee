/* Distances, measures, GrowCut and phantoms when any one allocation fails: no leak, no half of a
 * result. */
#include "kernels/distance/distance.h"
#include "kernels/growcut/growcut.h"
#include "kernels/phantom/phantom.h"
#include "kernels/scores/overlaps.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

static const double mm[] = {1, 2, 3};
static const lob_dims dims = {5, 4, 3};

static lob_status distance_attempt(void *user)
{
    const uint8_t set[60] = {[17] = 1};
    float squared[60];
    return lob_distance_squared(squared, set, dims, mm, 3);
}

static lob_status compare_attempt(void *user)
{
    uint8_t a[60] = {[7] = 1, [8] = 1, [20] = 9, [59] = 4};
    uint8_t b[60] = {[8] = 1, [9] = 1, [21] = 9, [33] = 200};
    const lob_volume va = volume_of(a, LOB_U8, dims, mm), vb = volume_of(b, LOB_U8, dims, mm);
    lob_overlap *rows = NULL;
    int32_t count = 0;
    int equal = 0;
    lob_error error = {.text = ""};
    const lob_status st =
        lob_compare_labels(&rows, &count, &equal, &va, "a", &vb, "b", 1, THREADS(1), &error);
    assert_true((st == LOB_OK) == (rows != NULL));
    assert_true((st == LOB_OK) == (error.text[0] == '\0'));
    free(rows);
    return st;
}

static lob_status growcut_attempt(void *user)
{
    uint8_t image[60], seeds[60] = {[7] = 1, [8] = 1, [20] = 2}, labels[60], tie[60];
    for (int i = 0; i < 60; i++) image[i] = (uint8_t)(i % 7);
    const lob_volume im = volume_of(image, LOB_U8, dims, mm);
    const lob_volume se = volume_of(seeds, LOB_U8, dims, mm);
    lob_growcut_options options = lob_growcut_defaults();
    options.slice_axis = *(int *)user;
    options.neighbours = options.slice_axis < 0 ? 26 : 8;
    const lob_growcut_input in = {&im, &se, 2, NULL, NULL};
    const lob_growcut_output out = {labels, NULL, tie};
    return lob_growcut_cpu(&out, NULL, &in, &options, THREADS(2), NULL);
}

static lob_status phantom_attempt(void *user)
{
    lob_phantom_options o = lob_phantom_defaults(*(lob_phantom_kind *)user);
    o.dims = (lob_dims){12, 11, 17};
    o.cells = 2;
    lob_volume image, truth, seeds;
    lob_error error = {.text = ""};
    const lob_status st = lob_phantom(&image, &truth, &seeds, &o, THREADS(2), &error);
    if (st != LOB_OK) {
        assert_true(error.text[0]);
        assert_null(image.data);
        assert_null(truth.data);
        assert_null(seeds.data);
    }
    lob_volume_free(&image);
    lob_volume_free(&truth);
    lob_volume_free(&seeds);
    return st;
}

TEST(test_distance)
{
    assert_true(alloc_fail_sweep("distance", distance_attempt, NULL) >= 2);
}

TEST(test_compare)
{
    assert_true(alloc_fail_sweep("compare", compare_attempt, NULL) >= 10);
}

TEST(test_growcut)
{
    for (int axis = -1; axis < 3; axis++)
        assert_true(alloc_fail_sweep("growcut", growcut_attempt, &axis) >= 15);
}

TEST(test_phantom)
{
    for (lob_phantom_kind kind = 0; kind < LOB_PHANTOMS; kind++)
        assert_true(alloc_fail_sweep("phantom", phantom_attempt, &kind) >= 8);
}
