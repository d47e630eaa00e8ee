/* Amounts of memory as people read them. */
#include "volumes/bytes.h"

#include <stdio.h>

const char *lob_bytes_text(char text[LOB_BYTES_TEXT], int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { UNITS = sizeof units / sizeof units[0] };
    int unit = 0;
    double amount = (double)bytes / 1024;
    for (; amount >= 1024 && unit + 1 < UNITS; unit++) amount /= 1024;
    if (bytes < 1024)
        snprintf(text, LOB_BYTES_TEXT, bytes == 1 ? "%lld byte" : "%lld bytes", (long long)bytes);
    else
        snprintf(text, LOB_BYTES_TEXT, "%.1f %s", amount, units[unit]);
    return text;
}
