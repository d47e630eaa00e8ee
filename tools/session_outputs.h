/* A session's outputs: whether they may be made, and their removal when the command fails. */
#ifndef LOB_SESSION_OUTPUTS_H
#define LOB_SESSION_OUTPUTS_H

#include "tools/session_state.h"

/*
 * Check all of outputs that can be checked before the work. A report of an earlier run is no
 * obstacle: it will be replaced.
 *
 *   skip  out  --skip-existing is given and every output but the report is there; s->error then
 *              holds the line that says so
 *
 * Returns LOB_OK, LOB_EARG, LOB_EEXIST, LOB_ECREATE or LOB_ENOMEM.
 */
lob_status lob_outputs_check(lob_session *s, bool *skip);

/* Remove what a failed command wrote, from the report too; a file that replaced an older one stays.
 */
void lob_outputs_remove(lob_session *s);

#endif
