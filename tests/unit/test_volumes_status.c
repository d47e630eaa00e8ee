/* The list of outcomes, the one line of an error, and the table of voxel types. */
#include "tests/unit/cmocka_test.h"
#include "volumes/bytes.h"
#include "volumes/status.h"
#include "volumes/voxel_type.h"

#include <float.h>

static const struct {
    const char *what;
    lob_status status;
    int exit_code;
} exit_codes[] = {
    {"success ends with 0",                           LOB_OK,         0  },
    {"a difference is an answer, not a fault",        LOB_EDIFFER,    1  },
    {"bad usage is EX_USAGE",                         LOB_EARG,       64 },
    {"bad data is EX_DATAERR",                        LOB_EDATA,      65 },
    {"a missing input is EX_NOINPUT",                 LOB_ENOINPUT,   66 },
    {"a missing device is EX_UNAVAILABLE",            LOB_EDEVICE,    69 },
    {"a fault of ours is EX_SOFTWARE",                LOB_EINTERNAL,  70 },
    {"an output that exists has a code of its own",   LOB_EEXIST,     72 },
    {"an output that cannot be made is EX_CANTCREAT", LOB_ECREATE,    73 },
    {"a failing disk is EX_IOERR",                    LOB_EIO,        74 },
    {"no memory is worth another try: EX_TEMPFAIL",   LOB_ENOMEM,     75 },
    {"a busy device is worth another try too",        LOB_EBUSY,      75 },
    {"cancelled is what a shell says of Ctrl-C",      LOB_ECANCEL,    130},
    {"a status outside the list is a fault of ours",  (lob_status)99, 70 },
};

TEST(test_exit_codes)
{
    for (size_t i = 0; i < COUNT(exit_codes); i++) {
        const int got = lob_status_exit_code(exit_codes[i].status);
        if (got != exit_codes[i].exit_code) fail_msg("%s: got %d", exit_codes[i].what, got);
    }
    assert_int_equal(lob_status_exit_code((lob_status)-1), 70);
}

TEST(test_texts)
{
    assert_string_equal(lob_status_text(LOB_OK), "done");
    assert_string_equal(lob_status_text(LOB_ECANCEL), "cancelled");
    assert_string_equal(lob_status_text((lob_status)99), "unknown status");
    assert_string_equal(lob_status_text((lob_status)-1), "unknown status");
    for (int a = LOB_OK; a <= LOB_ECANCEL; a++)
        for (int b = LOB_OK; b < a; b++)
            if (strcmp(lob_status_text((lob_status)a), lob_status_text((lob_status)b)) == 0)
                fail_msg("status %d and %d read the same", a, b);
}

TEST(test_fail)
{
    assert_int_equal(lob_fail(NULL, LOB_EIO, "nobody %s", "listens"), LOB_EIO);

    lob_error error = {.text = ""};
    assert_int_equal(lob_fail(&error, LOB_EDATA, "%s: %d slices", "a.nii", 3), LOB_EDATA);
    assert_string_equal(error.text, "a.nii: 3 slices");

    /* A file name may hold a newline or an escape sequence; UTF-8 stays as it is. */
    lob_fail(&error, LOB_EDATA, "%s", "a\nb\x1b[31m\x7f\tL\xc3\xb6we.nii");
    assert_string_equal(error.text, "a?b?[31m??L\xc3\xb6we.nii");

    char longer[3000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    lob_fail(&error, LOB_EDATA, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

/* A failure that is written as it is told: file, what is wrong, hint, and the line of all. */
TEST(test_parts)
{
    char line[LOB_ERROR_LINE];
    lob_error error;
    lob_fail_file_hint(&error, LOB_EEXIST, LOB_HINT_REPLACE, "a.nii", "exists");
    assert_string_equal(error.file, "a.nii");
    assert_string_equal(error.text, "exists");
    assert_int_equal(error.hint, LOB_HINT_REPLACE);
    assert_string_equal(lob_error_line(line, sizeof line, &error), "a.nii: exists");
    lob_error_in(&error, "b.nii"); /* the nearest knows best */
    lob_error_add(&error, ", of %d\n", 2);
    assert_string_equal(lob_error_line(line, sizeof line, &error), "a.nii: exists, of 2?");

    assert_int_equal(lob_fail(&error, LOB_EARG, "no seeds"), LOB_EARG);
    assert_int_equal(error.hint, LOB_HINT_NONE);
    assert_string_equal(lob_error_line(line, sizeof line, &error), "no seeds");
    lob_error_in(&error, "b\n.nii");
    assert_string_equal(lob_error_line(line, sizeof line, &error), "b?.nii: no seeds");
    lob_fail_line(&error, LOB_EDATA, "a.tsv", 12, "%s", "no tab");
    assert_string_equal(lob_error_line(line, sizeof line, &error), "a.tsv:12: no tab");
    assert_string_equal(lob_error_line(line, 9, &error), "a.tsv:12");

    lob_error_in(NULL, "a.nii");
    lob_error_add(NULL, "%d", 1);
}

/* A failure that nobody told of has its status's text, and not that of an earlier one. */
TEST(test_untold)
{
    lob_error error;
    lob_fail_file(&error, LOB_EIO, "a.nii", "gone");
    lob_error_begin(&error);
    assert_int_equal(lob_error_end(&error, LOB_ECANCEL), LOB_ECANCEL);
    assert_string_equal(error.text, "cancelled");
    assert_string_equal(error.file, "");
    lob_error_begin(&error);
    lob_fail(&error, LOB_ENOMEM, "no memory for labels");
    assert_int_equal(lob_error_end(&error, LOB_ENOMEM), LOB_ENOMEM);
    assert_string_equal(error.text, "no memory for labels");
    assert_ok(lob_error_end(NULL, LOB_OK));
}

/* Of a name that is too long, the middle goes, by whole characters of UTF-8. */
TEST(test_long_names)
{
    for (int first = 0; first < 3; first++) {
        char name[3000] = "abc", line[LOB_ERROR_LINE];
        lob_error error;
        for (int i = first; i < 2900; i += 3) memcpy(name + i, "\xe2\x82\xac", 4); /* euro */
        strcat(name, "/end.nii");
        lob_fail_line(&error, LOB_EDATA, name, 7, "%01023d", 0);
        const size_t n = strlen(error.file);
        assert_true(n < sizeof error.file && n > sizeof error.file - 8);
        assert_string_equal(error.file + n - 10, "/end.nii:7");
        assert_non_null(strstr(error.file, "\xe2\x82\xac...\xe2\x82\xac"));
        lob_error_line(line, sizeof line, &error); /* and the line holds all of it */
        assert_int_equal(strlen(line), n + 2 + 1023);
    }
}

static const struct {
    lob_type type;
    const char *name;
    size_t bytes;
    bool is_integer;
    double lowest, highest;
} types[] = {
    {LOB_U8,  "uint8",   1, true,  0,                      255                   },
    {LOB_I8,  "int8",    1, true,  -128,                   127                   },
    {LOB_U16, "uint16",  2, true,  0,                      65535                 },
    {LOB_I16, "int16",   2, true,  -32768,                 32767                 },
    {LOB_U32, "uint32",  4, true,  0,                      4294967295.0          },
    {LOB_I32, "int32",   4, true,  -2147483648.0,          2147483647            },
    {LOB_U64, "uint64",  8, true,  0,                      18446744073709551616.0},
    {LOB_I64, "int64",   8, true,  -9223372036854775808.0, 9223372036854775808.0 },
    {LOB_F32, "float32", 4, false, -FLT_MAX,               FLT_MAX               },
    {LOB_F64, "float64", 8, false, -DBL_MAX,               DBL_MAX               },
};

TEST(test_types)
{
    assert_int_equal(COUNT(types), LOB_TYPES);
    for (size_t i = 0; i < COUNT(types); i++) {
        const lob_type_info *row = lob_type_of(types[i].type);
        if (strcmp(row->name, types[i].name) != 0 || row->bytes != types[i].bytes ||
            row->is_integer != types[i].is_integer || row->lowest != types[i].lowest ||
            row->highest != types[i].highest)
            fail_msg("%s: the table's row is \"%s\", %zu bytes", types[i].name, row->name,
                     row->bytes);
        assert_int_equal(lob_type_named(types[i].name), types[i].type);
    }
    static const char *const strangers[] = {"", "uint", "uint88", "UINT8", "complex64", " uint8"};
    for (size_t i = 0; i < COUNT(strangers); i++)
        if (lob_type_named(strangers[i]) != LOB_TYPES) fail_msg("\"%s\" has a type", strangers[i]);
}

/* Three voxels of a type, the middle one read: the lowest, one, the highest. */
#define VALUES_CASE(type, ctype, name, integer, min, max)                             \
    {                                                                                 \
        const ctype data[] = {(ctype)(min), 1, (ctype)(max)};                         \
        double got[3] = {-7, -7, -7};                                                 \
        lob_values(got, data, type, 0, 3);                                            \
        if (got[0] != (double)(min) || got[1] != 1.0 || got[2] != (double)(max))      \
            fail_msg("%s: got %g %g %g", name, got[0], got[1], got[2]);               \
        lob_values(got, data, type, 1, 1);                                            \
        if (got[0] != 1.0 || got[1] != 1.0)                                           \
            fail_msg("%s: from voxel 1: %g %g", name, got[0], got[1]);                \
        lob_values(got, data, type, 3, 0);                                            \
        if (got[0] != 1.0) fail_msg("%s: no voxels, but something is written", name); \
    }

TEST(test_values)
{
    LOB_TYPE_LIST(VALUES_CASE)

    const float odd[] = {NAN, INFINITY, -0.0f};
    double got[3];
    lob_values(got, odd, LOB_F32, 0, 3);
    assert_true(isnan(got[0]) && isinf(got[1]) && got[2] == 0.0 && signbit(got[2]));

    const uint64_t beyond[] = {(UINT64_C(1) << 53) + 1, UINT64_MAX};
    lob_values(got, beyond, LOB_U64, 0, 2);
    assert_true(got[0] == 9007199254740992.0 && got[1] == 18446744073709551616.0);
}

/* An amount's unit is the largest that it fills. */
TEST(test_bytes_text)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        {0,                "0 bytes"   },
        {1023,             "1023 bytes"},
        {1024,             "1.0 KiB"   },
        {(int64_t)3 << 19, "1.5 MiB"   },
        {(int64_t)4 << 30, "4.0 GiB"   },
        {INT64_MAX,        "8.0 EiB"   },
    };
    char text[LOB_BYTES_TEXT];
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(lob_bytes_text(text, rows[i].bytes), rows[i].text);
}

/* Amounts that differ look different. */
TEST(test_bytes_texts)
{
    static const int64_t gib = (int64_t)1 << 30;
    const struct {
        int64_t a, b;
        const char *text_a, *text_b;
    } rows[] = {
        {2 * gib,                gib,     "2.0 GiB",         "1.0 GiB"        },
        {2 * gib,                2 * gib, "2.0 GiB",         "2.0 GiB"        },
        {2 * gib + (int64_t)1e7, 2 * gib, "2.01 GiB",        "2.00 GiB"       },
        {2 * gib + 1,            2 * gib, "2.000000001 GiB", "2.000000000 GiB"},
        {1001,                   1000,    "1001 bytes",      "1000 bytes"     },
    };
    char a[LOB_BYTES_TEXT], b[LOB_BYTES_TEXT];
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_bytes_texts(a, rows[i].a, b, rows[i].b);
        assert_string_equal(a, rows[i].text_a);
        assert_string_equal(b, rows[i].text_b);
    }
    lob_bytes_texts(a, INT64_MAX, b, INT64_MAX - ((int64_t)1 << 12));
    assert_string_not_equal(a, b);
}
