/* What the files of `lobule compare` share: the volumes, a function for each way of comparing. */
#ifndef LOB_COMPARE_WORK_H
#define LOB_COMPARE_WORK_H

#include "tools/inout/grid.h"
#include "tools/text/text.h"

typedef struct {
    const char *a_path, *b_path; /* a is the truth of --instances and --supervoxels */
    const char *labels;          /* "2,4,7-9"; NULL: all */
    bool values, instances, supervoxels;
    bool json; /* tables go to the results alone */
    bool no_surfaces, strict;
    const char *table;      /* of labels; with --instances of pairs; NULL: none */
    const char *image_path; /* with --supervoxels; NULL: no explained variation */
    lob_size tolerance;     /* of boundary recall; infinite: 1 voxel */
    int slices, frame;

    lob_volume a, b, image; /* on one grid */
} lob_compare_work;

/*
 * Compare, print tables unless --json is given, and put the same into the results. Labels may be
 * renumbered, or become 0 where they are not asked for.
 *
 * Returns LOB_OK, LOB_EDIFFER (with --strict, a voxel that is compared differs), LOB_EDATA, after
 * the table where neither volume has a label of --labels, LOB_ENOMEM, LOB_ECANCEL or what writing a
 * table does.
 */
lob_status lob_compare_label_volumes(lob_session *s, lob_compare_work *w);
lob_status lob_compare_instances(lob_session *s, lob_compare_work *compared);

/* A measure of the latter two, and the table of all of a file. */
typedef struct {
    const char *name, *format;
    double value; /* NaN: there is none */
} lob_measure;
lob_status lob_compare_print(lob_session *s, const lob_measure *rows, size_t count, bool quiet);

/* Add "\t" and a value, "n/a" for NaN. */
void lob_compare_add_value(lob_text *table, double value, const char *format);

#endif
