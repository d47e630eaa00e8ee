/* Inputs that are read by a thread while the command reads another one. */
#ifndef LOB_SESSION_AHEAD_H
#define LOB_SESSION_AHEAD_H

#include "tools/session/session_state.h"

/*
 * May the session have threads that outlive a call? HDF5 is read and written in a child process,
 * which is not made beside other threads; and lines of a recipe and scans of a batch share theirs.
 */
bool lob_session_is_threaded(const lob_session *s);

/* Does an input of the command's table make a child process? */
bool lob_session_reads_in_child(const lob_session *s);

/*
 * What lob_session_ahead has read of a path, waiting for it if need be: the wait is info's
 * inflate_s. Returns false when there is nothing, or it could not be read: lob_read then says why.
 */
bool lob_ahead_take(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                    lob_file_info *info);

/* Is it there, or on its way? */
bool lob_ahead_has(const lob_session *s, const char *path);

/* Wait for all that nobody has taken, and free it. Returns whether there was any. */
bool lob_ahead_drop(lob_session *s);

#endif
