/* Inputs mapped into memory, and outputs that appear under their name complete or not at all. */
#include "io/file.h"
#include "io/platform.h"
#include "volumes/bytes.h"
#include "volumes/free.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- inputs ---- */

enum { MAP_FROM = 1 << 16 }; /* smaller files are read: a mapping costs more than the copy */

static lob_status input_read(lob_input *in, int fd, const char *path, lob_error *error)
{
    unsigned char *bytes = malloc(in->size + 1); /* + 1: an empty file has an address too */
    if (!bytes) return lob_fail_file(error, LOB_ENOMEM, path, "no memory for %zu bytes", in->size);
    size_t have = 0;
    while (have < in->size) {
        const int64_t got = lob_fd_read(fd, bytes + have, in->size - have);
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
    const int fd = lob_open_to_read(path, true);
    if (fd < 0) {
        const lob_status st = errno == EIO ? LOB_EIO : LOB_ENOINPUT;
        if (strcmp(path, "-") == 0)
            return lob_fail_file(error, st, path,
                                 "input from a pipe is not supported; name a file, or pass volumes "
                                 "from line to line of a recipe as @name");
        return lob_fail_file(error, st, path, "cannot be opened: %s", ERRNO_TEXT(errno));
    }
    lob_about about;
    lob_status st = LOB_OK;
    if (!lob_about_open(&about, fd))
        st = lob_fail_file(error, LOB_EIO, path, "cannot be read: %s", ERRNO_TEXT(errno));
    else if (about.is_folder)
        st = lob_fail_file(error, LOB_ENOINPUT, path, "is a folder; name a file in it");
    else if (!about.is_file)
        st =
            lob_fail_file(error, LOB_ENOINPUT, path, "is not a regular file; save it to one first");
    if (st == LOB_OK) {
        in->size = (size_t)about.bytes;
        in->device = about.device;
        in->number = about.number;
        in->modified_ns = about.modified_ns;
        void *const map = in->size >= MAP_FROM ? lob_map(fd, in->size) : NULL;
        in->mapped = map != NULL;
        if (in->mapped)
            in->bytes = map;
        else
            st = input_read(in, fd, path, error);
    }
    lob_fd_close(fd);
    if (st != LOB_OK) *in = (lob_input){0};
    return st;
}

int lob_input_open_again(const lob_input *in, const char *path)
{
    lob_about about;
    const int fd = lob_open_to_read(path, true);
    if (fd >= 0 && lob_about_open(&about, fd) && about.device == in->device &&
        about.number == in->number && about.modified_ns == in->modified_ns &&
        about.bytes == (int64_t)in->size)
        return fd;
    if (fd >= 0) lob_fd_close(fd);
    return -1;
}

void lob_input_unload(const lob_input *in)
{
    if (in->mapped) lob_unload((void *)in->bytes, in->size);
}

void lob_input_close(lob_input *in)
{
    if (in->mapped)
        lob_unmap((void *)in->bytes, in->size);
    else
        free((void *)in->bytes);
    *in = (lob_input){0};
}

/* ---- outputs ---- */

char *lob_folder_of(const char *path)
{
    const size_t n = lob_folder_length(path);
    return n == 0 ? strdup(".") : strndup(path, n);
}

static bool same_existing(const char *a, const char *b)
{
    lob_about is_a, is_b;
    return lob_about_path(&is_a, a) && lob_about_path(&is_b, b) && lob_is_one_file(&is_a, &is_b);
}

bool lob_same_file(const char *a, const char *b)
{
    if (same_existing(a, b)) return true;
    if (strcmp(lob_name_in_path(a), lob_name_in_path(b)) != 0) return false;
    char *folder_a = lob_folder_of(a), *folder_b = lob_folder_of(b);
    /* without memory the answer is the one that keeps a caller from replacing a file */
    const bool same = !folder_a || !folder_b || same_existing(folder_a, folder_b);
    LOB_FREE(folder_a, folder_b);
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
enum { STALE_S = 3600 };

char *lob_hidden_name(const char *path, int number)
{
    const char *const name = lob_name_in_path(path);
    char *hidden = NULL;
    unsigned long long code = (unsigned)number;
    if (number >= LOB_HIDDEN_NAMES) lob_random(&code, sizeof code);
    /* a name may have 255 bytes; the dots, the digits and "tmp" take at most 22 */
    if (asprintf(&hidden, "%.*s.%.200s.%llx.tmp", (int)(name - path), path, name, code) < 0)
        return NULL;
    return hidden;
}

/* Remove a temporary file that a process has left behind; false when it may be in use. */
static bool remove_stale(const char *name)
{
    lob_about file, named;
    const int fd = lob_open_to_read(name, false);
    if (fd < 0) return false;
    const bool stale = lob_fd_lock(fd) == 0 && lob_about_open(&file, fd) && file.is_file &&
                       time(NULL) - file.modified_ns / 1000000000 > STALE_S &&
                       lob_about_link(&named, name) && lob_is_one_file(&file, &named);
    const bool removed = stale && lob_remove_file(name) == 0;
    lob_fd_close(fd);
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
    for (int number = 0; number < 2 * LOB_HIDDEN_NAMES; number++) {
        char *const name = lob_hidden_name(out->path, number);
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
    lob_about about;
    const char *name = lob_name_in_path(path);
    if (strcmp(path, "-") == 0)
        return lob_fail_file(error, LOB_EARG, path,
                             "output to a pipe is not supported; name a file, or pass volumes from "
                             "line to line of a recipe as @name");
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return lob_fail_file(error, LOB_ECREATE, path, "is not the name of a file");
    if (lob_about_path(&about, path)) {
        if (about.is_folder)
            return lob_fail_file(error, LOB_ECREATE, path, "is a folder; name a file in it");
        if (!about.is_file)
            return lob_fail_file(error, LOB_ECREATE, path,
                                 "is not a regular file; choose another name");
    }
    if (!force && lob_about_link(&about, path))
        return lob_fail_file_hint(error, LOB_EEXIST, LOB_HINT_REPLACE, path, "exists");

    char *folder = lob_folder_of(path);
    if (!folder) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    lob_status st = LOB_OK;
    if (!lob_about_path(&about, folder))
        st = errno == ENOENT
                 ? lob_fail_file(error, LOB_ECREATE, path,
                                 "cannot be created: folder %s does not exist; make it first",
                                 folder)
                 : lob_fail_file(error, LOB_ECREATE, path, "cannot be created: %s",
                                 ERRNO_TEXT(errno));
    else if (!about.is_folder)
        st = lob_fail_file(error, LOB_ECREATE, path, "cannot be created: %s is not a folder",
                           folder);
    else if (!lob_can_make_files_in(folder))
        st = lob_fail_file(error, LOB_ECREATE, path, "cannot be created in folder %s: %s", folder,
                           ERRNO_TEXT(errno));
    free(folder);
    return st;
}

/* Open a file without a name in path's folder; -1 where the file system cannot. */
static int open_unnamed(lob_output *out)
{
    char *folder = lob_folder_of(out->path);
    const int fd = folder ? lob_open_unnamed(&out->temporary, folder) : -1;
    free(folder);
    return fd;
}

static int create(lob_output *out, const char *name)
{
    out->fd = lob_open_new(name);
    return out->fd >= 0 ? 0 : -1;
}

lob_status lob_output_fits(const lob_output *out, int64_t bytes, lob_error *error)
{
    const int64_t free = lob_disk_free(out->fd);
    char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
    if (free == 0 || (bytes >= 0 && bytes <= free)) return LOB_OK;
    lob_bytes_texts(need, bytes < 0 ? INT64_MAX : bytes, have, free);
    return lob_fail_file(error, LOB_EIO, out->path, "needs %s on the disk, more than the %s free",
                         need, have);
}

lob_status lob_output_begin(lob_output *out, const char *path, bool force, lob_error *error)
{
    *out = (lob_output){.fd = -1, .force = force};
    LOB_TRY(lob_output_check(path, force, error));
    out->path = lob_real_path(path); /* follows links; NULL when the file is new */
    if (!out->path) out->path = strdup(path);
    if (!out->path) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");

    out->fd = open_unnamed(out);
    out->unnamed = out->fd >= 0;
    if (out->fd < 0) out->temporary = make_hidden(out, create);
    if (out->fd >= 0) {
        lob_fd_lock(out->fd); /* where there are no locks, names are not used again */
        return LOB_OK;
    }
    const int why = errno;
    lob_output_abort(out);
    return lob_fail_file(error, why == ENOMEM ? LOB_ENOMEM : LOB_ECREATE, path,
                         "cannot be created: %s", ERRNO_TEXT(why));
}

lob_status lob_output_write(lob_output *out, const void *bytes, size_t n, lob_error *error)
{
    const unsigned char *from = bytes;
    while (n > 0) {
        const int64_t done = lob_fd_write(out->fd, from, n);
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
    if (lob_fd_flush(out->fd) == 0) return LOB_OK;
    return lob_fail_file(error, LOB_EIO, out->path, "write failed: %s", ERRNO_TEXT(errno));
}

/* Give the file behind fd this name, which must be free; 0, or -1 and errno. */
static int link_unnamed(lob_output *out, const char *name)
{
    return lob_name_unnamed(out->temporary, name);
}

/* Put the finished file in its place; 0, or -1 and errno. */
static int place(lob_output *out)
{
    if (!out->unnamed)
        return out->force ? lob_rename_over(out->temporary, out->path)
                          : lob_rename_to_new(out->temporary, out->path);
    if (link_unnamed(out, out->path) == 0) return 0;
    if (errno != EEXIST || !out->force) return -1;
    char *const hidden = make_hidden(out, link_unnamed);
    if (!hidden) return -1;
    const int failed = lob_rename_over(hidden, out->path), why = errno;
    if (failed) lob_remove_file(hidden);
    free(hidden);
    errno = why;
    return failed;
}

void lob_flush_parent(const char *path)
{
    char *folder = lob_folder_of(path);
    if (folder) lob_flush_folder(folder);
    free(folder);
}

/* Drop everything but a file that is in its place. */
static void release(lob_output *out)
{
    if (out->fd >= 0) lob_fd_close(out->fd);
    LOB_FREE(out->path, out->temporary);
    *out = (lob_output){.fd = -1};
}

/* Is the file under the temporary name the one that was written? */
static bool is_ours(const lob_output *out)
{
    lob_about file, named;
    return lob_about_open(&file, out->fd) && lob_about_link(&named, out->temporary) &&
           lob_is_one_file(&file, &named);
}

void lob_output_abort(lob_output *out)
{
    if (!out->path) return;
    if (out->temporary && !out->unnamed && (out->fd < 0 || is_ours(out)))
        lob_remove_file(out->temporary);
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
        const int failed =
            lob_fd_close(out->fd); /* network file systems tell of a full disk here */
        out->fd = -1;
        if (st == LOB_OK && failed)
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
    lob_flush_parent(out->path);
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

/* Writers of a pair take turns: of two that place at the same time, each could leave one part.
 * Where there are no locks, or a folder is held for long, nobody waits. Returns what to close, or
 * -1. */
static int take_turn(const char *path)
{
    enum { MOST_MS = 2000 };
    char *const folder = lob_folder_of(path);
    const int turn = folder ? lob_lock_folder(folder, MOST_MS) : -1;
    free(folder);
    return turn;
}

lob_status lob_output_commit_pair(lob_output *first, lob_output *second, lob_error *error)
{
    lob_status st = lob_output_flush(first, error);
    if (st == LOB_OK) st = lob_output_flush(second, error);
    char *placed = NULL; /* first's path if it would be new there */
    const int turn = st == LOB_OK ? take_turn(first->path) : -1;
    if (st == LOB_OK && !lob_is_there(first->path) && !(placed = strdup(first->path)))
        st = lob_fail_file(error, LOB_ENOMEM, first->path, "no memory");
    if (st == LOB_OK && !second->force && lob_is_there(second->path))
        st = refuse_newcomer(second->path, error);
    if (st == LOB_OK) {
        st = finish(first, error);
        if (st == LOB_OK && (st = finish(second, error)) != LOB_OK && placed)
            lob_remove_file(placed);
    }
    if (turn >= 0) lob_fd_close(turn);
    free(placed);
    lob_output_abort(first);
    lob_output_abort(second);
    return st;
}
