/* Sessions that share a process: the scans of a batch. */
#include "tools/session/session_part.h"

#include <stdio.h>

/* The host is the first member of its part. */
static lob_part *part_of(lob_host *host)
{
    return (lob_part *)host;
}

static void begin(lob_session *s)
{
    const lob_part *const part = part_of(s->host);
    s->threads = part->threads;
    s->max_memory = part->max_memory;
    s->verbose = part->verbose;
    s->quiet = !part->verbose;
}

static bool lend(lob_session *s)
{
    lob_part *const part = part_of(s->host);
    const lob_lent lent = part->lend(part);
    s->backend = lent.backend;
    s->context.device = lent.device;
    snprintf(s->device_why, sizeof s->device_why, "%s", lent.why);
    return true;
}

static void worked(lob_host *host, double seconds)
{
    part_of(host)->worked(part_of(host), seconds);
}

static void end(lob_session *s, lob_status status, const cJSON *report)
{
    lob_part *const part = part_of(s->host);
    part->ended(part, s, status, report);
}

lob_host *lob_part_host(lob_part *part)
{
    part->host = (lob_host){.caller = "batch",
                            .place = part->scan,
                            .begin = begin,
                            .lend = lend,
                            .worked = worked,
                            .end = end};
    return &part->host;
}
