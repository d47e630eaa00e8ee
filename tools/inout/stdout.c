/* Standard output at a command's end. */
#include "tools/inout/stdout.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool lob_stdout_closed(void)
{
    struct pollfd one = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLERR) != 0;
}

lob_status lob_stdout_end(lob_error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return LOB_OK;
    const int why = errno ? errno : EIO;
    if (lob_stdout_closed()) return LOB_OK;
    return lob_fail(error, LOB_EIO, "standard output: %s", strerror(why));
}
