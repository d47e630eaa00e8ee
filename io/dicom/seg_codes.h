/* What segments are called in a DICOM SEG: names, colours and codes, in the JSON of dcmqi. */
#ifndef LOB_SEG_CODES_H
#define LOB_SEG_CODES_H

#include "volumes/label_names.h"

#include <stdbool.h>

/* A code as DICOM has it: "10200004", "SCT", "Liver". */
typedef struct {
    char value[65], scheme[17], meaning[65];
} lob_code;

/* What a segment is. */
typedef struct {
    lob_code category, type;
    lob_code modifier; /* such as a side; an empty value: none */
} lob_segment_codes;

/*
 * The codes of a label: those of its terminology; without one, those of an organ of its name, in
 * whatever case, with blanks, '_' or '-', and with or without a side ("Left kidney",
 * "kidney_left"); else those of a tissue.
 *
 *   row  in  NULL: the label has no row
 *
 * Returns whether it was named by its terminology or is a known organ.
 */
bool lob_segment_codes_of(lob_segment_codes *codes, const lob_label_name *row);

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
