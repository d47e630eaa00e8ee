/*
 * What --bids makes beside a label volume, as BIDS 1.10 has it for derivatives: a .json with its
 * sources and parameters, a .tsv with its labels, and, once for a dataset,
 * dataset_description.json. Where the output is a folder, the labels are named in it after the
 * image.
 */
#ifndef LOB_BIDS_OUTPUT_H
#define LOB_BIDS_OUTPUT_H

#include "tools/session/watcher.h"

extern const lob_watcher lob_bids_watcher;

#endif
