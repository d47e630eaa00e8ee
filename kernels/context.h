/* The context of a call: threads, memory, device and progress; every algorithm takes one. */
#ifndef LOB_CONTEXT_H
#define LOB_CONTEXT_H

#include "volumes/status.h"

#include <stdint.h>

LOB_BEGIN_DECLS

typedef struct lob_device lob_device; /* an open GPU, see kernels/device/device.h */

enum { LOB_THREADS_MOST = 1024 };

typedef struct {
    int threads; /* CPU threads, 1..LOB_THREADS_MOST; results do not depend on their number */
    int64_t max_memory; /* bytes of working memory that a call may take; 0: no limit */
    lob_device *device; /* for backends on a GPU; else NULL */

    /*
     * Called now and then by the thread that called the algorithm, with the share of the work that
     * is done, in [0, 1] and never decreasing. A nonzero return cancels: the algorithm stops soon
     * and returns LOB_ECANCEL. May be NULL.
     */
    int (*progress)(void *user, double done);
    void *user; /* passed to progress */
} lob_context;

/*
 * CPU threads that a context of the calling thread can have, 1..LOB_THREADS_MOST: so many, or fewer
 * where the system makes no more (a limit of processes or of address space). Fewer than 1: as many
 * as OpenMP would take.
 *
 * OpenMP ends the process when it cannot make a thread. These are made here, and OpenMP keeps them
 * for the calls that follow in the same thread.
 */
int lob_threads(int wanted);

LOB_END_DECLS

#endif
