/* A batch from its settings to its end. */
#ifndef LOB_BATCH_RUN_H
#define LOB_BATCH_RUN_H

#include "tools/batch/batch_log.h"
#include "tools/session/session.h"

/* The options, and what the words are. */
typedef struct {
    lob_words words;
    const char *images, *out, *log, *shard;
    int jobs, pictures;
    bool resume, fail_fast, merge, page;
    char *const *line; /* what stands behind "--"; NULL: nothing does */
    int line_count;
    const char *recipe, *manifest, *given[LOB_WORDS];
    int given_count;
} lob_batch_settings;

/*
 * Do a batch.
 *
 *   worst  out  what it ends with if it comes to its end (see lob_work_run)
 *
 * Returns LOB_OK when it has come to its end, or what went wrong around the scans.
 */
lob_status lob_batch_run(lob_session *s, const lob_batch_settings *set, const char *folder,
                         lob_status *worst);

/* Write the page, with a stage of its own; summary may be NULL. */
lob_status lob_batch_show(lob_session *s, int pictures, const lob_batch_table *table,
                          const lob_batch_summary *summary, const char *folder);

#endif
