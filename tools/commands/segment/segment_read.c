/* What `lobule segment` reads: strokes where they are, and the box of the scan around them. */
#include "tools/commands/segment/segment_work.h"

#include <string.h>

/* Slices that are labelled fully become strokes like others, with background around them. */
static lob_status fill_slices(lob_session *s, lob_segment_work *w)
{
    lob_volume all;
    lob_box box;
    int64_t margin[3];
    if (lob_box_of(&box, &w->seeds)) {
        lob_segment_full_margin(margin, &box, w->whole.geometry.spacing_mm);
        for (int a = 0; a < 3; a++) {
            box.first[a] += w->drawn.first[a];
            margin[a]++;
        }
        lob_box_widen(&box, margin, w->whole.dims);
        LOB_TRY(lob_part_lay(s, &w->seeds, &w->drawn, &box, &w->whole, w->files.seeds));
        w->drawn = box;
    }
    const int64_t stored = lob_volume_bytes(&w->seeds);
    LOB_TRY(lob_session_take(s, 4 * lob_voxels(&w->seeds), w->files.seeds));
    LOB_TRY(lob_session_name(
        s, lob_segment_full(&all, &w->options.background, &w->seeds, &s->context, &s->error),
        w->files.seeds, NULL));
    lob_volume_free(&w->seeds);
    w->seeds = all;
    lob_session_give(s, 4 * lob_voxels(&w->seeds) + stored - lob_volume_bytes(&w->seeds));
    w->options.slips = false;
    return LOB_OK;
}

static lob_status read_previous(lob_session *s, lob_segment_work *w)
{
    LOB_TRY(lob_part_read_marked(s, &w->previous, &w->kept, w->previous_path, true, &w->whole,
                                 w->files.image));
    lob_box labels;
    if (!lob_box_of(&labels, &w->previous)) memset(w->kept.size, 0, sizeof w->kept.size);
    if (w->options.background > 0) return LOB_OK;
    return lob_session_name(s,
                            lob_segment_background(&w->options.background, &w->previous, &w->seeds,
                                                   &s->context, &s->error),
                            w->previous_path, NULL);
}

lob_status lob_segment_read(lob_session *s, lob_segment_work *w)
{
    const lob_segment_files *const f = &w->files;
    LOB_TRY(lob_part_header(s, &w->whole, f->image, f->frame, w->print));
    if (!w->print) lob_part_ahead(s, f->image, f->frame);
    lob_part_ahead(s, w->previous_path, LOB_FRAME_NONE);
    LOB_TRY(lob_session_check(s, &w->whole, LOB_I32, 1, f->out));
    LOB_TRY(lob_session_check(s, &w->whole, LOB_F32, 1, f->strength));
    LOB_TRY(lob_session_check(s, &w->whole, LOB_U8, 1, w->uncertain));
    LOB_TRY(lob_part_read_marked(s, &w->seeds, &w->drawn, f->seeds, true, &w->whole, f->image));
    if (w->full) LOB_TRY(fill_slices(s, w));
    return w->previous_path ? read_previous(s, w) : LOB_OK;
}

lob_status lob_segment_read_box(lob_session *s, lob_segment_work *w)
{
    const lob_box *const box = &w->plan.box;
    LOB_TRY(lob_part_lay(s, &w->seeds, &w->drawn, box, &w->whole, w->files.seeds));
    memcpy(w->first, box->first, sizeof w->first);
    return lob_part_read(s, &w->image, w->files.image, w->files.frame, box);
}
