/* What the files of `lobule segment` share. */
#ifndef LOB_SEGMENT_WORK_H
#define LOB_SEGMENT_WORK_H

#include "kernels/segment/segment.h"
#include "tools/commands/segment/segment_recipe.h"
#include "tools/inout/grid.h"

typedef struct {
    lob_segment_files files;
    const char *uncertain, *sheet, *previous_path;
    int suggest, median, background, coarse;
    lob_size margin, reach;
    bool print, full;
    lob_segment_options options;

    lob_volume image, seeds, previous; /* the latter two on the image's grid, with own labels */
    lob_segment_plan plan;
    lob_segment_output found;
} lob_segment_work;

/* The plan among the results of the report. */
void lob_segment_report(lob_session *s, const lob_segment_work *w);

/* Join the result with the labels of --previous, if these are given. */
lob_status lob_segment_correct_previous(lob_session *s, lob_segment_work *w);

/* List the slices that are suggested: on standard output and in the report. */
lob_status lob_segment_list_slices(lob_session *s, const lob_segment_work *w);

/* Count the uncertain voxels, where they were asked for, and write them. */
lob_status lob_segment_write_uncertain(lob_session *s, lob_segment_work *w);

#endif
