/* What `lobule segment` makes of a finished recipe: where it is unsure, and what a correction
 * may change. */
#ifndef LOB_SEGMENT_AFTER_H
#define LOB_SEGMENT_AFTER_H

#include "kernels/appearance/strokes.h"
#include "tools/session/session.h"

/* The volumes of a finished recipe on the box's grid. */
typedef struct {
    const lob_volume *image;  /* the box of it */
    const lob_volume *seeds;  /* strokes, */
    const lob_volume *shares; /* what the last growth went over, */
    const lob_volume *labels; /* and what came out; all labels are dense */
    lob_label_set set;        /* of strokes and labels */
    int32_t background;       /* dense */
    lob_strokes strokes;      /* counted by slice */
} lob_segment_box;

/*
 * Mark where two labels grow almost as cheaply. Each label is grown alone over the shares of the
 * last growth; with a < b the two least costs of a voxel, as shares of the shares' range, it is
 * uncertain where (b - a) / (b + a + 1/128) < 0.1.
 *
 *   out  out  uint8 on the box's grid: 1 where uncertain, else 0
 *
 * Returns LOB_OK, LOB_ENOMEM, LOB_EDEVICE or LOB_ECANCEL.
 */
lob_status lob_segment_uncertain(lob_session *s, lob_volume *out, const lob_segment_box *box,
                                 const char *path);

/*
 * Let a correction change only what is near to it: where a voxel is farther than reach from every
 * stroke that says otherwise than the labels before, it keeps these.
 *
 *   result   in/out  labels on the image's grid, 0 for the background; of a type that holds those
 *                    before too
 *   before   in      on that grid
 *   seeds    in      all strokes on that grid, with their own numbers; all three of a type of
 *                    lob_label_type
 *   changed  out     voxels that differ from before
 *   said     out     stroke voxels that say otherwise
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_segment_correct(lob_session *s, lob_volume *result, const lob_volume *before,
                               const lob_volume *seeds, int32_t background, lob_size reach,
                               int64_t *changed, int64_t *said);

#endif
