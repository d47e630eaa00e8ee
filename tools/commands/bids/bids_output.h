/*
 * What --bids makes beside a label volume, as BIDS 1.10 has it for derivatives: a .json with its
 * sources and parameters, a .tsv with its labels, and, once for a dataset,
 * dataset_description.json. Where the output is a folder, the labels are named in it after the
 * image.
 */
#ifndef LOB_BIDS_OUTPUT_H
#define LOB_BIDS_OUTPUT_H

#include "tools/session/session_state.h"

/* The option, which sets s->extra; false: the command writes no labels. One that only prints this
 * time has it too, for lob_bids_begin to refuse. */
bool lob_bids_option(lob_option *row, lob_session *s);

/* Options are parsed, outputs not yet checked: name the labels, and check what is made beside. */
lob_status lob_bids_begin(lob_session *s);

/* The work has succeeded: write what is beside the labels. */
lob_status lob_bids_end(lob_session *s);

#endif
