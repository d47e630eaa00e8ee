/* Strokes as a list of their voxels, where these are looked at several times. Not installed. */
#ifndef LOB_STROKES_LIST_H
#define LOB_STROKES_LIST_H

#include "kernels/appearance/strokes.h"

LOB_BEGIN_DECLS

/*
 * Which voxels have strokes.
 *
 *   voxels   out  `count` of them, ascending; room for lob_strokes_voxels
 *   strokes  in   counts of the seeds, or of more
 *   seeds    in   nx*ny*nz labels, 0: not drawn
 *   threads  in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_list(int64_t *voxels, int64_t *count, const lob_strokes *strokes,
                            const uint8_t *seeds, int threads, lob_error *error);

LOB_END_DECLS

#endif
