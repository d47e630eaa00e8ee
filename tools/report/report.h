/* The JSON report of a session: what was read and written, and what came of it. */
#ifndef LOB_REPORT_H
#define LOB_REPORT_H

#include "tools/session/session_state.h"
#include "tools/text/json_text.h"

/* The wall time of the command so far, and what of it no stage claims. */
typedef struct {
    double other, total;
} lob_seconds;

lob_seconds lob_session_seconds(const lob_session *s);

/* Describe a file that was read: a volume, or, with volume and info NULL, something else, called
 * name (NULL: as the option that holds its path). lob_sums_begin came before. */
void lob_report_read(lob_session *s, const lob_volume *volume, const char *path,
                     const lob_file_info *info, const char *name);

/* Describe a file that was written; volume is NULL when it is none. */
void lob_report_written(lob_session *s, const lob_volume *volume, const char *path);

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
lob_status lob_report_comment(lob_session *s, char **text, const char *path);

/* Put the text, which may be NULL, into the report of the output that was written last. */
void lob_report_commented(lob_session *s, const char *text);

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

#endif
