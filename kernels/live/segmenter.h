/*
 * Segment that follows a brush: strokes are drawn, erased and undone. After each change there is
 * the answer of lob_segment, the same bytes, whatever was there before; and, where the plan has two
 * growths, a preview before it: what the first gives, with the strokes, but for slips, as they were
 * drawn. On a CPU, where the box has more than 16 times the voxels of options->coarse, it is learnt
 * from every second voxel along an axis alone, or from fewer, so that it does not have to be waited
 * for: a preview may differ between CPU and GPU, and the final answer does not.
 *
 * Kept from one change to the next are the box's image, its median and the image on the coarser
 * grid, for as long as strokes give the same box; memory for strokes, unless memory is limited; and
 * on a GPU that has room the whole image, until the segmenter is closed. What is learnt from
 * strokes changes everywhere with each of them, and with it both growths: these are made afresh.
 */
#ifndef LOB_SEGMENTER_H
#define LOB_SEGMENTER_H

#include "kernels/segment/segment.h"

LOB_BEGIN_DECLS

/* Used by one thread at a time. */
typedef struct lob_segmenter lob_segmenter;

/*
 * Open a segmenter.
 *
 *   segmenter  out  to be closed; NULL on failure
 *   backend    in   computes; must stay until the segmenter is closed
 *   image      in   any type; one frame. It stays as it is until then, its arrays too
 *   options    in   as for lob_segment_choose
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_segmenter_open(lob_segmenter **segmenter, const lob_backend *backend,
                              const lob_volume *image, const lob_segment_options *options,
                              lob_error *error);

/*
 * The first answer to strokes.
 *
 *   labels   out  as lob_segment_output's; overwritten. Empty where the plan has one growth, whose
 *                 answer is the final one; nothing to free after a failure
 *   strokes  in   all of them, as for lob_segment
 *   box      in   outside of it no stroke has changed since the last call, whatever came of that;
 *                 sizes of 0: none has. NULL: the whole grid
 *   context  in   the device of lob_segmenter_open's backend; threads, memory (what is kept
 *                 counts), progress
 *
 * A call that fails or is cancelled keeps what does not depend on strokes. Returns as
 * lob_segment_choose and lob_segment; LOB_EARG where the box reaches beyond the grid.
 */
lob_status lob_segmenter_preview(lob_segmenter *segmenter, lob_volume *labels,
                                 const lob_volume *strokes, const lob_box *box,
                                 const lob_context *context, lob_error *error);

/*
 * The final answer to strokes. After a preview of the same strokes it goes on from there, and so it
 * does after a call that was cancelled.
 *
 *   out      out  of lob_segment; overwritten, nothing to free after a failure
 *   plan     out  that was chosen; may be NULL
 *   changed  out  a box outside of which the labels are those of the last call that returned
 *                 LOB_OK: what holds both boxes; at first this one. May be NULL
 *   in       in   the image that of lob_segmenter_open
 *   box, context  in   as above
 *
 * Returns as lob_segmenter_preview; LOB_EARG where the image is another one.
 */
lob_status lob_segmenter_finish(lob_segmenter *segmenter, lob_segment_output *out,
                                lob_segment_plan *plan, lob_box *changed,
                                const lob_segment_input *in, const lob_box *box,
                                const lob_context *context, lob_error *error);

/* NULL is fine. */
void lob_segmenter_close(lob_segmenter *segmenter);

LOB_END_DECLS

#endif
