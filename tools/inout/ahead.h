/* Inputs that are read by a thread while the command reads another one. */
#ifndef LOB_AHEAD_H
#define LOB_AHEAD_H

#include "tools/session/session_state.h"

/*
 * Begin to read, in a thread, the one frame that lob_session_read will be asked for: seeds inflate
 * beside the scan. path may be NULL; it is the very string that lob_session_read gets. What cannot
 * be read ahead, for whatever reason, is read then: errors and their order are the same. With
 * --max-memory, which counts one input after the other, nothing is read ahead.
 */
void lob_session_ahead(lob_session *s, const char *path);

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
