/* Units of length as files of microscopes and scanners name them. */
#include "io/length_units.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    double mm;
} units[] = {
    {"um",                     1e-3},
    {"\302\265m",              1e-3}, /* the micro sign in UTF-8, */
    {"\316\274m",              1e-3}, /* the Greek letter, */
    {"\265m",                  1e-3}, /* the sign in Latin-1, */
    {"\\u00B5m",               1e-3}, /* as ImageJ writes it, */
    {"&#181;m",                1e-3}, /* and as XML may */
    {"&#xB5;m",                1e-3},
    {"micron",                 1e-3},
    {"micrometer",             1e-3},
    {"micrometre",             1e-3},
    {"mm",                     1   },
    {"millimeter",             1   },
    {"millimetre",             1   },
    {"nm",                     1e-6},
    {"nanometer",              1e-6},
    {"nanometre",              1e-6},
    {"pm",                     1e-9},
    {"picometer",              1e-9},
    {"picometre",              1e-9},
    {"angstrom",               1e-7},
    {"\303\205ngstr\303\266m", 1e-7},
    {"\303\245ngstr\303\266m", 1e-7},
    {"\303\205",               1e-7}, /* the letter, */
    {"\342\204\253",           1e-7}, /* the sign */
    {"cm",                     10  },
    {"centimeter",             10  },
    {"centimetre",             10  },
    {"dm",                     100 },
    {"decimeter",              100 },
    {"decimetre",              100 },
    {"m",                      1e3 },
    {"meter",                  1e3 },
    {"metre",                  1e3 },
    {"km",                     1e6 },
    {"kilometer",              1e6 },
    {"kilometre",              1e6 },
    {"in",                     25.4},
    {"inch",                   25.4},
    {"inches",                 25.4},
    {"\"",                     25.4},
    {"Mm",                     1e9 }, /* OME's symbols that only case tells apart */
    {"Pm",                     1e18},
};

enum { SHORTEST_WORD = 4 };

/* Does text say the name of n bytes, or is it that and an "s"? */
static bool says(const char *text, const char *name, size_t n)
{
    return strncasecmp(text, name, n) == 0 &&
           (!text[n] || (n >= SHORTEST_WORD && strcasecmp(text + n, "s") == 0));
}

double lob_length_unit_mm(const char *name)
{
    const size_t rows = sizeof units / sizeof units[0];
    for (size_t i = 0; name && i < rows; i++)
        if (strcmp(name, units[i].name) == 0) return units[i].mm;
    for (size_t i = 0; name && i < rows; i++)
        if (says(name, units[i].name, strlen(units[i].name))) return units[i].mm;
    return 0.0;
}
