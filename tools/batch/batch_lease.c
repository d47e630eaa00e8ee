/* Leases of devices: locks on files, which end with the process that holds them. */
#include "tools/batch/batch.h"
#include "tools/platform/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

lob_status lob_lease_take(int *lease, const char *identity, lob_error *error)
{
    char path[4096];
    char *const own = lob_environment("LOBULE_LEASES");
    *lease = -1;
    /* Without one's own, a folder that all users of the machine may write to. */
    snprintf(path, sizeof path, "%s/lobule-%s.lock", own ? own : lob_lock_root(), identity);
    free(own);
    const int fd = lob_open_to_lock(path);
    if (fd < 0)
        return lob_fail(error, LOB_EIO,
                        "%s: the lock of a device cannot be opened: %s; name a folder for it in "
                        "LOBULE_LEASES",
                        path, ERRNO_TEXT(errno));
    if (lob_fd_lock(fd) == 0) {
        *lease = fd;
        return LOB_OK;
    }
    const int reason = errno;
    lob_fd_close(fd);
    if (reason == EWOULDBLOCK)
        return lob_fail(error, LOB_EBUSY, "%s: another batch computes on this device", path);
    return lob_fail(error, LOB_EIO, "%s: cannot be locked: %s", path, ERRNO_TEXT(reason));
}
