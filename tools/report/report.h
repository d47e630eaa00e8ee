/* The JSON report of a session, and what it is told of files that are read and written. */
#ifndef LOB_REPORT_H
#define LOB_REPORT_H

#include "tools/session/session_state.h"
#include "tools/text/json_text.h"

/* The wall time of the command so far, and what of it no stage claims. */
typedef struct {
    double other, total;
} lob_seconds;

lob_seconds lob_session_seconds(const lob_session *s);

/*
 * List an input that was read: a volume, or, with volume and info NULL, something else.
 *
 *   name  in  its role, as "RECIPE"; NULL: the name of the option or operand that holds this path
 */
void lob_report_input(lob_session *s, const lob_volume *volume, const char *path,
                      const lob_file_info *info, const char *name);

/* List an output that was written. volume is NULL when it is none. */
void lob_report_output(lob_session *s, const lob_volume *volume, const char *path);

/* An input that is no volume and was read by other means: list it, with its checksum. */
void lob_session_describe(lob_session *s, const char *path, const char *name);

/*
 * What --provenance puts into an output: the program's version; the command line, in a recipe that
 * of the recipe and the line; and each input read so far with its SHA-256. It says nothing of time,
 * place or device, so that the same command on the same files gives the same text. A repetition,
 * whose outputs have other names, takes the text that the report has.
 *
 *   text  out  malloc'ed; NULL where the output gets none
 *   path  in   of the output
 *
 * Returns LOB_OK or LOB_ENOMEM, with a message.
 */
lob_status lob_provenance_of(lob_session *s, char **text, const char *path);

/* Put the text, which may be NULL, into the report of the output that was written last. */
void lob_report_provenance(lob_session *s, const char *text);

/* All options by name, with the values that they have. */
cJSON *lob_report_options(const lob_session *s);

/* Is there anyone who reads a report? */
bool lob_report_wanted(const lob_session *s);

/* The report, which refers to the session's inputs, outputs, results and notes; NULL without
 * memory. */
cJSON *lob_report_make(lob_session *s, lob_status outcome, const char *message);

/* Write a report, if --report is given, over an older one. Returns LOB_OK, LOB_ECREATE, LOB_EIO or
 * LOB_ENOMEM. */
lob_status lob_report_write(lob_session *s, const cJSON *report, lob_error *error);

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

/* Wait for those whose entry is in the report, and add them to it. */
void lob_sums_end(lob_session *s);

/* Give up those that are left. */
void lob_sums_drop(lob_session *s);

#endif
