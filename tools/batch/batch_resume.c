/* Whether what a row of the status table says still holds. */
#include "tools/batch/batch_scan.h"

#include "io/io.h"
#include "io/sha256.h"

#include <string.h>
#include <sys/stat.h>

/* The file of a path, or, of FILE.h5:/set, the file alone. */
static bool stat_file(struct stat *about, const char *path)
{
    char *files[2];
    if (stat(path, about) == 0) return S_ISREG(about->st_mode);
    if (lob_files_of(files, path, true) != LOB_OK) return false;
    const bool there = stat(files[0], about) == 0 && S_ISREG(about->st_mode);
    lob_files_free(files);
    return there;
}

static int64_t mtime_ns(const struct stat *about)
{
    return (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec;
}

/* Size and time say that it is the same, or, where the time has changed, its bytes do. */
static bool holds(const lob_batch_file *file, bool compare_bytes)
{
    struct stat about;
    char sha256[LOB_SHA256_TEXT];
    if (!stat_file(&about, file->path) || (int64_t)about.st_size != file->bytes) return false;
    if (mtime_ns(&about) == file->mtime_ns) return true;
    if (!compare_bytes || !file->sha256[0]) return false;
    char *files[2];
    if (lob_files_of(files, file->path, true) != LOB_OK) return false;
    const bool same =
        lob_sha256_end(lob_sha256_begin(files[0]), sha256) && strcmp(sha256, file->sha256) == 0;
    lob_files_free(files);
    return same;
}

bool lob_batch_outputs_hold(const lob_batch_row *row)
{
    struct stat about;
    for (int i = 0; i < row->outputs.count; i++)
        if (stat_file(&about, row->outputs.file[i].path) && !holds(&row->outputs.file[i], false))
            return false;
    return true;
}

bool lob_batch_row_holds(const lob_batch_row *row, const char *key)
{
    struct stat about;
    if (row->state != LOB_SCAN_DONE || strcmp(row->key, key) != 0) return false;
    for (int i = 0; i < row->outputs.count; i++)
        if (!stat_file(&about, row->outputs.file[i].path) ||
            (int64_t)about.st_size != row->outputs.file[i].bytes)
            return false;
    for (int i = 0; i < row->inputs.count; i++)
        if (!holds(&row->inputs.file[i], true)) return false;
    return true;
}
