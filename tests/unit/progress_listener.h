/* A progress callback for tests: progress must rise, and a call is cancelled at stop_at, or with
 * its stop_after-th report (0: not by their number). */
#ifndef LOB_PROGRESS_LISTENER_H
#define LOB_PROGRESS_LISTENER_H

#include "tests/unit/cmocka_test.h"

typedef struct {
    double last, stop_at;
    int calls, stop_after;
} progress_log;

/* A lob_context's progress; user is a progress_log. Fails the test where progress falls. */
static inline int listen(void *user, double done)
{
    progress_log *log = user;
    if (done < log->last) fail_msg("progress fell from %.17g to %.17g", log->last, done);
    if (done > 1) fail_msg("progress rose to %.17g", done);
    log->last = done;
    return ++log->calls == log->stop_after || done >= log->stop_at;
}

#endif
