/* Inputs mapped into memory, and outputs that appear under their name complete or not at all. */
#include "io/file.h"
#include "io/errno_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- inputs ---- */

enum { MAP_FROM = 1 << 16 }; /* smaller files are read: a mapping costs more than the copy */

static lob_status input_read(lob_input *in, int fd, const char *path, lob_error *error)
{
    unsigned char *bytes = malloc(in->size + 1); /* + 1: an empty file has an address too */
    if (!bytes) return lob_fail_file(error, LOB_ENOMEM, path, "no memory for %zu bytes", in->size);
    size_t have = 0;
    while (have < in->size) {
        const ssize_t got = read(fd, bytes + have, in->size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            const int why = errno;
            free(bytes);
            return lob_fail_file(error, LOB_EIO, path, "cannot be read: %s", ERRNO_TEXT(why));
        }
        if (got == 0) break; /* cut shorter since fstat: what is there now is the file */
        have += (size_t)got;
    }
    in->bytes = bytes;
    in->size = have;
    return LOB_OK;
}

lob_status lob_input_open(lob_input *in, const char *path, lob_error *error)
{
    *in = (lob_input){0};
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait for ever. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        const lob_status st = errno == EIO ? LOB_EIO : LOB_ENOINPUT;
        if (strcmp(path, "-") == 0)
            return lob_fail_file(error, st, path,
                                 "input from a pipe is not supported; name a file");
        return lob_fail_file(error, st, path, "cannot be opened: %s", ERRNO_TEXT(errno));
    }
    struct stat about;
    lob_status st = LOB_OK;
    if (fstat(fd, &about) != 0)
        st = lob_fail_file(error, LOB_EIO, path, "cannot be read: %s", ERRNO_TEXT(errno));
    else if (S_ISDIR(about.st_mode))
        st = lob_fail_file(error, LOB_ENOINPUT, path, "is a folder; name a file in it");
    else if (!S_ISREG(about.st_mode))
        st =
            lob_fail_file(error, LOB_ENOINPUT, path, "is not a regular file; save it to one first");
    if (st == LOB_OK) {
        in->size = (size_t)about.st_size;
        void *map = MAP_FAILED;
        if (in->size >= MAP_FROM) map = mmap(NULL, in->size, PROT_READ, MAP_PRIVATE, fd, 0);
        in->mapped = map != MAP_FAILED;
        if (in->mapped)
            in->bytes = map;
        else
            st = input_read(in, fd, path, error);
    }
    close(fd);
    if (st != LOB_OK) *in = (lob_input){0};
    return st;
}

void lob_input_unload(const lob_input *in)
{
    if (in->mapped) madvise((void *)in->bytes, in->size, MADV_DONTNEED);
}

void lob_input_close(lob_input *in)
{
    if (in->mapped)
        munmap((void *)in->bytes, in->size);
    else
        free((void *)in->bytes);
    *in = (lob_input){0};
}

/* ---- outputs ---- */

/* The folder part of a path, malloc'ed: "a/b" gives "a", "b" gives ".", "/b" gives "/". */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_existing(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

bool lob_same_file(const char *a, const char *b)
{
    if (same_existing(a, b)) return true;
    if (strcmp(name_of(a), name_of(b)) != 0) return false;
    char *folder_a = folder_of(a), *folder_b = folder_of(b);
    /* without memory the answer is the one that keeps a caller from replacing a file */
    const bool same = !folder_a || !folder_b || same_existing(folder_a, folder_b);
    free(folder_a);
    free(folder_b);
    return same;
}

/* ---- temporary names ---- */

/*
 * A file that is being written has no name (open_unnamed) or, where the file system has no such
 * files, one of a few: ".labels.nii.gz.0.tmp", "...1.tmp", and is locked. A killed process leaves
 * it behind; the next one to need a name removes what nobody locks and nobody has written to for an
 * hour, so that such files do not pile up. The hour is for file systems whose locks do not reach
 * other machines.
 */
enum { TEMPORARY_NAMES = 16, STALE_S = 3600 };

/* malloc'ed; beyond TEMPORARY_NAMES of them a random one. */
static char *hidden_name(const char *path, int number)
{
    char *folder = folder_of(path), *hidden = NULL;
    unsigned long long code = (unsigned)number;
    if (!folder) return NULL;
    if (number >= TEMPORARY_NAMES &&
        getrandom(&code, sizeof code, GRND_NONBLOCK) != (ssize_t)sizeof code) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        code = (unsigned long long)now.tv_nsec * 1000003u ^ (unsigned long long)getpid();
    }
    /* a name may have 255 bytes; the dots, the digits and "tmp" take at most 22 */
    if (asprintf(&hidden, "%s/.%.200s.%llx.tmp", folder, name_of(path), code) < 0) hidden = NULL;
    free(folder);
    return hidden;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Remove a temporary file that a process has left behind; false when it may be in use. */
static bool remove_stale(const char *name)
{
    struct stat file, named;
    const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return false;
    const bool stale = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &file) == 0 &&
                       S_ISREG(file.st_mode) && time(NULL) - file.st_mtime > STALE_S &&
                       lstat(name, &named) == 0 && is_same_inode(&file, &named);
    const bool removed = stale && unlink(name) == 0;
    close(fd);
    return removed;
}

/*
 * Make a file under a temporary name that is free.
 *
 *   make  in  0, or -1 and errno; EEXIST when the name is taken
 *
 * Returns the name, malloc'ed, or NULL and errno.
 */
static char *make_hidden(lob_output *out, int (*make)(lob_output *out, const char *name))
{
    for (int number = 0; number < 2 * TEMPORARY_NAMES; number++) {
        char *const name = hidden_name(out->path, number);
        if (!name) {
            errno = ENOMEM;
            return NULL;
        }
        if (make(out, name) == 0) return name;
        const int why = errno;
        if (why == EEXIST && remove_stale(name) && make(out, name) == 0) return name;
        free(name);
        errno = why;
        if (why != EEXIST) return NULL;
    }
    return NULL;
}

lob_status lob_output_check(const char *path, bool force, lob_error *error)
{
    struct stat about;
    const char *name = name_of(path);
    if (strcmp(path, "-") == 0)
        return lob_fail_file(error, LOB_EARG, path,
                             "output to a pipe is not supported; name a file");
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return lob_fail_file(error, LOB_ECREATE, path, "is not the name of a file");
    if (stat(path, &about) == 0) {
        if (S_ISDIR(about.st_mode))
            return lob_fail_file(error, LOB_ECREATE, path, "is a folder; name a file in it");
        if (!S_ISREG(about.st_mode))
            return lob_fail_file(error, LOB_ECREATE, path,
                                 "is not a regular file; choose another name");
    }
    if (!force && lstat(path, &about) == 0)
        return lob_fail_file_hint(error, LOB_EEXIST, LOB_HINT_REPLACE, path, "exists");

    char *folder = folder_of(path);
    if (!folder) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    lob_status st = LOB_OK;
    if (stat(folder, &about) != 0)
        st = errno == ENOENT
                 ? lob_fail_file(error, LOB_ECREATE, path,
                                 "cannot be created: folder %s does not exist; make it first",
                                 folder)
                 : lob_fail_file(error, LOB_ECREATE, path, "cannot be created: %s",
                                 ERRNO_TEXT(errno));
    else if (!S_ISDIR(about.st_mode))
        st = lob_fail_file(error, LOB_ECREATE, path, "cannot be created: %s is not a folder",
                           folder);
    else if (access(folder, W_OK | X_OK) != 0)
        st = lob_fail_file(error, LOB_ECREATE, path, "cannot be created in folder %s: %s", folder,
                           ERRNO_TEXT(errno));
    free(folder);
    return st;
}

/* Open a file without a name in path's folder; -1 where the file system cannot. */
static int open_unnamed(lob_output *out)
{
#ifdef O_TMPFILE
    char *folder = folder_of(out->path);
    if (!folder) return -1;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0) return -1;
    /* It can get its name only through /proc, which a container may lack. */
    struct stat a, b;
    if (asprintf(&out->temporary, "/proc/self/fd/%d", fd) < 0) out->temporary = NULL;
    if (out->temporary && stat(out->temporary, &a) == 0 && fstat(fd, &b) == 0 &&
        a.st_ino == b.st_ino && a.st_dev == b.st_dev)
        return fd;
    free(out->temporary);
    out->temporary = NULL;
    close(fd);
#endif
    return -1;
}

static int create(lob_output *out, const char *name)
{
    out->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return out->fd >= 0 ? 0 : -1;
}

lob_status lob_output_begin(lob_output *out, const char *path, bool force, lob_error *error)
{
    *out = (lob_output){.fd = -1, .force = force};
    const lob_status st = lob_output_check(path, force, error);
    if (st != LOB_OK) return st;
    out->path = realpath(path, NULL); /* follows links; NULL when the file is new */
    if (!out->path) out->path = strdup(path);
    if (!out->path) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");

    out->fd = open_unnamed(out);
    out->unnamed = out->fd >= 0;
    if (out->fd < 0) out->temporary = make_hidden(out, create);
    if (out->fd >= 0) {
        flock(out->fd, LOCK_EX | LOCK_NB); /* where there are no locks, names are not used again */
        return LOB_OK;
    }
    const int why = errno;
    lob_output_abort(out);
    return lob_fail_file(error, why == ENOMEM ? LOB_ENOMEM : LOB_ECREATE, path,
                         "cannot be created: %s", ERRNO_TEXT(why));
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

lob_status lob_output_write(lob_output *out, const void *bytes, size_t n, lob_error *error)
{
    const unsigned char *from = bytes;
    while (n > 0) {
        const size_t some =
            n < (size_t)1 << 30 ? n : (size_t)1 << 30; /* Linux caps a call below 2^31 */
        const ssize_t done = write_quietly(out->fd, from, some);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return lob_fail_file(error, LOB_EIO, out->path, "write failed: %s",
                                 done == 0 ? "nothing was accepted" : ERRNO_TEXT(errno));
        from += done;
        n -= (size_t)done;
    }
    return LOB_OK;
}

lob_status lob_output_flush(lob_output *out, lob_error *error)
{
    int failed;
    do failed = fsync(out->fd);
    while (failed && errno == EINTR);
    if (failed && errno != EINVAL && errno != EROFS) /* these two: nothing to flush to */
        return lob_fail_file(error, LOB_EIO, out->path, "write failed: %s", ERRNO_TEXT(errno));
    return LOB_OK;
}

/* Give the file behind fd this name, which must be free; 0, or -1 and errno. */
static int link_unnamed(lob_output *out, const char *name)
{
    return linkat(AT_FDCWD, out->temporary, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Rename the temporary file to path, which must be free; 0, or -1 and errno. */
static int rename_to_new(const char *temporary, const char *path)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (link(temporary, path) == 0) return unlink(temporary), 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
    /* a file system with neither, such as FAT: the check and the rename are two steps */
    if (access(path, F_OK) == 0) return errno = EEXIST, -1;
    return rename(temporary, path);
}

/* Put the finished file in its place; 0, or -1 and errno. */
static int place(lob_output *out)
{
    if (!out->unnamed)
        return out->force ? rename(out->temporary, out->path)
                          : rename_to_new(out->temporary, out->path);
    if (link_unnamed(out, out->path) == 0) return 0;
    if (errno != EEXIST || !out->force) return -1;
    char *const hidden = make_hidden(out, link_unnamed);
    if (!hidden) return -1;
    const int failed = rename(hidden, out->path), why = errno;
    if (failed) unlink(hidden);
    free(hidden);
    errno = why;
    return failed;
}

/* A new name lasts through a power cut only when its folder is on the disk too. */
static void flush_folder(const char *path)
{
    char *folder = folder_of(path);
    const int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd < 0) return;
    fsync(fd); /* not every file system can; the file itself is safe */
    close(fd);
}

/* Drop everything but a file that is in its place. */
static void release(lob_output *out)
{
    if (out->fd >= 0) close(out->fd);
    free(out->path);
    free(out->temporary);
    *out = (lob_output){.fd = -1};
}

/* Is the file under the temporary name the one that was written? */
static bool is_ours(const lob_output *out)
{
    struct stat file, named;
    return fstat(out->fd, &file) == 0 && lstat(out->temporary, &named) == 0 &&
           is_same_inode(&file, &named);
}

void lob_output_abort(lob_output *out)
{
    if (!out->path) return;
    if (out->temporary && !out->unnamed && (out->fd < 0 || is_ours(out))) unlink(out->temporary);
    release(out);
}

static lob_status refuse_newcomer(const char *path, lob_error *error)
{
    return lob_fail_file_hint(error, LOB_EEXIST, LOB_HINT_REPLACE, path,
                              "has appeared meanwhile and is kept");
}

/* The last steps of an output that has been flushed. */
static lob_status finish(lob_output *out, lob_error *error)
{
    lob_status st = LOB_OK;
    if (!out->unnamed && !is_ours(out))
        st = lob_fail_file(error, LOB_EIO, out->path, "write failed: its temporary file is gone");
    if (!out->unnamed) {
        const int failed = close(out->fd); /* network file systems tell of a full disk here */
        out->fd = -1;
        if (st == LOB_OK && failed && errno != EINTR)
            st = lob_fail_file(error, LOB_EIO, out->path, "write failed: %s", ERRNO_TEXT(errno));
    }
    if (st == LOB_OK && place(out) != 0)
        st = errno == EEXIST ? refuse_newcomer(out->path, error)
                             : lob_fail_file(error, LOB_ECREATE, out->path, "cannot be created: %s",
                                             ERRNO_TEXT(errno));
    if (st != LOB_OK) {
        lob_output_abort(out);
        return st;
    }
    flush_folder(out->path);
    release(out);
    return LOB_OK;
}

lob_status lob_output_commit(lob_output *out, lob_error *error)
{
    const lob_status st = lob_output_flush(out, error);
    if (st == LOB_OK) return finish(out, error);
    lob_output_abort(out);
    return st;
}

lob_status lob_output_end(lob_output *out, lob_status st, lob_error *error)
{
    if (st == LOB_OK) return lob_output_commit(out, error);
    lob_output_abort(out);
    return st;
}

lob_status lob_output_whole(const char *path, bool force, const lob_output_part *parts, int count,
                            lob_error *error)
{
    lob_output out;
    LOB_TRY(lob_output_begin(&out, path, force, error));
    lob_status st = LOB_OK;
    for (int i = 0; i < count && st == LOB_OK; i++)
        st = lob_output_write(&out, parts[i].bytes, parts[i].size, error);
    return lob_output_end(&out, st, error);
}

lob_status lob_output_commit_pair(lob_output *first, lob_output *second, lob_error *error)
{
    lob_status st = lob_output_flush(first, error);
    if (st == LOB_OK) st = lob_output_flush(second, error);
    char *placed = NULL; /* first's path if it would be new there */
    if (st == LOB_OK && access(first->path, F_OK) != 0 && !(placed = strdup(first->path)))
        st = lob_fail_file(error, LOB_ENOMEM, first->path, "no memory");
    if (st == LOB_OK && !second->force && access(second->path, F_OK) == 0)
        st = refuse_newcomer(second->path, error);
    if (st == LOB_OK) {
        st = finish(first, error);
        if (st == LOB_OK && (st = finish(second, error)) != LOB_OK && placed) unlink(placed);
    }
    free(placed);
    lob_output_abort(first);
    lob_output_abort(second);
    return st;
}
