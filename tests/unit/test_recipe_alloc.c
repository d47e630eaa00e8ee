/* Recipes, volumes in memory and passing them on, with every allocation failing in turn. */
#include "io/passing.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"
#include "tools/recipe/recipe.h"
#include "tools/recipe/store.h"

static lob_status parse_once(void *user)
{
    static const char text[] =
        "# x\nlobule a {b} \"c {d=e}\" 'f'\ng {b}\nh i j k l m n o {p} {q}\n";
    static const char *const values[] = {"1", "2", "3", "4"};
    lob_recipe recipe;
    lob_error error = {.text = ""};
    (void)user;
    lob_status st = lob_recipe_parse(&recipe, text, sizeof text - 1, "r", &error);
    if (st != LOB_OK) {
        assert_null(recipe.text);
        assert_string_equal(error.text, "r: out of memory");
        return st;
    }
    assert_int_equal(recipe.line_count, 3);
    for (int i = 0; i < recipe.line_count && st == LOB_OK; i++) {
        int count;
        char **const words = lob_recipe_fill(&count, &recipe, i, values);
        char *const word = words ? lob_shell_word(words[0]) : NULL;
        if (!word) st = LOB_ENOMEM;
        free(word);
        free(words);
    }
    lob_recipe_free(&recipe);
    return st;
}

TEST(parsing)
{
    assert_true(alloc_fail_sweep("parsing", parse_once, NULL) > 10);
}

/* A volume of 5 x 4 x 3 voxels is passed on, stored, copied and taken out. */
static lob_status store_once(void *user)
{
    lob_store store = {0};
    lob_error error = {.text = ""};
    const lob_write_options options = {.labels = true, .threads = 1, .level = 6};
    lob_volume like = lob_volume_empty(), v, passed, copy;
    (void)user;
    like.dims = (lob_dims){5, 4, 3};
    like.geometry = lob_geometry_of_spacing((double[]){1, 2, 3});
    lob_stored *row = lob_store_add(&store, "@a", 0);
    lob_status st = row ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) row = lob_store_add(&store, "@b", 1);
    if (!row) st = LOB_ENOMEM;
    if (st == LOB_OK) st = lob_volume_like(&v, &like, LOB_I16, 1);
    if (st == LOB_OK) {
        ((int16_t *)v.data)[7] = 300;
        st = lob_pass(&passed, &v, "@b", &options, &error);
        assert_true((v.data == NULL) == (st == LOB_OK));
        lob_volume_free(&v);
    }
    if (st == LOB_OK) {
        lob_store_put(&store, row, &passed);
        assert_int_equal(store.bytes, 120);
        st = lob_store_copy(&copy, row, 0, true, 2);
    }
    if (st == LOB_OK) {
        assert_int_equal(((int16_t *)copy.data)[7], 300);
        assert_int_equal(copy.header.size, 348);
        lob_volume_free(&copy);
        lob_store_take(&store, lob_store_find(&store, "@b"), &copy);
        assert_int_equal(store.bytes, 0);
        assert_int_equal(((int16_t *)copy.data)[7], 300);
        lob_volume_free(&copy);
    }
    lob_store_free(&store);
    return st;
}

TEST(storing)
{
    assert_true(alloc_fail_sweep("storing", store_once, NULL) > 8);
}

/* Both recipes are listed, or it is said that there is no memory. */
static lob_status list_once(void *user)
{
    char text[2048] = "";
    lob_error error = {.text = ""};
    FILE *const to = fmemopen(text, sizeof text, "w");
    (void)user;
    assert_non_null(to);
    const lob_status st = lob_recipe_list(to, &error);
    fclose(to);
    if (st != LOB_OK)
        assert_string_equal(error.text, "out of memory");
    else if (*text) /* nothing: of the environment there was no copy */
        assert_true(strstr(text, "first: A") && strstr(text, "second: A"));
    return st;
}

TEST(listing)
{
    static const char text[] = "# A recipe.\nlobule info {image}\n";
    spill(scratch("first.recipe"), text, sizeof text - 1);
    spill(scratch("second.recipe"), text, sizeof text - 1);
    assert_int_equal(setenv("LOBULE_RECIPES", scratch(""), 1), 0);
    assert_true(alloc_fail_sweep("listing", list_once, NULL) > 8);
}

TEST(names)
{
    static const struct {
        const char *name;
        bool stored, sound;
    } rows[] = {
        {"@a",     true,  true },
        {"@_a-1",  true,  true },
        {"@",      true,  false},
        {"@1",     true,  false},
        {"@a.nii", true,  false},
        {"@a/b",   true,  false},
        {"a@",     false, false},
        {"./@a",   false, false},
        {"",       false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (lob_is_stored_name(rows[i].name) != rows[i].stored ||
            lob_is_sound_name(rows[i].name) != rows[i].sound)
            fail_msg("'%s'", rows[i].name);
    assert_false(lob_is_stored_name(NULL));
}
