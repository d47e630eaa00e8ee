/* What the files of `lobule supervoxels` share. */
#ifndef LOB_SUPERVOXELS_WORK_H
#define LOB_SUPERVOXELS_WORK_H

#include "kernels/regions/contacts.h"
#include "tools/inout/slabs.h"
#include "tools/table/region_table.h"

enum { LOB_LAB_AUTO, LOB_LAB_ON, LOB_LAB_OFF }; /* in the order of the option's words */

/* In CIELAB a visible difference is a small part of the range, so intensities weigh differently. */
#define LOB_LAB_COMPACTNESS 0.1

typedef struct {
    const char *labels_path, *mean_path, *boundaries_path, *table, *graph, *name, *columns;
    int method, count, slices, lab;
    double compactness, ratio;
    lob_size size;
    lob_supervoxels_options options;
    char compactness_help[160], ratio_help[120]; /* of options whose defaults depend */

    lob_volume image, labels;
    uint8_t *mask; /* NULL: everything may be cut */
    lob_supervoxels_stats stats;

    /* on request */
    lob_volume mean, boundaries;
    double *means; /* supervoxels times channels */
    lob_contact *contacts;
    int64_t contact_count;
    lob_region_table regions;

    lob_slabs slabs; /* image and mask as asked for, cut for several tasks, */
    lob_slab slab;   /* of which this is the task's own; of one, all of it */
} lob_supervoxels_work;

/* Choose the kernel's options, once the image is there. */
lob_status lob_supervoxels_choose(lob_session *s, lob_supervoxels_work *w);

/* Once the image, or its header, is there: refuse what cannot be cut or written, and choose. */
lob_status lob_supervoxels_look(lob_session *s, lob_supervoxels_work *w);

/* The whole command by several tasks, or its --plan. */
lob_status lob_supervoxels_by_slabs(lob_session *s, lob_supervoxels_work *w);

/* Is what cutting holds counted in this machine's memory? Not on a GPU, unless --max-memory bounds
 * it too. */
bool lob_supervoxels_holds(const lob_session *s);

/* For that: set what lob_slabs_cut is told of memory and of letters. */
lob_status lob_supervoxels_expect(lob_session *s, lob_supervoxels_work *w);

/* What the table's columns need beyond sums: LOB_COLUMN_... */
int lob_supervoxels_needs(const lob_supervoxels_work *w);

/* Make w->labels, on the grid of the slab, and cut it. */
lob_status lob_supervoxels_cut(lob_session *s, lob_supervoxels_work *w);

/* w->labels, numbered 1..count. */
lob_label_grid lob_supervoxels_grid(const lob_supervoxels_work *w);

/* Before the work: note that a few extreme values leave little weight to all others. */
lob_status lob_supervoxels_report_crowding(lob_session *s, const lob_supervoxels_work *w);

/* Fill in the report; note what the user should know. */
void lob_supervoxels_report(lob_session *s, const lob_supervoxels_work *w);

/* Measure what tables and means show, as far as they are asked for. */
lob_status lob_supervoxels_measure(lob_session *s, lob_supervoxels_work *w);

/* Write all that is asked for, of the slab. Labels are the last: if they exist, the other outputs
 * are complete. */
lob_status lob_supervoxels_write(lob_session *s, lob_supervoxels_work *w);

#endif
