/* Doubles as text, by integers where 15 digits do: most numbers of a table. */
#include "tools/text/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* 10^0 .. 10^15: doubles that are exact. */
static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

enum { DIGITS = 15, BRIEF = 7 };

/* digits / 10^places without zeros at its end. */
static void put_decimal(char *text, bool negative, uint64_t digits, int places)
{
    char reversed[24];
    int n = 0;
    for (; places > 0 && digits % 10 == 0; places--) digits /= 10;
    for (int i = 0; digits > 0 || i <= places; i++, digits /= 10) {
        if (places > 0 && i == places) reversed[n++] = '.';
        reversed[n++] = (char)('0' + digits % 10);
    }
    if (negative) *text++ = '-';
    while (n > 0) *text++ = reversed[--n];
    *text = '\0';
}

/*
 * The text of a number from 0.001 to below 10^15 that 15 digits tell from all others; false for
 * any other number. Of these, the digits are a whole number below 2^53 and the power of ten is
 * exact, so their quotient is what reading the text gives.
 */
static bool short_text(char *text, double value)
{
    const double size = fabs(value);
    int places = DIGITS;
    if (!(size < tens[DIGITS]) || (size < 1e-3 && size != 0.0)) return false;
    if (size == floor(size)) {
        put_decimal(text, value < 0.0, (uint64_t)size, 0);
        return true;
    }
    while (size >= tens[DIGITS - places]) places--;
    const double digits = nearbyint(size * tens[places]);
    if (digits / tens[places] != size) return false;
    put_decimal(text, value < 0.0, (uint64_t)digits, places);
    return true;
}

void lob_number_text(char text[32], double value)
{
    text[0] = '\0';
    if (!isfinite(value) || short_text(text, value)) return;
    const bool longer = fabs(value) >= 1.0 && fabs(value) < tens[DIGITS]; /* 15 have been tried */
    for (int digits = DIGITS + longer; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

void lob_number_brief(char text[32], double value)
{
    const double size = fabs(value);
    int places = BRIEF;
    text[0] = '\0';
    if (!isfinite(value)) return;
    if (size >= tens[DIGITS] || size < 1e-3) {
        snprintf(text, 32, "%.*g", BRIEF, value + 0.0); /* no negative zero */
        return;
    }
    while (places > 0 && size >= tens[BRIEF - places]) places--;
    for (int zeros = 1; size * tens[zeros] < 1.0; zeros++) places++; /* zeros are no digits */
    put_decimal(text, value < 0.0, (uint64_t)nearbyint(size * tens[places]), places);
}
