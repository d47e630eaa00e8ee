/* Names of labels: their order, what replaces what, and failing allocations. */
#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/label_names.h"

TEST(put_and_find)
{
    const lob_rgba red = {200, 1, 2, 128};
    lob_label_names names = {0};
    assert_null(lob_label_names_find(&names, 1));
    assert_ok(lob_label_names_put(&names, 5, "liver\n\x7f", &red, "SCT~x"));
    assert_ok(lob_label_names_put(&names, 2, NULL, NULL, NULL));
    assert_ok(lob_label_names_put(&names, 9, "", NULL, ""));
    assert_int_equal(names.count, 3);
    const lob_label_name *row = lob_label_names_find(&names, 5);
    assert_string_equal(row->name, "liver  ");
    assert_string_equal(row->terminology, "SCT~x");
    assert_memory_equal(&row->colour, &red, sizeof red);
    row = lob_label_names_find(&names, 2);
    const lob_rgba usual = lob_label_default_colour(2);
    assert_string_equal(row->name, "Segment_2");
    assert_null(row->terminology);
    assert_memory_equal(&row->colour, &usual, sizeof usual);
    assert_string_equal(lob_label_names_find(&names, 9)->name, "Segment_9");

    assert_ok(lob_label_names_put(&names, 5, "spleen", NULL, NULL)); /* in its place */
    assert_int_equal(names.count, 3);
    assert_string_equal(lob_label_names_find(&names, 5)->name, "spleen");
    assert_null(lob_label_names_find(&names, 5)->terminology);
    assert_int_equal(lob_label_names_put(&names, 0, "none", NULL, NULL), LOB_EARG);
    assert_int_equal(lob_label_names_put(&names, -1, "none", NULL, NULL), LOB_EARG);
    assert_int_equal(names.count, 3);
    lob_label_names_free(&names);
    assert_null(names.rows);
    assert_int_equal(names.count, 0);
}

/* However they come, rows are in ascending order, one a label. */
TEST(order)
{
    enum { LABELS = 300 };
    lob_label_names names = {0}, copy;
    bool there[LABELS + 1] = {false};
    uint64_t state = 3;
    int count = 0;
    for (int i = 0; i < 1000; i++) {
        const int32_t label = 1 + (int32_t)random_below(&state, LABELS);
        assert_ok(lob_label_names_put(&names, label, "n", NULL, NULL));
        count += !there[label];
        there[label] = true;
    }
    assert_int_equal(names.count, count);
    for (int32_t i = 1; i < names.count; i++)
        assert_true(names.rows[i - 1].label < names.rows[i].label);
    for (int32_t label = 0; label <= LABELS + 1; label++)
        assert_int_equal(lob_label_names_find(&names, label) != NULL,
                         label <= LABELS && there[label]);
    assert_ok(lob_label_names_copy(&copy, &names));
    assert_int_equal(copy.count, names.count);
    for (int32_t i = 0; i < names.count; i++) {
        assert_int_equal(copy.rows[i].label, names.rows[i].label);
        assert_true(copy.rows[i].name != names.rows[i].name);
    }
    lob_label_names_free(&copy);
    lob_label_names_free(&names);
}

TEST(labels_without_a_name_take_that_of_others)
{
    lob_label_names names = {0}, others = {0};
    assert_ok(lob_label_names_put(&names, 5, "own", NULL, NULL));
    assert_ok(lob_label_names_put(&others, 5, "other", NULL, NULL));
    assert_ok(lob_label_names_put(&others, 2, "new", NULL, "code"));
    assert_ok(lob_label_names_complete(&names, &others));
    assert_int_equal(names.count, 2);
    assert_string_equal(names.rows[0].name, "new");
    assert_string_equal(names.rows[0].terminology, "code");
    assert_string_equal(names.rows[1].name, "own");
    lob_label_names_free(&names);
    lob_label_names_free(&others);
}

/* Neighbours differ, any label has a colour, and it covers. */
TEST(colours)
{
    for (int32_t label = 1; label < 500; label++) {
        const lob_rgba a = lob_label_default_colour(label), b = lob_label_default_colour(label + 1);
        assert_int_equal(a.alpha, 255);
        assert_true(abs(a.red - b.red) + abs(a.green - b.green) + abs(a.blue - b.blue) > 40);
    }
    assert_int_equal(lob_label_default_colour(INT32_MAX).alpha, 255);
}

static lob_status put_attempt(void *user)
{
    lob_label_names names = {0};
    lob_status st = LOB_OK;
    int32_t label = 1;
    for (; label <= 5 && st == LOB_OK; label++) /* the list grows at 1, 2 and 4 */
        st = lob_label_names_put(&names, label, "name", NULL, "code");
    assert_int_equal(names.count, st == LOB_OK ? 5 : label - 2);
    if (st == LOB_OK) {
        st = lob_label_names_put(&names, 3, "other", NULL, "another");
        assert_string_equal(lob_label_names_find(&names, 3)->name, st == LOB_OK ? "other" : "name");
    }
    lob_label_names_free(&names);
    return st;
}

static lob_status copy_attempt(void *user)
{
    lob_label_names copy;
    memset(&copy, 0x5a, sizeof copy);
    const lob_status st = lob_label_names_copy(&copy, user);
    if (st != LOB_OK) {
        assert_null(copy.rows);
        assert_int_equal(copy.count, 0);
    }
    lob_label_names_free(&copy);
    return st;
}

TEST(without_memory)
{
    assert_int_equal(alloc_fail_sweep("put", put_attempt, NULL), 16);
    lob_label_names names = {0};
    assert_ok(lob_label_names_put(&names, 1, "a", NULL, NULL));
    assert_ok(lob_label_names_put(&names, 2, "b", NULL, "c"));
    assert_int_equal(alloc_fail_sweep("copy", copy_attempt, &names), 5);
    lob_label_names_free(&names);
}
