/* All tables of regions of a batch in one, ready for R and pandas. */
#include "io/format.h"
#include "io/text_rows.h"
#include "tools/batch/batch_log.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN, TABLE, LABEL, NAME, FIXED, MAX_COLUMNS = FIXED + LOB_FIELDS };

typedef struct {
    char *names[MAX_COLUMNS];
    int count;
    lob_text text;
} merged;

/* The column of a name, added where it is new; -1: there are too many, or no memory. */
static int column_of(merged *out, const char *name)
{
    for (int c = 0; c < out->count; c++)
        if (strcmp(out->names[c], name) == 0) return c;
    if (out->count == MAX_COLUMNS || !(out->names[out->count] = strdup(name))) return -1;
    return out->count++;
}

static void add_row(merged *out, const char *const *value)
{
    for (int c = 0; c < out->count; c++) {
        if (c) lob_text_add(&out->text, "\t", 1);
        lob_text_add_cell(&out->text, value[c] && value[c][0] ? value[c] : "n/a", false);
    }
    lob_text_add(&out->text, "\n", 1);
}

/* The next line's cells, if it is whole. */
static bool next_cells(lob_fields *cells, lob_lines *text)
{
    char *const line = lob_lines_raw(text);
    if (line) lob_fields_cut(cells, line, lob_has_suffix(text->name, ".csv") ? ',' : '\t');
    return line && text->whole;
}

/* If a table is one of regions, take its columns, or add its rows once all columns are known. */
static void take_table(merged *out, const char *scan, const char *role, lob_lines *text,
                       bool has_columns)
{
    lob_fields cells;
    int to[LOB_FIELDS];
    if (!next_cells(&cells, text)) return;
    const int n = cells.count;
    const bool regions = lob_fields_column(&cells, "label") >= 0;
    for (int c = 0; regions && c < n; c++) to[c] = column_of(out, cells.field[c]);
    while (regions && has_columns && next_cells(&cells, text) && cells.count == n) {
        const char *value[MAX_COLUMNS] = {[SCAN] = scan, [TABLE] = role};
        for (int c = 0; c < n; c++)
            if (to[c] >= LABEL) value[to[c]] = cells.field[c];
        add_row(out, value);
    }
}

/* A table that is gone since is left out. */
static lob_status take_tables(merged *out, const lob_batch_table *table, bool has_columns,
                              lob_error *error)
{
    for (int64_t i = 0; i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        for (int f = 0; f < row->outputs.count && row->state == LOB_SCAN_DONE; f++) {
            const lob_batch_file *const file = &row->outputs.file[f];
            lob_lines text;
            lob_error reason;
            if (file->content != 't') continue;
            const lob_status st = lob_lines_read(&text, file->path, &reason);
            if (st == LOB_ENOMEM) return lob_fail(error, st, "%s: out of memory", file->path);
            if (st != LOB_OK) continue;
            take_table(out, row->scan, file->role, &text, has_columns);
            lob_lines_end(&text);
        }
    }
    return LOB_OK;
}

static lob_status merge(merged *out, const lob_batch_table *table, lob_error *error)
{
    static const char *const fixed[FIXED] = {"scan", "table", "label", "name"};
    for (int c = 0; c < FIXED; c++) column_of(out, fixed[c]);
    LOB_TRY(take_tables(out, table, false, error));
    add_row(out, (const char *const *)out->names);
    return take_tables(out, table, true, error);
}

lob_status lob_batch_regions_write(const lob_batch_table *table, const char *folder,
                                   lob_error *error)
{
    merged *const out = calloc(1, sizeof *out);
    if (!out) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    lob_status st = merge(out, table, error);
    if (st == LOB_OK) st = lob_batch_save(&out->text, folder, LOB_BATCH_REGIONS_FILE, error);
    for (int c = 0; c < out->count; c++) free(out->names[c]);
    lob_text_free(&out->text);
    free(out);
    return st;
}
