/* Sessions that share a process: the scans of a batch. */
#include "tools/session/session_part.h"

#include "tools/session/session.h"
#include "tools/session/session_line.h"

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
    const lob_lent lent = s->command->part->lend(s->command->part);
    s->backend = lent.backend;
    s->context.device = lent.device;
    s->device_is_lent = true;
    snprintf(s->device_why, sizeof s->device_why, "%s", lent.why);
    return LOB_OK;
}
