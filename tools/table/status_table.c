/* The status table of a batch as text: its lines, and reading them again. */
#include "tools/table/status_table.h"

#include "io/file.h"
#include "io/platform.h"
#include "io/text_rows.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(name, text) text,
const char *const lob_scan_state_text[] = {LOB_BATCH_STATES_LIST(TEXT)};
const char *const lob_batch_stage_text[] = {LOB_BATCH_STAGES_LIST(TEXT)};
#undef TEXT

/* The columns, in their order: what a cell holds, and where in the row. */
static const struct {
    const char *name;
    enum { TEXT, FIXED, STATE, SECONDS, NUMBER, FILES } kind;
    size_t at, size;
} columns[] = {
#define MEMBER(name)             offsetof(lob_batch_row, name), sizeof(((lob_batch_row *)0)->name)
#define COLUMN(name, kind)       {#name, kind, MEMBER(name)},
#define STAGE_COLUMN(name, text) {text "_s", SECONDS, MEMBER(stage_s[name])},
    COLUMN(scan, TEXT) COLUMN(state, STATE) COLUMN(exit_code, NUMBER) COLUMN(message, TEXT)
        COLUMN(started, FIXED) COLUMN(total_s, SECONDS) LOB_BATCH_STAGES_LIST(STAGE_COLUMN)
            COLUMN(voxels, NUMBER) COLUMN(labels, NUMBER) COLUMN(device, TEXT)
                COLUMN(memory, NUMBER) COLUMN(outputs, FILES) COLUMN(inputs, FILES)
                    COLUMN(key, FIXED) COLUMN(report, TEXT)
#undef MEMBER
#undef COLUMN
#undef STAGE_COLUMN
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* ---- writing ---- */

void lob_batch_header_add(lob_text *text)
{
    for (int c = 0; c < COLUMNS; c++) lob_text_print(text, "%s%s", c ? "\t" : "", columns[c].name);
    lob_text_add(text, "\n", 1);
}

static void add_files(lob_text *text, const lob_batch_files *files)
{
    for (int i = 0; i < files->count; i++) {
        const lob_batch_file *const f = &files->file[i];
        lob_text_print(text, "%s%c ", i ? ";" : "", f->content);
        lob_text_add_cell(text, f->role, true);
        lob_text_print(text, " %s %lld %lld ", f->sha256[0] ? f->sha256 : "n/a",
                       (long long)f->bytes, (long long)f->mtime_ns);
        lob_text_add_cell(text, f->path, true);
    }
}

void lob_batch_row_add(lob_text *text, const lob_batch_row *row)
{
    for (int c = 0; c < COLUMNS; c++) {
        const void *const at = (const char *)row + columns[c].at;
        if (c) lob_text_add(text, "\t", 1);
        switch (columns[c].kind) {
        case TEXT:
            lob_text_add_cell(text, *(char *const *)at, false);
            break;
        case STATE:
            lob_text_print(text, "%s", lob_scan_state_text[row->state]);
            break;
        case SECONDS:
            lob_text_print(text, "%.6f", *(const double *)at);
            break;
        case NUMBER:
            lob_text_print(text, *(const int64_t *)at < 0 ? "n/a" : "%lld", *(const long long *)at);
            break;
        case FILES:
            add_files(text, at);
            break;
        case FIXED:
            lob_text_add_cell(text, at, false);
            break;
        }
    }
    lob_text_add(text, "\n", 1);
}

/* ---- reading ---- */

static void free_files(lob_batch_files *files)
{
    for (int i = 0; i < files->count; i++) {
        LOB_FREE(files->file[i].role, files->file[i].path);
    }
    free(files->file);
}

void lob_batch_row_free(lob_batch_row *row)
{
    LOB_FREE(row->scan, row->message, row->device, row->report);
    free_files(&row->outputs);
    free_files(&row->inputs);
    *row = (lob_batch_row){.scan = NULL};
}

void lob_batch_table_free(lob_batch_table *table)
{
    for (int64_t i = 0; i < table->count; i++) lob_batch_row_free(&table->rows[i]);
    free(table->rows);
    lob_names_free(&table->index);
    *table = (lob_batch_table){NULL};
}

const lob_batch_row *lob_batch_table_find(const lob_batch_table *table, const char *scan)
{
    const int64_t at = lob_names_find(&table->index, scan);
    return at < 0 ? NULL : &table->rows[at];
}

static int64_t number_of(const char *cell)
{
    return isdigit((unsigned char)cell[0]) ? strtoll(cell, NULL, 10) : -1;
}

static char *text_of(char *cell)
{
    lob_cell_decode(cell);
    return strdup(cell);
}

/* "i 1:IMAGE SHA BYTES TIME PATH"; false: it is none. */
static bool parse_file(lob_batch_file *out, char *item)
{
    char *part[6], *at = item;
    *out = (lob_batch_file){.role = NULL};
    for (int i = 0; i < 6; i++) {
        part[i] = i < 5 ? strsep(&at, " ") : at;
        if (!part[i]) return false;
    }
    if (!part[0][0] || !strchr("ilto", part[0][0]) || part[0][1]) return false;
    *out = (lob_batch_file){.content = part[0][0],
                            .bytes = number_of(part[3]),
                            .mtime_ns = number_of(part[4]),
                            .role = text_of(part[1]),
                            .path = text_of(part[5])};
    if (strlen(part[2]) == LOB_SHA256_TEXT - 1) memcpy(out->sha256, part[2], LOB_SHA256_TEXT);
    return out->role && out->path;
}

static bool parse_files(lob_batch_files *out, char *cell)
{
    for (char *at = cell[0] ? cell : NULL; at;) {
        char *end = at;
        while (*end && *end != ';') end += *end == '\\' && end[1] ? 2 : 1;
        const bool more = *end == ';';
        *end = '\0';
        if (!lob_grow(&out->file, out->count, sizeof *out->file)) return false;
        if (!parse_file(&out->file[out->count++], at)) return false;
        at = more ? end + 1 : NULL;
    }
    return true;
}

static bool parse_state(lob_scan_state *out, const char *text)
{
    int s = 0;
    while (s < LOB_SCAN_STATES && strcmp(lob_scan_state_text[s], text) != 0) s++;
    *out = (lob_scan_state)s;
    return s < LOB_SCAN_STATES;
}

static bool parse_cell(lob_batch_row *row, int column, char *cell)
{
    void *const at = (char *)row + columns[column].at;
    switch (columns[column].kind) {
    case TEXT:
        return (*(char **)at = text_of(cell)) != NULL;
    case STATE:
        return parse_state(at, cell);
    case SECONDS:
        *(double *)at = strtod(cell, NULL);
        break;
    case NUMBER:
        *(int64_t *)at = number_of(cell);
        break;
    case FILES:
        return parse_files(at, cell);
    case FIXED:
        lob_cell_decode(cell);
        snprintf(at, columns[column].size, "%s", cell);
        break;
    }
    return true;
}

/* A line without its end, which is changed; false: it is no row. */
static bool parse_row(lob_batch_row *out, char *line)
{
    lob_fields cells;
    *out = (lob_batch_row){.scan = NULL};
    lob_fields_cut(&cells, line, '\t');
    bool sound = cells.count == COLUMNS;
    for (int c = 0; c < COLUMNS && sound; c++) sound = parse_cell(out, c, cells.field[c]);
    return sound;
}

bool lob_batch_table_put(lob_batch_table *table, lob_batch_row *row)
{
    const int64_t *const at = lob_names_add(&table->index, row->scan, table->count);
    if (!at) return false;
    if (*at < table->count) {
        /* the index refers to the row that was first */
        char *const scan = row->scan;
        row->scan = table->rows[*at].scan;
        table->rows[*at].scan = scan;
        lob_batch_row_free(&table->rows[*at]);
    } else if (!lob_grow(&table->rows, table->count, sizeof *table->rows)) {
        return false;
    }
    table->rows[*at] = *row;
    table->count += *at == table->count;
    *row = (lob_batch_row){.scan = NULL};
    return true;
}

static lob_status parse_lines(lob_batch_table *out, lob_lines *text, const char *advice)
{
    lob_text header = {NULL};
    lob_batch_header_add(&header);
    char *line = lob_lines_raw(text);
    const bool ours = header.bytes && line && text->whole && strlen(line) + 1 == header.size &&
                      memcmp(line, header.bytes, header.size - 1) == 0;
    lob_text_free(&header);
    if (!ours)
        return lob_fail(text->error, LOB_EDATA,
                        "%s: is no status table of this version of lobule batch%s", text->name,
                        advice);
    for (;;) {
        lob_batch_row row;
        out->cut = text->rest - text->copy;
        if (!(line = lob_lines_raw(text)) || !text->whole) return LOB_OK;
        const bool sound = parse_row(&row, line);
        if (sound && lob_batch_table_put(out, &row)) continue;
        lob_batch_row_free(&row);
        if (sound) return lob_fail(text->error, LOB_ENOMEM, "%s: out of memory", text->name);
        return lob_fail(text->error, LOB_EDATA, "%s: the line after that of scan %s is damaged%s",
                        text->name, out->count ? out->rows[out->count - 1].scan : "-", advice);
    }
}

/* A machine that stopped may leave a file's end without bytes. */
lob_status lob_batch_table_parse(lob_batch_table *out, const char *bytes, size_t size,
                                 const char *path, const char *advice, lob_error *error)
{
    lob_lines text;
    *out = (lob_batch_table){NULL};
    LOB_TRY(lob_lines_begin(&text, bytes, size ? strnlen(bytes, size) : 0, path, error));
    const lob_status st = parse_lines(out, &text, advice);
    lob_lines_end(&text);
    if (st != LOB_OK) lob_batch_table_free(out);
    return st;
}

lob_status lob_batch_table_read(lob_batch_table *out, const char *path, const char *advice,
                                lob_error *error)
{
    lob_input file = {NULL};
    char *const name = lob_is_file(path) ? strdup(path) : lob_path_in(path, LOB_BATCH_STATUS_FILE);
    *out = (lob_batch_table){NULL};
    lob_status st = name ? lob_input_open(&file, name, error)
                         : lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    if (st == LOB_OK)
        st = lob_batch_table_parse(out, (const char *)file.bytes, file.size, name, advice, error);
    lob_input_close(&file);
    free(name);
    return st;
}

char *lob_batch_report_of(const char *path, const lob_batch_row *row)
{
    const char *const name = lob_is_file(path) ? lob_name_in_path(path) : NULL;
    if (!name) return lob_path_in(path, row->report);
    if (name == path) return strdup(row->report);
    char *const folder = strndup(path, lob_folder_length(path));
    char *const report = folder ? lob_path_in(folder, row->report) : NULL;
    free(folder);
    return report;
}

lob_status lob_batch_table_order(lob_batch_table *table, const lob_names *places)
{
    int64_t others = (int64_t)places->count, kept = 0;
    lob_batch_row *const rows = calloc(places->count + (size_t)table->count + 1, sizeof *rows);
    if (!rows) return LOB_ENOMEM;
    for (int64_t i = 0; i < table->count; i++) {
        const int64_t at = lob_names_find(places, table->rows[i].scan);
        rows[at >= 0 ? at : others++] = table->rows[i];
    }
    for (int64_t i = 0; i < others; i++)
        if (rows[i].scan) rows[kept++] = rows[i];
    free(table->rows);
    lob_names_free(&table->index); /* the rows have other places now */
    table->rows = rows;
    table->count = kept;
    return LOB_OK;
}
