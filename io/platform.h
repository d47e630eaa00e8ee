/*
 * What reading and writing files asks of the operating system. platform_posix.c and
 * platform_windows.c answer; no other file of the library knows which of them is there.
 *
 * Names are UTF-8, their folders parted by '/'. A descriptor is that of the C library. What fails
 * leaves errno.
 */
#ifndef LOB_PLATFORM_H
#define LOB_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- names ---- */

/* The part behind the last folder: of "a/b" it is "b", of "a/" nothing. */
const char *lob_name_in_path(const char *path);

/* The length of the folder before it, without the '/' at its end unless that makes a root: of "a/b"
 * 1, of "/b" 1, of Windows' "C:/b" 3, of "b" 0. */
static inline size_t lob_folder_length(const char *path)
{
    const size_t n = (size_t)(lob_name_in_path(path) - path);
    return n > 1 && path[n - 1] != ':' && path[n - 2] != ':' ? n - 1 : n;
}

/* Does it begin at a root, or at a drive of Windows, so that no folder may stand before it? */
bool lob_is_from_root(const char *path);

/* A path as this system's users type it, in place, with '/' between folders. */
void lob_path_take(char *path);

/* realpath(3): malloc'ed, links followed; NULL where nothing is there. */
char *lob_real_path(const char *path);

/* The folder of the program or shared library that this code is in, malloc'ed; NULL: unknown. */
char *lob_code_folder(void);

/* Is a file there, and of root, of whoever runs this or of whoever has the program or shared
 * library that this code is in? Somebody else may have put it there to be run. */
bool lob_is_program_of_ours(const char *path);

/* ---- what is there ---- */

typedef struct {
    bool is_file, is_folder; /* neither: a device, a pipe, a link that was not followed */
    int64_t bytes, modified_ns;
    uint64_t device, number; /* together: which file it is */
} lob_about;

/* Of what a path leads to; of the path itself, be it a link; of what is open. */
bool lob_about_path(lob_about *about, const char *path);
bool lob_about_link(lob_about *about, const char *path);
bool lob_about_open(lob_about *about, int fd);

static inline bool lob_is_one_file(const lob_about *a, const lob_about *b)
{
    return a->device == b->device && a->number == b->number;
}

static inline bool lob_is_file(const char *path)
{
    lob_about about;
    return lob_about_path(&about, path) && about.is_file;
}

static inline bool lob_is_folder(const char *path)
{
    lob_about about;
    return lob_about_path(&about, path) && about.is_folder;
}

/* Does it lead to anything? */
static inline bool lob_is_there(const char *path)
{
    lob_about about;
    return lob_about_path(&about, path);
}

/* May files be made in this folder? */
bool lob_can_make_files_in(const char *folder);

/* The entries of a folder, one after another in any order, without "." and "..". */
typedef struct lob_entries lob_entries;
lob_entries *lob_entries_open(const char *folder);
/* The next one's name, which stays until the call after; NULL: there is none. */
const char *lob_entries_next(lob_entries *entries);
/* Is the entry that was given last a folder, and no link? */
bool lob_entries_is_folder(const lob_entries *entries);
void lob_entries_close(lob_entries *entries);

/* Does a name match a pattern of the shell's? A dot at its start matches only itself. */
bool lob_name_matches(const char *pattern, const char *name);

/* ---- folders and names that come and go; 0, or -1 ---- */

int lob_make_folder(const char *path);
int lob_remove_folder(const char *path); /* that is empty */
int lob_remove_file(const char *path);
int lob_rename_over(const char *from, const char *to);
int lob_rename_to_new(const char *from, const char *to); /* EEXIST: the name is taken */
int lob_exchange_names(const char *a, const char *b);    /* fails where the system cannot */

/* Let a new name stand for a file: a link, or where users may make none a copy. 0, or -1. */
int lob_stand_for(const char *file, const char *name);

/* The folder for temporary ones. */
const char *lob_temporary_root(void);
/* A folder that only its owner may enter, from "/tmp/name-XXXXXX" on, where X becomes what is free.
 * 0, or -1. */
int lob_make_own_folder(char *pattern);

/* ---- descriptors; -1 where none is to be had ---- */

/* For reading. It never waits, as opening a pipe would, and never follows the last link if asked.
 */
int lob_open_to_read(const char *path, bool follow);
/* A new file for writing and reading; EEXIST: there is one. */
int lob_open_new(const char *path);
/*
 * A file without a name in this folder, gone with its descriptor unless lob_name_unnamed gives it
 * one. `name`, malloc'ed, is a path that leads to it as long as it is open.
 */
int lob_open_unnamed(char **name, const char *folder);
int lob_name_unnamed(const char *unnamed, const char *name);
/* One that is there, for writing anywhere in it. */
int lob_open_to_change(const char *path);
/* For adding rows to, made if it is not there. */
int lob_open_to_add(const char *path);
/* For a lock of others' processes and users, made if it is not there. */
int lob_open_to_lock(const char *path);
/* A lock held by who works in a folder, until it is closed; EWOULDBLOCK: another has held it for
 * wait_ms milliseconds (on Windows at least 100). */
int lob_lock_folder(const char *path, int wait_ms);
/* The same without waiting, of a folder that this user has made; -1: another's, or a link. */
int lob_lock_own_folder(const char *path);

/* Close this descriptor and all above it, as a program does that has been started with what its
 * caller had open; also between fork and exec. By POSIX alone: on Windows none is passed on. */
void lob_close_from(int first);

/* Lock a file until it is closed; EWOULDBLOCK: another process has. 0, or -1. */
int lob_fd_lock(int fd);

/* Bytes that were read or written, or -1. A limit on file sizes is an error like a full disk. */
int64_t lob_fd_read(int fd, void *bytes, size_t n);
int64_t lob_fd_write(int fd, const void *bytes, size_t n);
int64_t lob_fd_read_at(int fd, void *bytes, size_t n, int64_t offset);
int64_t lob_fd_write_at(int fd, const void *bytes, size_t n, int64_t offset);
int64_t lob_fd_seek(int fd, int64_t offset, int whence);

/* 0, or -1. */
int lob_fd_cut(int fd, int64_t bytes);
int lob_fd_flush(int fd);      /* to the disk */
int lob_fd_flush_data(int fd); /* all but its times */
int lob_fd_close(int fd);

/* Bytes that may be written to the disk of an open file; 0: none, or unknown. */
int64_t lob_disk_free(int fd);

/* A new name lasts through a power cut only when its folder is on the disk too. */
void lob_flush_folder(const char *folder);

/* A stream that reads a file; NULL where it cannot. */
FILE *lob_stream_of(const char *path);

/* ---- memory ---- */

/* The first bytes of a file, read-only; NULL where it cannot be mapped. */
void *lob_map(int fd, size_t bytes);
void lob_unmap(void *map, size_t bytes);
/* Give back its memory; it is read again when it is next used. */
void lob_unload(void *map, size_t bytes);

/* Of this machine: free for programs to take, and all; 0: unknown. */
int64_t lob_memory_free(void);
int64_t lob_memory_in_all(void);

/* A stream into memory, as open_memstream(3)'s. Its end gives the bytes, with a 0 behind them, to
 * be freed; false, with nothing to free: no memory, or one of its writes failed. */
FILE *lob_memory_stream(char **bytes, size_t *size);
bool lob_memory_stream_end(FILE *stream, char **bytes, size_t *size);

/* ---- others ---- */

/* What a variable of the environment says, malloc'ed; NULL: nothing. */
char *lob_environment(const char *name);

/* Fill bytes with chance; never waits. */
void lob_random(void *bytes, size_t n);

/* Text of an errno value, in the caller's buffer where the system's own is shared by threads. */
const char *lob_errno_text(int number, char *text, size_t size);
#define ERRNO_TEXT(number) lob_errno_text((number), (char[128]){0}, 128)

#endif
