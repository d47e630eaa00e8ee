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

/* A label and its name; 0: none. */
typedef struct {
    int32_t label;
    const char *name;
} named;

/* Join lists of at most two names, one after another; the status of the last that is tried. */
static lob_status join(lob_error *error, const named lists[3][2])
{
    lob_label_names names = {0};
    lob_status st = LOB_OK;
    for (int k = 0; k < 3 && st == LOB_OK; k++) {
        lob_label_names from = {0};
        for (int i = 0; i < 2 && lists[k][i].label; i++)
            assert_ok(lob_label_names_put(&from, lists[k][i].label, lists[k][i].name, NULL, NULL));
        st = lob_label_names_join(&names, &from, error);
        for (int i = 0; i < 2 && lists[k][i].label && st == LOB_OK; i++)
            assert_non_null(lob_label_names_find(&names, lists[k][i].label));
        lob_label_names_free(&from);
    }
    lob_label_names_free(&names);
    return st;
}

TEST(names_of_other_labels_are_not_joined)
{
    const struct {
        named lists[3][2];
        lob_status status;
    } rows[] = {
        {{{{2, "liver"}}, {{2, "liver"}, {4, "spleen"}}},              LOB_OK   },
        {{{{2, "liver"}}, {{4, "Liver"}}},                             LOB_EDATA},
        {{{{2, "liver"}}, {{3, "lobe"}}, {{2, "lobe"}, {4, "liver"}}}, LOB_EDATA},
        {{{{2, "cyst"}, {3, "cyst"}}, {{4, "cyst"}}},                  LOB_OK   },
        {{{{2, "cyst"}}, {{4, "cyst"}, {5, "cyst"}}},                  LOB_OK   },
        {{{{2, "N/A"}}, {{4, "n/a"}}},                                 LOB_OK   },
        {{{{2, "n/a"}}, {{2, "liver"}}, {{4, "liver"}}},               LOB_EDATA},
        {{{{1, "Segment_2"}}, {{2, ""}}},                              LOB_OK   },
        {{{{1, "Segment_12"}}, {{3, "Segment_12"}}, {{1, "liver"}}},   LOB_OK   },
        {{{{1, "Segment_1b"}}, {{3, "Segment_1b"}}},                   LOB_EDATA},
        {{{{1, "Segment_"}}, {{3, "Segment_"}}},                       LOB_EDATA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lob_error error = {0};
        assert_int_equal(join(&error, rows[i].lists), rows[i].status);
        if (rows[i].status != LOB_OK) assert_int_equal(error.hint, LOB_HINT_RELABEL);
    }
}

TEST(lists_of_programs_are_not_joined)
{
    lob_label_names names = {0}, many = {0};
    assert_ok(lob_label_names_put(&names, 9, "7", NULL, NULL));
    for (int32_t label = 1; label <= LOB_LABEL_NAMES_PAINTED + 1; label++) {
        char name[16];
        snprintf(name, sizeof name, "%d", label);
        assert_ok(lob_label_names_add(&many, label, name, NULL, NULL));
    }
    assert_ok(lob_label_names_join(&names, &many, NULL));
    assert_int_equal(names.count, 1);
    many.count--; /* as many as a painter's may have */
    lob_error error = {0};
    assert_int_equal(lob_label_names_join(&names, &many, &error), LOB_EDATA);
    many.count++;
    lob_label_names_free(&names);
    lob_label_names_free(&many);
}

TEST(a_list_that_is_full_takes_no_more)
{
    lob_label_names names = {0}, more = {0};
    lob_error error = {0};
    for (int32_t label = 1; label <= LOB_LABEL_NAMES_MAX; label++)
        assert_ok(lob_label_names_add(&names, label, "n/a", NULL, NULL));
    assert_ok(lob_label_names_settle(&names));
    assert_ok(lob_label_names_put(&more, LOB_LABEL_NAMES_MAX + 1, "liver", NULL, NULL));
    assert_int_equal(lob_label_names_join(&names, &more, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "more than 1048576"));
    lob_label_names_free(&names);
    lob_label_names_free(&more);
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
