/*
 * Volumes in memory that the lines of a recipe hand on under names such as "@smooth". A row is
 * added for each name when the recipe is checked; the volume comes when a line writes it, and goes
 * with the last line that reads it. A file that several lines read has a row too, under its path:
 * what the first of them has read is kept for the others, if there is memory to spare.
 */
#ifndef LOB_STORE_H
#define LOB_STORE_H

#include "io/io.h"
#include "tools/text/names.h"
#include "tools/text/path.h"

#include <stdbool.h>

typedef struct {
    char *name;         /* with its '@'; of a file, its path */
    int made, last;     /* the lines, from 0, that write it and that read it last; -1: none does */
    lob_file_info info; /* what reading the file found */
    lob_volume volume;
    bool there;
} lob_stored;

typedef struct {
    lob_stored *rows;
    int count;
    lob_names index;               /* of rows, by name */
    int64_t bytes;                 /* of the voxels that are there, */
    int64_t kept;                  /* and of them those of files */
    bool has_kept, keeps_no_files; /* files: some were kept; none shall be */
} lob_store;

/* Does a row stand for a file? */
bool lob_is_kept_file(const lob_stored *row);

/* Is it a name that can be used: '@', a letter or '_', then these, digits and '-'? */
bool lob_is_sound_name(const char *path);

/* The row of a name, or NULL. */
lob_stored *lob_store_find(const lob_store *store, const char *name);

/* Add the row of a name that a line writes. Returns it, or NULL without memory. */
lob_stored *lob_store_add(lob_store *store, const char *name, int made);

/* Put a volume, which is empty afterwards, under the name of a row. */
void lob_store_put(lob_store *store, lob_stored *row, lob_volume *volume);

/* Take the volume of a row out: out, which must hold nothing, has it afterwards. */
void lob_store_take(lob_store *store, lob_stored *row, lob_volume *out);

/*
 * Copy the volume of a row, or a frame of it, as lob_read gives it.
 *
 *   out     out  overwritten, so it must hold nothing; empty on failure
 *   frame   in   from 0; LOB_FRAME_ALL: all of them
 *   voxels  in   false: leave its data NULL
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_store_copy(lob_volume *out, const lob_stored *row, int64_t frame, bool voxels,
                          int threads);

/* Free the volume of a row; one that is not there is fine. */
void lob_store_drop(lob_store *store, lob_stored *row);

/* Free the volumes of all files. */
void lob_store_drop_files(lob_store *store);

/* Free all rows and leave an empty store. */
void lob_store_free(lob_store *store);

#endif
