/* Reports read back: names of any bytes, and what fails where memory does. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tools/commands/repeat/past_report.h"

#define HEAD \
    "{\"tool\":\"lobule\",\"version\":\"1\",\"outcome\":{\"exit_code\":0,\"message\":\"\"},"
#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Names in JSON, and the bytes that they stand for; NULL: the text is no JSON. */
static const struct {
    const char *what, *json, *name;
} names[] = {
    {"plain",                               "a b.nii",               "a b.nii"             },
    {"UTF-8",                               "\xc3\xa4.nii",          "\xc3\xa4.nii"        },
    {"escaped",                             "\\u00e4\\n\\\"",        "\xc3\xa4\n\""        },
    {"a pair",                              "\\ud83d\\ude00",        "\xf0\x9f\x98\x80"    },
    {"a pair whose half looks like a byte", "\\ud83d\\udc80",        "\xf0\x9f\x92\x80"    },
    {"bytes",                               "x\\udcff\\udc80y",      "x\xff\x80y"          },
    {"bytes in capitals",                   "\\uDCE4",               "\xe4"                },
    {"a byte after a pair",                 "\\ud83d\\ude00\\udcff", "\xf0\x9f\x98\x80\xff"},
    {"a backslash before the letters",      "\\\\udcff",             "\\udcff"             },
    {"below 0x80 it is no byte",            "\\udc41",               NULL                  },
    {"half a pair",                         "\\ud83d",               NULL                  },
    {"cut",                                 "\\udcf",                NULL                  },
    {"a raw byte",                          "\xff",                  "\xff"                },
};

TEST(names_of_any_bytes)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        char text[1024];
        lob_past_report report;
        lob_error error = {.text = ""};
        snprintf(text, sizeof text,
                 HEAD "\"command\":\"info\",\"arguments\":[\"%s\"],\"options\":{},\"inputs\":[{"
                      "\"role\":\"IN\",\"path\":\"%s\",\"sha256\":\"" SUM "\"}],\"outputs\":[]}",
                 names[i].json, names[i].json);
        const lob_status st = lob_past_report_parse(&report, text, strlen(text), "r", &error);
        if ((st == LOB_OK) != (names[i].name != NULL) || (st != LOB_OK && st != LOB_EDATA))
            fail_msg("%s: status %d: %s", names[i].what, (int)st, error.text);
        if (st != LOB_OK) continue;
        if (strcmp(report.inputs[0].path, names[i].name) != 0 ||
            strcmp(report.lines[0].arguments->child->valuestring, names[i].name) != 0)
            fail_msg("%s: '%s'", names[i].what, report.inputs[0].path);
        assert_string_equal(report.inputs[0].sum[0], SUM);
        assert_null(report.inputs[0].sum[1]);
        lob_past_report_free(&report);
    }
}

TEST(volumes_in_memory_are_no_files)
{
    static const char text[] = HEAD
        "\"command\":\"run\",\"inputs\":[{\"role\":\"RECIPE\",\"path\":\"x\"},{\"role\":\"IN\","
        "\"path\":\"@a\"},{\"role\":\"IN\",\"path\":\"b\",\"sha256\":\"short\"}],\"outputs\":[],"
        "\"results\":{\"lines\":[{\"command\":\"info\",\"arguments\":[\"it's\",\"\"],\"options\":{}"
        "},"
        "{\"command\":\"lobule\",\"arguments\":[],\"options\":{}}]}}";
    lob_past_report report;
    lob_recipe recipe;
    assert_ok(lob_past_report_parse(&report, text, sizeof text - 1, "r", NULL));
    assert_int_equal(report.input_count, 2);
    assert_string_equal(report.inputs[1].path, "b");
    assert_null(report.inputs[1].sum[0]);
    assert_null(report.folder);
    assert_ok(lob_past_report_recipe(&recipe, &report, "r", NULL));
    assert_int_equal(recipe.line_count, 2);
    assert_int_equal(recipe.lines[0].count, 3);
    for (int w = 0; w < 4; w++)
        assert_string_equal(recipe.words[w], ((const char *[]){"info", "it's", "", "lobule"})[w]);
    lob_recipe_free(&recipe);
    lob_past_report_free(&report);
}

static lob_status parse_once(void *user)
{
    static const char text[] = HEAD
        "\"command\":\"info\",\"arguments\":[\"a b\"],\"options\":{},\"inputs\":[],\"outputs\":[{"
        "\"role\":\"o\",\"path\":\"p\"}]}";
    lob_past_report report;
    lob_recipe recipe;
    lob_status st = lob_past_report_parse(&report, text, sizeof text - 1, "r", NULL);
    if (st != LOB_OK) {
        assert_null(report.json);
        return st;
    }
    st = lob_past_report_recipe(&recipe, &report, "r", NULL);
    assert_true((recipe.words == NULL) == (st != LOB_OK));
    lob_recipe_free(&recipe);
    lob_past_report_free(&report);
    return st;
}

TEST(without_memory)
{
    assert_true(alloc_fail_sweep("a report", parse_once, NULL) > 3);
}
