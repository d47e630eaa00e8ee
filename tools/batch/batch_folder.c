/* What a batch writes into its folder: the status table while it runs; in the end this in order,
 * the merged regions and the summary. */
#include "io/file.h"
#include "io/format.h"
#include "io/text_rows.h"
#include "tools/batch/batch.h"
#include "tools/text/json_text.h"
#include "tools/text/path.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

lob_status lob_batch_save(lob_text *text, const char *folder, const char *name, lob_error *error)
{
    char *const path = lob_path_in(folder, name);
    text->failed = text->failed || !path;
    const lob_status st = lob_text_save(text, path ? path : name, true, error);
    free(path);
    return st;
}

/* ---- the status table while the batch runs: rows are added ---- */

static lob_status fail_io(const lob_batch_log *log, lob_error *error)
{
    return lob_fail(error, LOB_EIO, "%s: %s", log->path, ERRNO_TEXT(errno));
}

/* Write a text at the end of the file, and free it. */
static lob_status write_end(const lob_batch_log *log, lob_text *text, lob_error *error)
{
    lob_output file = {.fd = log->file, .path = log->path};
    const lob_status st = text->failed
                              ? lob_fail_file(error, LOB_ENOMEM, log->path, "out of memory")
                              : lob_output_write(&file, text->bytes, text->size, error);
    lob_text_free(text);
    return st;
}

/* Finished rows go when a batch begins again: also those of scans that it does not have. */
static void note_rows_that_go(const lob_batch *b)
{
    lob_batch_table old;
    lob_error error;
    if (lob_batch_table_read(&old, b->own_folder, "", &error) != LOB_OK) return;
    int64_t gone = old.count;
    for (int64_t i = 0; i < b->count; i++)
        gone -= lob_batch_table_find(&old, b->scans[i].name) != NULL;
    lob_batch_table_free(&old);
    if (gone > 0)
        lob_session_note(b->session,
                         "%s: begun again; the rows of %lld scans that the manifest does not have "
                         "are gone, which --resume keeps",
                         b->log.path, (long long)gone);
}

lob_status lob_batch_log_open(lob_batch *b)
{
    lob_batch_log *const log = &b->log;
    lob_error *const error = &b->session->error;
    const char *const folder = b->own_folder;
    *log = (lob_batch_log){
        .path = lob_path_in(folder, LOB_BATCH_STATUS_FILE), .file = -1, .folder = -1};
    if (!log->path) return lob_fail(error, LOB_ENOMEM, "out of memory");
    pthread_mutex_init(&log->lock, NULL);
    log->folder = lob_lock_folder(folder, 0);
    if (log->folder < 0 && errno == EWOULDBLOCK)
        return lob_fail(error, LOB_EBUSY, "%s: another lobule batch is at work here", folder);
    if (log->folder < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", folder, ERRNO_TEXT(errno));
    const bool there = lob_is_there(log->path), goes_on = there && b->resume;
    if (there && !b->resume && !b->session->force)
        return lob_fail(error, LOB_EEXIST,
                        "%s: exists; use --resume to go on with that batch, --force to begin it "
                        "again, or another --log",
                        log->path);
    log->file = lob_open_to_add(log->path);
    if (log->file < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", log->path, ERRNO_TEXT(errno));
    if (goes_on)
        LOB_TRY(lob_batch_table_read(&log->before, folder,
                                     "; name another folder with --log, or begin this batch again, "
                                     "with --force and without --resume",
                                     error));
    if (there && !goes_on) note_rows_that_go(b);
    /* of the rows that are there, a line that was not finished goes */
    if (lob_fd_cut(log->file, goes_on ? log->before.cut : 0) != 0) return fail_io(log, error);
    lob_text header = {NULL};
    if (!goes_on) lob_batch_header_add(&header);
    return write_end(log, &header, error);
}

void lob_batch_log_end(lob_batch_log *log)
{
    if (log->file >= 0) lob_fd_close(log->file);
    log->file = -1;
}

void lob_batch_log_close(lob_batch_log *log)
{
    if (!log->path) return;
    lob_batch_log_end(log);
    if (log->folder >= 0) lob_fd_close(log->folder);
    free(log->path);
    lob_batch_table_free(&log->before);
    pthread_mutex_destroy(&log->lock);
    *log = (lob_batch_log){.path = NULL};
}

lob_status lob_batch_log_add(lob_batch_log *log, const lob_batch_row *row, lob_error *error)
{
    lob_text line = {NULL};
    lob_batch_row_add(&line, row);
    pthread_mutex_lock(&log->lock);
    /* all of the line or nothing: the next row would go on where part of one ends */
    const int64_t size = lob_fd_seek(log->file, 0, SEEK_END);
    lob_status st = size < 0 ? fail_io(log, error) : write_end(log, &line, error);
    if (st != LOB_OK && size >= 0 && lob_fd_cut(log->file, size) != 0)
        st = lob_fail(error, LOB_EIO, "%s: %s; remove its last line, which is damaged", log->path,
                      ERRNO_TEXT(errno));
    lob_text_free(&line);
    const double now = lob_clock_s();
    const bool due = now - log->synced_s > 1.0;
    if (due) log->synced_s = now;
    pthread_mutex_unlock(&log->lock);
    if (st == LOB_OK && due && lob_fd_flush_data(log->file) != 0) st = fail_io(log, error);
    return st;
}

/* ---- regions: all tables of regions in one, ready for R and pandas ---- */

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

static lob_status write_regions(const lob_batch_table *table, const char *folder, lob_error *error)
{
    static const char *const fixed[FIXED] = {"scan", "table", "label", "name"};
    merged out = {.count = 0};
    for (int c = 0; c < FIXED; c++) column_of(&out, fixed[c]);
    lob_status st = take_tables(&out, table, false, error);
    if (st == LOB_OK) add_row(&out, (const char *const *)out.names);
    if (st == LOB_OK) st = take_tables(&out, table, true, error);
    if (st == LOB_OK) st = lob_batch_save(&out.text, folder, LOB_BATCH_REGIONS_FILE, error);
    for (int c = 0; c < out.count; c++) free(out.names[c]);
    lob_text_free(&out.text);
    return st;
}

/* ---- the summary ---- */

void lob_batch_count(lob_batch_summary *summary, const lob_batch_row *row)
{
    summary->state[row->state]++;
    for (int i = 0; i < LOB_BATCH_STAGES; i++) summary->stage_s[i] += row->stage_s[i];
}

static double scans_per_hour(const lob_batch_summary *summary)
{
    return summary->wall_s > 0 ? (double)summary->state[LOB_SCAN_DONE] / summary->wall_s * 3600 : 0;
}

/* The share of the time that all jobs had, in [0, 1]. */
static double busy(const lob_batch_summary *summary, int stage)
{
    const double all = summary->wall_s * summary->jobs;
    return all > 0 ? summary->stage_s[stage] / all : 0;
}

/* The busiest stage but waiting and others. */
static const char *bottleneck(const lob_batch_summary *summary)
{
    int most = LOB_STAGE_READ;
    for (int i = LOB_STAGE_READ; i < LOB_STAGE_OTHER; i++)
        if (summary->stage_s[i] > summary->stage_s[most]) most = i;
    return lob_batch_stage_text[most];
}

cJSON *lob_batch_summary_json(const lob_batch_summary *summary)
{
    const lob_number rows[] = {
        {"scans",             (double)summary->scans            },
        {"resumed",           (double)summary->resumed          },
        {"left",              (double)summary->left             },
        {"jobs",              summary->jobs                     },
        {"threads",           summary->threads                  },
        {"devices",           summary->devices                  },
        {"wall_s",            summary->wall_s                   },
        {"scans_per_hour",    scans_per_hour(summary)           },
        {"peak_memory_bytes", (double)summary->peak_memory_bytes},
        {"max_memory",        (double)summary->max_memory       },
    };
    cJSON *const json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "tool", "lobule");
    cJSON_AddStringToObject(json, "version", LOB_VERSION);
    lob_json_numbers(json, rows, LOB_COUNT(rows));
    cJSON *const states = cJSON_AddObjectToObject(json, "states");
    for (int i = 0; i < LOB_SCAN_STATES; i++)
        cJSON_AddNumberToObject(states, lob_scan_state_text[i], (double)summary->state[i]);
    cJSON *const seconds = cJSON_AddObjectToObject(json, "stage_s");
    cJSON *const shares = cJSON_AddObjectToObject(json, "busy");
    for (int i = 0; i < LOB_BATCH_STAGES; i++) {
        cJSON_AddNumberToObject(seconds, lob_batch_stage_text[i], summary->stage_s[i]);
        cJSON_AddNumberToObject(shares, lob_batch_stage_text[i], busy(summary, i));
    }
    cJSON_AddStringToObject(json, "bottleneck", bottleneck(summary));
    return json;
}

void lob_batch_summary_print(const lob_batch *b)
{
    const lob_batch_summary *const sum = &b->summary;
    const struct {
        int64_t count;
        const char *what;
    } rows[] = {
        {sum->state[LOB_SCAN_DONE],      "done"       },
        {sum->resumed,                   "done before"},
        {sum->state[LOB_SCAN_SKIPPED],   "skipped"    },
        {sum->state[LOB_SCAN_FAILED],    "failed"     },
        {sum->state[LOB_SCAN_CANCELLED], "cancelled"  },
        {sum->left,                      "not begun"  },
    };
    char peak[LOB_BYTES_TEXT];
    const char *gap = "lobule batch: busy:";
    if (b->session->quiet) return;
    lob_bytes_text(peak, sum->peak_memory_bytes);
    fprintf(stderr, "lobule batch: %lld scan%s", (long long)sum->scans, sum->scans == 1 ? "" : "s");
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        if (rows[i].count > 0)
            fprintf(stderr, "%s %lld %s", i == 0 ? ":" : ",", (long long)rows[i].count,
                    rows[i].what);
    fprintf(stderr, "; %.1f s, %.0f an hour, at most %s of memory\n", sum->wall_s,
            scans_per_hour(sum), peak);
    if (sum->state[LOB_SCAN_DONE] == 0) return;
    for (int i = 0; i < LOB_BATCH_STAGES; i++) {
        if (busy(sum, i) < 0.005) continue; /* parts of a percent of one stage would be noise */
        fprintf(stderr, "%s %s %.0f %%", gap, lob_batch_stage_text[i], busy(sum, i) * 100);
        gap = ",";
    }
    if (gap[0] == ',') fprintf(stderr, "; the bottleneck is %s\n", bottleneck(sum));
}

/* ---- all of it ---- */

/* Of the first rows, which are this batch's. */
static lob_status worst_of(const lob_batch_table *table, const lob_batch_summary *summary)
{
    const int again = lob_status_exit_code(LOB_ENOMEM);
    const bool is_over = summary->left == 0 && summary->state[LOB_SCAN_STARTED] == 0 &&
                         summary->state[LOB_SCAN_CANCELLED] == 0;
    lob_status worst = is_over ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < summary->scans - summary->left && i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        lob_status st = LOB_EDIFFER;
        while (st < LOB_ECANCEL && lob_status_exit_code(st) != row->exit_code) st++;
        if (row->state == LOB_SCAN_FAILED && row->exit_code != again) return st;
        if (row->state == LOB_SCAN_FAILED || (st == LOB_EDIFFER && worst == LOB_OK)) worst = st;
    }
    return worst;
}

lob_status lob_batch_end(lob_batch *b, lob_status *worst)
{
    lob_error *const error = &b->session->error;
    const char *const folder = b->own_folder;
    lob_text status = {NULL}, summary = {NULL};
    if (lob_batch_table_order(&b->table, &b->order) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    *worst = worst_of(&b->table, &b->summary);
    lob_batch_header_add(&status);
    for (int64_t i = 0; i < b->table.count; i++) lob_batch_row_add(&status, &b->table.rows[i]);
    LOB_TRY(lob_batch_save(&status, folder, LOB_BATCH_STATUS_FILE, error));
    LOB_TRY(write_regions(&b->table, folder, error));
    cJSON *const json = lob_batch_summary_json(&b->summary);
    lob_text_add_json(&summary, json);
    cJSON_Delete(json);
    return lob_batch_save(&summary, folder, LOB_BATCH_SUMMARY_FILE, error);
}
