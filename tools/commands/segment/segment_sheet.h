/* A sheet of slices for `lobule segment`: strokes, result and uncertain voxels in rows. */
#ifndef LOB_SEGMENT_SHEET_H
#define LOB_SEGMENT_SHEET_H

#include "kernels/segment/segment.h"
#include "tools/session/session.h"

/*
 * Draw the sheet, a column a slice, and write it as PNG: slices that are suggested, and some with
 * strokes, five in all.
 *
 *   image    in  the scan in the plan's box
 *   strokes  in  likewise, with own labels
 *   plan     in  of the whole scan
 *   found    in  labels and uncertain voxels in the box
 *
 * Returns LOB_OK, LOB_ENOMEM, or what writing a picture does.
 */
lob_status lob_segment_sheet(lob_session *s, const lob_volume *image, const lob_volume *strokes,
                             const lob_segment_plan *plan, const lob_segment_output *found,
                             const char *path);

/* The anatomical plane whose slices lie across a voxel axis. */
lob_anatomical_plane lob_segment_plane(const lob_geometry *geometry, int axis);

#endif
