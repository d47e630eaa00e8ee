/*
 * A line of a recipe, as the host of its command's session. The session belongs to that of the
 * whole recipe: it borrows its device, hands over what was read, written and noted, and leaves its
 * error to it. Volumes under names such as "@smooth" are read from and written to the recipe's
 * store.
 */
#ifndef LOB_RECIPE_LINE_H
#define LOB_RECIPE_LINE_H

#include "tools/inout/volumes.h"
#include "tools/recipe/store.h"
#include "tools/session/host.h"

#include <string.h>

/* A file or volume in memory that a line names. */
typedef struct {
    char *path;
    const char *option; /* the row's name */
    lob_file_content content;
    bool is_output, was_read;
    const char *typed; /* where it stands in the line's words */
} lob_line_file;

typedef struct {
    lob_host host; /* outer is the session of the recipe */
    lob_store *store;
    bool force; /* outputs that are there may be replaced */

    /* what is left behind */
    lob_status
        status; /* with its text in the outer session's error, unless LOB_OK or LOB_EDIFFER */
    lob_line_file *files;
    int file_count;
    cJSON *report; /* of the line; NULL when it was only checked, or the recipe has no report */
} lob_line;

/* Is it a file, not a volume in memory or standard output? */
static inline bool lob_line_file_is_on_disk(const lob_line_file *file)
{
    return !lob_is_stored_name(file->path) && strcmp(file->path, "-") != 0;
}

/* Make a host of a line.
 *
 *   place  in  "liver.recipe:3"; must outlive the line
 *   index  in  of the line, from 0, and count of all
 */
void lob_line_make(lob_line *out, lob_session *run, lob_store *store, const char *place, int index,
                   int count);

/* Free what a line has left behind. */
void lob_line_free(lob_line *line);

/* Volumes in memory: recipe_volumes.c. */
extern const lob_maker lob_recipe_memory;

#endif
