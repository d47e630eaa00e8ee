/* Read and write volumes a few planes at a time. A plane is a z-slice, nx*ny voxels. For volumes
 * that are larger than memory. */
#ifndef LOB_PLANES_H
#define LOB_PLANES_H

#include "io/io.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

/* A volume that is open for reading. */
typedef struct lob_planes lob_planes;

/*
 * Open a volume.
 *
 *   planes   out  NULL on failure
 *   out      out  as lob_read leaves it, but its data stays NULL; the caller frees it, and may
 *                 before closing; an empty volume on failure
 *   options  in   as for lob_read; header_only has no effect, and LOB_FRAME_ALL that of
 *                 LOB_FRAME_UNSAID; max_memory limits how much of the volume is held at a time.
 *                 NULL for lob_read_defaults()
 *   info     out  may be NULL, else it must live until lob_planes_close: reading planes adds to the
 *                 times and, with the last plane, to the warnings
 *
 * All checks of lob_read are made, here or when planes are read. A format that cannot be read in
 * parts is read as a whole. Returns what lob_read does.
 */
lob_status lob_planes_open(lob_planes **planes, lob_volume *out, const char *path,
                           const lob_read_options *options, lob_file_info *info, lob_error *error);

/*
 * Read planes z .. z + n - 1, 0 <= z, 1 <= n, z + n <= nz.
 *
 *   out  out  channels * n planes of nx*ny voxels, channel after channel
 *
 * Read planes in ascending order, each once: to go back, a compressed file is decompressed from its
 * start again. The call that gives the last plane has checked the whole file. Returns
 * LOB_OK, LOB_EARG (no such planes), LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_planes_get(lob_planes *planes, void *out, int64_t z, int64_t n, lob_error *error);

/*
 * Read a box, from as few planes as hold it.
 *
 *   out  in/out  channels * size voxels, channel after channel; 0 before, so that memory where
 *                nothing is stored stays untouched
 *   box  in      inside of the volume, each size >= 1
 *
 * A file is checked as far as it is read. Returns what lob_planes_get does.
 */
lob_status lob_planes_get_box(lob_planes *planes, void *out, const lob_box *box, lob_error *error);

/*
 * Where voxels may be stored as other than 0, as far as the format tells without reading them: the
 * chunks of a Zarr array that are there; of other formats all. Sizes of 0: nowhere. Returns what
 * lob_planes_get does.
 */
lob_status lob_planes_stored(lob_planes *planes, lob_box *box, lob_error *error);

/* What reading a box takes: all of the volume, all planes before it too, or the planes or chunks
 * alone that it lies in. */
typedef enum { LOB_BOX_OF_ALL, LOB_BOX_OF_PLANES, LOB_BOX_ALONE } lob_box_reading;

/* That of a volume, of which nothing is read but its first bytes; LOB_BOX_OF_ALL where there is
 * none, and of DICOM. */
lob_box_reading lob_box_reading_of(const char *path);

/* The most bytes that reading planes holds beside those that it gives: some layers of chunks, or
 * all of a file that is read as a whole. planes NULL: none. */
int64_t lob_planes_held(const lob_planes *planes);

void lob_planes_close(lob_planes *planes);

/* A volume that is being written. */
typedef struct lob_plane_writer lob_plane_writer;

/*
 * Begin a volume, whose planes come channel after channel.
 *
 *   writer   out  NULL on failure
 *   volume   in   its data is not read; must live until commit or abort
 *   largest  in   with options->labels exactly the largest label
 *   options  in   as for lob_write
 *
 * The file has the bytes that lob_write gives for the whole volume. For a format that cannot be
 * written in parts, and for several channels, planes are first stored in an unnamed file in the
 * output's folder. Returns what lob_write does.
 */
lob_status lob_plane_writer_begin(lob_plane_writer **writer, const lob_volume *volume,
                                  int64_t largest, const char *path,
                                  const lob_write_options *options, lob_error *error);

/* The next n planes, of the volume's type; NULL: they are 0. Returns what lob_write does. */
lob_status lob_plane_writer_put(lob_plane_writer *writer, const void *planes, int64_t n,
                                lob_error *error);

/* Put the complete file in its place and free the writer. Returns what lob_write does, and
 * LOB_EINTERNAL when planes are missing. */
lob_status lob_plane_writer_commit(lob_plane_writer *writer, lob_error *error);

/* Remove what was written and free the writer; NULL is fine. */
void lob_plane_writer_abort(lob_plane_writer *writer);

LOB_END_DECLS

#endif
