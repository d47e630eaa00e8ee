/* A sheet of slices for `lobule segment`: strokes, result and uncertain voxels, one above another.
 */
#ifndef LOB_SEGMENT_SHEET_H
#define LOB_SEGMENT_SHEET_H

#include "tools/commands/segment/segment_slices.h"

enum { LOB_SEGMENT_SHEET_SLICES = 5 };

/*
 * Draw the sheet, a column a slice, and write it as PNG.
 *
 *   uncertain  in  on the box's grid
 *   slices     in  count of them across the axis, at most LOB_SEGMENT_SHEET_SLICES
 *   first      in  of the box in the image, along the axis: slices are named as in the image
 *
 * Returns LOB_OK, LOB_ENOMEM, or what writing a picture does.
 */
lob_status lob_segment_sheet(lob_session *s, const lob_segment_box *box,
                             const lob_volume *uncertain, const lob_segment_slice *slices,
                             int count, int axis, int64_t first, const char *path);

/* The anatomical plane whose slices lie across a voxel axis. */
lob_anatomical_plane lob_segment_plane(const lob_geometry *geometry, int axis);

#endif
