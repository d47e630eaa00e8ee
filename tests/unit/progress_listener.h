/* Progress as a test hears it: it must rise, and ends the call where it is told to. */
#ifndef LOB_PROGRESS_LISTENER_H
#define LOB_PROGRESS_LISTENER_H

#include "tests/unit/cmocka_test.h"

typedef struct {
    double last, stop_at;
    int calls;
} told;

/* A lob_context's progress, with a told as its user. Fails the test where progress falls. */
static inline int listen(void *user, double done)
{
    told *t = user;
    if (done < t->last) fail_msg("progress fell from %.17g to %.17g", t->last, done);
    if (done > 1) fail_msg("progress rose to %.17g", done);
    t->last = done;
    t->calls++;
    return done >= t->stop_at;
}

#endif
