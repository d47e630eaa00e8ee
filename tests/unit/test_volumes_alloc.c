/* What is left of a volume and its labels when any one allocation fails. */
#include "tests/reference/put_number.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

#include <stdbool.h>

static unsigned char header_bytes[] = {1, 2, 3, 4, 5};
static unsigned char extension_bytes[] = {9, 8, 7};

static lob_volume grid(lob_dims dims)
{
    return volume_of(NULL, LOB_U8, dims, (double[3]){1, 1, 1});
}

static lob_status like_attempt(void *user)
{
    lob_volume out;
    memset(&out, 0x5a, sizeof out);
    const lob_status status = lob_volume_like(&out, user, LOB_I32, 2);
    if (status != LOB_OK) {
        assert_null(out.data);
        assert_null(out.header.bytes);
        assert_null(out.header.extensions);
        assert_int_equal(out.header.size + out.header.extensions_size, 0);
    }
    lob_volume_free(&out);
    return status;
}

/* On failure the voxels stay the caller's. */
static lob_status adopt_attempt(void *user)
{
    const lob_volume *like = user;
    lob_volume out;
    void *data = malloc(1), *const voxels = data;
    if (!data) return LOB_ENOMEM;
    const lob_status status = lob_volume_adopt(&out, like, &data, LOB_U8, 1);
    assert_ptr_equal(status == LOB_OK ? out.data : data, voxels);
    assert_null(status == LOB_OK ? data : out.data);
    assert_int_equal(out.header.size, status == LOB_OK ? like->header.size : 0);
    lob_volume_free(&out);
    free(data);
    return status;
}

TEST(test_like)
{
    lob_volume like = grid((lob_dims){5, 7, 11});
    assert_int_equal(alloc_fail_sweep("no header", like_attempt, &like), 1);
    like.header = (lob_header){"NIfTI-1", header_bytes, sizeof header_bytes, NULL, 0};
    assert_int_equal(alloc_fail_sweep("a header", like_attempt, &like), 2);
    like.header.extensions = extension_bytes;
    like.header.extensions_size = sizeof extension_bytes;
    assert_int_equal(alloc_fail_sweep("header and extensions", like_attempt, &like), 3);
    assert_int_equal(alloc_fail_sweep("adopted voxels", adopt_attempt, &like), 3);
}

/* More bytes than any machine has, but a number that fits: the system's refusal is passed on. */
TEST(test_huge)
{
    const lob_volume like = grid((lob_dims){INT64_C(1) << 40, 1 << 10, 1 << 10});
    const int64_t before = alloc_fail_live();
    lob_volume out;
    assert_int_equal(lob_volume_like(&out, &like, LOB_U8, 1), LOB_ENOMEM);
    assert_null(out.data);
    assert_int_equal(alloc_fail_live(), before);
}

enum { VOXELS = 50021 }; /* a prime, so no whole number of blocks */

/* Voxel i carries label i % labels * step; one allocation makes the volume. */
typedef struct {
    lob_type type;
    int labels;
    int step;
} labels_case;

static double label_at(const labels_case *c, int i)
{
    return (double)(i % c->labels) * c->step;
}

static lob_status make_labels(lob_volume *volume, const labels_case *c)
{
    const lob_volume like = grid((lob_dims){VOXELS, 1, 1});
    const lob_status status = lob_volume_like(volume, &like, c->type, 1);
    for (int i = 0; status == LOB_OK && i < VOXELS; i++) put_number(volume, i, label_at(c, i));
    return status;
}

static bool holds_labels(const lob_volume *volume, const labels_case *c)
{
    for (int i = 0; i < VOXELS; i++) {
        if (number_at(volume, i) != label_at(c, i)) return false;
    }
    return true;
}

static lob_status dense_attempt(void *user)
{
    const labels_case *c = user;
    lob_volume volume;
    if (make_labels(&volume, c) != LOB_OK) return LOB_ENOMEM;
    lob_label_set set;
    lob_error error = {.text = ""};
    const lob_status status = lob_labels_dense(&volume, &set, "a.nii", &error);
    if (status == LOB_OK) {
        assert_int_equal(set.count, c->labels - 1);
        assert_int_equal(volume.type, lob_label_type(set.count));
    } else {
        assert_string_equal(error.file, "a.nii");
        assert_string_equal(error.text, "not enough memory for its labels");
        assert_int_equal(set.count, 0);
        assert_null(set.values);
        assert_null(set.voxels);
        assert_int_equal(volume.type, c->type);
        assert_true(holds_labels(&volume, c));
    }
    lob_label_set_free(&set);
    lob_volume_free(&volume);
    return status;
}

static lob_status restore_attempt(void *user)
{
    const labels_case *c = user;
    lob_volume volume;
    if (make_labels(&volume, c) != LOB_OK) return LOB_ENOMEM;
    lob_label_set set;
    lob_status status = lob_labels_dense(&volume, &set, "a.nii", NULL);
    if (status == LOB_OK) {
        const lob_volume before = volume;
        status = lob_labels_restore(&volume, &set);
        if (status == LOB_OK) assert_true(holds_labels(&volume, c));
        if (status != LOB_OK) assert_memory_equal(&volume, &before, sizeof volume);
        for (int i = 0; status != LOB_OK && i < VOXELS; i++) {
            assert_true(number_at(&volume, i) == i % c->labels);
        }
    }
    lob_label_set_free(&set);
    lob_volume_free(&volume);
    return status;
}

/* Reported are the volume of the attempt, the slots of values and of dense labels, the growing
 * list, and the two arrays of the set; a widening buffer too, while one that cannot shrink stays as
 * it is. */
static const struct {
    const char *what;
    labels_case labels;
    int dense_reports, restore_reports;
} sweeps[] = {
    {"few labels: the buffer shrinks, the list is made once", {LOB_I32, 9, 7},         6,  6 },
    {"few large labels: restoring widens",                    {LOB_I32, 9, 100000000}, 6,  7 },
    {"40000 labels: the list doubles 6 times, uint16 widens", {LOB_U16, 40000, 1},     13, 13},
    {"40000 large labels that crowd the slots",               {LOB_I32, 40000, 53687}, 12, 12},
};

TEST(test_labels)
{
    for (size_t i = 0; i < COUNT(sweeps); i++) {
        labels_case c = sweeps[i].labels;
        const int64_t dense = alloc_fail_sweep(sweeps[i].what, dense_attempt, &c);
        if (dense != sweeps[i].dense_reports)
            fail_msg("%s: dense reports %lld failures", sweeps[i].what, (long long)dense);
        const int64_t restore = alloc_fail_sweep(sweeps[i].what, restore_attempt, &c);
        if (restore != sweeps[i].restore_reports)
            fail_msg("%s: restore reports %lld failures", sweeps[i].what, (long long)restore);
    }
}

/* The counters themselves, or the sweeps would prove nothing. */
TEST(test_counters)
{
    const int64_t live = alloc_fail_live();
    alloc_fail_at(2);
    /* volatile, since a compiler may leave out an allocation whose block it never sees used */
    void *volatile first = malloc(10);
    void *volatile second = calloc(1, 10);
    assert_non_null(first);
    assert_null(second);
    void *volatile third = realloc(first, 20);
    assert_non_null(third);
    assert_int_equal(alloc_fail_count(), 3);
    assert_int_equal(alloc_fail_live(), live + 1);
    alloc_fail_at(1);
    void *volatile fourth = realloc(third, 30);
    assert_null(fourth);
    assert_int_equal(alloc_fail_live(), live + 1);
    free(fourth ? fourth : third);
    free(second);
    free(NULL);
    assert_int_equal(alloc_fail_live(), live);
    alloc_fail_at(0);
}
