/* The GPU of a session, which may be opened while the inputs are read. */
#ifndef LOB_SESSION_DEVICE_H
#define LOB_SESSION_DEVICE_H

#include "tools/session/session_state.h"

/* Is the backend of --device part of this program? Returns LOB_OK, LOB_EARG or LOB_EDEVICE. */
lob_status lob_device_check(lob_session *s);

/* Is it of a scan of a batch, which has opened devices? */
bool lob_session_is_in_batch(const lob_session *s);

/*
 * At the end of a command: wait for a GPU that is still being opened.
 *
 *   status  in  of the command
 *
 * Returns status; or, when the command failed before it asked for the GPU and the GPU could not be
 * opened, what that returned, with its line in s->error: the same line comes first as when it had
 * been opened before anything else. LOB_ECANCEL stays.
 */
lob_status lob_device_settle(lob_session *s, lob_status status);

#endif
