/* Characters of UTF-8, in texts that may hold anything. */
#ifndef LOB_UTF8_H
#define LOB_UTF8_H

#include "volumes/both.h"

#include <stddef.h>

/* Bytes of the character at c, of a text that ends with 0; 0 when there is none. */
size_t lob_utf8_length(const unsigned char *c);

/*
 * A copy in UTF-8 without control characters, which become blanks; malloc'ed, NULL where there is
 * no memory. A byte that is no part of UTF-8 is taken for Latin-1, in which spreadsheets save.
 */
char *lob_utf8_clean(const char *text);

#endif
