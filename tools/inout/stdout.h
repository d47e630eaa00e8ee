/* The end of standard output, whose reader may have left. */
#ifndef LOB_STDOUT_H
#define LOB_STDOUT_H

#include "volumes/status.h"

#include <stdbool.h>

/*
 * Has its reader gone, as `head` does when it has seen enough? What is printed from then on is
 * lost, which is no error. SIGPIPE must be ignored.
 */
bool lob_stdout_closed(void);

/* Flush. Returns LOB_OK, also when its reader has gone, or LOB_EIO. */
lob_status lob_stdout_end(lob_error *error);

#endif
