/* Files as a whole: inputs read into memory, outputs that appear complete or not at all. */
#ifndef LOB_FILE_H
#define LOB_FILE_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A whole regular file in memory (mapped read-only or read; the caller cannot tell). Like every
 * program that maps files, this one is stopped by the system when somebody cuts the file shorter
 * while it is open; writers that replace files, as lob_output does, cause nothing of the kind.
 */
typedef struct {
    const unsigned char *bytes;
    size_t size;
    bool mapped;
} lob_input;

/* Returns LOB_OK, LOB_ENOINPUT (missing, not a regular file, no permission), LOB_EIO, LOB_ENOMEM.
 */
lob_status lob_input_open(lob_input *in, const char *path, lob_error *error);

/*
 * Let go of the memory that a mapped file takes, as long as nobody looks at its bytes again. For
 * files that are larger than memory.
 */
void lob_input_unload(const lob_input *in);

/* Unmap or free the bytes and leave an empty input; one that is empty, or never opened, is fine. */
void lob_input_close(lob_input *in);

/*
 * An output under way. Bytes go to fd, a new file in the folder of path; nothing is seen under path
 * until lob_output_commit.
 */
typedef struct {
    int fd;
    char *path;
    char *temporary; /* name of the file behind fd, for libraries that must open by name */
    bool force;
    bool unnamed; /* the file has no name in any folder yet, so a kill leaves nothing behind */
} lob_output;

/*
 * Start an output. A link is followed, so that the file it leads to is replaced.
 *
 * The system's limit on file sizes (RLIMIT_FSIZE) is reported like a full disk by lob_output_write.
 * A program that lets a library write to fd or temporary must ignore SIGXFSZ for the same effect.
 *
 * Returns LOB_OK, LOB_ECREATE (exists and not force, is a folder, folder missing, not writable) or
 * LOB_ENOMEM; on failure out holds nothing.
 */
lob_status lob_output_begin(lob_output *out, const char *path, bool force, lob_error *error);

/* Write all n bytes to fd, however many calls that takes. Returns LOB_OK or LOB_EIO. */
lob_status lob_output_write(lob_output *out, const void *bytes, size_t n, lob_error *error);

/* Bring every byte to the disk, so that commit can hardly fail. Returns LOB_OK or LOB_EIO. */
lob_status lob_output_flush(lob_output *out, lob_error *error);

/*
 * Flush, close and rename over path. Without force a file that has appeared under path meanwhile is
 * kept and LOB_ECREATE returned. Returns LOB_OK, LOB_EIO or LOB_ECREATE; the temporary file is gone
 * in every case, and out holds nothing any more.
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

/* What lob_output_begin would refuse, checked without creating anything. */
lob_status lob_output_check(const char *path, bool force, lob_error *error);

/*
 * Do two paths lead to one file: one that exists (through links too), or one that either would
 * make?
 */
bool lob_same_file(const char *a, const char *b);

#ifdef __cplusplus
}
#endif

#endif
