/* Supervoxels and contacts when any one allocation fails: no leak, no crash, and a status that says
 * so. */
#include "kernels/regions/contacts.h"
#include "tests/reference/supervoxels_case.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

static lob_status attempt(void *user)
{
    static int32_t labels[31 * 31 * 31];
    const supervoxels_case *c = user;
    return lob_supervoxels_cpu(labels, NULL, &c->in, &c->options, THREADS(3), NULL);
}

TEST(any_allocation_fails)
{
    int64_t reported = 0;
    int swept = 0;
    for (uint64_t number = 1; swept < 12; number++) {
        supervoxels_case c;
        supervoxels_case_make(&c, number, 13);
        if (attempt(&c) == LOB_OK) {
            reported += alloc_fail_sweep(c.shape, attempt, &c);
            swept++;
        }
        supervoxels_case_free(&c);
    }
    assert_true(reported > 100);
}

static lob_status contacts_attempt(void *user)
{
    lob_contact *list;
    int64_t found;
    double means[500];
    uint8_t labels[500];
    for (int v = 0; v < 500; v++) labels[v] = (uint8_t)(v * 7 % 201);
    const lob_label_grid grid = ROW(labels, LOB_U8, 200, {10, 10, 5});
    const lob_volume image = volume_of(labels, LOB_U8, grid.dims, (double[]){1, 1, 1});
    lob_status st = lob_label_means(means, &grid, &image, THREADS(3), NULL);
    if (st != LOB_OK) return st;
    st = lob_contacts(&list, &found, &grid, &image.geometry, means, 1, -1, THREADS(3), NULL);
    assert_true((st == LOB_OK) == (list != NULL));
    free(list);
    return st;
}

TEST(contacts_too)
{
    assert_true(alloc_fail_sweep("contacts", contacts_attempt, NULL) > 10);
}
