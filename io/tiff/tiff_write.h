/* Writing TIFF: one page for each channel and slice, channels fastest. */
#ifndef LOB_TIFF_WRITE_H
#define LOB_TIFF_WRITE_H

#include "io/format.h"

/* lob_format.write and .holds. */
lob_status lob_tiff_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);
lob_status lob_tiff_holds(const lob_volume *volume, const lob_location *where, lob_error *error);

#endif
