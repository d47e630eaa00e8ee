/* Starting a program in a sandbox and talking to it, by POSIX. */
#include "io/hdf5/sandbox.h"
#include "io/hdf5/sandbox_inside.h"
#include "io/hdf5/sandbox_window.h"
#include "io/hdf5/sanitizers.h"
#include "io/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* A pair of streams that no program inherits by accident: it would keep the other end open. */
static bool make_stream(int ends[2])
{
#ifdef SOCK_CLOEXEC
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
#endif
#ifdef SO_NOSIGPIPE
    const int yes = 1;
    setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
    const int wanted = 1 << 20; /* fewer turns; what the system gives works too */
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    return true;
}

/* The same open file under a number that the program's own do not take; -1: none. */
static int above_the_program_s(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOB_SANDBOX_WINDOW + 1);
}

/* A window, and the open file that it is, which keeps its size whatever the program does; NULL
 * and -1 where the system has no such files. */
static lob_window *make_window(int *fd)
{
    lob_window *window = MAP_FAILED;
    *fd = -1;
#ifdef MFD_ALLOW_SEALING
    struct rlimit largest; /* a file beyond it ends a program that does not ignore SIGXFSZ */
    if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < sizeof *window) return NULL;
    const int made = memfd_create("lobule", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *fd = above_the_program_s(made);
    if (*fd >= 0 && ftruncate(*fd, sizeof *window) == 0 &&
        fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        window = mmap(NULL, sizeof *window, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (made >= 0) close(made);
#endif
    if (window != MAP_FAILED) return window;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return NULL;
}

static bool spawn(pid_t *pid, const char *program, const char *argument, int stream, int file,
                  int window)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, stream, 0);
    posix_spawn_file_actions_adddup2(&files, stream, 1);
    if (!LOB_ADDRESS_SANITIZER) /* its reports are wanted */
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    if (file >= 0) posix_spawn_file_actions_adddup2(&files, file, LOB_SANDBOX_FILE);
    posix_spawn_file_actions_adddup2(&files, window >= 0 ? window : stream, LOB_SANDBOX_WINDOW);
    char *const words[] = {(char *)program, (char *)argument, NULL};
    const int failed = posix_spawn(pid, program, &files, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    errno = failed;
    return failed == 0;
}

bool lob_sandbox_start(lob_sandbox *box, const char *program, const char *argument, int file)
{
    int ends[2];
    if (!make_stream(ends)) {
        snprintf(box->why, sizeof box->why, "%s", ERRNO_TEXT(errno));
        return false;
    }
    const int stream = above_the_program_s(ends[1]), kept = above_the_program_s(file);
    int seen;
    lob_window *const window = make_window(&seen);
    pid_t pid;
    const bool started = stream >= 0 && (file < 0 || kept >= 0) &&
                         spawn(&pid, program, argument, stream, kept, seen);
    if (!started) snprintf(box->why, sizeof box->why, "%s", ERRNO_TEXT(errno));
    close(ends[1]);
    if (stream >= 0) close(stream);
    if (kept >= 0) close(kept);
    if (seen >= 0) close(seen);
    if (started) {
        *box = (lob_sandbox){.process = pid, .stream = ends[0], .window = window};
        return true;
    }
    if (window) munmap(window, sizeof *window);
    close(ends[0]);
    return false;
}

bool lob_sandbox_send(lob_sandbox *box, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t w =
            send((int)box->stream, (const char *)bytes + done, n - done, MSG_NOSIGNAL);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        done += (size_t)w;
    }
    return true;
}

/* Exactly n bytes of the stream. */
static bool read_stream(lob_sandbox *box, void *bytes, size_t n, int silence_s)
{
    const int wait_ms = silence_s > 0 ? silence_s * 1000 : -1;
    for (size_t got = 0; got < n;) {
        struct pollfd one = {.fd = (int)box->stream, .events = POLLIN};
        const int ready = poll(&one, 1, wait_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            box->silent = true;
            return false;
        }
        const ssize_t r = read((int)box->stream, (char *)bytes + got, n - got);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return false;
        got += (size_t)r;
    }
    return true;
}

bool lob_sandbox_receive(lob_sandbox *box, void *bytes, size_t n, int silence_s)
{
    lob_window *const window = box->window;
    if (!window) return read_stream(box, bytes, n, silence_s);
    for (size_t got = 0; got < n;) {
        if (box->from == box->end) {
            uint32_t length;
            if (!read_stream(box, &length, sizeof length, silence_s)) return false;
            box->garbled = length == 0 || length > LOB_WINDOW_PORTION;
            if (box->garbled) return false;
            box->from = 0;
            box->end = length;
        }
        const size_t left = box->end - box->from, some = left < n - got ? left : n - got;
        memcpy((char *)bytes + got, window->portion[box->portion] + box->from, some);
        got += some;
        box->from += (uint32_t)some;
        if (box->from == box->end) {
            box->portion = (box->portion + 1) % LOB_WINDOW_PORTIONS;
            atomic_fetch_add(&window->emptied, 1);
        }
    }
    return true;
}

lob_sandbox_end lob_sandbox_finish(lob_sandbox *box, int *signal_number)
{
    /* A program that ended by itself has closed the stream, or is about to: its own end comes
     * first. */
    char byte;
    const pid_t child = (pid_t)box->process;
    struct pollfd one = {.fd = (int)box->stream, .events = POLLIN};
    const bool ended = poll(&one, 1, 0) == 1 && read((int)box->stream, &byte, 1) <= 0;
    close((int)box->stream);
    if (box->window) munmap(box->window, sizeof *box->window);
    box->window = NULL;
    if (!ended) kill(child, SIGKILL);

    int status = 0;
    pid_t pid;
    do pid = waitpid(child, &status, 0);
    while (pid < 0 && errno == EINTR);
    const int s = pid == child && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal_number) *signal_number = s;
    if (box->silent) return LOB_SANDBOX_TOO_LONG;
    switch (s) {
    case 0:
        if (pid != child || status == 0) return LOB_SANDBOX_DONE;
        return WEXITSTATUS(status) == LOB_SANDBOX_REFUSES ? LOB_SANDBOX_OTHER : LOB_SANDBOX_CRASHED;
    case SIGXCPU:
        return LOB_SANDBOX_TOO_LONG;
    case SIGKILL:
        return ended ? LOB_SANDBOX_KILLED : LOB_SANDBOX_DONE;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        return LOB_SANDBOX_INTERRUPTED;
    default:
        return LOB_SANDBOX_CRASHED;
    }
}
