/* Cutting text into lines and fields. */
#include "io/text_rows.h"

#include "io/file.h"
#include "io/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

lob_status lob_lines_begin(lob_lines *text, const char *bytes, size_t size, const char *name,
                           lob_error *error)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    *text = (lob_lines){.name = name, .error = error};
    if (size > 0 && memchr(bytes, 0, size))
        return lob_fail_file(error, LOB_EDATA, name, "holds a byte 0; save it as text in UTF-8");
    text->copy = calloc(size + 1, 1);
    if (!text->copy) return lob_fail_file(error, LOB_ENOMEM, name, "out of memory");
    if (size > 0) memcpy(text->copy, bytes, size);
    text->rest = text->copy;
    if (strncmp(text->rest, byte_order_mark, sizeof byte_order_mark - 1) == 0)
        text->rest += sizeof byte_order_mark - 1;
    return LOB_OK;
}

lob_status lob_lines_read(lob_lines *text, const char *path, lob_error *error)
{
    lob_input file;
    *text = (lob_lines){.name = path};
    LOB_TRY(lob_input_open(&file, path, error));
    const lob_status st = lob_lines_begin(text, (const char *)file.bytes, file.size, path, error);
    lob_input_close(&file);
    return st;
}

char *lob_lines_raw(lob_lines *text)
{
    char *const line = text->rest;
    if (!line || *line == '\0') return NULL;
    char *const end = strchr(line, '\n');
    text->whole = end != NULL;
    text->rest = end ? end + 1 : NULL;
    text->line++;
    if (end) *end = '\0';
    return line;
}

char *lob_lines_next(lob_lines *text)
{
    char *const line = lob_lines_raw(text);
    char *last = line ? line + strlen(line) : NULL;
    while (last > line && (last[-1] == '\r' || is_blank(last[-1]))) *--last = '\0';
    return line;
}

lob_status lob_lines_bad(const lob_lines *text, const char *what)
{
    return lob_fail_file(text->error, LOB_EDATA, text->name, "line %lld %s", (long long)text->line,
                         what);
}

void lob_lines_end(lob_lines *text)
{
    free(text->copy);
    *text = (lob_lines){0};
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

char lob_fields_gap(const char *name, const char *line)
{
    if (!lob_has_suffix(name, ".csv")) return '\t';
    if (strchr(line, ',')) return ',';
    return strchr(line, '\t') ? '\t' : strchr(line, ';') ? ';' : ',';
}

void lob_fields_cut(lob_fields *fields, char *line, char gap)
{
    for (fields->count = 0; fields->count < LOB_FIELDS && line;) {
        char *to = line, *from = line;
        bool quoted = false;
        fields->field[fields->count++] = line;
        for (; *from && (quoted || *from != gap); from++) {
            if (gap != '\t' && *from == '"') {
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
        fields->open = quoted;
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

bool lob_text_numbers(double *out, int n, const char *text)
{
    for (int i = 0; text && i < n; i++) {
        char *end;
        out[i] = strtod(text, &end);
        if (end == text || !isfinite(out[i])) return false;
        text = end;
    }
    return text != NULL;
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
