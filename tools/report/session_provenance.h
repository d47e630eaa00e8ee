/* How an output was made, in a few lines that it carries itself. */
#ifndef LOB_SESSION_PROVENANCE_H
#define LOB_SESSION_PROVENANCE_H

#include "tools/session/session_state.h"

/*
 * What --provenance puts into an output: the program's version; the command line, in a recipe that
 * of the recipe and the line; and each input read so far with its SHA-256. It says nothing of time,
 * place or device, so that the same command on the same files gives the same text. A repetition,
 * whose outputs have other names, takes the text that the report has.
 *
 *   text  out  malloc'ed; NULL where the output gets none
 *   path  in   of the output
 *
 * Returns LOB_OK or LOB_ENOMEM, with a message.
 */
lob_status lob_provenance_of(lob_session *s, char **text, const char *path);

/* Put the text, which may be NULL, into the report of the output that was written last. */
void lob_provenance_report(lob_session *s, const char *text);

#endif
