/* The JSON report of a session, which watches what is read and written. */
#ifndef LOB_REPORT_H
#define LOB_REPORT_H

#include "tools/session/watcher.h"
#include "tools/text/json_text.h"

/* The wall time of the command so far, and what of it no stage claims. */
typedef struct {
    double other, total;
} lob_seconds;

lob_seconds lob_session_seconds(const lob_session *s);

/* Lists inputs and outputs with their checksums, and gives outputs the text of --provenance. */
extern const lob_watcher lob_report_watcher;

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
