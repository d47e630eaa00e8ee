/*
 * Calling a command: it has options, check and work (lob_command), and all else is done here. The
 * program calls one, a recipe its lines, a batch its scans.
 */
#ifndef LOB_CALL_H
#define LOB_CALL_H

#include "tools/session/session.h"

/*
 * Parse, check, work, report. In a copy of a command's row, host says what it runs in.
 *
 *   argv  in  argc arguments after the command's name
 *
 * Prints the line that says what is wrong, unless there is a host to do it. Returns the exit code;
 * after SIGINT, SIGTERM or SIGHUP it lets the signal end the process instead.
 */
int lob_call(const lob_command *command, int argc, char **argv);

/* Parse and check alone: what its options and the names of its files say. Reads nothing. */
lob_status lob_call_check(const lob_command *command, int argc, char **argv);

/*
 * The two ends of lob_call, for those who do the work themselves. Parse the arguments and make
 * everything ready: signals, report; outputs are checked (suffix, folder, not there yet, not an
 * input, not named twice).
 *
 * Returns false when the command is over: help or version was printed, or the line that says what
 * is wrong; s->exit_code is then the command's exit code and lob_session_end must not be called.
 */
bool lob_call_begin(lob_session *s, const lob_command *command, int argc, char **argv);

/* The same for a command with rows of its own making, which must outlive the session. */
bool lob_session_begin(lob_session *s, const lob_command *command, const lob_option *rows,
                       size_t count, int argc, char **argv);

/*
 * Remove outputs that a failed command had already made, write the report, print the error line if
 * there is one, free the session. Returns the exit code, as lob_call does.
 */
int lob_session_end(lob_session *s, lob_status status);

#endif
