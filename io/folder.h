/* Folders that stand for one volume: outputs that appear complete or not at all, and what lies in a
 * folder. */
#ifndef LOB_FOLDER_H
#define LOB_FOLDER_H

#include "volumes/status.h"

#include "io/platform.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A folder that is being written: `temporary` lies beside path, hidden, as ".labels.ome.zarr.0.tmp"
 * and is locked. Under path nothing changes until lob_folder_commit. What a killed process has left
 * behind is removed when the same output is next written, an hour later or more.
 */
typedef struct {
    char *path, *temporary; /* malloc'ed */
    bool force;
    int lock;
} lob_folder;

/* As lob_output_check; what is there may be a folder, which force replaces. */
lob_status lob_folder_check(const char *path, bool force, lob_error *error);

/* Start an output. Returns what lob_folder_check does, or LOB_ENOMEM; on failure out holds nothing.
 */
lob_status lob_folder_begin(lob_folder *out, const char *path, bool force, lob_error *error);

/*
 * Give the folder its name. What had it before is moved aside first and then removed; it comes back
 * when this fails. All files in it must be on the disk. Returns LOB_OK, LOB_EEXIST (and not force)
 * or LOB_ECREATE; out holds nothing any more.
 */
lob_status lob_folder_commit(lob_folder *out, lob_error *error);

/* Remove the folder and what is in it. Does nothing when begin failed or commit was called. */
void lob_folder_abort(lob_folder *out);

/* ---- what lies in a folder ---- */

/* Folders below the one that is named in which files are looked for: it ends circles of links. */
enum { LOB_FOLDER_DEPTH = 10 };

typedef enum { LOB_VISIT_ON, LOB_VISIT_ENOUGH, LOB_VISIT_FAILED } lob_visit;
typedef lob_visit lob_visit_fn(void *user, const char *path, const lob_about *about);

/*
 * The names of what lies in a folder, in order, without hidden ones but for those of Zarr's
 * metadata. false: no memory for all. To be freed by lob_folder_paths_free in either case.
 */
bool lob_folder_names(char ***names, int64_t *count, const char *folder);

/*
 * Call visit with each file of a folder, and of those in it down to a depth, in the order of names;
 * hidden ones are left out. It ends with the first that does not say LOB_VISIT_ON. Returns what the
 * last call did, or LOB_VISIT_FAILED without memory.
 */
lob_visit lob_folder_walk(const char *folder, int depth, lob_visit_fn *visit, void *user);

/*
 * The paths of all files in a folder, in the order of their names; NULL where there are none, or no
 * memory. To be freed by lob_folder_paths_free.
 */
char **lob_folder_paths(const char *folder, int64_t *count);
void lob_folder_paths_free(char **paths, int64_t count);

/*
 * The bytes of all files in a folder, and when the last of them was changed, in ns since 1970. What
 * tells a batch whether an input is still the same. false: there are none.
 */
bool lob_folder_measure(const char *folder, int64_t *bytes, int64_t *changed_ns);

/* Remove a folder and all that is below it; links are removed, not followed. 0, or -1. */
int lob_remove_tree(const char *path);

#endif
