/* The inside of a sandbox, by POSIX. */
#include "io/hdf5/sandbox_inside.h"
#include "io/hdf5/sandbox_window.h"
#include "io/hdf5/sanitizers.h"
#include "io/platform.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __APPLE__
#include <mach/mach.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
#ifdef __APPLE__ /* of which some versions hold a program to such a limit */
    mach_task_basic_info_data_t about;
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    return task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&about, &count) == 0
               ? (int64_t)about.virtual_size
               : 0;
#else
    char text[64];
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    return strtoll(text, NULL, 10) * sysconf(_SC_PAGESIZE);
#endif
}

static lob_window *window; /* NULL: what is sent goes through the stream */

static void open_window(void)
{
    struct stat about;
    if (fstat(LOB_SANDBOX_WINDOW, &about) != 0) lob_inside_give_up();
    if (S_ISREG(about.st_mode)) {
        window =
            mmap(NULL, sizeof *window, PROT_READ | PROT_WRITE, MAP_SHARED, LOB_SANDBOX_WINDOW, 0);
        if (window == MAP_FAILED) lob_inside_give_up();
    }
    close(LOB_SANDBOX_WINDOW);
}

void lob_inside_begin(void)
{
#ifdef __GLIBC__
    /* Buffers of some MB come and go: pages that are kept need not be cleared again. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit is then an error, as on a full disk */
    set_soft_limit(RLIMIT_CORE, 0);
    lob_close_from(LOB_SANDBOX_WINDOW + 1);
    open_window();
}

static void write_stream(const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t w = write(1, (const char *)bytes + done, n - done);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) lob_inside_give_up();
        done += (size_t)w;
    }
}

void lob_inside_send(const void *bytes, size_t n)
{
    static unsigned filled;
    const struct timespec moment = {.tv_nsec = 20000};
    if (!window) {
        write_stream(bytes, n);
        return;
    }
    for (size_t done = 0; done < n; filled++) {
        const size_t left = n - done;
        const uint32_t some = left < LOB_WINDOW_PORTION ? (uint32_t)left : LOB_WINDOW_PORTION;
        while (filled - atomic_load(&window->emptied) >= LOB_WINDOW_PORTIONS) {
            char word; /* poll(2) fails where no file may be opened */
            if (recv(0, &word, 1, MSG_PEEK | MSG_DONTWAIT) == 0) lob_inside_give_up();
            nanosleep(&moment, NULL);
        }
        memcpy(window->portion[filled % LOB_WINDOW_PORTIONS], (const char *)bytes + done, some);
        write_stream(&some, sizeof some);
        done += some;
    }
}

void lob_inside_limit(int cpu_s, int64_t memory)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        set_soft_limit(RLIMIT_CPU,
                       (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + cpu_s + 1));
    static int64_t at_first = -1; /* for a time when no file can be opened */
    if (at_first < 0) at_first = LOB_ADDRESS_SANITIZER ? 0 : address_space();
    if (at_first > 0) set_soft_limit(RLIMIT_AS, (rlim_t)(at_first + memory));
}

void lob_inside_shut(void)
{
    const struct rlimit none = {0, 0}; /* which cannot be raised again */
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
}
