/* Which slices are suggested for further strokes. This header is not installed. */
#ifndef LOB_SEGMENT_SLICES_H
#define LOB_SEGMENT_SLICES_H

#include "kernels/appearance/strokes.h"
#include "kernels/segment/segment.h"

LOB_BEGIN_DECLS

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
 *   slices      out  at most n, in the order found
 *   count       out  how many there are; 0 on failure
 *   labels      in   dense, in ordinary memory
 *   background  in   one of them, which is no label here
 *   strokes     in   of the same grid, on at least one slice
 *   uncertain   in   1 where the result is uncertain, else 0
 *   axis        in   0 x, 1 y or 2 z: across which the slices lie
 *   threads     in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_segment_suggest(lob_segment_slice *slices, int *count, int n,
                               const lob_volume *labels, int32_t background,
                               const lob_strokes *strokes, const uint8_t *uncertain, int axis,
                               int threads);

LOB_END_DECLS

#endif
