/* Columns of a batch: a manifest, and the patterns that its cells are put into. */
#include "io/file.h"
#include "tools/batch/batch_plan.h"
#include "tools/text/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 256 };

void lob_columns_free(lob_columns *columns)
{
    for (int c = 0; c < columns->columns; c++) free(columns->names[c]);
    for (int64_t i = 0; columns->cells && i < columns->rows * columns->columns; i++)
        free(columns->cells[i]);
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

/* ---- a manifest ---- */

/* The next line, without its end; NULL: there is none. */
static char *next_line(char **at)
{
    char *const line = *at;
    if (!line || !*line) return NULL;
    char *const end = lob_line_end_of(line);
    *at = end ? end + 1 : NULL;
    if (end) *end = '\0';
    const size_t n = strlen(line);
    if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
    return line;
}

static lob_status take_names(lob_columns *out, char *line, lob_error *error)
{
    char *cell[MAX_COLUMNS];
    const int n = lob_cells_split(cell, MAX_COLUMNS, line);
    if (n > MAX_COLUMNS)
        return lob_fail(error, LOB_EDATA, "%s:1: has more than %d columns", out->source,
                        MAX_COLUMNS);
    out->names = calloc((size_t)n + 1, sizeof *out->names);
    if (!out->names) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", out->source);
    for (int c = 0; c < n; c++) {
        if (cell[c][0] == '\0' || lob_column_of(out, cell[c]) >= 0)
            return lob_fail(error, LOB_EDATA,
                            "%s:1: column %d has %s; a manifest is a TSV whose first line names "
                            "its columns",
                            out->source, c + 1, cell[c][0] ? "the name of another" : "no name");
        out->names[c] = strdup(cell[c]);
        if (!out->names[c]) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", out->source);
        out->columns++;
    }
    return LOB_OK;
}

static lob_status take_row(lob_columns *out, char *line, int64_t number, lob_error *error)
{
    char *cell[MAX_COLUMNS];
    const int n = lob_cells_split(cell, MAX_COLUMNS, line);
    if (n != out->columns)
        return lob_fail(error, LOB_EDATA, "%s:%lld: has %d cells, and the first line %d",
                        out->source, (long long)number, n, out->columns);
    char **const to = out->cells + out->rows * out->columns;
    out->line[out->rows++] = number;
    for (int c = 0; c < n; c++)
        if (!(to[c] = strdup(cell[c])))
            return lob_fail(error, LOB_ENOMEM, "%s: out of memory", out->source);
    return LOB_OK;
}

static lob_status take_all(lob_columns *out, char *text, lob_error *error)
{
    size_t lines = 1;
    for (const char *c = text; (c = strchr(c, '\n')); c++) lines++;
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3; /* as Windows marks UTF-8 */
    char *line = next_line(&text);
    if (!line) return lob_fail(error, LOB_EDATA, "%s: is empty", out->source);
    LOB_TRY(take_names(out, line, error));
    out->cells = calloc(lines * (size_t)out->columns, sizeof *out->cells);
    out->line = calloc(lines, sizeof *out->line);
    if (!out->cells || !out->line)
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", out->source);
    for (int64_t number = 2; (line = next_line(&text)); number++)
        if (line[0]) LOB_TRY(take_row(out, line, number, error));
    if (out->rows > 0) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: has no line behind the names of columns", out->source);
}

lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_error *error)
{
    *out = (lob_columns){.source = path};
    if (size > 0 && memchr(bytes, 0, size))
        return lob_fail(error, LOB_EDATA, "%s: is no text; a manifest is a TSV", path);
    char *const text = calloc(size + 1, 1);
    if (!text) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    if (size > 0) memcpy(text, bytes, size);
    const lob_status st = take_all(out, text, error);
    free(text);
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

/* ---- more columns ---- */

lob_status lob_columns_add(lob_columns *columns, const char *name, const char *value)
{
    const int n = columns->columns;
    char **const names = calloc((size_t)n + 1, sizeof *names);
    char **const cells = calloc((size_t)columns->rows * ((size_t)n + 1), sizeof *cells);
    char *const own = strdup(name);
    bool made = names && cells && own;
    for (int64_t i = 0; i < columns->rows && made; i++)
        made = (cells[i * (n + 1) + n] = strdup(value)) != NULL;
    if (!made) {
        for (int64_t i = 0; cells && i < columns->rows; i++) free(cells[i * (n + 1) + n]);
        free(names);
        free(cells);
        free(own);
        return LOB_ENOMEM;
    }
    for (int c = 0; c < n; c++) names[c] = columns->names[c];
    for (int64_t i = 0; i < columns->rows; i++)
        for (int c = 0; c < n; c++) cells[i * (n + 1) + c] = columns->cells[i * n + c];
    names[n] = own;
    free(columns->names);
    free(columns->cells);
    columns->names = names;
    columns->cells = cells;
    columns->columns++;
    return LOB_OK;
}

/* ---- patterns ---- */

lob_status lob_columns_expand(char **out, const lob_columns *columns, int64_t row,
                              const char *pattern, lob_error *error)
{
    lob_text text = {NULL};
    for (const char *at = pattern; *at;) {
        const size_t n = strcspn(at, "{");
        lob_text_add(&text, at, n);
        at += n;
        if (!*at) break;
        const size_t length = strcspn(at, "}");
        char name[128];
        snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length - 1 : 0, at + 1);
        const int c = at[length] ? lob_column_of(columns, name) : -1;
        if (c < 0) {
            lob_text_free(&text);
            return lob_fail(error, LOB_EARG, "%s: {%s} is no column of %s", pattern, name,
                            columns->source);
        }
        const char *const cell = columns->cells[row * columns->columns + c];
        lob_text_add(&text, cell, strlen(cell));
        at += length + 1;
    }
    *out = lob_text_take(&text);
    return *out ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", pattern);
}
