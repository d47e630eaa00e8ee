/* Leases of devices: locks on files, which end with the process that holds them. */
#include "tools/batch/batch_pool.h"

#include "io/errno_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of the locks: one that all users of the machine may write to. */
static const char *lease_folder(void)
{
    static const char *const folders[] = {"/run/lock", "/tmp"};
    const char *const own = getenv("LOBULE_LEASES");
    if (own && *own) return own;
    return access(folders[0], W_OK | X_OK) == 0 ? folders[0] : folders[1];
}

/*
 * A file of another user is opened without O_CREAT, which systems refuse in folders such as /tmp.
 * Reading is enough for a lock.
 */
static int open_lock(const char *path)
{
    const int there = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (there >= 0 || errno != ENOENT) return there;
    const int made = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (made >= 0) {
        (void)fchmod(made, 0644); /* whatever the umask: others must be able to wait for it */
        return made;
    }
    return errno == EEXIST ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
}

lob_status lob_lease_take(int *lease, const char *identity, lob_error *error)
{
    char path[4096];
    *lease = -1;
    snprintf(path, sizeof path, "%s/lobule-%s.lock", lease_folder(), identity);
    const int fd = open_lock(path);
    if (fd < 0)
        return lob_fail(error, LOB_EIO,
                        "%s: the lock of a device cannot be opened: %s; name a folder for it in "
                        "LOBULE_LEASES",
                        path, ERRNO_TEXT(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *lease = fd;
        return LOB_OK;
    }
    const int reason = errno;
    close(fd);
    if (reason == EWOULDBLOCK)
        return lob_fail(error, LOB_EBUSY, "%s: another batch computes on this device", path);
    return lob_fail(error, LOB_EIO, "%s: cannot be locked: %s", path, ERRNO_TEXT(reason));
}
