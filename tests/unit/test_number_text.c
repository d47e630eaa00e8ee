/* Numbers of tables against the definition: of 15, 16 and 17 digits the first that reads back;
 * and the brief form of tables. */
#include "tests/unit/cmocka_test.h"
#include "tools/text/number_text.h"

/* At most 7 digits, or the whole part. */
static void brief_is_close(double value)
{
    char want[32], got[32];
    lob_number_brief(got, value);
    if (!isfinite(value)) {
        assert_string_equal(got, "");
    } else if (fabs(value) >= 1e6 && fabs(value) < 1e15) {
        if (strpbrk(got, ".e") || fabs(strtod(got, NULL) - value) > 0.5)
            fail_msg("%a: \"%s\"", value, got);
    } else {
        snprintf(want, sizeof want, "%.7g", value + 0.0);
        const double off = fabs(strtod(got, NULL) - value), best = fabs(strtod(want, NULL) - value);
        if (strlen(got) > 14 || off > best + fabs(value) * 1e-15)
            fail_msg("%a: \"%s\", not \"%s\"", value, got, want);
    }
}

static void same_as_defined(double value)
{
    char want[32] = "", got[32];
    brief_is_close(value);
    for (int digits = 15; digits <= 17 && isfinite(value); digits++) {
        snprintf(want, sizeof want, "%.*g", digits, value + 0.0); /* no negative zero */
        if (strtod(want, NULL) == value) break;
    }
    lob_number_text(got, value);
    if (strcmp(got, want) != 0) fail_msg("%a: \"%s\", not \"%s\"", value, got, want);
}

/* A value, its neighbours, and all of them below 0. */
static void around(double value)
{
    const double at[] = {value, nextafter(value, INFINITY), nextafter(value, -INFINITY)};
    for (int i = 0; i < 3; i++) {
        same_as_defined(at[i]);
        same_as_defined(-at[i]);
    }
}

TEST(numbers_at_the_ends_of_ranges)
{
    static const double special[] = {
        0.0,      NAN,        INFINITY,          5e-324,           0x1p53, 0x1p63,
        0x1p64,   1e300,      1.0 / 3,           2.0 / 3,          0.1,    0.3,
        1e15 - 1, 1e15 - 0.5, 999999999999999.9, 123456789012345.6};
    for (size_t i = 0; i < COUNT(special); i++) around(special[i]);
    for (int power = -20; power <= 20; power++) around(pow(10.0, power));
    for (int power = -60; power <= 80; power++) around(ldexp(1.0, power));
    for (int n = -2000; n <= 2000; n++) same_as_defined(n);
}

TEST(numbers_of_every_length)
{
    uint64_t random = 1;
    for (int i = 0; i < 40000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = random >> 11;
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int digits = (int)(random >> 33) % 18, places = (int)(random >> 45) % 22;
        const double whole = (double)(bits % (uint64_t)pow(10.0, digits));
        same_as_defined(whole / pow(10.0, places));      /* decimals */
        same_as_defined(whole / (double)(1 + i % 97));   /* means */
        same_as_defined(ldexp((double)bits, -(i % 90))); /* any bits */
    }
}
