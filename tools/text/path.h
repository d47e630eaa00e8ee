/* Paths of files, and the folders on them. */
#ifndef LOB_PATH_H
#define LOB_PATH_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Does a path stand for a volume in a recipe's memory, as @smooth does? */
static inline bool lob_is_stored_name(const char *path)
{
    return path && path[0] == '@';
}

/* The path folder/name, malloc'ed; NULL without memory. */
char *lob_path_in(const char *folder, const char *name);

/* The way to a file or folder from a folder, "../a/b.html" or "."; malloc'ed. NULL where one of
 * both is not there, where no way leads from one to the other, or without memory. */
char *lob_path_relative(const char *to, const char *from);

/* A pattern of glob(3) that only this path matches; malloc'ed, NULL without memory. */
char *lob_path_as_pattern(const char *path);

/* The nearest folder on a path that has a store's name, .zarr at its end; malloc'ed. NULL where
 * there is none, or without memory. */
char *lob_path_store(const char *path);

/* Is a path one of labels in a store, STORE.zarr/labels/NAME, whose folders come with them? */
bool lob_path_in_store(const char *path);

/* The files that a path stands for: of a volume as lob_files_of has them, else itself alone.
 * Returns LOB_OK or LOB_ENOMEM; free with lob_files_free. */
lob_status lob_path_files(char *files[2], const char *path, bool is_volume, bool reading);

/* Make the folders on the way to a file; false where that fails. */
bool lob_make_folders(const char *path);

/* Could lob_make_folders make them? It looks at the last one that is there. */
bool lob_can_make_folders(const char *path);

typedef struct {
    char **paths;
    size_t count;
    bool refused;   /* a folder could not be read, so that paths may be missing */
    bool no_memory; /* likewise */
} lob_found;

/*
 * Add the paths that match a pattern, in the order of their bytes. `*`, `?` and `[...]` match as
 * they do in a shell, thus no dot at a name's start, and a backslash makes them ordinary
 * characters. `**` between slashes stands for any folders; a path may be found twice then.
 */
void lob_find_paths(lob_found *found, const char *pattern);

void lob_found_free(lob_found *found);

#endif
