/* Writing NRRD files and segmentations: what the format's row needs. */
#ifndef LOB_NRRD_WRITE_H
#define LOB_NRRD_WRITE_H

#include "io/format.h"

/* Does the name ask for a segmentation? */
bool lob_is_segmentation_name(const char *path);

/* The row's write. */
lob_status lob_nrrd_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);

#endif
