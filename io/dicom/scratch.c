/* A folder of our own for what other programs write, removed at the end. */
#include "io/dicom/scratch.h"

#include "io/folder.h"
#include "io/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "lobule-dicom-";

static const char *base(void)
{
    const char *const chosen = getenv("TMPDIR");
    return chosen && chosen[0] == '/' ? chosen : "/tmp";
}

/* The folder's lock, taken; -1: another process has it (how: LOCK_NB) or it is no folder of ours.
 */
static int take_lock(const char *path, int how)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && flock(fd, LOCK_EX | how) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A folder without a lock may be a second old, and its owner about to lock it. */
static bool is_old(int fd)
{
    struct stat about;
    struct timespec now;
    return fstat(fd, &about) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - about.st_mtim.tv_sec > 60;
}

static void remove_left(void)
{
    DIR *const folder = opendir(base());
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char *path;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0) continue;
        if (asprintf(&path, "%s/%s", base(), entry->d_name) < 0) break;
        const int lock = take_lock(path, LOCK_NB);
        if (lock >= 0 && is_old(lock)) lob_remove_tree(path);
        if (lock >= 0) close(lock);
        free(path);
    }
    if (folder) closedir(folder);
}

lob_status lob_scratch_begin(lob_scratch *scratch, lob_error *error)
{
    *scratch = (lob_scratch){.lock = -1};
    remove_left();
    if (asprintf(&scratch->path, "%s/%sXXXXXX", base(), prefix) < 0) {
        scratch->path = NULL;
        return lob_fail(error, LOB_ENOMEM, "no memory");
    }
    if (mkdtemp(scratch->path)) {
        scratch->lock =
            take_lock(scratch->path, 0); /* who looks for what was left has it for a moment */
        return LOB_OK;
    }
    const lob_status st = lob_fail_file(
        error, LOB_ECREATE, base(), "no temporary folder can be made in it: %s", ERRNO_TEXT(errno));
    free(scratch->path);
    scratch->path = NULL;
    return st;
}

char *lob_scratch_folder(const lob_scratch *scratch, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", scratch->path, name) < 0) return NULL;
    if (mkdir(path, 0700) == 0) return path;
    free(path);
    return NULL;
}

bool lob_scratch_link(const char *folder, const char *name, const char *file)
{
    char *link;
    if (asprintf(&link, "%s/%s", folder, name) < 0) return false;
    const bool made = symlink(file, link) == 0;
    free(link);
    return made;
}

void lob_scratch_end(lob_scratch *scratch)
{
    if (!scratch->path) return;
    lob_remove_tree(scratch->path);
    if (scratch->lock >= 0) close(scratch->lock);
    free(scratch->path);
    *scratch = (lob_scratch){.lock = -1};
}
