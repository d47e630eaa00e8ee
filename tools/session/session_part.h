/*
 * The session of `lobule run` where it is one of several at a time in a process: a scan of a batch.
 * It prints nothing but what --verbose asks for, catches no signals and raises none, takes threads
 * and memory from its part of them, and computes on a device that it shares.
 */
#ifndef LOB_SESSION_PART_H
#define LOB_SESSION_PART_H

#include "kernels/backends.h"
#include "tools/session/host.h"

/* A device that is lent. */
typedef struct {
    const lob_backend *backend;
    lob_device *device; /* NULL: the CPU */
    const char *why;    /* it was chosen */
} lob_lent;

typedef struct lob_part lob_part;

struct lob_part {
    lob_host host;    /* filled in by lob_part_host */
    const char *scan; /* its name, for messages */
    int threads;
    int64_t max_memory; /* 0: no limit */
    bool verbose;

    /* The device that will be free first; at most once. */
    lob_lent (*lend)(lob_part *part);
    /* It was at work for so long. */
    void (*worked)(lob_part *part, double seconds);
    /* The session is over: called before what it holds is freed. report may be NULL. */
    void (*ended)(lob_part *part, lob_session *s, lob_status status, const cJSON *report);
};

/* Fill in the host; scan is set. Returns it. */
lob_host *lob_part_host(lob_part *part);

#endif
