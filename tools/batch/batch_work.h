/*
 * The scans of a batch at work: so many at a time, each in a thread of its own from reading to
 * writing, so that one inflates while another computes and a third compresses. What is bounded is
 * the number of scans in flight, and with them memory: each has an equal part of it. One for which
 * its part is too small waits for twice as much, and so on up to all of it, and scans of that size
 * begin so from then on.
 */
#ifndef LOB_BATCH_WORK_H
#define LOB_BATCH_WORK_H

#include "tools/batch/batch_scan.h"

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
 *   worst    out  the status of the first scan in the plan's order that failed, those that ran out
 *                 of memory or device (exit code 75) only where no other did; LOB_EDIFFER where
 *                 none failed but volumes differ, or did in one that is kept; else LOB_OK
 *
 * Returns LOB_OK when all scans have their row or were not begun for fail_fast; LOB_ECANCEL after a
 * signal; LOB_EIO or LOB_ENOMEM when the status table could not be written.
 */
lob_status lob_work_run(lob_batch *batch, const lob_work_plan *plan, lob_batch_summary *summary,
                        lob_status *worst, lob_error *error);

#endif
