/*
 * What the files of `lobule batch` share, in the order in which a batch comes about: columns become
 * scans, a scan at work a row, rows the status table, and this the summary, the merged regions, and
 * the page, which shows what is far from the other scans. Reading starts in cmd_batch.c.
 *
 *     FOLDER/status.tsv           the status table
 *     FOLDER/regions.tsv          all region tables of the scans, one below the other
 *     FOLDER/summary.json         lob_batch_summary as JSON
 *     FOLDER/page.html            all of it to look at
 *     FOLDER/recipe.txt           the recipe, as it was read or typed after "--"
 *     FOLDER/reports/SCAN.json    the report of a scan, as `lobule run --report` writes it
 *     FOLDER/tables/SCAN.2.tsv    what line 2 would have printed for a table named "-"
 *     FOLDER/shard-3-of-8/        the same of a shard, without reports/ and tables/, which all
 *                                 shards share; `lobule batch --merge FOLDER` joins them
 *     FOLDER/shards-of-8.tsv      which shard does which scan
 *
 * FOLDER is what --log names. In file names a scan's name keeps its '/', as folders; bytes other
 * than letters, digits, '.', '_', '-' and '+' are written %HH, as is a '.' that begins a part.
 */
#ifndef LOB_BATCH_H
#define LOB_BATCH_H

#include "io/platform.h"
#include "kernels/backends.h"
#include "kernels/device/device.h"
#include "tools/options/options.h"
#include "tools/recipe/recipe_job.h"
#include "tools/session/session.h"
#include "tools/table/columns.h"
#include "tools/table/status_table.h"
#include "tools/text/text.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdint.h>

#define LOB_BATCH_REGIONS_FILE "regions.tsv"
#define LOB_BATCH_SUMMARY_FILE "summary.json"
#define LOB_BATCH_RECIPE_FILE  "recipe.txt"

/*
 * Find images by a pattern with * ? [ and **, which stands for any folders, as a manifest with the
 * columns
 *
 *     image   the file
 *     folder  the folders between the pattern's first wildcard and the file; "." where there are
 *             none
 *     stem    the file's name without the suffix of its format
 *     bids    of a name as sub-01_ses-2_T1w, what comes before the last '_'; else the stem. Where
 *             images of one folder would share it, as T1w and T2w, sub-01_ses-2_mod-T1w
 *     scan    folder and stem
 *
 * Returns LOB_OK, LOB_ENOINPUT (nothing is found) or LOB_ENOMEM; on failure out is empty.
 */
lob_status lob_batch_images(lob_columns *out, const char *pattern, lob_error *error);

/* The status table's file while a batch runs. */
typedef struct {
    char *path;
    int file, folder;       /* descriptors; folder holds the lock of the batch */
    lob_batch_table before; /* what a resumed batch found */
    pthread_mutex_t lock;
    double synced_s; /* when the file was brought to the disk last */
} lob_batch_log;

/* ---- devices: batch_pool.c, batch_lease.c ---- */

/*
 * What the scans share: GPUs, each leased for as long as the pool is open, and the CPU. A GPU with
 * much memory is opened several times, as so many devices. A scan belongs to one of them; there,
 * calls of its scans take turns, and what these compute on the CPU goes side by side.
 */
typedef struct {
    const lob_backend *backend;
    lob_device *device; /* NULL: the CPU */
    int lease;          /* descriptor of the lock's file; -1: none */
    char name[300];     /* "cpu", "cuda:0 NVIDIA H200" */
    char why[400];      /* it was chosen */
    double worked_s;    /* time for which it was at work, */
    int64_t scans;      /* so many scans, */
    int waiting;        /* and so many belong to it now */
    int lanes;          /* scans that it computes side by side */
} lob_pool_device;

typedef struct {
    lob_pool_device *devices;
    int count, gpus;
    pthread_mutex_t lock; /* of the numbers above */
} lob_pool;

/*
 * Open the devices of a batch's --device: "auto" is one GPU, or the CPU where there is none; "all"
 * all GPUs that are free and the CPU; the index may be LOB_ALL_DEVICES. GPUs that other processes
 * have leased are left to them; where one is wanted and all are leased, this waits until one is
 * not, or the session is stopped. On the CPU as many scans go side by side as it has threads.
 *
 * Returns LOB_OK, LOB_EDEVICE, LOB_EBUSY (gave up, or another program holds the GPU for itself),
 * LOB_ENOMEM or LOB_EIO (no lock can be made).
 */
lob_status lob_pool_open(lob_pool *pool, lob_session *s);

/* Close all devices and end the leases. */
void lob_pool_close(lob_pool *pool);

/* The device that is expected to have done a scan first, from the times that those before took. The
 * CPU gets a first scan of its own beside GPUs to measure it. lob_pool_leave ends what this begins,
 * and says for how long the device was at work. */
lob_pool_device *lob_pool_choose(lob_pool *pool);
void lob_pool_leave(lob_pool *pool, lob_pool_device *device, double worked_s);

/* Lease a device by a lock on a file named after it, letters, digits and '-', in LOBULE_LEASES,
 * else /run/lock, else /tmp. The lease ends with the descriptor, so that a process that dies leaves
 * none behind. Returns LOB_OK, LOB_EBUSY (leased by another) or LOB_EIO, and -1 for a lease. */
lob_status lob_lease_take(int *lease, const char *identity, lob_error *error);

/* ---- a batch ---- */

typedef struct {
    char *name;     /* unlike all others */
    char **values;  /* one a placeholder; malloc'ed */
    int64_t bytes;  /* of the files among its values that are there */
    int shard;      /* that does it */
    char *conflict; /* which other scan writes or reads a file that it would write; NULL: none */
} lob_plan_scan;

/* What there is to say in the end. Times are of this run alone. */
typedef struct {
    int64_t scans;                  /* in the manifest, or in its shard */
    int64_t state[LOB_SCAN_STATES]; /* rows that this run has made, by their last state */
    int64_t resumed;                /* that were done before and are skipped */
    int64_t left;                   /* that were not begun */
    int jobs;                       /* scans at a time */
    int threads;                    /* of the CPU, over all of them */
    int devices;                    /* that computed */
    double wall_s;
    double stage_s[LOB_BATCH_STAGES]; /* summed over scans */
    int64_t peak_memory_bytes;        /* largest resident size of the process */
    int64_t max_memory;               /* the limit that was given, or 0 */
} lob_batch_summary;

/* All of it; what it holds is freed when the command ends. */
typedef struct {
    /* the options, and what the words are */
    lob_words words;
    const char *images, *out, *log_folder, *shard_text;
    int jobs, pictures;
    bool resume, fail_fast, merge, page;
    const char *recipe_word, *manifest, *given[LOB_WORDS]; /* given: NAME=PATTERN */
    int given_count;

    lob_session *session;
    char *folder;      /* of --log */
    char *own_folder;  /* the same, or of the shard */
    int shard, shards; /* what this process does, 1 <= shard <= shards; 0, 0: all of it */
    char *recipe_path;
    lob_text recipe_text;
    lob_recipe recipe;
    lob_plan_scan *scans;
    int64_t count;
    lob_columns division; /* of --merge: all scans and their shards */

    int64_t memory; /* for all scans at work; 0: no limit */
    lob_pool pool;
    lob_batch_log log;
    lob_batch_table table; /* in the end, */
    lob_names order;       /* and places in it, by scan */
    lob_batch_summary summary;
} lob_batch;

/* ---- the plan: batch_plan.c ---- */

/*
 * The scans of all rows. NAME=PATTERN gives the placeholder NAME the pattern with columns in the
 * places of {column}; it comes before the column NAME, and both before the recipe's default. Where
 * no column is called so, {scan} is the scan's name there and, with --out, {dir} its folder.
 * Returns LOB_OK, LOB_EARG (of the words), LOB_EDATA (of the columns) or LOB_ENOMEM.
 */
lob_status lob_batch_plan(lob_batch *b, const lob_columns *columns);
void lob_batch_plan_free(lob_batch *b);

/* Is the recipe wrong in the same way for all scans, as an option is that no command has? Writes
 * nothing. Returns LOB_OK, or LOB_EARG with what the first scan's lines say. */
lob_status lob_batch_check_usage(lob_batch *b);

/* Make the folders of all outputs, and find scans that would write what another writes or reads: of
 * two that write a file the first without another conflict gets it. Returns LOB_OK, LOB_ECANCEL or
 * LOB_ENOMEM. */
lob_status lob_batch_claim(lob_batch *b);

/* ---- shards: batch_shard.c ---- */

/* Find out which shard this process does, --shard's or that of a task of a Slurm array, and name
 * its folder. Returns LOB_OK, LOB_EARG or LOB_ENOMEM. */
lob_status lob_shard_choose(lob_batch *b);

/* Divide the scans by the bytes of their files. The first shard that begins writes the division
 * into FOLDER/shards-of-N.tsv, which all of them keep to. Returns LOB_OK, LOB_EDATA (the division
 * there is one of other scans), LOB_EIO, LOB_ECREATE or LOB_ENOMEM. */
lob_status lob_shard_divide(lob_batch *b);

/* Join the tables and summaries of FOLDER/shard-I-of-N, as if they had run side by side. Returns
 * LOB_OK, LOB_ENOINPUT (no shards, or some are missing), LOB_EDATA, LOB_EIO or LOB_ENOMEM. */
lob_status lob_shard_join(lob_batch *b);

/* ---- a scan: batch_scan.c ---- */

/* Is the file of a path, or of FILE.h5:/set, there? */
bool lob_batch_stat(lob_about *about, const char *path);

/* Is it there, and other than a row has it: by its size or, where its time has changed, its bytes?
 */
bool lob_batch_is_changed(const lob_batch_file *file, const char *path);

/*
 * Do what `lobule run` does with a scan's values, from any thread. Returns the scan's status.
 *
 *   row         out  what came of it; empty where it was done before and nothing has changed
 *   max_memory  in   0: no limit
 *   again       in   another attempt, with more memory
 */
lob_status lob_scan_do(lob_batch_row *row, lob_batch *b, const lob_plan_scan *plan, int threads,
                       int64_t max_memory, bool again);

/* ---- all scans of this process: batch_work.c ---- */

/*
 * Do the scans, whose files have so many bytes: b->summary.jobs at a time, each in a thread of its
 * own from reading to writing, so that one inflates while another computes and a third compresses.
 * What is bounded is the number of scans in flight, and with them memory: each has an equal part of
 * it. One for which its part is too small waits for twice as much, and so on up to all of it, and
 * scans of that size begin so from then on.
 *
 * Returns LOB_OK when all scans have their row or were not begun for --fail-fast; LOB_ECANCEL after
 * a signal; LOB_EIO or LOB_ENOMEM when the status table could not be written.
 */
lob_status lob_work_run(lob_batch *b, int64_t bytes);

/* ---- what is left in the folder: batch_folder.c ---- */

/* Begin the status table, or, with --resume, go on with one. Returns LOB_OK, LOB_EEXIST (a table is
 * there), LOB_EBUSY (another batch is at work in the folder), LOB_ECREATE, LOB_EIO, LOB_EDATA or
 * LOB_ENOMEM; what is open is for lob_batch_log_close in any case. */
lob_status lob_batch_log_open(lob_batch *b);

/* Add a row, from any thread, as a whole line. The file is brought to the disk when the last time
 * is a second ago: a machine that stops loses the rows of its last second, and their scans are done
 * again. Returns LOB_OK, LOB_EIO or LOB_ENOMEM. */
lob_status lob_batch_log_add(lob_batch_log *log, const lob_batch_row *row, lob_error *error);

/* After the last row: the file is closed, so that it may be replaced; the folder is still ours. */
void lob_batch_log_end(lob_batch_log *log);

/* Close a log; one that is not open, all zeros, is fine. */
void lob_batch_log_close(lob_batch_log *log);

/* Count a row that was made. */
void lob_batch_count(lob_batch_summary *summary, const lob_batch_row *row);
cJSON *lob_batch_summary_json(const lob_batch_summary *summary);

/* The summary as lines for a person, unless --quiet. */
void lob_batch_summary_print(const lob_batch *b);

/*
 * Put b->table in order and write it, the summary, and the regions: the rows of every table of
 * regions (a TSV or CSV whose column `label` is there) that a scan which is done has written, in
 * the order of scans, tables and rows. Their columns: scan, table (the role of its file:
 * "2:--table"), label, name (n/a where the label has none), then each other column that any of them
 * has, in the order in which they first appear; n/a where a table has no such column. A column
 * `scan` of theirs is left out.
 *
 *   worst  out  what the batch ends with: the status of the first scan in b->order that failed,
 *               those that may be tried again (exit code 75) only where no other did; that too
 * where scans are left; LOB_EDIFFER where none failed but volumes differ; else LOB_OK
 *
 * Returns LOB_OK, LOB_ECREATE, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_batch_end(lob_batch *b, lob_status *worst);

/* Write a text into a file of the folder, over an older one, and free it. Returns what
 * lob_text_save does. */
lob_status lob_batch_save(lob_text *text, const char *folder, const char *name, lob_error *error);

/* ---- the page: batch_page.c ---- */

/*
 * Write page.html of b->table into FOLDER, over an older one: one file without anything from
 * outside. Failures come first, then what is far from the other scans, then the rest; the volumes
 * of each, sortable by any column, and pictures of b->pictures of them, from the first image and
 * the last labels of a scan's row; those of scans that are far come first. The session's threads
 * draw, its max_memory bounds the voxels that are read for it, and its stage "page" this is. With
 * --page it says nothing of rates, as nothing was run.
 *
 * Returns LOB_OK, also where pictures cannot be made, what lob_cohort_read or lob_output_begin
 * does, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_batch_page_write(const lob_batch *b);

#endif
