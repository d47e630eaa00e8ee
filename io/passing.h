/* Volumes that are handed on in memory, as if a file lay between writing and reading. */
#ifndef LOB_PASSING_H
#define LOB_PASSING_H

#include "io/planes.h"

/*
 * Make the volume that lob_read would give after lob_write had put one into a .nii.gz: the header
 * is made and read again, so that types, scale, geometry and header fields come out as they would.
 * Voxels are neither copied nor looked at, but for the largest label. All frames stay together
 * where the volume holds all.
 *
 *   out      out     overwritten, so it must hold nothing; an empty volume on failure
 *   volume   in/out  its data belongs to out afterwards and is NULL here; the rest stays. On
 *                    failure unchanged
 *   name     in      for messages
 *   options  in      labels and strip_extensions count
 *
 * Returns LOB_OK, LOB_EARG (there are no voxels), LOB_EDATA (labels in several channels, or not
 * whole), LOB_ENOMEM or LOB_EINTERNAL.
 */
lob_status lob_pass(lob_volume *out, lob_volume *volume, const char *name,
                    const lob_write_options *options, lob_error *error);

/*
 * lob_planes_open for a volume in memory.
 *
 *   planes  out  NULL on failure; close with lob_planes_close, while volume is still there
 *   frame   in   of a volume that holds all frames, the one to read, from 0; else 0
 *   name    in   for messages
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_planes_of(lob_planes **planes, const lob_volume *volume, int64_t frame,
                         const char *name, lob_error *error);

/*
 * lob_plane_writer_begin for a volume in memory.
 *
 *   writer  out  NULL on failure
 *   data    out  room for the voxels, malloc'ed; all of them are there once lob_plane_writer_commit
 *                has returned LOB_OK. The caller frees it. NULL on failure
 *   volume  in   its data is not read
 *   name    in   for messages
 *
 * Returns LOB_OK, LOB_EARG or LOB_ENOMEM.
 */
lob_status lob_plane_writer_gather(lob_plane_writer **writer, void **data, const lob_volume *volume,
                                   const char *name, lob_error *error);

#endif
