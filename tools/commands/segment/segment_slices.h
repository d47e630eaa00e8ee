/* Which slices `lobule segment` suggests for further strokes, and which have strokes. */
#ifndef LOB_SEGMENT_SLICES_H
#define LOB_SEGMENT_SLICES_H

#include "tools/commands/segment/segment_after.h"

/* A slice to look at. */
typedef struct {
    int64_t slice;     /* of the box, along the axis */
    bool drawn;        /* it has strokes already */
    int64_t uncertain; /* voxels */
    int64_t marked;    /* voxels that carry a label */
    int64_t border;    /* voxels with another label on one of their six sides */
} lob_segment_slice;

/*
 * Find the slices on which strokes are expected to put the most voxels right, one after another.
 *
 * From a slice with strokes on, the border wanders like a random walk: its variance is the distance
 * d to that slice beyond the last one, and d e / (d + e) between two of them, at distances d and e.
 * A slice is expected to hold wrong voxels in proportion to (border + uncertain) * sqrt(variance).
 * The slice taken is that which, drawn, lessens the sum of this over all slices the most, of equals
 * the first; it counts as drawn for the next. Only slices that carry a label are taken. Where all
 * slices are alike, the middles of the widest gaps come first.
 *
 *   slices     out  at most n, in the order found
 *   count      out  how many there are; 0 on failure
 *   box        in   with strokes on at least one slice
 *   uncertain  in   as lob_segment_uncertain makes it
 *   axis       in   0 x, 1 y or 2 z: across which the slices lie
 *   threads    in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_segment_suggest(lob_segment_slice *slices, int *count, int n,
                               const lob_segment_box *box, const lob_volume *uncertain, int axis,
                               int threads);

/* Slices with strokes, at most n, spread over those that there are; likewise. */
lob_status lob_segment_drawn(lob_segment_slice *slices, int *count, int n,
                             const lob_segment_box *box, int axis);

#endif
