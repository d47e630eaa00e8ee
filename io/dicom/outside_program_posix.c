/* Running another program: found on the PATH, without a shell, bounded, ended with its caller. */
#include "io/dicom/outside_program.h"
#include "io/platform.h"
#include "volumes/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *file)
{
    struct stat about;
    return stat(file, &about) == 0 && S_ISREG(about.st_mode) && access(file, X_OK) == 0;
}

char *lob_program_find(const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        char *file = NULL;
        /* An empty entry, or one that is no path from the root, is the folder one happens to be
         * in: what lies there may have come with the scans. */
        if (*path == '/' && asprintf(&file, "%.*s/%s", (int)n, path, name) < 0) return NULL;
        if (file && is_program(file)) return file;
        free(file);
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* ---- the child ---- */

static void set_limit(int resource, int64_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return;
    if (limit.rlim_max == RLIM_INFINITY || (rlim_t)most < limit.rlim_max)
        limit.rlim_cur = limit.rlim_max = (rlim_t)most;
    setrlimit(resource, &limit);
}

/* A program at work. */
typedef struct {
    pid_t pid, guard;
    int out;  /* what it prints */
    int tied; /* closed with this process, whatever ends it */
} running;

/* The head of a group of processes, which it ends when nobody holds the other end of `tie` any
 * more. A program may be a script that has started another one: to end it alone would not do. */
static pid_t start_guard(int tie)
{
    static char shell[] = "/bin/sh", option[] = "-c", script[] = "read gone; kill -9 0";
    char *const words[] = {shell, option, script, NULL}, *const none[] = {NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, tie, 0);
    for (int fd = 1; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    const int failed = posix_spawn(&pid, shell, &files, &attributes, words, none);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return failed ? -1 : pid;
}

/* Only functions that POSIX allows between fork and exec: other threads may hold any lock. */
static void become(const lob_program *program, int out, pid_t group)
{
    if (setpgid(0, group) != 0) _exit(126);
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, program->seconds);
    set_limit(RLIMIT_FSIZE, program->file_bytes);
    if (program->memory > 0) set_limit(RLIMIT_AS, program->memory);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    lob_close_from(3);
    if (chdir(program->folder) != 0) _exit(126);
    execv(program->words[0], (char *const *)program->words);
    _exit(127);
}

/* Not posix_spawn, which cannot set limits. */
static pid_t start_program(int out, pid_t group, const lob_program *program)
{
    sigset_t all, before;
    /* No handler of this process may run in the child before they are all taken away. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0) become(program, out, group);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* End it and all that it has started. */
static void end_group(const running *r)
{
    kill(-r->guard, SIGKILL);
    while (waitpid(r->guard, NULL, 0) < 0 && errno == EINTR) {
    }
    close(r->tied);
}

static bool start(running *r, const lob_program *program)
{
    int tie[2], ends[2];
    if (pipe2(tie, O_CLOEXEC) != 0) return false;
    r->tied = tie[1];
    r->guard = start_guard(tie[0]);
    close(tie[0]);
    if (r->guard < 0) {
        close(r->tied);
        return false;
    }
    r->pid = -1;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        r->out = ends[0];
        r->pid = start_program(ends[1], r->guard, program);
        close(ends[1]);
        if (r->pid < 0) close(r->out);
    }
    if (r->pid < 0) end_group(r);
    return r->pid >= 0;
}

/* ---- the parent ---- */

/* Take what has been printed, after waiting for it a while; false: there will be no more. */
static bool listen_to(lob_program_end *end, int fd, int wait_ms)
{
    char bytes[LOB_PROGRAM_TEXT / 2];
    struct pollfd one = {.fd = fd, .events = POLLIN};
    const int ready = poll(&one, 1, wait_ms);
    if (ready <= 0) return ready == 0 || errno == EINTR;
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n > 0) lob_program_heard(end, bytes, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

static void settle(lob_program_end *end, int status)
{
    if (end->fate != LOB_PROGRAM_DONE) return;
    if (WIFSIGNALED(status)) end->fate = LOB_PROGRAM_CRASHED;
    if (!WIFEXITED(status)) return;
    end->exit_code = WEXITSTATUS(status);
    if (end->exit_code == 126 || end->exit_code == 127) end->fate = LOB_PROGRAM_NONE;
}

void lob_program_run(lob_program_end *end, const lob_program *program)
{
    enum { STEP_MS = 50, MOST_READS = 256 };
    const double start_s = lob_clock_s();
    bool prints = true, alive = true;
    int status = 0;
    running r;
    *end = (lob_program_end){.fate = LOB_PROGRAM_DONE};
    if (!start(&r, program)) {
        end->fate = LOB_PROGRAM_NONE;
        return;
    }
    while (alive) {
        if (prints)
            prints = listen_to(end, r.out, STEP_MS);
        else
            poll(NULL, 0, 1); /* it has closed its output, and is about to end */
        const pid_t ended = waitpid(r.pid, &status, WNOHANG);
        alive = ended == 0 || (ended < 0 && errno == EINTR);
        if (!alive) break;
        if (program->stop && program->stop(program->user)) end->fate = LOB_PROGRAM_STOPPED;
        if (lob_clock_s() - start_s > program->seconds) end->fate = LOB_PROGRAM_LATE;
        if (end->fate == LOB_PROGRAM_DONE) continue;
        kill(-r.guard, SIGKILL);
        while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR) {
        }
        alive = false;
    }
    /* What is left in the pipe, of which a child that it has left behind may go on to make more. */
    struct pollfd rest = {.fd = r.out, .events = POLLIN};
    for (int i = 0; prints && i < MOST_READS && poll(&rest, 1, 0) > 0; i++)
        prints = listen_to(end, r.out, 0);
    end_group(&r); /* with what it has started and not waited for */
    close(r.out);
    settle(end, status);
}
