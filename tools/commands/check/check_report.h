/* What the files of `lobule check` share. */
#ifndef LOB_CHECK_REPORT_H
#define LOB_CHECK_REPORT_H

#include "tools/session/session.h"

/* What there is to say about one file. */
typedef struct {
    lob_session *s;
    const char *path;
    cJSON *about;    /* the whole of it */
    cJSON *damage;   /* lines of it: the file is not what it should be, */
    cJSON *not_read; /* it may be sound, but its kind is not read, */
    cJSON *warnings; /* or other programs may take it otherwise than it is meant */
} lob_check_report;

/* Add a line, the file's name first. */
void lob_check_say(const lob_check_report *r, cJSON *lines, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Look at all values; labels: it holds labels, or may. */
void lob_check_voxels(const lob_check_report *r, const lob_volume *v, bool labels);

#endif
