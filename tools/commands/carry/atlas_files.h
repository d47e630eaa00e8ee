/* The files of atlases: pairs of an image and its labels, as typed or as listed in a table. */
#ifndef LOB_ATLAS_FILES_H
#define LOB_ATLAS_FILES_H

#include "tools/inout/volumes.h"

typedef struct {
    char *image, *labels; /* paths; malloc'ed */
} lob_atlas_file;

typedef struct {
    lob_atlas_file *file; /* count, malloc'ed */
    int count;
} lob_atlas_files;

/* Add a pair, "IMAGE,LABELS". Returns LOB_OK, LOB_EARG or LOB_ENOMEM. */
lob_status lob_atlas_add(lob_session *s, lob_atlas_files *files, const char *pair);

/*
 * The pairs of a table: a TSV or CSV whose columns `image` and `labels` hold paths, relative to its
 * folder. Returns LOB_OK, LOB_EDATA (no such columns; no row; more rows than may be; a cell is
 * empty; a pair for the second time), or what reading a file does.
 */
lob_status lob_atlas_table(lob_session *s, lob_atlas_files *files, const char *path, int most);

/* Is none of them this output? Returns LOB_OK, LOB_EARG or LOB_ENOMEM. */
lob_status lob_atlas_spare(lob_session *s, const lob_atlas_files *files, const char *output);

void lob_atlas_files_free(lob_atlas_files *files);

#endif
