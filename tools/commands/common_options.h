/* The options of a session: the command's own, those that all have, and those that only print. */
#ifndef LOB_COMMON_OPTIONS_H
#define LOB_COMMON_OPTIONS_H

#include "tools/options/manual.h"
#include "tools/session/session_state.h"

/* Make the command's settings, with the rows of its table. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_options_own(lob_session *s);

/* Add the rows that all commands have. */
void lob_options_common(lob_session *s);

/* Which arguments are no options; NULL: each may be one. */
const bool *lob_session_values(const lob_session *s);

/* What the arguments ask the command to print about itself, or NULL. They are looked at before any
 * value is parsed, so that the variables still hold the defaults. */
lob_manual_fn *lob_options_asked_for(const lob_session *s);
lob_status lob_options_print_about(lob_session *s, lob_manual_fn *print);

#endif
