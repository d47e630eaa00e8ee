/*
 * What this project uses of Linux' C library, on macOS under the same names. The build puts this
 * header before each file there (cmake/LobuleFlags.cmake), so that no file has to know.
 */
#ifndef LOB_PLATFORM_MACOS_H
#define LOB_PLATFORM_MACOS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define st_mtim          st_mtimespec
#define RENAME_NOREPLACE RENAME_EXCL
#define RENAME_EXCHANGE  RENAME_SWAP
#define GRND_NONBLOCK    0

static inline int renameat2(int from_folder, const char *from, int to_folder, const char *to,
                            unsigned how)
{
    const int failed = renameatx_np(from_folder, from, to_folder, to, how);
    if (failed && errno == ENOTSUP) errno = EINVAL; /* as Linux says of such a file system */
    return failed;
}

/* fsync(2) leaves bytes in the disk's own memory, which a power cut empties. */
static inline int lob_sync_whole(int fd)
{
    return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}
#define fsync(fd)     lob_sync_whole(fd)
#define fdatasync(fd) lob_sync_whole(fd)

static inline int lob_pipe2(int ends[2], int flags)
{
    if (pipe(ends) != 0) return -1;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, flags & O_CLOEXEC ? FD_CLOEXEC : 0);
    return 0;
}
#define pipe2 lob_pipe2 /* which macOS 27 has */

/* Of signals that are held back; it never waits. */
static inline int sigtimedwait(const sigset_t *set, siginfo_t *about, const struct timespec *wait)
{
    sigset_t pending;
    (void)about;
    (void)wait;
    sigpending(&pending);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(set, number) == 1 && sigismember(&pending, number) == 1) {
            int taken;
            return sigwait(set, &taken) == 0 ? taken : -1;
        }
    errno = EAGAIN;
    return -1;
}

static inline ssize_t getrandom(void *bytes, size_t n, unsigned how)
{
    (void)how;
    arc4random_buf(bytes, n);
    return (ssize_t)n;
}

static inline char *lob_strerror_r(int number, char *text, size_t size)
{
    (void)strerror_r(number, text, size); /* which writes a text also where it fails */
    return text;
}
#define strerror_r lob_strerror_r

#endif
