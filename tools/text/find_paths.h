/* Paths found by a pattern of the shell's. */
#ifndef LOB_FIND_PATHS_H
#define LOB_FIND_PATHS_H

#include <stdbool.h>
#include <stddef.h>

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
