/* A progress callback for tests: progress must rise, and the call is cancelled at stop_at. */
#ifndef LOB_PROGRESS_LISTENER_H
#define LOB_PROGRESS_LISTENER_H

#include "tests/unit/cmocka_test.h"

typedef struct {
    double last, stop_at;
    int calls;
} progress_log;

/* A lob_context's progress; user is a progress_log. Fails the test where progress falls. */
static inline int listen(void *user, double done)
{
    progress_log *log = user;
    if (done < log->last) fail_msg("progress fell from %.17g to %.17g", log->last, done);
    if (done > 1) fail_msg("progress rose to %.17g", done);
    log->last = done;
    log->calls++;
    return done >= log->stop_at;
}

#endif
