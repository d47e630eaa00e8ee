/*
 * What a command runs in, if not in the program itself: a recipe, whose line it is, or a batch,
 * whose scan it does. A session without a host has the process for itself. Functions but
 * `end` may be NULL; caller and place are texts that are there.
 */
#ifndef LOB_HOST_H
#define LOB_HOST_H

#include "tools/session/session_state.h"

typedef struct lob_maker lob_maker; /* of volumes: see tools/inout/volumes.h */

struct lob_host {
    lob_session *outer; /* of the recipe, which prints the error of its line; NULL: of none, and
                           nobody prints it */
    const char
        *caller;       /* the name of the command that stands before this one in messages: "run", */
    const char *place; /* and where: "liver.recipe:3" */
    int index, count;  /* of the line, from 0, and of all lines, for the progress bar */
    const bool *values;      /* which of the session's arguments are no options (see lob_parse) */
    const lob_maker *memory; /* volumes that go from line to line; NULL: there are only files */

    /* Before options are parsed: set those that were given for all lines or scans. */
    void (*begin)(lob_session *s);
    /* After they are parsed, before outputs are checked. */
    lob_status (*parsed)(lob_session *s);
    /* Lend backend, context.device and device_why. Returns false where the session is to open its
     * own. */
    bool (*lend)(lob_session *s);
    /* The device, or the CPU, was at work for so long. Without `outer` it is there. */
    void (*worked)(lob_host *host, double seconds);
    /* Bytes that are held beside what the session holds, within its --max-memory. */
    int64_t (*held)(const lob_session *s);
    /* An attempt ran out of memory: free what can be had again. */
    void (*spare)(lob_session *s);
    /* The report was written, to a new file or over an older one. */
    void (*reported)(lob_session *s, bool is_new);
    /* The session is over, and what it holds is about to be freed. report may be NULL. */
    void (*end)(lob_session *s, lob_status status, const cJSON *report);
};

#endif
