/* Standard output at a command's end. */
#include "tools/inout/stdout.h"
#include "tools/platform/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

lob_status lob_stdout_end(lob_error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return LOB_OK;
    const int why = errno ? errno : EIO;
    if (lob_stdout_is_closed()) return LOB_OK;
    return lob_fail(error, LOB_EIO, "standard output: %s", strerror(why));
}
