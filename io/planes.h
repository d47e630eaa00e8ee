/* Volumes that are read and written a few planes at a time, for those that memory does not hold. */
#ifndef LOB_PLANES_H
#define LOB_PLANES_H

#include "io/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A volume that is open for reading. */
typedef struct lob_planes lob_planes;

/*
 * Open a volume.
 *
 *   planes   out  NULL on failure
 *   out      out  as lob_read leaves it, but its data stays NULL; the caller frees it, and may
 *                 before closing; an empty volume on failure
 *   options  in   as for lob_read; header_only is of no use, and max_memory bounds what is held of
 *                 the volume at a time. NULL for lob_read_defaults()
 *   info     out  may be NULL, else it must stay until lob_planes_close: what is wrong beyond the
 *                 header comes to light with the last plane, and reading adds to the times
 *
 * Every check of lob_read is made, here or when planes are read. Formats that cannot be read in
 * parts are read as a whole. Returns what lob_read does.
 */
lob_status lob_planes_open(lob_planes **planes, lob_volume *out, const char *path,
                           const lob_read_options *options, lob_file_info *info, lob_error *error);

/*
 * Read planes z .. z + n - 1, 0 <= z, 1 <= n, z + n <= nz.
 *
 *   out  out  channels * n planes of nx*ny voxels, channel after channel
 *
 * Planes are cheap to read in rising order, each once; one further back makes a compressed file
 * start at its beginning again. The last plane comes once the whole file has been checked. Returns
 * LOB_OK, LOB_EARG (no such planes), LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_planes_get(lob_planes *planes, void *out, int64_t z, int64_t n, lob_error *error);

void lob_planes_close(lob_planes *planes);

/* A volume that is being written. */
typedef struct lob_plane_writer lob_plane_writer;

/*
 * Begin a volume of one channel.
 *
 *   writer   out  NULL on failure
 *   volume   in   its data is not looked at; must stay until the end
 *   largest  in   with options->labels the largest label, which must be right
 *   options  in   as for lob_write
 *
 * The file has the bytes that lob_write gives for the whole volume. Formats that cannot be written
 * in parts are gathered in a file without a name, in the output's folder, first. Returns what
 * lob_write does.
 */
lob_status lob_plane_writer_begin(lob_plane_writer **writer, const lob_volume *volume,
                                  int64_t largest, const char *path,
                                  const lob_write_options *options, lob_error *error);

/* The next n planes, of the volume's type. Returns what lob_write does. */
lob_status lob_plane_writer_put(lob_plane_writer *writer, const void *planes, int64_t n,
                                lob_error *error);

/* Put the complete file in its place; the writer is gone afterwards. Returns what lob_write does,
 * and LOB_EINTERNAL when planes are missing. */
lob_status lob_plane_writer_commit(lob_plane_writer *writer, lob_error *error);

/* Leave nothing behind; the writer is gone afterwards. NULL is fine. */
void lob_plane_writer_abort(lob_plane_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
