/* The tables of a batch's shards in one. */
#ifndef LOB_BATCH_MERGE_H
#define LOB_BATCH_MERGE_H

#include "tools/batch/batch_log.h"

/*
 * Join FOLDER/shard-I-of-N into FOLDER: the status table in the order of the manifest, the regions,
 * the summary.
 *
 *   table    out  the rows; free with lob_batch_table_free
 *   summary  out  of all shards, as if they had run side by side
 *   worst    out  the exit code of the first scan that failed, those with 75 only where no other
 *                 did; 75 where scans are left; else 0
 *
 * Returns LOB_OK, LOB_ENOINPUT (no shards, or some are missing), LOB_EDATA, LOB_EIO, LOB_ECREATE or
 * LOB_ENOMEM.
 */
lob_status lob_batch_merge(lob_batch_table *table, lob_batch_summary *summary, int *worst,
                           const char *folder, lob_error *error);

#endif
