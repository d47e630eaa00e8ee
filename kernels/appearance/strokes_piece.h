/* Pieces of strokes. This header is not installed. */
#ifndef LOB_STROKES_PIECE_H
#define LOB_STROKES_PIECE_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/*
 * The piece that a voxel is in: of its label, with 26 neighbours, or, in a slice across an axis,
 * with 8.
 *
 *   piece  out     voxels; room for as many as strokes have
 *   seen   in/out  nx*ny*nz, 0: not in a piece yet; 1 from now on
 *   axis   in      -1: the piece goes on through slices
 *
 * Returns how many voxels it has.
 */
int64_t lob_strokes_piece(int64_t *piece, uint8_t *seen, const uint8_t *seeds, lob_dims dims,
                          int axis, int64_t from);

LOB_END_DECLS

#endif
