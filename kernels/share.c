/* Shares of a call's progress. */
#include "kernels/share.h"

#include <stddef.h>

static int on_progress(void *user, double done)
{
    const lob_share *const s = user;
    return s->caller->progress(s->caller->user, s->from + (s->to - s->from) * done);
}

lob_status lob_share_next(lob_share *share, double to)
{
    share->from = share->to;
    share->to = to < 1 ? to : 1; /* a sum of parts may pass it by a last bit */
    return lob_report(share->caller, share->from);
}

lob_context lob_share_context(lob_share *share, lob_context inner)
{
    inner.progress = share->caller->progress ? on_progress : NULL;
    inner.user = share;
    return inner;
}
