/* What lies in a folder; and outputs that are folders, made under a hidden name and renamed when
 * they are complete. */
#include "io/folder.h"

#include "io/file.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what lies in a folder ---- */

/* Names that are put one behind the other. */
typedef struct {
    char **names;
    int64_t count;
} name_list;

static bool add_name(name_list *list, const char *name)
{
    if (!lob_grow(&list->names, list->count, sizeof *list->names)) return false;
    char *const copy = strdup(name);
    if (copy) list->names[list->count++] = copy;
    return copy != NULL;
}

/* Zarr 2 keeps its metadata in files whose names begin with a dot. */
static bool is_hidden(const char *name)
{
    static const char *const shown[] = {".zarray", ".zgroup", ".zattrs", ".zmetadata"};
    bool hidden = name[0] == '.';
    for (size_t i = 0; hidden && i < sizeof shown / sizeof shown[0]; i++)
        hidden = strcmp(name, shown[i]) != 0;
    return hidden;
}

bool lob_folder_names(char ***names, int64_t *count, const char *folder)
{
    lob_entries *const entries = lob_entries_open(folder);
    name_list list = {NULL, 0};
    const char *name;
    bool fits = true;
    while (entries && fits && (name = lob_entries_next(entries)))
        if (!is_hidden(name)) fits = add_name(&list, name);
    lob_entries_close(entries);
    if (list.count > 0) qsort(list.names, (size_t)list.count, sizeof *list.names, lob_by_text);
    *names = list.names;
    *count = list.count;
    return fits;
}

lob_visit lob_folder_walk(const char *folder, int depth, lob_visit_fn *visit,
                          void *user) /* NOLINT(misc-no-recursion) */
{
    name_list list;
    lob_visit result =
        lob_folder_names(&list.names, &list.count, folder) ? LOB_VISIT_ON : LOB_VISIT_FAILED;
    for (int64_t i = 0; i < list.count && result == LOB_VISIT_ON; i++) {
        char *path;
        lob_about about;
        if (asprintf(&path, "%s/%s", folder, list.names[i]) < 0) {
            result = LOB_VISIT_FAILED;
            break;
        }
        if (!lob_about_path(&about, path))
            result = LOB_VISIT_ON; /* a link to nothing */
        else if (about.is_file)
            result = visit(user, path, &about);
        else if (about.is_folder && depth > 0)
            result = lob_folder_walk(path, depth - 1, visit, user);
        free(path);
    }
    lob_folder_paths_free(list.names, list.count);
    return result;
}

static lob_visit add_path(void *user, const char *path, const lob_about *about)
{
    (void)about;
    return add_name(user, path) ? LOB_VISIT_ON : LOB_VISIT_FAILED;
}

char **lob_folder_paths(const char *folder, int64_t *count)
{
    name_list list = {NULL, 0};
    if (lob_folder_walk(folder, LOB_FOLDER_DEPTH, add_path, &list) == LOB_VISIT_FAILED) {
        lob_folder_paths_free(list.names, list.count);
        list = (name_list){NULL, 0};
    }
    *count = list.count;
    return list.names;
}

void lob_folder_paths_free(char **paths, int64_t count)
{
    for (int64_t i = 0; i < count; i++) free(paths[i]);
    free(paths);
}

typedef struct {
    int64_t bytes, changed_ns, files;
} measures;

static lob_visit measure(void *user, const char *path, const lob_about *about)
{
    measures *const m = user;
    (void)path;
    m->files++;
    m->bytes += about->bytes;
    if (about->modified_ns > m->changed_ns) m->changed_ns = about->modified_ns;
    return LOB_VISIT_ON;
}

bool lob_folder_measure(const char *folder, int64_t *bytes, int64_t *changed_ns)
{
    measures m = {0};
    if (lob_folder_walk(folder, LOB_FOLDER_DEPTH, measure, &m) == LOB_VISIT_FAILED || m.files == 0)
        return false;
    *bytes = m.bytes;
    *changed_ns = m.changed_ns;
    return true;
}

/* ---- outputs ---- */

int lob_remove_tree(const char *path)
{
    lob_entries *const entries = lob_entries_open(path);
    const char *name;
    while (entries && (name = lob_entries_next(entries))) {
        char *below;
        const bool is_folder = lob_entries_is_folder(entries);
        if (asprintf(&below, "%s/%s", path, name) < 0) break;
        if (is_folder)
            lob_remove_tree(below);
        else
            lob_remove_file(below);
        free(below);
    }
    lob_entries_close(entries);
    return lob_remove_folder(path);
}

/* The same of one that is locked, and give up the lock; that may be a file in it, which goes last.
 */
static void remove_locked(const char *path, int lock)
{
    const bool removed = lob_remove_tree(path) == 0;
    if (lock >= 0) lob_fd_close(lock);
    if (!removed) lob_remove_folder(path);
}

lob_status lob_folder_check(const char *path, bool force, lob_error *error)
{
    lob_about about;
    if (!lob_about_path(&about, path) || !about.is_folder)
        return lob_output_check(path, force, error);
    if (!force) return lob_fail_file_hint(error, LOB_EEXIST, LOB_HINT_REPLACE, path, "exists");
    char *const beside = lob_hidden_name(path, 0); /* the folder around it must take files */
    const lob_status st = beside ? lob_output_check(beside, true, NULL) : LOB_ENOMEM;
    free(beside);
    if (st == LOB_OK) return st;
    return st == LOB_ENOMEM
               ? lob_fail_file(error, st, path, "no memory")
               : lob_fail_file(error, LOB_ECREATE, path,
                               "cannot be replaced: the folder that it is in is not writable");
}

/* Make a folder under a hidden name that is free. */
static lob_status make_hidden(lob_folder *out, lob_error *error)
{
    enum { STALE_S = 3600 };
    for (int number = 0; number < 2 * LOB_HIDDEN_NAMES; number++) {
        lob_about about;
        char *const name = lob_hidden_name(out->path, number);
        if (!name) return lob_fail_file(error, LOB_ENOMEM, out->path, "no memory");
        if (lob_about_link(&about, name) && about.is_folder &&
            time(NULL) - about.modified_ns / 1000000000 > STALE_S) {
            const int lock = lob_lock_folder(name, 0);
            if (lock >= 0) remove_locked(name, lock);
        }
        if (lob_make_folder(name) == 0) {
            out->temporary = name;
            out->lock = lob_lock_folder(name, 0); /* where there are no locks, the hour must do */
            return LOB_OK;
        }
        const int why = errno;
        free(name);
        if (why != EEXIST)
            return lob_fail_file(error, LOB_ECREATE, out->path, "cannot be created: %s",
                                 ERRNO_TEXT(why));
    }
    return lob_fail_file(error, LOB_ECREATE, out->path, "cannot be created: no name is free");
}

static void release(lob_folder *out)
{
    if (out->lock >= 0) lob_fd_close(out->lock);
    LOB_FREE(out->path, out->temporary);
    *out = (lob_folder){.lock = -1};
}

lob_status lob_folder_begin(lob_folder *out, const char *path, bool force, lob_error *error)
{
    *out = (lob_folder){.force = force, .lock = -1};
    LOB_TRY(lob_folder_check(path, force, error));
    out->path = lob_real_path(path); /* follows links; NULL when the folder is new */
    if (!out->path) out->path = strdup(path);
    const lob_status st =
        out->path ? make_hidden(out, error) : lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    if (st != LOB_OK) release(out);
    return st;
}

void lob_folder_abort(lob_folder *out)
{
    if (!out->path) return;
    if (out->temporary && lob_remove_file(out->temporary) != 0) {
        remove_locked(out->temporary, out->lock);
        out->lock = -1;
    }
    release(out);
}

/* Bring the names of a folder and of those in it to the disk. */
static void flush_tree(const char *path)
{
    lob_entries *const entries = lob_entries_open(path);
    const char *name;
    while (entries && (name = lob_entries_next(entries))) {
        char *below;
        if (!lob_entries_is_folder(entries) || asprintf(&below, "%s/%s", path, name) < 0) continue;
        flush_tree(below);
        free(below);
    }
    lob_entries_close(entries);
    lob_flush_folder(path);
}

/*
 * Put the folder in the place of what is there. What was there has the hidden name then: at once
 * where the system exchanges names; else it has a random one in between, which nobody removes.
 */
static int replace(lob_folder *out)
{
    if (lob_exchange_names(out->temporary, out->path) == 0) return 0;
    char *const aside = lob_hidden_name(out->path, LOB_HIDDEN_NAMES);
    if (!aside) return errno = ENOMEM, -1;
    int failed = lob_rename_to_new(out->path, aside);
    if (!failed && (failed = lob_rename_to_new(out->temporary, out->path)) != 0)
        lob_rename_to_new(aside, out->path);
    if (!failed) {
        free(out->temporary);
        out->temporary = strdup(aside);
    }
    free(aside);
    return failed;
}

lob_status lob_folder_commit(lob_folder *out, lob_error *error)
{
    lob_about there;
    flush_tree(out->temporary);
    if (out->lock >= 0) lob_fd_close(out->lock);
    out->lock = -1;
    const bool replaces = out->force && lob_about_link(&there, out->path);
    const int failed = replaces ? replace(out) : lob_rename_to_new(out->temporary, out->path),
              why = errno;
    lob_status st = LOB_OK;
    if (failed && why == EEXIST)
        st = lob_fail_file_hint(error, LOB_EEXIST, LOB_HINT_REPLACE, out->path,
                                "has appeared meanwhile and is kept");
    else if (failed)
        st = lob_fail_file(error, LOB_ECREATE, out->path, "cannot be created: %s", ERRNO_TEXT(why));
    if (st == LOB_OK) lob_flush_parent(out->path);
    if (st == LOB_OK && !replaces) { /* nothing has the hidden name */
        free(out->temporary);
        out->temporary = NULL;
    }
    lob_folder_abort(out);
    return st;
}
