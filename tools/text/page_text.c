/* Escaping texts and bytes for HTML pages. */
#include "tools/text/page_text.h"

#include "tools/report/report.h"
#include "volumes/utf8.h"

#include <stdlib.h>
#include <string.h>

void lob_page_text_add(lob_text *to, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t n = lob_utf8_length(c);
        const bool control = *c < ' ' || *c == 127;
        if (n == 0 || (n == 1 && control))
            lob_text_print(to, "&#xFFFD;");
        else if (n == 1 && strchr("&<>\"'", *c))
            lob_text_print(to, "&#%d;", *c);
        else
            lob_text_add(to, (const char *)c, n);
        c += n ? n : 1;
    }
}

void lob_page_json_add(lob_text *to, cJSON *value)
{
    char *const text = value ? lob_json_print(value) : NULL;
    cJSON_Delete(value);
    to->failed = to->failed || !text;
    for (const char *c = text; c && *c;) {
        const size_t n = strcspn(c, "<");
        lob_text_add(to, c, n);
        c += n;
        if (*c) lob_text_add(to, "\\u003c", 6), c++;
    }
    free(text);
}

char *lob_base64(const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *const text = malloc(4 * ((n + 2) / 3) + 1), *to = text;
    for (size_t i = 0; text && i < n; i += 3) {
        const unsigned b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | b << 8 | c;
        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        *to++ = i + 1 < n ? digits[word >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digits[word & 63] : '=';
    }
    if (text) *to = '\0';
    return text;
}
