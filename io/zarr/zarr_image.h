/* Finding the image that a location in a Zarr store stands for. */
#ifndef LOB_ZARR_IMAGE_H
#define LOB_ZARR_IMAGE_H

#include "io/format.h"
#include "io/zarr/ngff.h"
#include "io/zarr/zarr_array.h"

/* An array, and what the group above it says. */
typedef struct {
    lob_zarr_array array;
    char *folder; /* of the array, malloc'ed */
    char *group;  /* of the image whose level it is, malloc'ed; NULL: it is an array by itself */
    lob_zarr_node image; /* the group's, or nothing */
    lob_ngff ngff;
} lob_zarr_image;

/*
 * Find it: an array, an image (its level 0), or a group with one of these.
 *
 * Returns LOB_OK, LOB_ENOINPUT, LOB_EDATA (with LOB_HINT_CHOOSE_SET where there are several),
 * LOB_EIO or LOB_ENOMEM; on failure out holds nothing.
 */
lob_status lob_zarr_find(lob_zarr_image *out, const lob_location *where, lob_error *error);
void lob_zarr_image_free(lob_zarr_image *image);

/* The folder that a location names, in a store or the store's own, malloc'ed; NULL without memory.
 */
char *lob_zarr_node_folder(const lob_location *where);

/* The format's list. */
lob_status lob_zarr_list(lob_data_set **sets, int *count, int *more, const lob_reading *r);

#endif
