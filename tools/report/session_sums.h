/* Checksums of a session's files, for its report. */
#ifndef LOB_SESSION_SUMS_H
#define LOB_SESSION_SUMS_H

#include "tools/session/session_state.h"

/*
 * Begin to compute the SHA-256 of the files that a path stands for, if there is a report, or for an
 * input --provenance, to put it into.
 *
 *   path       in  the very string of the option's variable
 *   is_volume  in  it may stand for two files, or for a data set in one
 *   is_input   in  it is read, not written
 */
void lob_sums_begin(lob_session *s, const char *path, bool is_volume, bool is_input);

/* The entry of the report that the checksums begun for this path belong to. */
void lob_sums_belong(lob_session *s, const char *path, cJSON *file);

/* Wait for those of the inputs so far, and hand over each file with its sum. */
typedef void lob_sum_fn(void *user, const char *file, const char *sha256);
void lob_sums_of_inputs(lob_session *s, lob_sum_fn *take, void *user);

/* Compute those begun so far. */
void lob_sums_compute(lob_session *s);

/* Wait for those whose entry is in the report, and add them to it. */
void lob_sums_end(lob_session *s);

/* Give up those that are left. */
void lob_sums_drop(lob_session *s);

#endif
