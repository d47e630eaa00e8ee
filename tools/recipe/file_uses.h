/*
 * Who writes a file and who reads it, among users that have numbers: lines of a recipe, scans of a
 * batch. A file goes by its real path, so that links and ".." give it no second name.
 */
#ifndef LOB_FILE_USES_H
#define LOB_FILE_USES_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lob_file_use {
    char *path;
    int64_t writer;     /* -1: nobody */
    int64_t readers[2]; /* two that read it, in the order in which they were noted; -1: fewer do */
    int64_t inside[2];  /* likewise two that read or write what lies in it, a store */
    struct lob_file_use *store; /* that it lies in; NULL: none */
} lob_file_use;

/* All zeros at first; freed by lob_file_uses_free. */
typedef struct {
    void *tree; /* of tsearch */
} lob_file_uses;

/*
 * The entries of the files that a path stands for: of a volume both files of a pair, and the file
 * of FILE.h5:/set. Those that are new have no users.
 *
 *   use  out  the second is NULL where there is one file; they stay where they are
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_file_uses_of(lob_file_use *use[2], lob_file_uses *uses, const char *path,
                            bool is_volume, bool reading);

/* Note that a user reads the file, or writes it. */
void lob_file_use_read(lob_file_use *use, int64_t user);
void lob_file_use_write(lob_file_use *use, int64_t user);

/* Another than this of two users, of a file's readers or those inside; -1: none. */
int64_t lob_file_use_other(const int64_t users[2], int64_t user);

void lob_file_uses_free(lob_file_uses *uses);

#endif
