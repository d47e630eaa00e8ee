/* What a session prints. */
#ifndef LOB_SESSION_PRINT_H
#define LOB_SESSION_PRINT_H

#include "tools/session/session_state.h"

/*
 * Put the error's parts together, with what to try, into s->failure. The message of a lack of
 * memory says what was left of --max-memory; what the user gave is added.
 */
void lob_session_put_failure(lob_session *s, lob_status st);

/* One line on stderr, whatever the text holds. */
void lob_session_print_line(lob_session *s, const char *text);

/*
 * Notes are printed when the work is done, because a command that fails prints one line only: first
 * the warnings of the inputs, then the command's notes.
 */
void lob_session_print_notes(lob_session *s);

/* What a person at a terminal wants to know in the end: what there is now, and how long it took. */
void lob_session_print_finished(lob_session *s, double seconds);

/* Draw the bar, or tell another program, a few times a second. */
void lob_session_print_progress(lob_session *s, double done);

/* Take the progress bar off the terminal. */
void lob_session_clear_bar(lob_session *s);

/* The host of the outermost session; NULL: that has the process for itself. */
lob_host *lob_session_outermost(const lob_session *s);

/*
 * Flush standard output. Returns LOB_OK, also when its reader has gone, as `head` does when it has
 * seen enough: what is printed from then on is lost, which is no error; or LOB_EIO.
 */
lob_status lob_stdout_end(lob_error *error);

#endif
