/* A child process for work that may crash, hang or want too much. */
#include "io/hdf5/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

enum { OUT = 3 }; /* the pipe's number in the child */

static void set_soft_limit(int resource, rlim_t soft)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    setrlimit(resource, &limit);
}

/* Address space in use now, in bytes; 0 when unknown. */
static int64_t address_space(void)
{
    char text[64];
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    return strtoll(text, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* The pipe stays open as number 3, `keep` as number 4; 0, 1 and 2 lead nowhere. */
static void keep_only(int pipe_fd, int keep)
{
    const int high = fcntl(pipe_fd, F_DUPFD, 16), kept = keep < 0 ? -1 : fcntl(keep, F_DUPFD, 16);
    const int null = open("/dev/null", O_RDWR);
    if (high < 0 || null < 0 || (keep >= 0 && kept < 0)) _exit(1);
    dup2(null, 0);
    dup2(null, 1);
    if (!ADDRESS_SANITIZER) dup2(null, 2); /* its reports are wanted */
    dup2(high, OUT);
    if (kept >= 0) dup2(kept, LOB_SANDBOX_KEPT);
    const int first = kept >= 0 ? LOB_SANDBOX_KEPT + 1 : OUT + 1;
#ifdef __NR_close_range /* by its number: the C library has had a name for it since 2.34 */
    if (syscall(__NR_close_range, (unsigned)first, ~0U, 0) == 0) return;
#endif
    const long max_fd = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < max_fd && fd < 65536; fd++) close(fd);
}

static void enter_child(int pipe_fd, int keep, pid_t parent)
{
#ifdef __GLIBC__
    /* Buffers of some MB come and go: pages that are kept need not be cleared again. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit is then an error, as on a full disk */
    set_soft_limit(RLIMIT_CORE, 0);
    keep_only(pipe_fd, keep);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
}

bool lob_sandbox_start(lob_sandbox *box, lob_sandbox_fn *fn, void *user, int keep)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20); /* fewer turns; the default works too */

    /* No handler of the parent may run in the child before they are all taken away. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        enter_child(ends[1], keep, parent);
        fn(OUT, user);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *box = (lob_sandbox){.pid = pid, .fd = ends[0]};
    return true;
}

bool lob_sandbox_receive(lob_sandbox *box, void *bytes, size_t n, int silence_s)
{
    const int wait_ms = silence_s > 0 ? silence_s * 1000 : -1;
    for (size_t got = 0; got < n;) {
        struct pollfd one = {.fd = box->fd, .events = POLLIN};
        const int ready = poll(&one, 1, wait_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            box->silent = true;
            return false;
        }
        const ssize_t r = read(box->fd, (char *)bytes + got, n - got);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return false;
        got += (size_t)r;
    }
    return true;
}

lob_sandbox_end lob_sandbox_finish(lob_sandbox *box, int *signal_number)
{
    /* A child that ended by itself has closed the pipe, or is about to: its own end comes first. */
    char byte;
    struct pollfd one = {.fd = box->fd, .events = POLLIN};
    const bool ended = poll(&one, 1, 0) == 1 && read(box->fd, &byte, 1) == 0;
    close(box->fd);
    if (!ended) kill(box->pid, SIGKILL);

    int status = 0;
    pid_t pid;
    do pid = waitpid(box->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    const int s = pid == box->pid && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal_number) *signal_number = s;
    if (box->silent) return LOB_SANDBOX_TOO_LONG;
    switch (s) {
    case 0:
        return pid == box->pid && status != 0 ? LOB_SANDBOX_CRASHED : LOB_SANDBOX_DONE;
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

void lob_sandbox_give_up(void)
{
    _exit(1);
}

void lob_sandbox_send(int out, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t w = write(out, (const char *)bytes + done, n - done);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) _exit(1);
        done += (size_t)w;
    }
}

void lob_sandbox_limit(int cpu_s, int64_t memory)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        set_soft_limit(RLIMIT_CPU,
                       (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + cpu_s + 1));
    /* The sanitizer's shadow alone is terabytes of address space. */
    const int64_t now = ADDRESS_SANITIZER ? 0 : address_space();
    if (now > 0) set_soft_limit(RLIMIT_AS, (rlim_t)(now + memory));
}

void lob_sandbox_files(bool allowed)
{
    set_soft_limit(RLIMIT_NOFILE, allowed ? 64 : 0);
    set_soft_limit(RLIMIT_FSIZE, 0);
}

typedef struct {
    void (*fn)(void *user, int64_t i);
    void *user;
    int64_t n;
    atomic_llong next;
} parallel_work;

static void *parallel_worker(void *argument)
{
    parallel_work *work = argument;
    for (;;) {
        const int64_t i = atomic_fetch_add(&work->next, 1);
        if (i >= work->n) return NULL;
        work->fn(work->user, i);
    }
}

void lob_sandbox_parallel(int64_t n, int threads, void (*fn)(void *user, int64_t i), void *user)
{
    enum { MAX_COUNT = 64 };
    pthread_t helper[MAX_COUNT];
    parallel_work work = {.fn = fn, .user = user, .n = n};
    int64_t wanted = threads < MAX_COUNT ? threads : MAX_COUNT;
    if (wanted > n) wanted = n;
    int helpers = 0;
    while (helpers < wanted - 1 &&
           pthread_create(&helper[helpers], NULL, parallel_worker, &work) == 0)
        helpers++;
    parallel_worker(&work);
    while (helpers > 0) pthread_join(helper[--helpers], NULL);
}
