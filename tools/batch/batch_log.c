/* The file of a batch's status table: rows are added, and in the end it is put in order. */
#include "tools/batch/batch_log.h"

#include "io/errno_text.h"
#include "io/file.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "tools/text/text.h"
#include "volumes/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static lob_status fail_io(const lob_batch_log *log, lob_error *error)
{
    return lob_fail(error, LOB_EIO, "%s: %s", log->path, ERRNO_TEXT(errno));
}

static lob_status write_all(const lob_batch_log *log, const char *text, lob_error *error)
{
    for (size_t n = strlen(text); n > 0;) {
        const ssize_t w = write(log->file, text, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return fail_io(log, error);
        text += w;
        n -= (size_t)w;
    }
    return LOB_OK;
}

/* Add a line, or nothing of it: the next row would go on where part of one ends. */
static lob_status write_line(const lob_batch_log *log, const char *line, lob_error *error)
{
    const off_t size = lseek(log->file, 0, SEEK_END);
    if (size < 0) return fail_io(log, error);
    const lob_status st = write_all(log, line, error);
    if (st != LOB_OK && ftruncate(log->file, size) != 0)
        return lob_fail(error, LOB_EIO, "%s: %s; remove its last line, which is damaged", log->path,
                        ERRNO_TEXT(errno));
    return st;
}

/* Take the rows that are there, and cut off a line that was not finished. */
static lob_status take_before(lob_batch_log *log, lob_error *error)
{
    lob_error reason;
    const lob_status st = lob_batch_table_read(&log->before, log->path, &reason);
    if (st == LOB_EDATA)
        return lob_fail(error, st,
                        "%.800s; name another folder with --log, or begin this batch again, with "
                        "--force and without --resume",
                        reason.text);
    if (st != LOB_OK) return lob_fail(error, st, "%s", reason.text);
    return ftruncate(log->file, log->before.cut) == 0 ? LOB_OK : fail_io(log, error);
}

static lob_status begin(lob_batch_log *log, lob_error *error)
{
    char *const header = lob_batch_header_line();
    lob_status st = LOB_ENOMEM;
    if (header) st = ftruncate(log->file, 0) == 0 ? LOB_OK : fail_io(log, error);
    if (st == LOB_OK) st = write_all(log, header, error);
    free(header);
    return st;
}

static lob_status open_file(lob_batch_log *log, const char *folder, bool resume, bool force,
                            lob_error *error)
{
    log->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log->folder < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", folder, ERRNO_TEXT(errno));
    /* some network file systems lock no folders: then nobody looks */
    if (flock(log->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return lob_fail(error, LOB_EBUSY, "%s: another lobule batch is at work here", folder);
    const bool there = access(log->path, F_OK) == 0;
    if (there && !resume && !force)
        return lob_fail(error, LOB_EEXIST,
                        "%s: exists; use --resume to go on with that batch, --force to begin it "
                        "again, or another --log",
                        log->path);
    log->file = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log->file < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", log->path, ERRNO_TEXT(errno));
    return there && resume ? take_before(log, error) : begin(log, error);
}

lob_status lob_batch_log_open(lob_batch_log *out, const char *folder, bool resume, bool force,
                              lob_error *error)
{
    *out = (lob_batch_log){
        .path = lob_path_in(folder, LOB_BATCH_STATUS_FILE), .file = -1, .folder = -1};
    pthread_mutex_init(&out->lock, NULL);
    const lob_status st = out->path ? open_file(out, folder, resume, force, error)
                                    : lob_fail(error, LOB_ENOMEM, "out of memory");
    if (st != LOB_OK) lob_batch_log_close(out);
    return st;
}

void lob_batch_log_close(lob_batch_log *log)
{
    if (log->file >= 0) close(log->file);
    if (log->folder >= 0) close(log->folder);
    free(log->path);
    lob_batch_table_free(&log->before);
    pthread_mutex_destroy(&log->lock);
    *log = (lob_batch_log){.file = -1, .folder = -1};
}

lob_status lob_batch_log_add(lob_batch_log *log, const lob_batch_row *row, lob_error *error)
{
    char *const line = lob_batch_row_line(row);
    if (!line) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", log->path);
    pthread_mutex_lock(&log->lock);
    lob_status st = write_line(log, line, error);
    const double now = lob_clock_s();
    const bool due = now - log->synced_s > 1.0;
    if (due) log->synced_s = now;
    pthread_mutex_unlock(&log->lock);
    if (st == LOB_OK && due && fdatasync(log->file) != 0) st = fail_io(log, error);
    free(line);
    return st;
}

/* ---- the end ---- */

lob_status lob_batch_write_file(const char *path, const char *text, lob_error *error)
{
    lob_output out;
    if (!text) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    LOB_TRY(lob_output_begin(&out, path, true, error));
    const lob_status st = lob_output_write(&out, text, strlen(text), error);
    if (st == LOB_OK) return lob_output_commit(&out, error);
    lob_output_abort(&out);
    return st;
}

lob_status lob_batch_table_write(const lob_batch_table *table, const char *path, lob_error *error)
{
    lob_text text = {NULL};
    for (int64_t i = -1; i < table->count; i++) {
        char *const line = i < 0 ? lob_batch_header_line() : lob_batch_row_line(&table->rows[i]);
        if (line) lob_text_add(&text, line, strlen(line));
        text.failed = text.failed || !line;
        free(line);
    }
    char *const all = lob_text_take(&text);
    const lob_status st = lob_batch_write_file(path, all, error);
    free(all);
    return st;
}

/* A scan and its place in the order. */
typedef struct {
    const char *scan;
    int64_t place;
} place;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const place *)a)->scan, ((const place *)b)->scan);
}

lob_status lob_batch_table_order(lob_batch_table *table, const char *const *scans, int64_t count)
{
    place *const places = calloc((size_t)count + 1, sizeof *places);
    lob_batch_row *const rows = calloc((size_t)(count + table->count) + 1, sizeof *rows);
    if (!places || !rows) {
        free(places);
        free(rows);
        return LOB_ENOMEM;
    }
    for (int64_t i = 0; i < count; i++) places[i] = (place){scans[i], i};
    qsort(places, (size_t)count, sizeof *places, by_name);
    int64_t others = 0, kept = 0;
    for (int64_t i = 0; i < table->count; i++) {
        const place key = {table->rows[i].scan, 0};
        const place *const at = bsearch(&key, places, (size_t)count, sizeof *places, by_name);
        rows[at ? at->place : count + others++] = table->rows[i];
    }
    for (int64_t i = 0; i < count + others; i++)
        if (rows[i].scan) rows[kept++] = rows[i];
    free(table->rows);
    free(places);
    table->rows = rows;
    table->count = kept;
    return LOB_OK;
}

lob_status lob_batch_log_finish(lob_batch_log *log, lob_batch_table *table,
                                const char *const *scans, int64_t count, lob_error *error)
{
    LOB_TRY(lob_batch_table_read(table, log->path, error));
    lob_status st = lob_batch_table_order(table, scans, count);
    if (st != LOB_OK) lob_fail(error, st, "%s: out of memory", log->path);
    if (st == LOB_OK) st = lob_batch_table_write(table, log->path, error);
    if (st != LOB_OK) lob_batch_table_free(table);
    return st;
}

lob_status lob_batch_end_write(const lob_batch_table *table, const lob_batch_summary *summary,
                               const char *folder, lob_error *error)
{
    char *const regions = lob_path_in(folder, LOB_BATCH_REGIONS_FILE);
    char *const file = lob_path_in(folder, LOB_BATCH_SUMMARY_FILE);
    cJSON *const json = lob_batch_summary_json(summary);
    char *const text = lob_json_print(json);
    cJSON_Delete(json);
    lob_status st = LOB_OK;
    if (!regions || !file) st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    if (st == LOB_OK) st = lob_batch_regions_write(table, regions, error);
    if (st == LOB_OK) st = lob_batch_write_file(file, text, error);
    free(text);
    free(file);
    free(regions);
    return st;
}
