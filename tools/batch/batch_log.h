/* What a batch writes into its folder: the status table while it runs, and all that sums it up. */
#ifndef LOB_BATCH_LOG_H
#define LOB_BATCH_LOG_H

#include "tools/batch/batch_table.h"

#include <cjson/cJSON.h>
#include <pthread.h>

typedef struct {
    char *path;             /* of the table */
    int file, folder;       /* descriptors; folder holds the lock of the batch */
    lob_batch_table before; /* what a resumed batch found */
    pthread_mutex_t lock;
    double synced_s; /* when the file was brought to the disk last */
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

/* After the last row: the file is closed, so that it may be replaced; the folder is still ours. */
void lob_batch_log_end(lob_batch_log *log);

/* Close a log; one that is not open, all zeros, is fine. */
void lob_batch_log_close(lob_batch_log *log);

/* What there is to say in the end. Times and rates are of this run alone. */
typedef struct {
    int64_t scans;                  /* in the manifest, or in its shard */
    int64_t state[LOB_SCAN_STATES]; /* rows that this run has made, by their last state */
    int64_t resumed;                /* that were done before and are skipped */
    int64_t left;                   /* that were not begun */
    int jobs;                       /* scans at a time */
    int threads;                    /* of the CPU, over all of them */
    int devices;                    /* that computed */
    double wall_s;
    double scans_per_hour;            /* that are done */
    double stage_s[LOB_BATCH_STAGES]; /* summed over scans */
    double busy[LOB_BATCH_STAGES];    /* share of the time that all jobs had, in [0, 1] */
    lob_batch_stage bottleneck;       /* the busiest stage but waiting and others */
    int64_t peak_memory_bytes;        /* largest resident size of the process */
    int64_t max_memory;               /* the limit that was given, or 0 */
} lob_batch_summary;

/* Rates, shares and bottleneck, from the counts and times that are there. */
void lob_batch_summary_finish(lob_batch_summary *summary, double wall_s);

/* The summary as in summary.json, and as lines for a person. */
cJSON *lob_batch_summary_json(const lob_batch_summary *summary);
void lob_batch_summary_print(const lob_batch_summary *summary);

/*
 * The end: the status table in the order of the manifest, the merged regions and the summary. The
 * regions are the rows of every table of regions (a TSV or CSV whose column `label` is there) that
 * a scan which is done has written, in the order of scans, tables and rows. The columns: scan,
 * table (the role of its file: "2:--table"), label, name (n/a where the label has none), then each
 * other column that any of them has, in the order in which they first appear; n/a where a table has
 * no such column. A column `scan` of theirs is left out.
 *
 *   scans  in  count names in the order that the rows get; those of other scans follow
 *
 * Returns LOB_OK, LOB_ECREATE, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_batch_end_write(lob_batch_table *table, const lob_batch_summary *summary,
                               const char *const *scans, int64_t count, const char *folder,
                               lob_error *error);

/*
 * What a batch ends with: the status of the first scan that failed, those that may be tried again
 * (exit code 75) only where no other did; that too where scans are left; LOB_EDIFFER where none
 * failed but volumes differ; else LOB_OK.
 *
 *   table  in  in order; the first `count` rows are looked at, if there are so many
 */
lob_status lob_batch_worst(const lob_batch_table *table, int64_t count,
                           const lob_batch_summary *summary);

/* The merged regions alone. */
lob_status lob_batch_regions_write(const lob_batch_table *table, const char *folder,
                                   lob_error *error);

/* Write a text into a file of the folder, over an older one, and free it. Returns what
 * lob_text_save does. */
lob_status lob_batch_save(lob_text *text, const char *folder, const char *name, lob_error *error);

/*
 * Join FOLDER/shard-I-of-N into FOLDER, as lob_batch_end_write does.
 *
 *   table    out  the rows; free with lob_batch_table_free
 *   summary  out  of all shards, as if they had run side by side
 *
 * Returns LOB_OK, LOB_ENOINPUT (no shards, or some are missing), LOB_EDATA, LOB_EIO, LOB_ECREATE or
 * LOB_ENOMEM.
 */
lob_status lob_batch_merge(lob_batch_table *table, lob_batch_summary *summary, const char *folder,
                           lob_error *error);

#endif
