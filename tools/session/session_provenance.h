/* How an output was made, in a few lines that it carries itself. */
#ifndef LOB_SESSION_PROVENANCE_H
#define LOB_SESSION_PROVENANCE_H

#include "tools/session/session_state.h"

/*
 * The program's version; the command line, in a recipe that of the recipe and the line; and each
 * input read so far with its SHA-256. It says nothing of time, place or device, so that the same
 * command on the same files gives the same text. malloc'ed; NULL without memory.
 */
char *lob_provenance_text(lob_session *s);

#endif
