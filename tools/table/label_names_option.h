/* Names and colours of labels from a file, and to one: options that commands share. */
#ifndef LOB_LABEL_NAMES_OPTION_H
#define LOB_LABEL_NAMES_OPTION_H

#include "tools/inout/volumes.h"

/* The option of commands that write labels. */
#define OPT_LABEL_TABLE(pointer)                                                                 \
    OPT_INPUT("label-table", pointer, LOB_FILE_OTHER,                                            \
              "names and colours of the labels: .csv or .ctbl of 3D Slicer, .label of "          \
              "ITK-SNAP, .lut of FreeSurfer, dseg.tsv of BIDS; NIfTI, .seg.nrrd and a recipe's " \
              "memory keep them")

/* Is the name one of such a file? NULL is. Returns LOB_OK or LOB_EARG. */
lob_status lob_label_table_check(lob_session *s, const char *path);

/*
 * Name a volume's labels as the file says; what it does not name keeps the name it has. Does
 * nothing when path is NULL. Returns LOB_OK, what lob_label_table_read does or LOB_ENOMEM.
 */
lob_status lob_label_table_take(lob_session *s, lob_volume *labels, const char *path);

/* Write the names of a volume's labels. Does nothing when path is NULL. Returns LOB_OK, LOB_EDATA
 * (no label has a name) or what lob_label_table_write does. */
lob_status lob_label_table_make(lob_session *s, const lob_volume *labels, const char *path);

#endif
