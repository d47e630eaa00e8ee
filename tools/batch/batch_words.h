/* From the words of `lobule batch` to its plan: recipe, scans, folders, shard. */
#ifndef LOB_BATCH_WORDS_H
#define LOB_BATCH_WORDS_H

#include "tools/batch/batch_scan.h"

/* The options, and what the words are. */
typedef struct {
    lob_words words;
    const char *images, *out, *log, *shard;
    int jobs, pictures;
    bool resume, fail_fast, merge, page;
    const char *recipe, *manifest, *given[LOB_WORDS];
    int given_count;
    lob_batch batch;
} lob_batch_settings;

/* Fill in what the batch has to do, and make its folders. Returns LOB_OK, LOB_EARG (of the words,
 * or a recipe that is wrong for all scans) or what reading and dividing does. */
lob_status lob_batch_prepare(lob_session *s, lob_batch_settings *set);

#endif
