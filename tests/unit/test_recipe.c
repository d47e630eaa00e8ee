/* The parser of recipes: what words come out, what is refused and where. */
#include "tests/unit/cmocka_test.h"
#include "tools/recipe/recipe.h"

/* Parse a text, give every placeholder the value "V", and join all words: "a|b|c" with '\n' after
 * each line; a refusal is its text. */
static void words_of(char *out, size_t room, const char *text, size_t size)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    const char *values[64];
    size_t n = 0;
    out[0] = '\0';
    if (lob_recipe_parse(&recipe, text, size, "r", &error) != LOB_OK) {
        lob_error_line(out, room, &error);
        return;
    }
    assert_true(recipe.value_count < (int)COUNT(values));
    for (int i = 0; i < recipe.value_count; i++)
        values[i] = recipe.values[i].initial ? recipe.values[i].initial : "V";
    for (int i = 0; i < recipe.line_count; i++) {
        int count;
        char **const words = lob_recipe_fill(&count, &recipe, i, values);
        assert_non_null(words);
        assert_null(words[count]);
        for (int w = 0; w < count; w++)
            n += (size_t)snprintf(out + n, room - n, "%s%s", w ? "|" : "", words[w]);
        n += (size_t)snprintf(out + n, room - n, "\n");
        free(words);
    }
    lob_recipe_free(&recipe);
}

TEST(words)
{
    static const struct {
        const char *what, *text, *want;
    } rows[] = {
        {"words are split at blanks",                "a b\t c \n",             "a|b|c\n"            },
        {"a byte order mark is none of it",          "\xef\xbb\xbflobule a",   "a\n"                },
        {"a last line needs no end",                 "a b",                    "a|b\n"              },
        {"the program's name may stand first",       "lobule a b",             "a|b\n"              },
        {"but once",                                 "lobule lobule b",        "lobule|b\n"         },
        {"empty lines and comments are none",        "\n # x\n\na # b\n#\n",   "a\n"                },
        {"a # inside a word is one",                 "a b#c",                  "a|b#c\n"            },
        {"single quotes keep everything",            "a 'b  \\ \" {c} $d'",    "a|b  \\ \" {c} $d\n"},
        {"quotes join with what stands beside them", "a b'c d'\"e f\"g",       "a|bc de fg\n"       },
        {"empty quotes are a word",                  "a '' \"\"",              "a||\n"              },
        {"in double quotes a backslash hides four",  "a \"\\$\\`\\\"\\\\\"",   "a|$`\"\\\n"         },
        {"and stays before others",                  "a \"\\n\\{x}\"",         "a|\\n\\V\n"         },
        {"a backslash hides the next character",     "a b\\ c \\# \\{x} \\|",  "a|b c|#|{x}||\n"    },
        {"a backslash joins lines",                  "a b\\\nc \\\n d",        "a|bc|d\n"           },
        {"in double quotes too",                     "a \"b\\\nc\"",           "a|bc\n"             },
        {"lines may end as Windows has it",          "a b\\\r\nc\r\nd\r\n",    "a|bc\nd\n"          },
        {"a value is put in, quoted or not",         "a {x} \"{x}\" b{x}c{x}", "a|V|V|bVcV\n"       },
        {"a default is put in",                      "a {x=1} {x} {y=}",       "a|1|1|\n"           },
        {"a default may have blanks",                "a {x=b c#'d}",           "a|b c#'d\n"         },
        {"a default counts before it is given",      "a {x}\nb {x=2}",         "a|2\nb|2\n"         },
        {"a tilde inside a word is one",             "a b~c '~d'",             "a|b~c|~d\n"         },
        {"bytes that are no ASCII stay",             "a \xc3\xa4\xff",         "a|\xc3\xa4\xff\n"   },
        {"a closing brace alone stands for itself",  "a } b}",                 "a|}|b}\n"           },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[256];
        words_of(got, sizeof got, rows[i].text, strlen(rows[i].text));
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: got '%s', not '%s'", rows[i].what, got, rows[i].want);
    }
}

TEST(refused)
{
    static const struct {
        const char *what, *text, *want;
    } rows[] = {
        {"nothing",                      "",                 "r: has no command"                },
        {"comments alone",               "# a\n",            "r: has no command"                },
        {"the program alone",            "a\nlobule # b\n",  "r:2: lobule without a command"    },
        {"a command that is a value",    "\n\n{a} b",        "r:3: begins with no command"      },
        {"one in part",                  "lobule a{b}",      "r:1: begins with no command"      },
        {"an open single quote",         "a\nb 'c\nd'",      "r:2: a single quote is not closed"},
        {"an open double quote",         "a \"b\n\"",        "r:1: a double quote is not closed"},
        {"one at the end",               "a \"",             "r:1: a double quote is not closed"},
        {"a backslash at the end",       "a b\\",            "r:1: it ends in a backslash"      },
        {"a pipe",                       "a\nb\\\n c|d",     "r:3: '|' means something"         },
        {"a variable",                   "a $b",             "r:1: '$' means something"         },
        {"a variable in double quotes",  "a \"$b\"",         "r:1: '$' or '`' in double quotes" },
        {"a tilde at a word's begin",    "a ~/b",            "r:1: '~' means something"         },
        {"a brace alone",                "a {",              "r:1: '{' begins no {name}"        },
        {"a name with a digit first",    "a {1b}",           "r:1: '{' begins no {name}"        },
        {"a default that is not closed", "a {b=c",           "r:1: '{' begins no {name}"        },
        {"a default over a line's end",  "a {b=c\nd}",       "r:1: '{' begins no {name}"        },
        {"braces in a default",          "a {b={c}}",        "r:1: '{' begins no {name}"        },
        {"two defaults",                 "a {b=1}\nc {b=2}", "r:2: {b} has the default '2'"     },
        {"a control character",          "a b\x01",          "r:1: a control character"         },
        {"a lone carriage return",       "a\rb",             "r:1: a control character"         },
        {"one in quotes",                "a 'b\x7f'",        "r:1: a control character"         },
        {"one in a comment",             "a\n# \x1b",        "r:2: a control character"         },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[1100];
        words_of(got, sizeof got, rows[i].text, strlen(rows[i].text));
        if (strncmp(got, rows[i].want, strlen(rows[i].want)) != 0)
            fail_msg("%s: got '%s', not '%s'", rows[i].what, got, rows[i].want);
    }
}

/* NUL bytes are refused wherever they stand, and nothing behind the last byte is looked at. */
TEST(zero_bytes)
{
    static const char *const texts[] = {"a b",     "a 'b'", "a \"b\"", "a {b}",
                                        "a {b=c}", "# a",   "a\\ b"};
    for (size_t i = 0; i < COUNT(texts); i++)
        for (size_t at = 0; at < strlen(texts[i]); at++) {
            char text[16], got[1100];
            snprintf(text, sizeof text, "%s", texts[i]);
            const size_t size = strlen(text);
            text[at] = '\0';
            words_of(got, sizeof got, text, size);
            if (strncmp(got, "r:1: ", 5) != 0)
                fail_msg("'%s' with a zero at %zu: got '%s'", texts[i], at, got);
        }
    char got[64];
    words_of(got, sizeof got, "a b|", 3);
    assert_string_equal(got, "a|b\n");
}

TEST(summary)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"## Keep the largest  \n# and more\na", "Keep the largest"},
        {"\n\n#\n# Second\na",                   "Second"          },
        {"a # not this\n# nor this",             ""                },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_recipe recipe;
        lob_error error;
        assert_int_equal(lob_recipe_parse(&recipe, rows[i].text, strlen(rows[i].text), "r", &error),
                         LOB_OK);
        assert_string_equal(recipe.summary, rows[i].want);
        lob_recipe_free(&recipe);
    }
}

TEST(quoted)
{
    static const struct {
        const char *word, *want;
    } rows[] = {
        {"a/b_c.nii.gz", "a/b_c.nii.gz"},
        {"",             "''"          },
        {"a b",          "'a b'"       },
        {"it's",         "'it'\\''s'"  },
        {"{a}",          "'{a}'"       },
        {"@x",           "@x"          },
        {"~",            "'~'"         },
        {"#",            "'#'"         },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *const got = lob_shell_word(rows[i].word);
        assert_string_equal(got, rows[i].want);
        free(got);
    }
}

TEST(size)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    const size_t size = LOB_RECIPE_MAX_BYTES;
    char *const text = malloc(size + 1);
    assert_non_null(text);
    memset(text, ' ', size + 1);
    for (size_t i = 0; i < size; i += 2) text[i] = 'a'; /* as many words as there can be */
    assert_int_equal(lob_recipe_parse(&recipe, text, size, "r", &error), LOB_OK);
    assert_int_equal(recipe.word_count, size / 2);
    lob_recipe_free(&recipe);
    assert_int_equal(lob_recipe_parse(&recipe, text, size + 1, "r", &error), LOB_EDATA);
    free(text);
}
