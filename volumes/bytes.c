/* Amounts of memory: of volumes, and as people read them. */
#include "volumes/bytes.h"

#include <stdio.h>
#include <string.h>

int64_t lob_volume_bytes(const lob_volume *volume)
{
    return lob_product(lob_voxels(volume), volume->channels,
                       (int64_t)lob_type_of(volume->type)->bytes, 1);
}

static void write_text(char text[LOB_BYTES_TEXT], int64_t bytes, int digits)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { UNITS = sizeof units / sizeof units[0] };
    int unit = 0;
    double amount = (double)bytes / 1024;
    for (; amount >= 1024 && unit + 1 < UNITS; unit++) amount /= 1024;
    if (bytes < 1024)
        snprintf(text, LOB_BYTES_TEXT, bytes == 1 ? "%lld byte" : "%lld bytes", (long long)bytes);
    else
        snprintf(text, LOB_BYTES_TEXT, "%.*f %s", digits, amount, units[unit]);
}

const char *lob_bytes_text(char text[LOB_BYTES_TEXT], int64_t bytes)
{
    write_text(text, bytes, 1);
    return text;
}

void lob_bytes_texts(char text_a[LOB_BYTES_TEXT], int64_t a, char text_b[LOB_BYTES_TEXT], int64_t b)
{
    enum { MAX_DIGITS = 18 };
    for (int digits = 1; digits <= MAX_DIGITS; digits++) {
        write_text(text_a, a, digits);
        write_text(text_b, b, digits);
        if (a == b || strcmp(text_a, text_b) != 0) break;
    }
}
