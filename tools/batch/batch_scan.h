/* One scan of a batch: what `lobule run` would do with its values, and the row that comes of it. */
#ifndef LOB_BATCH_SCAN_H
#define LOB_BATCH_SCAN_H

#include "tools/batch/batch_log.h"
#include "tools/batch/batch_plan.h"
#include "tools/batch/batch_pool.h"
#include "tools/recipe/file_uses.h"
#include "tools/recipe/recipe_job.h"
#include "tools/session/host.h"

/* What all scans of a batch share. */
typedef struct {
    lob_session *session; /* of lobule batch; its common options hold for all scans */
    lob_batch_plan plan;
    char *recipe_path;
    lob_text recipe_text;
    char *folder;     /* of --log */
    char *own_folder; /* the same, or of the shard */
    lob_pool pool;
    lob_batch_log log;
    lob_file_uses files; /* who writes a file, and who reads it */
    bool knows_readers;  /* the latter have been noted */
} lob_batch;

typedef enum {
    LOB_TURN_RUN,  /* lob_scan_run is to be called */
    LOB_TURN_KEEP, /* it was done before, and nothing has changed */
    LOB_TURN_OVER, /* its row says why it is not run */
} lob_scan_turn;

/* A scan at work. */
typedef struct {
    lob_host host; /* first: it leads back here */
    int threads;
    int64_t max_memory; /* 0: no limit */
    lob_batch *batch;
    const lob_plan_scan *plan;
    lob_pool_device *device; /* where it computes; NULL: nowhere yet */
    lob_batch_row row;       /* what there is to say so far */
    lob_status status;       /* of the run */
    bool retried;            /* another attempt, with more memory */
    bool holds;              /* it was done before, and nothing has changed */

    char **words; /* arguments of lobule run */
    lob_command command;
    lob_session session;
    lob_recipe_job job;
    double start_s;
} lob_scan;

/*
 * Before the first scan: is the recipe wrong in the same way for all of them, as an option is that
 * no command has? Writes nothing. Returns LOB_EARG, with what the first scan's lines say, or LOB_OK
 * where a scan could be done.
 */
lob_status lob_batch_check_usage(const lob_batch *batch);

/* Look whether a scan was done before and nothing has changed since, which may read all its inputs.
 * Scans may look side by side, each before it begins. batch and plan are set. */
void lob_scan_look(lob_scan *scan);

/*
 * Begin a scan: fill in its values, check options and names of outputs. Scans of a batch come here
 * one after another, in their order, so that of two that write one file the first gets it.
 *
 *   scan  in/out  batch, plan, threads, max_memory and retried are set, the rest is zero;
 *                 to be freed by lob_scan_free whatever is returned
 */
lob_scan_turn lob_scan_begin(lob_scan *scan);

/* Check its files and do the work; the row is complete afterwards. Scans may run side by side. */
void lob_scan_run(lob_scan *scan);

void lob_scan_free(lob_scan *scan);

/* ---- all of them: batch_work.c ---- */

/*
 * The scans of a batch at work: so many at a time, each in a thread of its own from reading to
 * writing, so that one inflates while another computes and a third compresses. What is bounded is
 * the number of scans in flight, and with them memory: each has an equal part of it. One for which
 * its part is too small waits for twice as much, and so on up to all of it, and scans of that size
 * begin so from then on.
 */
typedef struct {
    int jobs;       /* scans at a time, >= 1 */
    int threads;    /* of the CPU, for all of them, >= 1 */
    int64_t memory; /* for all of them; 0: no limit */
    bool fail_fast; /* begin no scan once one has failed */
} lob_work_plan;

/*
 * Do all scans that are this process's.
 *
 *   summary  out  its counts, times and shares
 *
 * Returns LOB_OK when all scans have their row or were not begun for fail_fast; LOB_ECANCEL after a
 * signal; LOB_EIO or LOB_ENOMEM when the status table could not be written.
 */
lob_status lob_work_run(lob_batch *batch, const lob_work_plan *plan, lob_batch_summary *summary,
                        lob_error *error);

#endif
