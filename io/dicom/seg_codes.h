/* What segments are called in a DICOM SEG: names, colours and codes, in the JSON of dcmqi. */
#ifndef LOB_SEG_CODES_H
#define LOB_SEG_CODES_H

#include "volumes/label_names.h"

/*
 * Names, colours and terminology of the segments of a folder that segimage2itkimage has filled:
 * its meta.json. Returns LOB_OK, LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_seg_names_read(lob_label_names *names, const char *folder, const char *path,
                              lob_error *error);

/*
 * The text of itkimage2segimage's --inputMetadata: label i + 1 of the image is described by
 * rows[i], of count.
 *
 *   rows     in  NULL in it: the label has no name, and is numbers[i]
 *
 * Returns it malloc'ed, or NULL without memory.
 */
char *lob_seg_metadata(const lob_label_name *const *rows, const int32_t *numbers, int32_t count);

#endif
