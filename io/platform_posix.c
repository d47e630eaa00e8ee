/* What files ask of the operating system, where that is Linux or another with POSIX's functions. */
#include "io/platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#ifdef __GLIBC__
#include <link.h>
#endif
#ifdef __APPLE__
#include <mach/mach.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

/* ---- names ---- */

const char *lob_name_in_path(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool lob_is_from_root(const char *path)
{
    return path[0] == '/';
}

void lob_path_take(char *path)
{
    (void)path;
}

char *lob_real_path(const char *path)
{
    return realpath(path, NULL);
}

/* The program or shared library that this code is in, malloc'ed; NULL: unknown. */
static char *code_file(void)
{
    Dl_info about;
    const char *file = NULL;
#ifdef __GLIBC__
    /* A program's name is what it was started by, which leads to it on the PATH alone; a library's
     * may begin in the folder that was the current one when it was loaded. */
    struct link_map *map;
    char origin[2 * PATH_MAX];
    if (dladdr1((void *)code_file, &about, (void **)&map, RTLD_DL_LINKMAP) != 0)
        file = map->l_name[0] ? map->l_name : "/proc/self/exe";
    if (file && file[0] != '/') {
        if (dlinfo(map, RTLD_DI_ORIGIN, origin) != 0) return NULL;
        strcat(strcat(origin, "/"), lob_name_in_path(file));
        file = origin;
    }
#else
    if (dladdr((void *)code_file, &about) != 0) file = about.dli_fname;
#endif
    return file ? realpath(file, NULL) : NULL;
}

char *lob_code_folder(void)
{
    char *const path = code_file();
    if (path) *strrchr(path, '/') = '\0';
    return path;
}

bool lob_is_program_of_ours(const char *path)
{
    struct stat is, its;
    if (stat(path, &is) != 0 || !S_ISREG(is.st_mode)) return false;
    if (is.st_uid == 0 || is.st_uid == geteuid()) return true;
    char *const code = code_file();
    const bool ours = code && stat(code, &its) == 0 && is.st_uid == its.st_uid;
    free(code);
    return ours;
}

/* ---- what is there ---- */

static bool take_stat(lob_about *about, int failed, const struct stat *is)
{
    if (failed) return false;
    *about = (lob_about){
        .is_file = S_ISREG(is->st_mode),
        .is_folder = S_ISDIR(is->st_mode),
        .bytes = is->st_size,
        .modified_ns = (int64_t)is->st_mtim.tv_sec * 1000000000 + is->st_mtim.tv_nsec,
        .device = is->st_dev,
        .number = is->st_ino,
    };
    return true;
}

bool lob_about_path(lob_about *about, const char *path)
{
    struct stat is;
    return take_stat(about, stat(path, &is), &is);
}

bool lob_about_link(lob_about *about, const char *path)
{
    struct stat is;
    return take_stat(about, lstat(path, &is), &is);
}

bool lob_about_open(lob_about *about, int fd)
{
    struct stat is;
    return take_stat(about, fstat(fd, &is), &is);
}

bool lob_can_make_files_in(const char *folder)
{
    return access(folder, W_OK | X_OK) == 0;
}

struct lob_entries {
    DIR *folder;
    const struct dirent *last;
};

lob_entries *lob_entries_open(const char *folder)
{
    lob_entries *const entries = malloc(sizeof *entries);
    if (entries) *entries = (lob_entries){opendir(folder), NULL};
    if (entries && entries->folder) return entries;
    free(entries);
    return NULL;
}

const char *lob_entries_next(lob_entries *entries)
{
    do entries->last = readdir(entries->folder);
    while (entries->last &&
           (strcmp(entries->last->d_name, ".") == 0 || strcmp(entries->last->d_name, "..") == 0));
    return entries->last ? entries->last->d_name : NULL;
}

bool lob_entries_is_folder(const lob_entries *entries)
{
    struct stat about;
    const unsigned char type = entries->last->d_type;
    if (type != DT_UNKNOWN) return type == DT_DIR; /* some file systems leave the type out */
    return fstatat(dirfd(entries->folder), entries->last->d_name, &about, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           S_ISDIR(about.st_mode);
}

void lob_entries_close(lob_entries *entries)
{
    if (entries) closedir(entries->folder);
    free(entries);
}

bool lob_name_matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

/* ---- folders and names ---- */

int lob_make_folder(const char *path)
{
    return mkdir(path, 0777);
}

int lob_remove_folder(const char *path)
{
    return rmdir(path);
}

int lob_stand_for(const char *file, const char *name)
{
    return symlink(file, name);
}

const char *lob_temporary_root(void)
{
    const char *const own = getenv("TMPDIR");
    return own && own[0] == '/' ? own : "/tmp";
}

int lob_make_own_folder(char *pattern)
{
    return mkdtemp(pattern) ? 0 : -1;
}

int lob_remove_file(const char *path)
{
    return unlink(path);
}

int lob_rename_over(const char *from, const char *to)
{
    return rename(from, to);
}

int lob_rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (link(from, to) == 0) return unlink(from), 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
    /* a file system with neither, such as FAT: the check and the rename are two steps */
    if (access(to, F_OK) == 0) return errno = EEXIST, -1;
    return rename(from, to);
}

int lob_exchange_names(const char *a, const char *b)
{
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* ---- descriptors ---- */

int lob_open_to_read(const char *path, bool follow)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
}

int lob_open_new(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int lob_open_unnamed(char **name, const char *folder)
{
    *name = NULL;
#ifdef O_TMPFILE
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    /* It can get its name only through /proc, which a container may lack. */
    struct stat a, b;
    if (asprintf(name, "/proc/self/fd/%d", fd) < 0) *name = NULL;
    if (*name && stat(*name, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino &&
        a.st_dev == b.st_dev)
        return fd;
    free(*name);
    *name = NULL;
    close(fd);
#else
    (void)folder;
#endif
    return -1;
}

int lob_name_unnamed(const char *unnamed, const char *name)
{
    return linkat(AT_FDCWD, unnamed, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

int lob_open_to_change(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC);
}

int lob_open_to_add(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/*
 * A file of another user is opened without O_CREAT, which systems refuse in folders such as /tmp.
 * Reading is enough for a lock.
 */
int lob_open_to_lock(const char *path)
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

void lob_close_from(int first)
{
#ifdef __NR_close_range /* by its number: the C library has had a name for it since 2.34 */
    if (syscall(__NR_close_range, (unsigned)first, ~0U, 0U) == 0) return;
#endif
    const long most = sysconf(_SC_OPEN_MAX); /* -1: no limit */
    for (int fd = first; fd < 65536 && (fd < most || most < 0); fd++) close(fd);
}

int lob_fd_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

/* Some network file systems lock no folders: then nobody looks. */
int lob_lock_folder(const char *path, int wait_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fd;
    while (lob_fd_lock(fd) != 0 && errno == EWOULDBLOCK) {
        if (wait_ms-- > 0) {
            nanosleep(&pause, NULL);
            continue;
        }
        close(fd);
        errno = EWOULDBLOCK;
        return -1;
    }
    return fd;
}

int lob_lock_own_folder(const char *path)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return fd;
    if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && lob_fd_lock(fd) == 0) return fd;
    close(fd);
    return -1;
}

int64_t lob_fd_read(int fd, void *bytes, size_t n)
{
    ssize_t done;
    do done = read(fd, bytes, n);
    while (done < 0 && errno == EINTR);
    return done;
}

/*
 * write(2), with RLIMIT_FSIZE turned into EFBIG: the signal that the system sends with it would end
 * the program, so it is held back for this thread and taken off its queue.
 */
static ssize_t write_quietly(int fd, const void *bytes, size_t n)
{
    sigset_t size_limit, before, pending;
    sigemptyset(&size_limit);
    sigaddset(&size_limit, SIGXFSZ);
    sigpending(&pending);
    const bool mine = !sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size_limit, &before);
    const ssize_t done = write(fd, bytes, n);
    const int why = errno;
    if (done < 0 && why == EFBIG && mine) {
        const struct timespec now = {0, 0};
        while (sigtimedwait(&size_limit, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return done;
}

int64_t lob_fd_write(int fd, const void *bytes, size_t n)
{
    /* Linux caps a call below 2^31 */
    const size_t some = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
    ssize_t done;
    do done = write_quietly(fd, bytes, some);
    while (done < 0 && errno == EINTR);
    return done;
}

int64_t lob_fd_read_at(int fd, void *bytes, size_t n, int64_t offset)
{
    ssize_t done;
    do done = pread(fd, bytes, n, (off_t)offset);
    while (done < 0 && errno == EINTR);
    return done;
}

int64_t lob_fd_write_at(int fd, const void *bytes, size_t n, int64_t offset)
{
    ssize_t done;
    do done = pwrite(fd, bytes, n, (off_t)offset);
    while (done < 0 && errno == EINTR);
    return done;
}

int64_t lob_fd_seek(int fd, int64_t offset, int whence)
{
    return lseek(fd, (off_t)offset, whence);
}

int lob_fd_cut(int fd, int64_t bytes)
{
    return ftruncate(fd, (off_t)bytes);
}

int lob_fd_flush(int fd)
{
    int failed;
    do failed = fsync(fd);
    while (failed && errno == EINTR);
    return failed && errno != EINVAL && errno != EROFS ? -1 : 0; /* these: nothing to flush to */
}

int lob_fd_flush_data(int fd)
{
    return fdatasync(fd);
}

int lob_fd_close(int fd)
{
    return close(fd) && errno != EINTR ? -1 : 0;
}

void lob_flush_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd); /* not every file system can; the file itself is safe */
    close(fd);
}

int64_t lob_disk_free(int fd)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_frsize == 0) return 0;
    const uint64_t most = INT64_MAX / (uint64_t)disk.f_frsize, free = disk.f_bavail;
    return (int64_t)((free < most ? free : most) * disk.f_frsize);
}

FILE *lob_stream_of(const char *path)
{
    return fopen(path, "re");
}

/* ---- memory ---- */

void *lob_map(int fd, size_t bytes)
{
    void *const map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void lob_unmap(void *map, size_t bytes)
{
    munmap(map, bytes);
}

void lob_unload(void *map, size_t bytes)
{
    madvise(map, bytes, MADV_DONTNEED);
}

int64_t lob_memory_free(void)
{
#ifdef __APPLE__
    /* What nobody uses, or the system would give away first. */
    vm_statistics64_data_t pages;
    mach_msg_type_number_t n = HOST_VM_INFO64_COUNT;
    const mach_port_t host = mach_host_self();
    const bool known = !host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&pages, &n);
    mach_port_deallocate(mach_task_self(), host);
    return known ? ((int64_t)pages.free_count + pages.inactive_count) * (int64_t)vm_page_size : 0;
#else
    long long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kib) == 1) break;
    if (f) fclose(f);
    if (kib > 0) return (int64_t)kib * 1024;
    const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
#endif
}

int64_t lob_memory_in_all(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

FILE *lob_memory_stream(char **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    return open_memstream(bytes, size);
}

bool lob_memory_stream_end(FILE *stream, char **bytes, size_t *size)
{
    (void)size; /* it is where lob_memory_stream was told */
    const bool whole = !ferror(stream);
    if (fclose(stream) == 0 && whole) return true;
    free(*bytes);
    *bytes = NULL;
    return false;
}

/* ---- others ---- */

char *lob_environment(const char *name)
{
    const char *const value = getenv(name);
    return value && *value ? strdup(value) : NULL;
}

void lob_random(void *bytes, size_t n)
{
    if (getrandom(bytes, n, GRND_NONBLOCK) == (ssize_t)n) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const unsigned long long code =
        (unsigned long long)now.tv_nsec * 1000003u ^ (unsigned long long)getpid();
    for (size_t i = 0; i < n; i++) ((unsigned char *)bytes)[i] = (unsigned char)(code >> i % 8 * 8);
}

const char *lob_errno_text(int number, char *text, size_t size)
{
    return strerror_r(number, text, size);
}
