/* The option table's parser: what it takes, what it refuses, and what help makes of it. */
#include "tests/unit/cmocka_test.h"
#include "tools/options/manual.h"

/* One variable of each kind, its text after parsing tells what came of the arguments. */
typedef struct {
    bool flag;
    int number, among, word;
    double real, above, pair[2], triple[3];
    const char *text, *input, *output;
    lob_size length;
    lob_size extent;
    int64_t bytes;
    lob_device_choice device;
    lob_steps steps;
} variables;

static variables fresh(void)
{
    return (variables){
        .number = 5,
        .among = -1,
        .word = -1,
        .real = 0.5,
        .above = INFINITY,
        .pair = {-INFINITY, INFINITY},
        .triple = {NAN,         NAN, NAN},
        .length = {.value = INFINITY},
        .extent = {.value = INFINITY        },
        .device = {.backend = "auto"           }
    };
}

enum { ROWS = 18 };

static void make_rows(lob_option *rows, variables *v)
{
    const lob_option all[] = {
        OPERAND_INPUT("IMAGE", &v->input, LOB_FILE_IMAGE, "scan", .required = true),
        OPERAND_CHOICE("KIND", &v->word, "this|that|the-other", "kind"),
        OPT_OUTPUT("output", &v->output, LOB_FILE_LABELS, "labels", .letter = 'o'),
        OPT_FLAG("flag", &v->flag, "a switch", .letter = 'f'),
        OPT_INT("number", &v->number, "N", -3, 10, "a number", .letter = 'n'),
        OPT_INT_OF("among", &v->among, "4|6|26", "one of few"),
        OPT_REAL("real-value", &v->real, "R", -1, 1, "a real"),
        OPT_REAL("above", &v->above, "R", 0, INFINITY, "a real above 0", .above_low = true),
        OPT_PAIR("pair", &v->pair, -INFINITY, INFINITY, "a range"),
        OPT_TRIPLE("triple", &v->triple, 1, 100, "three numbers"),
        OPT_LENGTH("length", &v->length, 0, 1e6, "a length"),
        OPT_EXTENT("extent", &v->extent, 0, 1e6, "an extent"),
        OPT_BYTES("bytes", &v->bytes, "a size"),
        OPT_DEVICE("device", &v->device, "a device"),
        OPT_TEXT("text", &v->text, "TEXT", "some text"),
        OPT_STEP("blur", &v->steps, "R", "a step"),
        OPT_STEP("turn", &v->steps, NULL, "a step without a value"),
        OPT_STEP("mix", &v->steps, "A", "another step", .letter = 'm'),
    };
    assert_int_equal(COUNT(all), ROWS);
    memcpy(rows, all, sizeof all);
}

/* Split at single spaces; "%20" stands for a space and "%0" for nothing. */
static int split(char *line, char **words, int capacity)
{
    int count = 0;
    for (char *at = line; at && count < capacity;) {
        char *word = strsep(&at, " ");
        if (strcmp(word, "%0") == 0) *word = '\0';
        char *escape = strstr(word, "%20");
        if (escape) {
            *escape = ' ';
            memmove(escape + 1, escape + 3, strlen(escape + 3) + 1);
        }
        words[count++] = word;
    }
    return count;
}

/* Parse a line; returns the status, and the text of the named row's variable afterwards. */
static lob_status parse(const char *line, const char *row, char *text, size_t size,
                        lob_error *error)
{
    variables v = fresh();
    lob_option rows[ROWS];
    char copy[256], *words[16];
    make_rows(rows, &v);
    snprintf(copy, sizeof copy, "%s", line);
    const int count = split(copy, words, COUNT(words));
    const lob_option_table table = {"Options", rows, ROWS};
    const lob_status st = lob_parse(&table, 1, words, NULL, count, error);
    for (size_t i = 0; i < ROWS && text; i++)
        if (strcmp(rows[i].name, row) == 0) lob_option_text(text, size, &rows[i]);
    return st;
}

/* All operands that are left, wherever options stand between them; none is too many. */
TEST(test_words)
{
    const char *input = NULL;
    bool flag = false;
    lob_words words = {.count = 0};
    const lob_option rows[] = {
        OPERAND_INPUT("FILE", &input, LOB_FILE_OTHER, "file"),
        OPERAND_WORDS("NAME=VALUE", &words, "values"),
        OPT_FLAG("flag", &flag, "a switch"),
    };
    const lob_option_table table = {"Options", rows, COUNT(rows)};
    char line[] = "f a=1 --flag b= c", *arguments[LOB_WORDS + 2], text[64];
    lob_error error = {.text = ""};
    const int count = split(line, arguments, COUNT(arguments));
    assert_int_equal(lob_parse(&table, 1, arguments, NULL, count, &error), LOB_OK);
    assert_string_equal(input, "f");
    assert_true(flag);
    assert_int_equal(words.count, 3);
    lob_option_text(text, sizeof text, &rows[1]);
    assert_string_equal(text, "a=1 b= c");

    words.count = 0;
    for (int i = 0; i < LOB_WORDS + 2; i++) arguments[i] = line;
    assert_int_equal(lob_parse(&table, 1, arguments, NULL, LOB_WORDS + 1, &error), LOB_OK);
    assert_int_equal(words.count, LOB_WORDS);
    words.count = 0;
    assert_int_equal(lob_parse(&table, 1, arguments, NULL, LOB_WORDS + 2, &error), LOB_EARG);
}

TEST(test_taken)
{
    static const struct {
        const char *what, *line, *row, *want;
    } cases[] = {
        {"the value is the next argument",              "a --number 7",            "number",     "7"          },
        {"the value stands behind =",                   "a --number=7",            "number",     "7"          },
        {"a value may be empty of spaces but hold =",   "a --text=b=c",            "text",       "b=c"        },
        {"a negative number is a value, not an option", "a --number -3",           "number",     "-3"         },
        {"a plus sign is a number's too",               "a --number +3",           "number",     "3"          },
        {"_ is - in a name",                            "a --real_value 0.25",     "real-value", "0.25"       },
        {"- is - in a name",                            "a --real-value 0.25",     "real-value", "0.25"       },
        {"a letter with its value apart",               "a -o out.nii",            "output",     "out.nii"    },
        {"a letter with its value attached",            "a -oout.nii",             "output",     "out.nii"    },
        {"a letter for a flag",                         "a -f",                    "flag",       "true"       },
        {"an option may come before the operands",      "--flag a",                "flag",       "true"       },
        {"of an option given twice the last counts",    "a --number 1 --number 2", "number",     "2"          },
        {"everything after -- is an operand",           "-- --flag",               "IMAGE",      "--flag"     },
        {"a lone - is an operand",                      "-",                       "IMAGE",      "-"          },
        {"an optional operand",                         "a the-other",             "KIND",       "the-other"  },
        {"an operand may hold spaces",                  "my%20scan.nii",           "IMAGE",      "my scan.nii"},
        {"a number out of a list",                      "a --among 26",            "among",      "26"         },
        {"both ends of a range belong to it",           "a --real-value 1",        "real-value", "1"          },
        {"the lower end too",                           "a --number -3",           "number",     "-3"         },
        {"a pair",                                      "a --pair -160,240",       "pair",       "-160,240"   },
        {"a pair of one value",                         "a --pair 3,3",            "pair",       "3,3"        },
        {"a pair open above",                           "a --pair 10,inf",         "pair",       "10,inf"     },
        {"a triple",                                    "a --triple 1,2.5,100",    "triple",     "1,2.5,100"  },
        {"a length without a unit is in mm",            "a --length 8",            "length",     "8mm"        },
        {"a length in mm",                              "a --length 8.5mm",        "length",     "8.5mm"      },
        {"a length in micrometres",                     "a --length 5um",          "length",     "0.005mm"    },
        {"with the micro sign",                         "a --length 5\xc2\xb5m",   "length",     "0.005mm"    },
        {"with the Greek letter",                       "a --length 5\xce\xbcm",   "length",     "0.005mm"    },
        {"a length in voxels",                          "a --length 20vox",        "length",     "20vox"      },
        {"an extent without a unit is in voxels",       "a --extent 8",            "extent",     "8vox"       },
        {"an extent in voxels",                         "a --extent 20vox",        "extent",     "20vox"      },
        {"an extent in mm3",                            "a --extent 0.5mm3",       "extent",     "0.5mm3"     },
        {"an extent in cm3",                            "a --extent 5cm3",         "extent",     "5000mm3"    },
        {"an extent in millilitres",                    "a --extent 0.25ml",       "extent",     "250mm3"     },
        {"with a capital litre",                        "a --extent 2mL",          "extent",     "2000mm3"    },
        {"cubed, with the micro sign",                  "a --extent 1\xc2\xb5m3",  "extent",     "1e-09mm3"   },
        {"an extent in cubic micrometres",              "a --extent 5e8um3",       "extent",     "0.5mm3"     },
        {"bytes",                                       "a --bytes 1000000",       "bytes",      "1000000"    },
        {"binary units",                                "a --bytes 4GiB",          "bytes",      "4GiB"       },
        {"part of a unit",                              "a --bytes 0.5GiB",        "bytes",      "512MiB"     },
        {"decimal units",                               "a --bytes 2kB",           "bytes",      "2000"       },
        {"a letter alone is binary, as in Slurm",       "a --bytes 16G",           "bytes",      "16GiB"      },
        {"a device",                                    "a --device cuda",         "device",     "cuda"       },
        {"a numbered device",                           "a --device cuda:3",       "device",     "cuda:3"     },
        {"a default that was not touched",              "a",                       "number",     "5"          },
        {"a default that means not given",              "a",                       "length",     ""           },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64] = "";
        lob_error error = {.text = ""};
        const lob_status st = parse(cases[i].line, cases[i].row, text, sizeof text, &error);
        if (st != LOB_OK || strcmp(text, cases[i].want) != 0)
            fail_msg("%s: '%s' gave '%s' (%s)", cases[i].what, cases[i].line, text, error.text);
    }
}

TEST(test_refused)
{
    static const struct {
        const char *what, *line, *message;
    } cases[] = {
        {"a required operand is missing",      "--flag",                          "IMAGE is missing"                     },
        {"an operand too many",                "a this b",                        "'b' is one operand too many"          },
        {"an unknown option, a letter off",    "a --nunber 3",                    "did you mean --number?"               },
        {"two letters swapped",                "a --lenght 3",                    "did you mean --length?"               },
        {"a prefix is not a name, but a hint", "a --dev cpu",                     "did you mean --device?"               },
        {"nothing is near",                    "a --zzzzzzzz",                    "--help lists the options"             },
        {"an unknown option with a value",     "a --nunber=3",                    "unknown option --nunber; "            },
        {"an unknown letter",                  "a -x",                            "unknown option -x"                    },
        {"an operand's name is no option",     "a --IMAGE b",                     "unknown option --IMAGE"               },
        {"no value",                           "a --number",                      "--number needs a value"               },
        {"the value was forgotten",            "a --output --flag",               "--output needs a value"               },
        {"a flag with a value",                "a --flag=yes",                    "--flag takes no value"                },
        {"a flag with a letter of no option",  "a -fx",                           "unknown option -fx"                   },
        {"an empty value",                     "a --number=",                     "'' is not a number"                   },
        {"an empty file name",                 "a --output %0",                   "must not be empty"                    },
        {"a word for a number",                "a --number three",                "'three' is not a number"              },
        {"trailing junk after a whole number", "a --number 3x",                   "not a whole number"                   },
        {"a fraction where whole numbers are", "a --number 2.5",                  "not a whole number"                   },
        {"leading blanks",                     "a --number %203",                 "is not a number"                      },
        {"above the range",                    "a --number 11",                   "must be at most 10"                   },
        {"below the range",                    "a --number -4",                   "must be at least -3"                  },
        {"beyond 32 bits",                     "a --number 4294967296",           "too large"                            },
        {"beyond 64 bits",                     "a --number 99999999999999999999", "too large"                            },
        {"a number not in the list",           "a --among 8",                     "is not one of 4|6|26"                 },
        {"trailing junk after a real",         "a --real-value 0.5mm",            "is not a number"                      },
        {"not a number",                       "a --real-value nan",              "is not a number"                      },
        {"infinity where the range is finite", "a --real-value inf",              "must be at most 1"                    },
        {"the open end of a range",            "a --above 0",                     "must be above 0"                      },
        {"a word that is no choice",           "a thi",                           "is not one of this|that|the-other"    },
        {"one number for two",                 "a --pair 3",                      "is not 2 numbers LO,HI"               },
        {"three numbers for two",              "a --pair 1,2,3",                  "is not 2 numbers"                     },
        {"a pair the wrong way round",         "a --pair 3,1",                    "wrong way round"                      },
        {"NaN in a pair",                      "a --pair nan,1",                  "is not 2 numbers"                     },
        {"a number missing in a triple",       "a --triple 1,,3",                 "is not 3 numbers X,Y,Z"               },
        {"out of range in a triple",           "a --triple 1,0,3",                "must be at least 1"                   },
        {"an unknown unit of length",          "a --length 8cm",                  "unknown unit"                         },
        {"a length is no millilitre",          "a --length 8ml",                  "unknown unit"                         },
        {"an extent too large in millilitres", "a --extent 1001ml",               "1001ml"                               },
        {"an unknown unit of an extent",       "a --extent 8mm",                  "unknown unit"                         },
        {"a negative length",                  "a --length -8mm",                 "must be at least 0"                   },
        {"an unknown unit of size",            "a --bytes 4gigs",                 "unknown unit"                         },
        {"no bytes at all",                    "a --bytes 0",                     "must be at least 1"                   },
        {"more bytes than there are",          "a --bytes 1e30",                  "must be at most"                      },
        {"an unknown device",                  "a --device gpu",                  "is not one of auto, cpu, cuda, cuda:N"},
        {"a device number that is none",       "a --device cuda:x",               "no device number"                     },
        {"a device number that is missing",    "a --device cuda:",                "no device number"                     },
        {"cpu has no numbers",                 "a --device cpu:0",                "is not one of"                        },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_error error = {.text = ""};
        const lob_status st = parse(cases[i].line, NULL, NULL, 0, &error);
        if (st != LOB_EARG || !strstr(error.text, cases[i].message))
            fail_msg("%s: '%s' gave %s: %s", cases[i].what, cases[i].line, lob_status_text(st),
                     error.text);
    }
}

/* What was wrong leaves the variable as it was. */
TEST(test_steps_keep_their_order)
{
    char line[] = "a.nii --blur 1 --turn --mix=2 --blur 3vox -m -4 --turn", *words[16];
    static const struct {
        const char *name, *text;
    } want[] = {
        {"blur", "1"   },
        {"turn", NULL  },
        {"mix",  "2"   },
        {"blur", "3vox"},
        {"mix",  "-4"  },
        {"turn", NULL  },
    };
    variables v = fresh();
    lob_option rows[ROWS];
    lob_error error = {.text = ""};
    make_rows(rows, &v);
    const lob_option_table table = {"Options", rows, ROWS};
    const int count = split(line, words, 16);
    assert_int_equal(lob_parse(&table, 1, words, NULL, count, &error), LOB_OK);
    assert_int_equal(v.steps.count, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_string_equal(v.steps.step[i].name, want[i].name);
        if (want[i].text)
            assert_string_equal(v.steps.step[i].text, want[i].text);
        else
            assert_null(v.steps.step[i].text);
    }
    char text[64];
    lob_option_text(text, sizeof text, &rows[ROWS - 3]);
    assert_string_equal(text, "1; 3vox");
    lob_option_text(text, sizeof text, &rows[ROWS - 2]);
    assert_string_equal(text, "true; true");
}

TEST(test_too_many_steps)
{
    char image[] = "a.nii", turn[] = "--turn", *words[LOB_STEPS + 2] = {image};
    variables v = fresh();
    lob_option rows[ROWS];
    lob_error error = {.text = ""};
    make_rows(rows, &v);
    const lob_option_table table = {"Options", rows, ROWS};
    for (int i = 1; i < LOB_STEPS + 2; i++) words[i] = turn;
    assert_int_equal(lob_parse(&table, 1, words, NULL, LOB_STEPS + 1, &error), LOB_OK);
    v.steps.count = 0;
    assert_int_equal(lob_parse(&table, 1, words, NULL, LOB_STEPS + 2, &error), LOB_EARG);
    assert_string_equal(error.text, "--turn: more than 64 steps");
}

/* Files of a row that may be given again, and of rows that may not. */
TEST(test_inputs)
{
    char line[] = "a.nii --more b.nii -o c.nii --more=d.nii", *words[8];
    const char *image = NULL, *out = NULL;
    lob_words more = {.count = 0};
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &image, LOB_FILE_IMAGE, "scan"),
        OPT_INPUTS("more", &more, LOB_FILE_LABELS, "labels"),
        OPT_OUTPUT("output", &out, LOB_FILE_LABELS, "labels", .letter = 'o'),
    };
    const lob_option_table table = {"Options", rows, COUNT(rows)};
    assert_null(lob_option_path(&rows[0], 0));
    assert_null(lob_option_path(&rows[1], 0));
    assert_ok(lob_parse(&table, 1, words, NULL, split(line, words, 8), NULL));
    assert_string_equal(lob_option_path(&rows[0], 0), "a.nii");
    assert_null(lob_option_path(&rows[0], 1));
    assert_string_equal(lob_option_path(&rows[1], 0), "b.nii");
    assert_string_equal(lob_option_path(&rows[1], 1), "d.nii");
    assert_null(lob_option_path(&rows[1], 2));
    assert_string_equal(lob_option_path(&rows[2], 0), "c.nii");
    char text[64];
    lob_option_text(text, sizeof text, &rows[1]);
    assert_string_equal(text, "b.nii d.nii");
    assert_true(lob_option_reads(&rows[0]) && lob_option_reads(&rows[1]));
    assert_false(lob_option_reads(&rows[2]));
    assert_true(lob_option_repeats(&rows[1]) && !lob_option_repeats(&rows[0]));
}

TEST(test_refused_value_changes_nothing)
{
    static const char *const lines[][2] = {
        {"a --number 11",    "number"},
        {"a --pair 3,1",     "pair"  },
        {"a --triple 1,2,x", "triple"},
        {"a --bytes 4x",     "bytes" },
        {"a --device gpu",   "device"},
        {"a --length 3cm",   "length"},
        {"a --extent 3mm",   "extent"},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char before[64], after[64];
        lob_error error;
        parse("a", lines[i][1], before, sizeof before, &error);
        parse(lines[i][0], lines[i][1], after, sizeof after, &error);
        assert_string_equal(before, after);
    }
}

TEST(test_distance)
{
    static const struct {
        const char *a, *b;
        int want;
    } cases[] = {
        {"growcut", "growcut",  0},
        {"growcut", "growcutt", 1},
        {"growcut", "gorwcut",  1},
        {"max-mm",  "max_mm",   0},
        {"",        "abc",      3},
        {"info",    "convert",  6},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(lob_word_distance(cases[i].a, cases[i].b), cases[i].want);
}

static char *help_text(variables *v)
{
    lob_option rows[ROWS];
    make_rows(rows, v);
    const lob_option_table table = {"Options", rows, ROWS};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    const lob_manual manual = {"test", "a summary", "A story.", "lobule test a",
                               &table, 1,           false,      false};
    lob_print_help(to, &manual);
    fclose(to);
    return text;
}

/* Help shows the defaults that the variables hold, none where there is none, and every row. */
TEST(test_help)
{
    static const char *const parts[] = {
        "lobule test: a summary",
        "Usage: lobule test IMAGE [KIND] [OPTION...]",
        "A story.",
        "-o, --output FILE",
        "a number (default: 5)",
        "--among 4|6|26",
        "a range\n",
        "a device (default: auto)",
        "Exit codes:",
        "  0  done",
        "72  output exists and is kept",
        "73  output cannot be created",
        "kind (may be left",
    };
    variables v = fresh();
    char *text = help_text(&v);
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!strstr(text, parts[i])) fail_msg("help lacks '%s':\n%s", parts[i], text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80) fail_msg("a line of help is longer than 80: %.90s", line);
    free(text);

    v.number = 9;
    text = help_text(&v);
    assert_non_null(strstr(text, "a number (default: 9)"));
    assert_null(strstr(text, "the volumes differ"));
    free(text);
}

/* Of words that are values, none is an option; one may still be the value of the option before. */
TEST(test_values)
{
    static const struct {
        const char *what, *line;
        bool values[6];
        const char *input, *output, *text; /* NULL: not given */
        bool flag;
        lob_status status;
    } cases[] = {
        {"an option",                 "f --flag",          {0},       "f",          NULL,     NULL, true,  LOB_OK  },
        {"an operand of such a name", "--flag",            {1},       "--flag",     NULL,     NULL, false, LOB_OK  },
        {"letters",                   "-f",                {1},       "-f",         NULL,     NULL, false, LOB_OK  },
        {"an option with its value",  "--output=x",        {1},       "--output=x", NULL,     NULL, false, LOB_OK  },
        {"one operand too many",      "f --flag",          {0, 1},    "f",          NULL,     NULL, false, LOB_EARG},
        {"two dashes",                "-- --flag",         {1, 0},    "--",         NULL,     NULL, true,  LOB_OK  },
        {"a value behind an option",  "f -o --flag",       {0, 0, 1}, "f",          "--flag", NULL, false, LOB_OK  },
        {"behind a letter",           "-o --flag f",       {0, 1, 0}, "f",          "--flag", NULL, false, LOB_OK  },
        {"a text",                    "--text -f f",       {0, 1, 0}, "f",          NULL,     "-f", false, LOB_OK  },
        {"typed, a value is missing", "f --output --flag", {0},       "f",          NULL,     NULL, false, LOB_EARG},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *input = NULL, *output = NULL, *text = NULL;
        bool flag = false, bad = false;
        const lob_option rows[] = {
            OPERAND_INPUT("FILE", &input, LOB_FILE_OTHER, "file"),
            OPT_FLAG("flag", &flag, "a switch", .letter = 'f'),
            OPT_OUTPUT("output", &output, LOB_FILE_OTHER, "a file", .letter = 'o'),
            OPT_TEXT("text", &text, "TEXT", "a text"),
        };
        const lob_option_table table = {"Options", rows, COUNT(rows)};
        const char *const want[] = {cases[i].input, cases[i].output, cases[i].text};
        char line[64], *words[6];
        lob_error error = {.text = ""};
        snprintf(line, sizeof line, "%s", cases[i].line);
        const int count = split(line, words, COUNT(words));
        const lob_status st = lob_parse(&table, 1, words, cases[i].values, count, &error);
        const char *const now[] = {input, output, text};
        for (size_t k = 0; k < COUNT(want) && st == LOB_OK; k++)
            bad = bad || (want[k] ? !now[k] || strcmp(want[k], now[k]) != 0 : now[k] != NULL);
        if (st != cases[i].status || bad || flag != cases[i].flag)
            fail_msg("%s: status %d", cases[i].what, (int)st);
    }
    char help[] = "--help", *const words[] = {help};
    const bool value = true, no_value = false;
    bool asked = false;
    const lob_option rows[] = {OPT_FLAG("help", &asked, "help")};
    const lob_option_table table = {"Options", rows, 1};
    assert_true(lob_asks_for(&table, 1, words, &no_value, 1, "help"));
    assert_false(lob_asks_for(&table, 1, words, &value, 1, "help"));
}

TEST(test_asks_for)
{
    char help[] = "--help", h[] = "-h", dashes[] = "--", other[] = "--helpless";
    char *const found[] = {other, help}, *const letter[] = {h}, *const after[] = {dashes, help};
    bool quiet = false, asked = false;
    const char *output = NULL;
    const lob_option rows[] = {
        OPT_FLAG("quiet", &quiet, "say nothing", .letter = 'q'),
        OPT_FLAG("help", &asked, "help", .letter = 'h'),
        OPT_OUTPUT("output", &output, LOB_FILE_OTHER, "a file", .letter = 'o'),
    };
    const lob_option_table table = {"Options", rows, COUNT(rows)};
    char both[] = "-qh", joined[] = "-oh";
    char *const together[] = {both}, *const value[] = {joined};
    assert_true(lob_asks_for(&table, 1, found, NULL, 2, "help"));
    assert_true(lob_asks_for(&table, 1, letter, NULL, 1, "help"));
    assert_true(lob_asks_for(&table, 1, together, NULL, 1, "help"));
    assert_false(lob_asks_for(&table, 1, value, NULL, 1, "help"));
    assert_false(lob_asks_for(&table, 1, after, NULL, 2, "help"));
    assert_false(lob_asks_for(&table, 1, found, NULL, 1, "help"));
}
