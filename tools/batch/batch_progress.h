/* How far a batch is: a bar on a terminal, now and then a line elsewhere. */
#ifndef LOB_BATCH_PROGRESS_H
#define LOB_BATCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool quiet, bar, shown;
    int64_t scans, done, kept, failed;
    double bytes, done_bytes, kept_bytes; /* the size of scans tells how long the rest takes */
    double start_s, shown_s;
    int64_t shown_done;
} lob_progress;

void lob_progress_begin(lob_progress *progress, int64_t scans, int64_t bytes, bool quiet);

/* A scan has ended, or was done before. */
void lob_progress_count(lob_progress *progress, int64_t bytes, bool kept);

/* Say what is wrong with a scan. */
void lob_progress_failed(lob_progress *progress, const char *scan, const char *message);

/* Show how far it is, if it is time; with `end` for the last time. */
void lob_progress_show(lob_progress *progress, bool end);

#endif
