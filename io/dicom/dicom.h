/*
 * Scans and segmentations of DICOM, read and written by the field's own programs: dcm2niix makes a
 * NIfTI of a series, dcmqi's segimage2itkimage an NRRD of a DICOM SEG, and its itkimage2segimage a
 * SEG of labels. They are looked for when they are needed. What they make lies in a folder of our
 * own (scratch.h) and is read like any other file; what they are given is links in such a folder,
 * so that no name of the user's is an argument of theirs.
 */
#ifndef LOB_DICOM_H
#define LOB_DICOM_H

#include "io/dicom/scratch.h"
#include "io/io.h"

/* What a path of DICOM became. All zero: nothing. */
typedef struct {
    char *file;            /* NIfTI, or NRRD of a segmentation; malloc'ed */
    lob_label_names names; /* of a segmentation */
    bool is_segmentation;
    int64_t overlapping; /* voxels that several segments claimed */
    int64_t bytes;       /* of the files of DICOM */
    lob_scratch scratch; /* where the file lies; none where options->converted keeps it */
} lob_dicom_made;

/*
 * Convert the series of a folder, or the one that a file belongs to, or take it from
 * options->converted.
 *
 *   out      out  overwritten; to be freed when nobody reads the file any more
 *   options  in   series, converted, stop and user
 *
 * Returns LOB_OK, LOB_ENOINPUT, LOB_EDATA (several series and none named; a program is missing, or
 * makes no volume of it), LOB_EARG, LOB_ECREATE, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_dicom_convert(lob_dicom_made *out, const char *path, const lob_read_options *options,
                             lob_error *error);

void lob_dicom_made_free(lob_dicom_made *made);

#endif
