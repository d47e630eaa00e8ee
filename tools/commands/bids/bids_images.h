/* The images of a dataset that `lobule bids` works on. */
#ifndef LOB_BIDS_IMAGES_H
#define LOB_BIDS_IMAGES_H

#include "tools/commands/bids/bids_path.h"
#include "tools/session/session.h"

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

#endif
