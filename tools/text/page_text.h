/* HTML pages: a template in the program, with its data as JSON in the place of a mark. */
#ifndef LOB_PAGE_TEXT_H
#define LOB_PAGE_TEXT_H

#include "io/file.h"

#include <cjson/cJSON.h>

/*
 * Write a page up to its mark, @data@, and there a JSON object but for the brace that ends it: the
 * caller may add members, as `,"name":"..."`. No text in it ends a script element. What begin has
 * begun, end ends, whatever happened between.
 *
 *   page  in  the template
 *   data  in  freed; NULL: there was no memory
 *
 * Returns LOB_OK, LOB_EEXIST, LOB_ECREATE, LOB_EIO or LOB_ENOMEM; on failure there is nothing to
 * end.
 */
lob_status lob_page_begin(lob_output *out, const char *path, bool force, const char *page,
                          cJSON *data, lob_error *error);

/* The brace and the rest of the page; lob_output_end where st is no LOB_OK. */
lob_status lob_page_end(lob_output *out, const char *page, lob_status st, lob_error *error);

/* Bytes as base64, for free(); NULL without memory. */
char *lob_base64(const unsigned char *bytes, size_t n);

#endif
