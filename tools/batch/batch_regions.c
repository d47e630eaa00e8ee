/* All tables of regions of a batch in one, ready for R and pandas. */
#include "io/file.h"
#include "tools/batch/batch_log.h"
#include "tools/text/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 512, FIXED = 4 };

/* The columns that come in every row, and those that tables add. */
static const char *const fixed[FIXED] = {"scan", "table", "label", "name"};

typedef struct {
    char *names[MAX_COLUMNS];
    int count;
    lob_text text; /* the rows */
} merged;

/* A table's cells, cut at its tabs or commas. */
typedef struct {
    char *text, *at;
    char separator;
} table_reader;

/* Cut a line of CSV, where a cell may stand in quotes with "" for a quote. */
static int split_csv(char **cells, int most, char *line)
{
    int n = 0;
    for (char *at = line; at; n++) {
        char *to = at;
        bool quoted = false;
        if (n < most) cells[n] = at;
        for (; *at && (quoted || *at != ','); at++) {
            if (*at == '"' && quoted && at[1] == '"')
                at++;
            else if (*at == '"') {
                quoted = !quoted;
                continue;
            }
            *to++ = *at;
        }
        const bool more = *at == ',';
        *to = '\0';
        at = more ? at + 1 : NULL;
    }
    return n;
}

/* The next line's cells; 0 at the end, or where they are too many. */
static int next_cells(table_reader *table, char **cells)
{
    char *const line = table->at, *const end = line ? lob_line_end_of(line) : NULL;
    if (!end) return 0;
    *end = '\0';
    table->at = end + 1;
    const int n = (table->separator == ',' ? split_csv : lob_cells_split)(cells, MAX_COLUMNS, line);
    return n <= MAX_COLUMNS ? n : 0;
}

/* The column of a name, added where it is new; -1: there are too many, or the table has its own
 * scan. */
static int column_of(merged *out, const char *name)
{
    if (strcmp(name, fixed[0]) == 0) return -1;
    for (int c = 1; c < FIXED; c++)
        if (strcmp(fixed[c], name) == 0) return c;
    for (int c = 0; c < out->count; c++)
        if (strcmp(out->names[c], name) == 0) return FIXED + c;
    if (out->count == MAX_COLUMNS || !(out->names[out->count] = strdup(name))) return -1;
    return FIXED + out->count++;
}

static void add_row(merged *out, const char *const *value)
{
    for (int c = 0; c < FIXED + out->count; c++) {
        if (c) lob_text_add(&out->text, "\t", 1);
        lob_text_add_cell(&out->text, value[c] && value[c][0] ? value[c] : "n/a", false);
    }
    lob_text_add(&out->text, "\n", 1);
}

/* Add the rows of a table, if it is one of regions. */
static void add_table(merged *out, const char *scan, const char *role, table_reader *table)
{
    char *cells[MAX_COLUMNS];
    int to[MAX_COLUMNS];
    bool regions = false;
    const int n = next_cells(table, cells);
    for (int c = 0; c < n; c++) regions = regions || strcmp(cells[c], "label") == 0;
    for (int c = 0; regions && c < n; c++) to[c] = column_of(out, cells[c]);
    while (regions && next_cells(table, cells) == n) {
        const char *value[FIXED + MAX_COLUMNS] = {scan, role};
        for (int c = 0; c < n; c++)
            if (to[c] >= 2) value[to[c]] = cells[c];
        add_row(out, value);
    }
}

/* A table that is gone since is left out. */
static lob_status add_file(merged *out, const char *scan, const lob_batch_file *file,
                           lob_error *error)
{
    lob_input in;
    const size_t n = strlen(file->path);
    const bool csv = n > 4 && strcasecmp(file->path + n - 4, ".csv") == 0;
    if (lob_input_open(&in, file->path, error) != LOB_OK) return LOB_OK;
    table_reader table = {.text = strndup((const char *)in.bytes, in.size),
                          .separator = csv ? ',' : '\t'};
    lob_input_close(&in);
    if (!table.text) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", file->path);
    table.at = table.text;
    add_table(out, scan, file->role, &table);
    free(table.text);
    return LOB_OK;
}

/* Rows are shorter where later tables have brought more columns; they are filled up. */
static char *whole_text(merged *out)
{
    lob_text all = {NULL};
    for (int c = 0; c < FIXED; c++) lob_text_print(&all, "%s%s", c ? "\t" : "", fixed[c]);
    for (int c = 0; c < out->count; c++) {
        lob_text_add(&all, "\t", 1);
        lob_text_add_cell(&all, out->names[c], false);
    }
    lob_text_add(&all, "\n", 1);
    for (const char *at = out->text.bytes, *end; at && (end = strchr(at, '\n')); at = end + 1) {
        int cells = 1;
        for (const char *c = at; c < end; c++) cells += *c == '\t';
        lob_text_add(&all, at, (size_t)(end - at));
        for (; cells < FIXED + out->count; cells++) lob_text_add(&all, "\tn/a", 4);
        lob_text_add(&all, "\n", 1);
    }
    all.failed = all.failed || out->text.failed;
    return lob_text_take(&all);
}

lob_status lob_batch_regions_write(const lob_batch_table *table, const char *path, lob_error *error)
{
    lob_status st = LOB_OK;
    merged *const out = calloc(1, sizeof *out);
    if (!out) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    for (int64_t i = 0; i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        for (int f = 0; f < row->outputs.count && row->state == LOB_SCAN_DONE && st == LOB_OK; f++)
            if (row->outputs.file[f].content == 't')
                st = add_file(out, row->scan, &row->outputs.file[f], error);
    }
    if (st == LOB_OK) {
        char *const text = whole_text(out);
        st = lob_batch_write_file(path, text, error);
        free(text);
    }
    for (int c = 0; c < out->count; c++) free(out->names[c]);
    lob_text_free(&out->text);
    free(out);
    return st;
}
