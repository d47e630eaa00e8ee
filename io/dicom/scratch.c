/* A folder of our own for what other programs write, removed at the end. */
#include "io/dicom/scratch.h"

#include "io/folder.h"
#include "io/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char prefix[] = "lobule-dicom-";

/* A folder without a lock may be a second old, and its owner about to lock it. */
static bool is_old(const char *path)
{
    lob_about about;
    return lob_about_link(&about, path) && about.is_folder &&
           time(NULL) - about.modified_ns / 1000000000 > 60;
}

/* Its lock may be a file in it, which keeps the folder as long as it is open. */
static void remove_folder(const char *path, int lock)
{
    if (lock >= 0) lob_fd_close(lock);
    lob_remove_tree(path);
}

static void remove_left(void)
{
    lob_entries *const folder = lob_entries_open(lob_temporary_root());
    const char *entry;
    while (folder && (entry = lob_entries_next(folder))) {
        char *path;
        if (strncmp(entry, prefix, sizeof prefix - 1) != 0) continue;
        if (asprintf(&path, "%s/%s", lob_temporary_root(), entry) < 0) break;
        const int lock = is_old(path) ? lob_lock_own_folder(path) : -1;
        if (lock >= 0) remove_folder(path, lock);
        free(path);
    }
    lob_entries_close(folder);
}

lob_status lob_scratch_begin(lob_scratch *scratch, lob_error *error)
{
    const char *const root = lob_temporary_root();
    *scratch = (lob_scratch){.lock = -1};
    remove_left();
    if (asprintf(&scratch->path, "%s/%sXXXXXX", root, prefix) < 0) {
        scratch->path = NULL;
        return lob_fail(error, LOB_ENOMEM, "no memory");
    }
    if (lob_make_own_folder(scratch->path) == 0) {
        scratch->lock = lob_lock_own_folder(scratch->path);
        return LOB_OK;
    }
    const lob_status st = lob_fail_file(
        error, LOB_ECREATE, root, "no temporary folder can be made in it: %s", ERRNO_TEXT(errno));
    free(scratch->path);
    scratch->path = NULL;
    return st;
}

char *lob_scratch_folder(const lob_scratch *scratch, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", scratch->path, name) < 0) return NULL;
    if (lob_make_folder(path) == 0) return path;
    free(path);
    return NULL;
}

bool lob_scratch_link(const char *folder, const char *name, const char *file)
{
    char *link;
    if (asprintf(&link, "%s/%s", folder, name) < 0) return false;
    const bool made = lob_stand_for(file, link) == 0;
    free(link);
    return made;
}

void lob_scratch_end(lob_scratch *scratch)
{
    if (!scratch->path) return;
    remove_folder(scratch->path, scratch->lock);
    free(scratch->path);
    *scratch = (lob_scratch){.lock = -1};
}
