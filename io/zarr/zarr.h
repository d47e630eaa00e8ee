/* Stores of Zarr, which are folders: where one is, and writing it. */
#ifndef LOB_ZARR_H
#define LOB_ZARR_H

#include "io/format.h"

/* The file with the metadata of what a location names, malloc'ed; NULL: it is no Zarr, or no
 * memory. */
char *lob_zarr_store_file(const lob_location *where);

/* The format's begin_planes and check. */
lob_status lob_zarr_begin_planes(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                                 const lob_location *where, const lob_write_options *options,
                                 lob_error *error);
lob_status lob_zarr_check(const lob_location *where, bool force, lob_error *error);

#endif
