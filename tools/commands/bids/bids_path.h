/*
 * Names and places of files in a dataset of the Brain Imaging Data Structure (BIDS): a folder with
 * folders sub-LABEL, in these ses-LABEL where there are sessions, in these one for each kind of
 * data, and files whose names begin with the same entities: sub-01/ses-2/anat/sub-01_ses-2_T1w.nii.
 */
#ifndef LOB_BIDS_PATH_H
#define LOB_BIDS_PATH_H

#include "tools/session/session.h"
#include "tools/session/watcher.h"
#include "volumes/status.h"

#include <stdbool.h>

/* The dataset that a file lies in: the path of the folder above its sub-LABEL, "." for the working
 * one; malloc'ed. NULL: no folder of the path is a sub-LABEL, or there is no memory. */
char *lob_bids_root(const char *path);

/*
 * Where labels of an image go in a dataset of derivatives: entities and folders as the image has
 * them, its suffix left out.
 *
 *   path   out  ROOT/sub-01/ses-2/anat/sub-01_ses-2_desc-TOOL_dseg.nii.gz, malloc'ed
 *   image  in   a file whose name begins with sub-LABEL_; its folder may have any name
 *   tool   in   letters and digits
 *
 * Returns LOB_OK, LOB_EARG (the name of the image has no sub-LABEL) or LOB_ENOMEM.
 */
lob_status lob_bids_labels_path(char **path, const char *root, const char *image, const char *tool,
                                lob_error *error);

enum { LOB_BIDS_LABEL = 64 };

/* A label for desc- from the name of a recipe or command: its letters and digits up to a dot. */
void lob_bids_label(char label[LOB_BIDS_LABEL], const char *name);

/* Does a name end as those of label volumes do in BIDS: _dseg.nii or _dseg.nii.gz? */
bool lob_bids_is_dseg(const char *path);

/* The path with another ending in the place of .nii or .nii.gz; malloc'ed, NULL without memory. */
char *lob_bids_beside(const char *path, const char *ending);

typedef struct {
    const char *dataset, *out;
    const char *suffix;        /* "T1w" */
    const char *participant;   /* only this one, with or without sub-, */
    lob_words participants;    /* and these; NULL: all */
    char tool[LOB_BIDS_LABEL]; /* what desc- takes in the names of labels: letters and digits */
} lob_bids_search;

/* A participant's label as it was given, without sub-. */
const char *lob_bids_bare(const char *label);

/*
 * The manifest of a batch: a line for each image of all kinds of data, first those without
 * sessions, in the order of their names, with scan, image, folder, bids and out.
 *
 *   text  out  for free(); NULL on failure
 *
 * Returns LOB_OK, LOB_ENOINPUT (no image, none of a participant that is asked for, a folder that
 * cannot be read), LOB_EARG or LOB_ENOMEM.
 */
lob_status lob_bids_manifest(lob_session *s, char **text, const lob_bids_search *search);

extern const lob_namer lob_bids_namer;

#endif
