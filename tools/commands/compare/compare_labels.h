/* lobule compare: how alike two label volumes are, label by label. */
#ifndef LOB_COMPARE_LABELS_H
#define LOB_COMPARE_LABELS_H

#include "tools/session/session.h"

typedef struct {
    const char *a_path, *b_path;
    const char *labels; /* a checked list, "2,4,7-9"; NULL: all */
    bool no_surfaces;   /* leave out surface distances */
    bool strict;        /* LOB_EDIFFER when a voxel that is compared differs */
    bool quiet;         /* no table on standard output */
} lob_compare_labels_settings;

/*
 * Compare labels, print a table and put the same into the results.
 *
 *   a, b  in/out  on one grid; labels that are not in the list become 0
 *
 * Returns LOB_OK, LOB_EDIFFER, LOB_EDATA (neither volume has a label of the list; all the same the
 * table is printed), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_compare_label_volumes(lob_session *s, const lob_compare_labels_settings *set,
                                     lob_volume *a, lob_volume *b);

#endif
