/* Where an output lies: a store of its own, or a label image inside of one that is there. */
#ifndef LOB_ZARR_PLACE_H
#define LOB_ZARR_PLACE_H

#include "io/zarr/zarr.h"

#include <cjson/cJSON.h>

/* The folder "labels" of STORE.zarr/labels/NAME, malloc'ed; NULL: the location stands alone, or no
 * memory. */
char *lob_zarr_labels_folder(const lob_location *where);

/*
 * Name every label image that is there in the group's metadata, beside those it names already.
 * Writers take turns.
 *
 *   labels  in  what lob_zarr_labels_folder gives
 *   path    in  for messages
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or what lob_output_whole does.
 */
lob_status lob_zarr_list_labels(const char *labels, const char *path, lob_error *error);

/* The metadata of a group of version 3 with these attributes, which belong to it then; NULL, with
 * the attributes freed, without memory. */
cJSON *lob_zarr_make_group(cJSON *attributes);

#endif
