/* Files of kinds that are not read, named for what they are. */
#ifndef LOB_KINDS_H
#define LOB_KINDS_H

#include "io/file.h"

/* What a file is, and how its owner gets a file that is read: "a DICOM file", "convert ...". */
typedef struct {
    const char *is, *advice;
} lob_kind;

/*
 * The kind of a file by its first bytes, inflated where it is gzip, or by its name where those say
 * nothing; NULL: unknown.
 */
const lob_kind *lob_kind_of_file(const char *path, const lob_input *file);

/* Is it DICOM, a file or a folder of it, which other programs convert? */
bool lob_kind_is_dicom(const lob_kind *kind);

/* The file in a folder with the metadata of Zarr, malloc'ed; NULL: there is none, or no memory. */
char *lob_zarr_metadata_file(const char *folder);
bool lob_folder_is_zarr(const char *folder);

/* The kind of a folder by what lies in it, DICOM or Zarr; NULL: it is no volume. */
const lob_kind *lob_kind_of_folder(const char *path);

#endif
