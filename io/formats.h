/* The table of volume formats: from a path to the row that reads or writes it. */
#ifndef LOB_FORMATS_H
#define LOB_FORMATS_H

#include "io/format.h"

/*
 * Split FILE.h5:/dataset at the first colon whose left side is a regular file or ends in a suffix
 * of HDF5 or OME-Zarr, and STORE.zarr/dataset behind the store. A path that is there as it stands
 * is not split at a colon, and one of a file not at all.
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_location_of(lob_location *out, const char *path);

/* Free what lob_location_of made; an empty location is fine. */
void lob_location_free(lob_location *where);

/* The format in which a file of this name is written; NULL, with a message, when there is none. */
const lob_format *lob_format_of_name(const lob_location *where, lob_error *error);

/* A file that is open in its format. */
typedef struct {
    const lob_format *format;
    lob_location where;
    lob_input file;
    lob_read_options options;
    lob_reading reading; /* of these, so that all this must stay where it is */
} lob_opened;

/*
 * Open a file and find its format.
 *
 *   opened   out  to be given to lob_opened_end, whatever is returned
 *   options  in   may be NULL
 *   info     out  what was found so far: the format's name; may be NULL
 *
 * Returns LOB_OK, LOB_ENOINPUT, LOB_EDATA, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_opened_begin(lob_opened *opened, const char *path, const lob_read_options *options,
                            lob_file_info *info, lob_error *error);
void lob_opened_end(lob_opened *opened);

/* Read in a format, as its row's read. Returns what lob_read does. */
lob_status lob_opened_read(lob_volume *out, const lob_opened *opened);

/* Of DICOM: give a volume that was read the names of its segments, and say what it was read from.
 * info may be NULL. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_format_name_made(lob_volume *volume, const lob_location *where, lob_file_info *info);

/* Write in a format, as its row's write or by its planes. options are sane. Returns what lob_write
 * does. */
lob_status lob_format_write(const lob_format *format, const lob_volume *volume,
                            const lob_location *where, const lob_write_options *options,
                            lob_error *error);

/* Is it written as a DICOM SEG, which refers to a scan? */
bool lob_refers_to_scan(const char *path);

/* May the volume be written? LOB_OK or LOB_EARG. voxels: they must be there. */
lob_status lob_check_writable(const lob_volume *volume, bool voxels, const char *path,
                              lob_error *error);

/*
 * The options with defaults in place of values out of range.
 *
 *   options     in  may be NULL
 *   format      in  that is written to; NULL: not known
 *   compress_s  in  takes the place of options->compress_s where that is NULL
 */
lob_write_options lob_sane_write_options(const lob_write_options *options, const lob_format *format,
                                         double *compress_s);

#endif
