/* A session's outputs: whether they may be made, and their removal when the command fails. */
#ifndef LOB_OUTPUTS_H
#define LOB_OUTPUTS_H

#include "tools/session/session_state.h"

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

/* Make room for one more output. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_session_reserve_output(lob_session *s);

/*
 * Would writing to a path change a file of another?
 *
 *   is_of_volume, used_is_of_volume  in  the path may stand for two files, or for a data set in one
 *   reading                          in  the other is read, not written
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_paths_touch(bool *touch, const char *path, bool is_of_volume, const char *used,
                           bool used_is_of_volume, bool reading);

/* Remove what has been written, as lob_outputs_remove does, and forget all of it: it is going to be
 * made again. */
void lob_outputs_forget(lob_session *s);

/* Remove what a failed command wrote, from the report too; what replaced an older file stays. */
void lob_outputs_remove(lob_session *s);

#endif
