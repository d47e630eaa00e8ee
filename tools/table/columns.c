/* Reading tables of texts. */
#include "tools/table/columns.h"

#include "io/format.h"
#include "io/platform.h"
#include "tools/text/text.h"
#include "volumes/free.h"
#include "volumes/lists.h"
#include "volumes/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 256 };

void lob_columns_free(lob_columns *columns)
{
    lob_lines_end(&columns->text);
    LOB_FREE(columns->names, columns->cells, columns->line);
    *columns = (lob_columns){NULL};
}

int lob_columns_find(const lob_columns *columns, const char *name)
{
    int (*const differ)(const char *, const char *) =
        columns->rule == LOB_COLUMNS_EXACT ? strcmp : strcasecmp;
    for (int c = 0; c < columns->columns; c++)
        if (differ(columns->names[c], name) == 0) return c;
    return -1;
}

const char *lob_columns_cell(const lob_columns *columns, int64_t row, const char *name)
{
    const int c = lob_columns_find(columns, name);
    return c < 0 ? NULL : columns->cells[row * columns->columns + c];
}

static lob_status no_memory(const lob_columns *columns, lob_error *error)
{
    return lob_fail_file(error, LOB_ENOMEM, columns->source, "out of memory");
}

static void trim(lob_fields *cells)
{
    for (int c = 0; c < cells->count; c++) {
        char *const cell = cells->field[c] += strspn(cells->field[c], " ");
        for (size_t n = strlen(cell); n > 0 && cell[n - 1] == ' '; n--) cell[n - 1] = '\0';
    }
}

/* Take the quotes off the cells that stand in them; one whose quote has no end is open. */
static void unquote(lob_fields *cells)
{
    for (int c = 0; c < cells->count; c++) {
        char *const cell = cells->field[c];
        const size_t n = strlen(cell);
        if (cell[0] != '"') continue;
        if (n < 2 || cell[n - 1] != '"') {
            cells->open = true;
            continue;
        }
        cell[n - 1] = '\0';
        cells->field[c]++;
    }
}

static bool is_blank(const lob_fields *cells)
{
    for (int c = 0; c < cells->count; c++)
        if (cells->field[c][strspn(cells->field[c], " \t\r")]) return false;
    return true;
}

/* The next line, of those behind the first one that holds more than blanks, cut into cells; false:
 * there is none. */
static bool next_cells(lob_fields *cells, lob_columns *out)
{
    const bool loose = out->rule == LOB_COLUMNS_LOOSE;
    do {
        char *const line = loose ? lob_lines_next(&out->text) : lob_lines_raw(&out->text);
        if (!line) return false;
        const size_t n = strlen(line);
        if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
        if (!out->names) out->gap = lob_fields_gap(out->source, line);
        if (!out->names) out->quoted = out->gap == '\t' && (loose || line[0] == '"');
        lob_fields_cut(cells, line, out->gap);
        if (loose) trim(cells);
        if (out->quoted) unquote(cells);
    } while (out->names && is_blank(cells));
    return true;
}

static bool is_utf8(const char *text)
{
    size_t n = 1;
    for (const unsigned char *c = (const unsigned char *)text; *c && n > 0; c += n)
        n = lob_utf8_length(c);
    return n > 0;
}

lob_status lob_columns_check_text(const lob_columns *columns, const char *cell, int64_t line,
                                  lob_error *error)
{
    if (columns->gap == '\t' || is_utf8(cell)) return LOB_OK;
    return lob_fail_line(error, LOB_EDATA, columns->source, line,
                         "holds letters that are no UTF-8; save it as CSV UTF-8");
}

static lob_status check_exact(const lob_columns *out, const lob_fields *cells, lob_error *error)
{
    if (out->rule != LOB_COLUMNS_EXACT) return LOB_OK;
    if (cells->open)
        return lob_fail_line(error, LOB_EDATA, out->source, out->text.line,
                             "has a quote without its end; a cell is on one line");
    for (int c = 0; c < cells->count; c++)
        LOB_TRY(lob_columns_check_text(out, cells->field[c], out->text.line, error));
    return LOB_OK;
}

static lob_status take_names(lob_columns *out, const lob_fields *cells, lob_error *error)
{
    const bool exact = out->rule == LOB_COLUMNS_EXACT;
    out->names = calloc((size_t)cells->count + 1, sizeof *out->names);
    if (!out->names) return no_memory(out, error);
    LOB_TRY(check_exact(out, cells, error));
    if (exact && cells->count > MAX_COLUMNS)
        return lob_fail_line(error, LOB_EDATA, out->source, 1, "has more than %d columns",
                             MAX_COLUMNS);
    for (int c = 0; c < cells->count; c++) {
        char *const name = cells->field[c];
        if (exact && (!name[0] || lob_columns_find(out, name) >= 0))
            return lob_fail_line(error, LOB_EDATA, out->source, 1,
                                 "column %d has %s; a manifest is a TSV or CSV whose first line "
                                 "names its columns",
                                 c + 1, name[0] ? "the name of another" : "no name");
        out->names[out->columns++] = name;
    }
    return LOB_OK;
}

static lob_status take_row(lob_columns *out, const lob_fields *cells, lob_error *error)
{
    const int n = out->columns;
    const bool exact = out->rule == LOB_COLUMNS_EXACT;
    LOB_TRY(check_exact(out, cells, error));
    if (exact && cells->count != n)
        return lob_fail_line(error, LOB_EDATA, out->source, out->text.line,
                             "has %d cells, and the first line %d", cells->count, n);
    if (!lob_grow(&out->cells, out->rows, (size_t)n * sizeof *out->cells) ||
        !lob_grow(&out->line, out->rows, sizeof *out->line))
        return no_memory(out, error);
    for (int c = 0; c < n; c++) {
        out->cells[out->rows * n + c] = lob_fields_text(cells, c);
        if (exact) lob_path_take(cells->field[c]); /* before "C:\temp" holds a tab */
        if (exact && out->gap == '\t') lob_cell_decode(cells->field[c]);
    }
    out->line[out->rows++] = out->text.line;
    return LOB_OK;
}

static lob_status take_all(lob_columns *out, lob_error *error)
{
    lob_fields cells = {.count = 0};
    if (!next_cells(&cells, out) && out->rule == LOB_COLUMNS_EXACT)
        return lob_fail_file(error, LOB_EDATA, out->source, "is empty");
    LOB_TRY(take_names(out, &cells, error));
    while (next_cells(&cells, out)) LOB_TRY(take_row(out, &cells, error));
    return LOB_OK;
}

/* st: of beginning the text. */
static lob_status parse(lob_columns *out, lob_status st, lob_error *error)
{
    if (st == LOB_OK) st = take_all(out, error);
    if (st != LOB_OK) lob_columns_free(out);
    return st;
}

lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_columns_rule rule, lob_error *error)
{
    *out = (lob_columns){.source = path, .rule = rule};
    return parse(out, lob_lines_begin(&out->text, bytes, size, path, error), error);
}

lob_status lob_columns_read(lob_columns *out, const char *path, lob_columns_rule rule,
                            lob_error *error)
{
    *out = (lob_columns){.source = path, .rule = rule};
    return parse(out, lob_lines_read(&out->text, path, error), error);
}
