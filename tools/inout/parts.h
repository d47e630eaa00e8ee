/*
 * Boxes of volumes that memory need not hold: the part of a scan around strokes, and what is made
 * of it. Of a Zarr array the box alone is read, of a .nii the planes that it lies in. What is
 * inflated from its start is read as a whole where that fits beside the box, in threads; what has
 * no planes always.
 */
#ifndef LOB_PARTS_H
#define LOB_PARTS_H

#include "tools/inout/grid.h"

/*
 * The header of a volume of which a box is going to be read; that reports it then.
 *
 *   frame  in  there must be such a one
 *   alone  in  no more is read of it: lob_session_read_header
 *
 * Returns what lob_session_read_header and lob_choose_frame do.
 */
lob_status lob_part_header(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                           bool alone);

/* lob_session_ahead, where lob_part_read is going to read all of it. */
void lob_part_ahead(lob_session *s, const char *path, int64_t frame);

/*
 * lob_session_read of a box. A .nii.gz of which not all is read is not checked behind it.
 *
 *   box  in  inside of the volume, each size >= 1
 *
 * Returns what lob_session_read does.
 */
lob_status lob_part_read(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                         const lob_box *box);

/*
 * Read the least box that holds what is marked: all voxels that are neither 0 nor NaN. It has one
 * more on each side, as far as the image goes: a side of one voxel would be that of a 2D image. As
 * by lob_grid_read it may cover a part of the image, or lie otherwise, and is read as a whole then.
 *
 *   out     out  without header
 *   at      out  the box in the image; of a voxel where nothing is marked
 *   labels  in   lob_grid_narrow it
 *   image   in   its data is not read
 *
 * Returns what lob_session_read, lob_grid_find and lob_grid_narrow do.
 */
lob_status lob_part_read_marked(lob_session *s, lob_volume *out, lob_box *at, const char *path,
                                bool labels, const lob_volume *image, const char *image_path);

/* Lay a volume that is a box of a grid onto another box of it. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_part_lay(lob_session *s, lob_volume *part, const lob_box *from, const lob_box *onto,
                        const lob_volume *grid, const char *path);

/*
 * lob_session_write of a volume that is 0 but for a box.
 *
 *   part   in  of one channel; its names are those of the output
 *   first  in  voxel of the whole that its first one is
 *   whole  in  dims, geometry and header; its data is not read
 */
lob_status lob_part_write(lob_session *s, const lob_volume *part, const int64_t first[3],
                          const lob_volume *whole, const char *path, bool labels);

#endif
