/* What the program asks of the operating system, where that is Linux or another with POSIX's
 * functions. */
#include "tools/platform/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

const char lob_list_mark = ':';

bool lob_process_begin(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
#ifdef __GLIBC__
    /* What is freed leaves the process, and what grows is not copied: --max-memory is kept to. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    /* Each thread would reserve 64 MB of its own, where `ulimit -v` counts that. */
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an answer of write */
    signal(SIGCHLD, SIG_DFL); /* who has started this may not ask how its children end */
    return true;
}

void lob_process_restart(char **argv)
{
    char *const program = lob_process_file();
    if (program) execv(program, argv);
    free(program);
}

char *lob_process_file(void)
{
    char program[4096];
#ifdef __APPLE__
    uint32_t size = sizeof program;
    return _NSGetExecutablePath(program, &size) == 0 ? realpath(program, NULL) : NULL;
#else
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    return n > 0 ? strndup(program, (size_t)n) : NULL;
#endif
}

void *lob_process_load(const char *library, const char *name, char *why, size_t size)
{
    /* Open MPI looks for what it loads itself among the names that all see. */
    void *const handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *const found = handle ? dlsym(handle, name) : NULL;
    const char *const text = found ? NULL : dlerror();
    if (!found) snprintf(why, size, "%s", text ? text : library);
    return found;
}

void lob_process_catch(void (*stop)(int signal))
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct sigaction old, action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(stops[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
}

void lob_process_end(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static volatile sig_atomic_t ends_by;

static void at_alarm(int unused)
{
    (void)unused;
    lob_process_end(ends_by);
}

void lob_process_end_in(int seconds, int number)
{
    ends_by = number;
    signal(SIGALRM, at_alarm);
    alarm((unsigned)seconds);
}

void lob_process_keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 64 << 20);
#endif
}

/* VmHWM counts this program alone, whereas getrusage, the fallback, may count what the parent
 * process held when it started us. */
double lob_process_peak_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %lld kB", &kib) == 1) break;
    if (status) fclose(status);
    if (kib == 0) {
        struct rusage usage;
        if (getrusage(RUSAGE_SELF, &usage) == 0) kib = usage.ru_maxrss;
#ifdef __APPLE__
        kib /= 1024; /* which counts bytes there */
#endif
    }
    return (double)kib * 1024.0;
}

int lob_process_cores(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

const char *lob_lock_root(void)
{
    static const char *const folders[] = {"/run/lock", "/tmp"};
    return access(folders[0], W_OK | X_OK) == 0 ? folders[0] : folders[1];
}

char *lob_user_data(void)
{
    const char *const data = getenv("XDG_DATA_HOME"), *const home = getenv("HOME");
    char *path = NULL;
    if (data && *data) return strdup(data);
    if (home && *home && asprintf(&path, "%s/.local/share", home) < 0) return NULL;
    return path;
}

char *lob_working_folder(char *path, size_t size)
{
    return getcwd(path, size);
}

int lob_work_in(const char *folder)
{
    return chdir(folder);
}

/* ---- the terminal ---- */

bool lob_is_terminal(FILE *stream)
{
    return isatty(fileno(stream));
}

int lob_terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool lob_stdout_is_closed(void)
{
    struct pollfd one = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&one, 1, 0) == 1 && (one.revents & (POLLERR | POLLHUP)) != 0;
}

void lob_stdout_silence(void)
{
    fflush(stdout);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return;
    dup2(null, STDOUT_FILENO);
    close(null);
}

void lob_pause(int milliseconds)
{
    usleep((useconds_t)milliseconds * 1000);
}
