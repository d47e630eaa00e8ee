/* SHA-256 of files, against the examples of FIPS 180-4. */
#include "io/sha256.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <sys/stat.h>

TEST(known_files)
{
    static const struct {
        const char *what, *text;
        size_t repeats;
        const char *want;
    } rows[] = {
        {"nothing",                   "",    0,       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"three letters",             "abc", 1,
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"                                             },
        {"more than is read at once", "a",   1000000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"                                             },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *const bytes = malloc(rows[i].repeats * strlen(rows[i].text) + 1);
        assert_non_null(bytes);
        size_t n = 0;
        for (size_t k = 0; k < rows[i].repeats; k++, n += strlen(rows[i].text))
            memcpy(bytes + n, rows[i].text, strlen(rows[i].text));
        spill(scratch("a"), bytes, n);
        free(bytes);
        char text[LOB_SHA256_TEXT];
        if (!lob_sha256_end(lob_sha256_begin(scratch("a")), text, NULL) ||
            strcmp(text, rows[i].want) != 0)
            fail_msg("%s: %s", rows[i].what, text);
    }
}

TEST(what_has_no_checksum)
{
    char text[LOB_SHA256_TEXT] = "old";
    assert_null(lob_sha256_begin(scratch("missing")));
    assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);
    assert_null(lob_sha256_begin(scratch("pipe")));
    assert_null(lob_sha256_begin("."));
    assert_false(lob_sha256_end(NULL, text, NULL));
    assert_string_equal(text, "");
}

TEST(one_that_is_given_up)
{
    spill(scratch("a"), "abc", 3);
    lob_sha256 *const sum = lob_sha256_begin(scratch("a"));
    assert_non_null(sum);
    assert_false(lob_sha256_end(sum, NULL, NULL));
}
