/* Reading a box of a Zarr array. */
#ifndef LOB_ZARR_BOX_H
#define LOB_ZARR_BOX_H

#include "io/io.h"
#include "io/zarr/zarr_array.h"

/*
 * Read the places of a box, each piece that it meets once. What is not stored has the fill value.
 *
 *   out         out  size places, the last axis fastest, in this machine's byte order. They are 0
 *                    before: pages where nothing is stored stay untouched
 *   folder      in   the array's
 *   from, size  in   inside of the array
 *   threads     in   that unpack, >= 1
 *   path        in   for messages
 *
 * Returns LOB_OK, LOB_EDATA (a damaged piece; of several the first in the array), LOB_EIO or
 * LOB_ENOMEM.
 */
lob_status lob_zarr_read_box(void *out, const lob_zarr_array *array, const char *folder,
                             const int64_t from[LOB_ZARR_DIMS], const int64_t size[LOB_ZARR_DIMS],
                             int threads, const char *path, lob_error *error);

/*
 * Narrow a box to the pieces that are stored: to the least that holds what these have of it; sizes
 * of 0: nothing is. Where what is not stored has another value than 0 it stays.
 *
 *   from, size  in/out  inside of the array
 *   options     in      stop is asked before each file
 *
 * Returns what lob_zarr_read_box does, or LOB_ECANCEL.
 */
lob_status lob_zarr_narrow(int64_t from[LOB_ZARR_DIMS], int64_t size[LOB_ZARR_DIMS],
                           const lob_zarr_array *array, const char *folder,
                           const lob_read_options *options, const char *path, lob_error *error);

#endif
