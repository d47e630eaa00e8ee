/* Sessions that share a process: the scans of a batch. */
#include "tools/session/session_part.h"

#include "tools/session/session.h"
#include "tools/session/session_line.h"

#include <string.h>

lob_part *lob_session_part(const lob_session *s)
{
    while (s->command->line) s = s->command->line->run;
    return s->command->part;
}

void lob_part_begin(lob_session *s)
{
    const lob_part *const part = s->command->part;
    s->threads = part->threads;
    s->max_memory = part->max_memory;
    s->verbose = part->verbose;
    s->quiet = !part->verbose;
}

lob_status lob_part_device(lob_session *s)
{
    lob_part *const part = s->command->part;
    part->at = lob_pool_choose(part->pool);
    s->backend = part->at->backend;
    s->context.device = part->at->device;
    s->device_is_lent = true;
    snprintf(s->device_why, sizeof s->device_why, "%s", part->at->why);
    return LOB_OK;
}

void lob_part_worked(lob_part *part, double seconds)
{
    if (part->at) lob_pool_add(part->pool, part->at, seconds);
}

void lob_part_end(lob_session *s, lob_status status, const cJSON *report)
{
    lob_part *const part = s->command->part;
    if (part->ended) part->ended(part->user, s, status, report);
    if (part->at) lob_pool_leave(part->pool, part->at);
    part->at = NULL;
}
