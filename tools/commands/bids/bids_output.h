/*
 * What --bids makes beside a label volume, as BIDS 1.10 has it for derivatives: a .json with its
 * sources and parameters, a .tsv with its labels, and, once for a dataset,
 * dataset_description.json.
 */
#ifndef LOB_BIDS_OUTPUT_H
#define LOB_BIDS_OUTPUT_H

#include "tools/session/session_state.h"

/* Does a command with these rows of its own write labels, so that it takes --bids? One that only
 * prints this time takes it too, for lob_bids_begin to refuse. */
bool lob_bids_can(const lob_option_table *own);

/*
 * Before the work of a session with --bids: where the output is a folder, name the labels in it
 * after the image; check that the files beside them can be made. Makes nothing.
 *
 * Returns LOB_OK, LOB_EARG, LOB_EEXIST, LOB_ECREATE or LOB_ENOMEM.
 */
lob_status lob_bids_begin(lob_session *s);

/* Is this the path of labels that --bids has named, whose folder is not there yet? lob_bids_begin
 * has checked all of it that can be checked. */
bool lob_bids_is_new(const lob_session *s, const char *path);

/* Before a file is written: make the folders of labels that --bids has named. Returns LOB_OK or
 * LOB_ECREATE. */
lob_status lob_bids_make_folders(lob_session *s, const char *path);

/* After the work: read the labels that were written, and write the files beside them. Returns
 * LOB_OK, LOB_EIO, LOB_EEXIST, LOB_ECREATE, LOB_EDATA or LOB_ENOMEM. */
lob_status lob_bids_end(lob_session *s);

#endif
