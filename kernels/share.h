/* How far a call is, as its caller hears of it; and the share of that which an inner call has. */
#ifndef LOB_SHARE_H
#define LOB_SHARE_H

#include "kernels/context.h"

LOB_BEGIN_DECLS

/* Tell the caller how much is done. Returns LOB_OK or LOB_ECANCEL. */
static inline lob_status lob_report(const lob_context *context, double done)
{
    return context->progress && context->progress(context->user, done) ? LOB_ECANCEL : LOB_OK;
}

/* Of a call's progress, what the work at hand covers. */
typedef struct {
    const lob_context *caller;
    double from, to;
} lob_share;

/* Begin the next share, which ends at `to`. Returns LOB_OK or LOB_ECANCEL. */
lob_status lob_share_next(lob_share *share, double to);

/* An inner call's context, with the share as its progress. Share and caller have to stay where they
 * are while it is used. */
lob_context lob_share_context(lob_share *share, lob_context inner);

LOB_END_DECLS

#endif
