/* The status table of a batch that runs: rows are added to its file as they come. */
#ifndef LOB_BATCH_LOG_H
#define LOB_BATCH_LOG_H

#include "tools/batch/batch_table.h"

#include <pthread.h>

typedef struct {
    char *path;             /* of the table */
    int file, folder;       /* descriptors; folder holds the lock of the batch */
    lob_batch_table before; /* what a resumed batch found */
    pthread_mutex_t lock;
    double synced_s; /* when the file was brought to the disk last */
    bool unsynced;   /* rows were added since */
} lob_batch_log;

/*
 * Begin a table, or go on with one.
 *
 *   out     out  close with lob_batch_log_close, unless this fails
 *   folder  in   is there, and stays its owner's for as long as the log is open
 *   resume  in   rows that are there are read and kept; there need be none
 *   force   in   a table that is there is emptied
 *
 * Returns LOB_OK, LOB_EEXIST (a table is there), LOB_EBUSY (another batch is at work in the
 * folder), LOB_ECREATE, LOB_EIO, LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_batch_log_open(lob_batch_log *out, const char *folder, bool resume, bool force,
                              lob_error *error);

/*
 * Add a row, as a line in one write, so that a process that is killed leaves whole lines. The file
 * is brought to the disk when the last time is a second ago: a machine that stops loses the rows of
 * its last second, and their scans are done again. Any thread may call it.
 *
 * Returns LOB_OK, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_batch_log_add(lob_batch_log *log, const lob_batch_row *row, lob_error *error);

/*
 * Write the table anew, with a row a scan.
 *
 *   table  out  what it holds then; free with lob_batch_table_free
 *   scans  in   names in the order that the rows get; those of other scans follow, as they were
 *
 * Returns LOB_OK, LOB_EDATA, LOB_EIO, LOB_ECREATE or LOB_ENOMEM; on failure the file stays as it
 * was.
 */
lob_status lob_batch_log_finish(lob_batch_log *log, lob_batch_table *table,
                                const char *const *scans, int64_t count, lob_error *error);

void lob_batch_log_close(lob_batch_log *log);

/* Replace a file by a text, as outputs are made. */
lob_status lob_batch_write_file(const char *path, const char *text, lob_error *error);

/* Put rows in this order of their scans' names, and those of other scans behind them. Returns
 * LOB_OK or LOB_ENOMEM. */
lob_status lob_batch_table_order(lob_batch_table *table, const char *const *scans, int64_t count);

/* What there is to say in the end, from a table that is in order: the merged regions and the
 * summary, into the folder. */
lob_status lob_batch_end_write(const lob_batch_table *table, const lob_batch_summary *summary,
                               const char *folder, lob_error *error);

/* Write a table's rows to a file. */
lob_status lob_batch_table_write(const lob_batch_table *table, const char *path, lob_error *error);

/* The merged table of regions of a table's scans. */
lob_status lob_batch_regions_write(const lob_batch_table *table, const char *path,
                                   lob_error *error);

#endif
