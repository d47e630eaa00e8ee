/* Cutting text into lines and fields. */
#include "io/text_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

lob_status lob_rows_begin(lob_rows *text, const char *bytes, size_t size, const char *name,
                          lob_error *error)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    *text = (lob_rows){.name = name, .error = error};
    if (size > 0 && memchr(bytes, 0, size))
        return lob_fail(error, LOB_EDATA, "%s: is no text: it holds a byte 0", name);
    text->copy = calloc(size + 1, 1);
    if (!text->copy) return lob_fail(error, LOB_ENOMEM, "%s: no memory to read it", name);
    if (size > 0) memcpy(text->copy, bytes, size);
    text->rest = text->copy;
    if (strncmp(text->rest, byte_order_mark, sizeof byte_order_mark - 1) == 0)
        text->rest += sizeof byte_order_mark - 1;
    return LOB_OK;
}

char *lob_rows_next(lob_rows *text)
{
    char *const line = text->rest;
    if (!line || *line == '\0') return NULL;
    char *const end = strchr(line, '\n');
    text->rest = end ? end + 1 : NULL;
    text->line++;
    if (end) *end = '\0';
    char *last = line + strlen(line);
    while (last > line && (last[-1] == '\r' || is_blank(last[-1]))) *--last = '\0';
    return line;
}

lob_status lob_rows_bad(const lob_rows *text, const char *what)
{
    return lob_fail(text->error, LOB_EDATA, "%s: line %lld %s", text->name, (long long)text->line,
                    what);
}

void lob_rows_end(lob_rows *text)
{
    free(text->copy);
    *text = (lob_rows){0};
}

void lob_fields_cut_at_blanks(lob_fields *fields, char *line)
{
    fields->count = 0;
    while (fields->count < LOB_FIELDS) {
        while (is_blank(*line)) line++;
        if (*line == '\0') return;
        const bool quoted = *line == '"';
        if (quoted) line++;
        fields->field[fields->count++] = line;
        while (*line && (quoted ? *line != '"' : !is_blank(*line))) line++;
        if (*line) *line++ = '\0';
    }
}

void lob_fields_cut(lob_fields *fields, char *line, char gap)
{
    for (fields->count = 0; fields->count < LOB_FIELDS && line;) {
        char *to = line, *from = line;
        bool quoted = false;
        fields->field[fields->count++] = line;
        for (; *from && (quoted || *from != gap); from++) {
            if (gap == ',' && *from == '"') {
                if (quoted && from[1] == '"')
                    *to++ = *from++;
                else
                    quoted = !quoted;
                continue;
            }
            *to++ = *from;
        }
        line = *from ? from + 1 : NULL;
        *to = '\0';
    }
}

int lob_fields_column(const lob_fields *fields, const char *name)
{
    for (int i = 0; i < fields->count; i++)
        if (strcasecmp(fields->field[i], name) == 0) return i;
    return -1;
}

const char *lob_fields_text(const lob_fields *fields, int field)
{
    return field >= 0 && field < fields->count ? fields->field[field] : "";
}

bool lob_field_real(double *value, const lob_fields *fields, int field)
{
    char *end;
    const char *const text = lob_fields_text(fields, field);
    *value = strtod(text, &end);
    if (end == text || !isfinite(*value)) return false;
    while (is_blank(*end)) end++;
    return *end == '\0';
}

bool lob_field_whole(int32_t *value, const lob_fields *fields, int field, int32_t lowest,
                     int32_t highest)
{
    double v;
    if (!lob_field_real(&v, fields, field) || v < lowest || v > highest || v != floor(v))
        return false;
    *value = (int32_t)v;
    return true;
}
