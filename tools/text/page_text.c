/* Writing HTML pages from templates. */
#include "tools/text/page_text.h"

#include "tools/text/json_text.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "@data@";

/* The object without its last brace, where "</script" and "<!--" would end a script element. */
static char *open_object(const cJSON *data)
{
    lob_text to = {NULL};
    char *const text = data ? lob_json_print(data) : NULL;
    to.failed = !text;
    for (const char *c = text, *end = text ? strrchr(text, '}') : NULL; c && c < end;) {
        const size_t n = strcspn(c, "<"), left = (size_t)(end - c);
        lob_text_add(&to, c, n < left ? n : left);
        if (n < left) lob_text_add(&to, "\\u003c", 6);
        c += n + 1;
    }
    free(text);
    return lob_text_take(&to);
}

static lob_status put_head(lob_output *out, const char *page, const char *object, lob_error *error)
{
    LOB_TRY(lob_output_write(out, page, (size_t)(strstr(page, mark) - page), error));
    return lob_output_write(out, object, strlen(object), error);
}

lob_status lob_page_begin(lob_output *out, const char *path, bool force, const char *page,
                          cJSON *data, lob_error *error)
{
    char *const object = open_object(data);
    cJSON_Delete(data);
    lob_status st = object ? lob_output_begin(out, path, force, error)
                           : lob_fail_file(error, LOB_ENOMEM, path, "out of memory");
    if (st == LOB_OK && (st = put_head(out, page, object, error)) != LOB_OK) lob_output_abort(out);
    free(object);
    return st;
}

lob_status lob_page_end(lob_output *out, const char *page, lob_status st, lob_error *error)
{
    const char *const rest = strstr(page, mark) + sizeof mark - 1;
    if (st == LOB_OK) st = lob_output_write(out, "}", 1, error);
    if (st == LOB_OK) st = lob_output_write(out, rest, strlen(rest), error);
    return lob_output_end(out, st, error);
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
