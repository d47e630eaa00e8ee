/* What the files of `lobule segment` share. */
#ifndef LOB_SEGMENT_WORK_H
#define LOB_SEGMENT_WORK_H

#include "kernels/segment/segment.h"
#include "tools/commands/segment/segment_recipe.h"
#include "tools/inout/parts.h"

typedef struct {
    lob_segment_files files;
    const char *uncertain, *sheet, *previous_path;
    int suggest, median, background, coarse;
    lob_size margin, reach;
    bool print, full;
    lob_segment_options options;

    lob_volume whole;         /* the scan's header */
    lob_volume seeds;         /* with own labels, in a box of the scan: */
    lob_box drawn;            /* around all of them at first, then the plan's, */
    lob_volume image;         /* as the scan, */
    lob_segment_output found; /* and what comes out; */
    int64_t first[3];         /* where the labels begin */
    lob_volume previous;      /* with own labels, */
    lob_box kept;             /* in the box that has all of them; sizes of 0: there is none */
    lob_segment_plan plan;    /* of that grid */
} lob_segment_work;

/* Bytes of a voxel of what lob_segment makes. */
static inline int64_t lob_segment_made_bytes(const lob_segment_work *w)
{
    return (int64_t)lob_type_of(w->seeds.type)->bytes +
           (w->files.strength ? (int64_t)sizeof(float) : 0) +
           (w->uncertain || w->sheet || w->suggest > 0);
}

/* Is there memory for the next? */
lob_status lob_segment_check_previous(lob_session *s, const lob_segment_work *w);

/* Join the result with the labels of --previous, if these are given. */
lob_status lob_segment_correct_previous(lob_session *s, lob_segment_work *w);

#endif
