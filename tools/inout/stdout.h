/* The end of standard output, whose reader may have left. */
#ifndef LOB_STDOUT_H
#define LOB_STDOUT_H

#include "volumes/status.h"

/*
 * Flush. Returns LOB_OK, also when its reader has gone, as `head` does when it has seen enough:
 * what is printed from then on is lost, which is no error; or LOB_EIO.
 */
lob_status lob_stdout_end(lob_error *error);

#endif
