/* Columns of a batch: a manifest, or images that a pattern finds. */
#include "io/file.h"
#include "io/text_rows.h"
#include "tools/batch/batch.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 256 };

void lob_columns_free(lob_columns *columns)
{
    for (int c = 0; c < columns->columns; c++) free(columns->names[c]);
    for (int64_t i = 0; i < columns->rows * columns->columns; i++) free(columns->cells[i]);
    free(columns->names);
    free(columns->cells);
    free(columns->line);
    *columns = (lob_columns){NULL};
}

int lob_column_of(const lob_columns *columns, const char *name)
{
    int c = columns->columns - 1;
    while (c >= 0 && strcmp(columns->names[c], name) != 0) c--;
    return c;
}

const char *lob_columns_cell(const lob_columns *columns, int64_t row, const char *name)
{
    const int c = lob_column_of(columns, name);
    return c < 0 ? NULL : columns->cells[row * columns->columns + c];
}

lob_status lob_columns_name(lob_columns *columns, const char *const *names, int n)
{
    columns->names = calloc((size_t)n, sizeof *columns->names);
    if (!columns->names) return LOB_ENOMEM;
    for (; columns->columns < n; columns->columns++)
        if (!(columns->names[columns->columns] = strdup(names[columns->columns])))
            return LOB_ENOMEM;
    return LOB_OK;
}

lob_status lob_columns_add(lob_columns *columns, const char *const *cells, int64_t line)
{
    const int n = columns->columns;
    const int64_t i = columns->rows;
    if (!lob_grow(&columns->cells, i, (size_t)n * sizeof *columns->cells) ||
        !lob_grow(&columns->line, i, sizeof *columns->line))
        return LOB_ENOMEM;
    char **const to = columns->cells + i * n;
    bool copied = true;
    for (int c = 0; c < n; c++) copied = (to[c] = strdup(cells[c])) && copied;
    columns->line[columns->rows++] = line;
    return copied ? LOB_OK : LOB_ENOMEM;
}

/* ---- a manifest ---- */

static lob_status no_memory(const lob_columns *columns, lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "%s: out of memory", columns->source);
}

/* The next line's cells; false: there is none. */
static bool next_cells(lob_fields *cells, lob_lines *text)
{
    char *const line = lob_lines_raw(text);
    const size_t n = line ? strlen(line) : 0;
    if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
    if (line) lob_fields_cut(cells, line, '\t');
    return line != NULL;
}

static lob_status take_names(lob_columns *out, const lob_fields *cells, lob_error *error)
{
    if (cells->count > MAX_COLUMNS)
        return lob_fail(error, LOB_EDATA, "%s:1: has more than %d columns", out->source,
                        MAX_COLUMNS);
    for (int c = 0; c < cells->count; c++) {
        const char *const name = cells->field[c];
        int first = 0;
        while (strcmp(cells->field[first], name) != 0) first++;
        if (name[0] == '\0' || first < c)
            return lob_fail(error, LOB_EDATA,
                            "%s:1: column %d has %s; a manifest is a TSV whose first line names "
                            "its columns",
                            out->source, c + 1, name[0] ? "the name of another" : "no name");
    }
    return lob_columns_name(out, (const char *const *)cells->field, cells->count) == LOB_OK
               ? LOB_OK
               : no_memory(out, error);
}

static lob_status take_all(lob_columns *out, lob_lines *text, lob_error *error)
{
    lob_fields cells;
    if (!next_cells(&cells, text)) return lob_fail(error, LOB_EDATA, "%s: is empty", out->source);
    LOB_TRY(take_names(out, &cells, error));
    while (next_cells(&cells, text)) {
        if (cells.count == 1 && !cells.field[0][0]) continue;
        if (cells.count != out->columns)
            return lob_fail(error, LOB_EDATA, "%s:%lld: has %d cells, and the first line %d",
                            out->source, (long long)text->line, cells.count, out->columns);
        for (int c = 0; c < cells.count; c++) lob_cell_decode(cells.field[c]);
        if (lob_columns_add(out, (const char *const *)cells.field, text->line) != LOB_OK)
            return no_memory(out, error);
    }
    if (out->rows > 0) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: has no line behind the names of columns", out->source);
}

lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_error *error)
{
    lob_lines text;
    *out = (lob_columns){.source = path};
    if (size > 0 && memchr(bytes, 0, size))
        return lob_fail(error, LOB_EDATA, "%s: is no text; a manifest is a TSV", path);
    LOB_TRY(lob_lines_begin(&text, bytes, size, path, error));
    const lob_status st = take_all(out, &text, error);
    lob_lines_end(&text);
    if (st != LOB_OK) lob_columns_free(out);
    return st;
}

lob_status lob_columns_read(lob_columns *out, const char *path, lob_error *error)
{
    lob_input file;
    *out = (lob_columns){.source = path};
    LOB_TRY(lob_input_open(&file, path, error));
    const lob_status st = lob_columns_parse(out, (const char *)file.bytes, file.size, path, error);
    lob_input_close(&file);
    return st;
}
