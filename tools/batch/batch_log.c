/* The file of a batch's status table while the batch runs: rows are added. */
#include "tools/batch/batch.h"
#include "tools/text/path.h"
#include "volumes/clock.h"

#include <errno.h>
#include <stdlib.h>

static lob_status fail_io(const lob_batch_log *log, lob_error *error)
{
    return lob_fail(error, LOB_EIO, "%s: %s", log->path, ERRNO_TEXT(errno));
}

static lob_status write_all(const lob_batch_log *log, const lob_text *text, lob_error *error)
{
    for (size_t done = 0; done < text->size;) {
        const int64_t w = lob_fd_write(log->file, text->bytes + done, text->size - done);
        if (w < 0) return fail_io(log, error);
        done += (size_t)w;
    }
    return LOB_OK;
}

/* Add a line, or nothing of it: the next row would go on where part of one ends. */
static lob_status write_line(const lob_batch_log *log, const lob_text *line, lob_error *error)
{
    const int64_t size = lob_fd_seek(log->file, 0, SEEK_END);
    if (size < 0) return fail_io(log, error);
    const lob_status st = write_all(log, line, error);
    if (st != LOB_OK && lob_fd_cut(log->file, size) != 0)
        return lob_fail(error, LOB_EIO, "%s: %s; remove its last line, which is damaged", log->path,
                        ERRNO_TEXT(errno));
    return st;
}

/* Take the rows that are there, and cut off a line that was not finished. */
static lob_status take_before(lob_batch_log *log, const char *folder, lob_error *error)
{
    LOB_TRY(lob_batch_table_read(&log->before, folder,
                                 "; name another folder with --log, or begin this batch again, "
                                 "with --force and without --resume",
                                 error));
    return lob_fd_cut(log->file, log->before.cut) == 0 ? LOB_OK : fail_io(log, error);
}

static lob_status begin(lob_batch_log *log, lob_error *error)
{
    lob_text header = {NULL};
    lob_batch_header_add(&header);
    const lob_status st = header.failed                   ? LOB_ENOMEM
                          : lob_fd_cut(log->file, 0) != 0 ? fail_io(log, error)
                                                          : write_all(log, &header, error);
    lob_text_free(&header);
    return st;
}

static lob_status open_file(lob_batch_log *log, const char *folder, bool resume, bool force,
                            lob_error *error)
{
    log->folder = lob_lock_folder(folder, 0);
    if (log->folder < 0 && errno == EWOULDBLOCK)
        return lob_fail(error, LOB_EBUSY, "%s: another lobule batch is at work here", folder);
    if (log->folder < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", folder, ERRNO_TEXT(errno));
    const bool there = lob_is_there(log->path);
    if (there && !resume && !force)
        return lob_fail(error, LOB_EEXIST,
                        "%s: exists; use --resume to go on with that batch, --force to begin it "
                        "again, or another --log",
                        log->path);
    log->file = lob_open_to_add(log->path);
    if (log->file < 0) return lob_fail(error, LOB_ECREATE, "%s: %s", log->path, ERRNO_TEXT(errno));
    return there && resume ? take_before(log, folder, error) : begin(log, error);
}

lob_status lob_batch_log_open(lob_batch_log *out, const char *folder, bool resume, bool force,
                              lob_error *error)
{
    *out = (lob_batch_log){
        .path = lob_path_in(folder, LOB_BATCH_STATUS_FILE), .file = -1, .folder = -1};
    if (!out->path) return lob_fail(error, LOB_ENOMEM, "out of memory");
    pthread_mutex_init(&out->lock, NULL);
    const lob_status st = open_file(out, folder, resume, force, error);
    if (st != LOB_OK) lob_batch_log_close(out);
    return st;
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
    if (line.failed) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", log->path);
    pthread_mutex_lock(&log->lock);
    lob_status st = write_line(log, &line, error);
    const double now = lob_clock_s();
    const bool due = now - log->synced_s > 1.0;
    if (due) log->synced_s = now;
    pthread_mutex_unlock(&log->lock);
    if (st == LOB_OK && due && lob_fd_flush_data(log->file) != 0) st = fail_io(log, error);
    lob_text_free(&line);
    return st;
}
