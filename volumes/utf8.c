/* Characters of UTF-8. */
#include "volumes/utf8.h"

#include <stdlib.h>
#include <string.h>

size_t lob_utf8_length(const unsigned char *c)
{
    if (c[0] < 0x80) return 1;
    const size_t n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    /* overlong forms, surrogates and what lies beyond U+10FFFF */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)) return 0;
    if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0;
    return n;
}

char *lob_utf8_clean(const char *text)
{
    char *const copy = malloc(2 * strlen(text) + 1), *to = copy;
    if (!copy) return NULL;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t n = lob_utf8_length(c);
        if (n == 0) {
            *to++ = (char)(0xc0 | *c >> 6);
            *to++ = (char)(0x80 | (*c++ & 0x3f));
        } else if (n == 1) {
            *to++ = *c < ' ' || *c == 127 ? ' ' : (char)*c;
            c++;
        } else {
            memcpy(to, c, n);
            to += n;
            c += n;
        }
    }
    *to = '\0';
    return copy;
}
