/* Files: inputs in memory as a whole, outputs that appear complete or not at all. */
#ifndef LOB_FILE_H
#define LOB_FILE_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A whole regular file in memory, mapped read-only or read. If another process truncates a mapped
 * file, the system ends this process, as it does with every program that maps files. Writers that
 * replace files, as lob_output does, are safe.
 */
typedef struct {
    const unsigned char *bytes;
    size_t size;
    bool mapped;
    uint64_t device, number; /* which file it is, and its age */
    int64_t modified_ns;
} lob_input;

/* Returns LOB_OK, LOB_ENOINPUT (missing, not a regular file, no permission), LOB_EIO, LOB_ENOMEM.
 */
lob_status lob_input_open(lob_input *in, const char *path, lob_error *error);

/* Open the same file again, for another process to read. Returns a descriptor, or -1: it is gone,
 * is another one, or has been changed. */
int lob_input_open_again(const lob_input *in, const char *path);

/*
 * Give back the memory of a mapped file; it is read again when its bytes are next used. For files
 * larger than memory.
 */
void lob_input_unload(const lob_input *in);

/* Unmap or free the bytes and leave an empty input; one that is empty, or never opened, is fine. */
void lob_input_close(lob_input *in);

/*
 * An output that is being written. Bytes go to fd, a new file in the folder of path; under path
 * nothing changes until lob_output_commit. The file has no name there, so that the system removes
 * it when the process is killed; where the file system has no such files it is hidden, as
 * ".labels.nii.gz.0.tmp", and what a killed process has left behind is removed when the same output
 * is next written, an hour later or more.
 */
typedef struct {
    int fd;
    char *path;
    char *temporary; /* name of the file of fd, for libraries that open files by name */
    bool force;
    bool unnamed; /* the file has no name in any folder yet: a killed process leaves nothing */
} lob_output;

/*
 * Start an output. A link is followed, so that the file it leads to is replaced.
 *
 * The system's limit on file sizes (RLIMIT_FSIZE) is reported like a full disk by lob_output_write.
 * A program that lets a library write to fd or temporary must ignore SIGXFSZ for the same effect.
 *
 * Returns LOB_OK, LOB_EEXIST (and not force), LOB_ECREATE (is a folder, folder missing, not
 * writable) or LOB_ENOMEM; on failure out holds nothing.
 */
lob_status lob_output_begin(lob_output *out, const char *path, bool force, lob_error *error);

/* Has the disk room for so many bytes, as far as the system knows? Else a header that states more
 * voxels than anybody has would fill it. Returns LOB_OK or LOB_EIO. */
lob_status lob_output_fits(const lob_output *out, int64_t bytes, lob_error *error);

/* Write all n bytes to fd, however many calls that takes. Returns LOB_OK or LOB_EIO. */
lob_status lob_output_write(lob_output *out, const void *bytes, size_t n, lob_error *error);

/* Bring every byte to the disk, so that commit can hardly fail. Returns LOB_OK or LOB_EIO. */
lob_status lob_output_flush(lob_output *out, lob_error *error);

/*
 * Flush, close and rename over path. Without force a file that has appeared under path meanwhile is
 * kept and LOB_EEXIST returned. Returns LOB_OK, LOB_EIO, LOB_EEXIST or LOB_ECREATE; the temporary
 * file is gone in every case, and out holds nothing any more.
 */
lob_status lob_output_commit(lob_output *out, lob_error *error);

/*
 * Commit two outputs that belong together: both are flushed before either is seen, and second,
 * which readers look for, appears last. When second cannot be placed, first is taken back if
 * nothing was under its path before. Returns what lob_output_commit does; both outputs hold nothing
 * any more.
 */
lob_status lob_output_commit_pair(lob_output *first, lob_output *second, lob_error *error);

/* Remove the temporary file. Does nothing when begin failed or commit was called. */
void lob_output_abort(lob_output *out);

/*
 * The end of an output that was written with this status: lob_output_commit when it is LOB_OK, else
 * lob_output_abort. Returns st or what lob_output_commit does.
 */
lob_status lob_output_end(lob_output *out, lob_status st, lob_error *error);

/* Bytes that follow one another in a file. */
typedef struct {
    const void *bytes;
    size_t size;
} lob_output_part;

/* Write a file of count parts, from begin to commit. Returns what these do. */
lob_status lob_output_whole(const char *path, bool force, const lob_output_part *parts, int count,
                            lob_error *error);

/* Make the checks of lob_output_begin without creating anything. LOB_EARG for "-", which others
 * take for a pipe. */
lob_status lob_output_check(const char *path, bool force, lob_error *error);

/* The numbers of hidden names that are tried one after another; those above are random. */
enum { LOB_HIDDEN_NAMES = 16 };

/* The folder that a path is in, "." where it names none, malloc'ed; NULL without memory. */
char *lob_folder_of(const char *path);

/* A hidden name beside a path, for an output that is not complete: ".labels.nii.gz.0.tmp",
 * malloc'ed; NULL without memory. */
char *lob_hidden_name(const char *path, int number);

/* Bring the name of a path to the disk: the folder that it is in. */
void lob_flush_parent(const char *path);

/*
 * Are two paths the same file, either one that exists (links are followed) or one that writing to
 * them would create?
 */
bool lob_same_file(const char *a, const char *b);

#endif
