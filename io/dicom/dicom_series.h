/* The series of DICOM in a folder: what they are, and which files belong to them. */
#ifndef LOB_DICOM_SERIES_H
#define LOB_DICOM_SERIES_H

#include "io/dicom/dicom_header.h"
#include "volumes/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char uid[65];
    char *description;          /* UTF-8, perhaps empty; malloc'ed */
    char modality[17], date[9]; /* of the study */
    int64_t number;             /* the scanner's; -1: none */
    int rows, columns;
    int64_t images; /* frames of all files */
    bool is_segmentation;
    char **files; /* paths from the root, in the order of their names; malloc'ed, as these are */
    lob_dicom_plane *planes; /* of each file; malloc'ed */
    int64_t file_count, file_bytes;
    char **folders; /* that the files lie in, as they were found; malloc'ed, as these are */
    int folder_count;
    char *damaged; /* a file beside them that may be an image of the series; NULL: none */
} lob_dicom_series;

/* All zero: none. */
typedef struct {
    lob_dicom_series *series; /* by number, then UID; malloc'ed */
    int count;
} lob_dicom_list;

/* Is it a folder in which DICOM is found soon, at most five folders down? Names that begin with a
 * dot are left out, here and below. */
bool lob_dicom_is_folder(const char *path);

/*
 * The series with images, and whether a damaged file beside these may be one more. Of a folder,
 * those of all files in it, at most five folders down. Of a file with several frames, itself; of
 * one with a single image, the series that it belongs to, in its folder.
 *
 *   list  out  overwritten; empty on failure
 *
 * Returns LOB_OK, LOB_ENOINPUT, LOB_EDATA (no image of DICOM is there, or a damaged file where no
 * other is), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_dicom_list_of(lob_dicom_list *list, const char *path, int (*stop)(void *user),
                             void *user, lob_error *error);

void lob_dicom_list_free(lob_dicom_list *list);

/*
 * Choose a series, beside whose images no file is damaged.
 *
 *   wanted  in   its number or its UID, followed by ":K" for the K-th of several volumes that it
 *                makes; NULL: the only one. Segmentations count only where there is nothing else
 *   volume  out  K from 1; 0: none was named
 *
 * Returns LOB_OK or LOB_EDATA with a line that lists them, or names the damaged file.
 */
lob_status lob_dicom_choose(const lob_dicom_series **series, int *volume,
                            const lob_dicom_list *list, const char *wanted, const char *path,
                            lob_error *error);

#endif
