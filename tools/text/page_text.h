/* Text of HTML pages: what is escaped, JSON in a script element, bytes as base64. */
#ifndef LOB_PAGE_TEXT_H
#define LOB_PAGE_TEXT_H

#include "tools/text/text.h"

#include <cjson/cJSON.h>

/* Add text as it may stand in HTML, in a value too; bytes that are no UTF-8 come out as U+FFFD. */
void lob_page_text_add(lob_text *to, const char *text);

/* Add JSON that may stand in a script element, which "</script" or "<!--" would end. Frees value,
 * which may be NULL where there was no memory. */
void lob_page_json_add(lob_text *to, cJSON *value);

/* Bytes as base64, for free(); NULL without memory. */
char *lob_base64(const unsigned char *bytes, size_t n);

#endif
