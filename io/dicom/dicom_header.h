/* The few elements of a DICOM file that tell which series it belongs to. Images are decoded by
 * other programs. */
#ifndef LOB_DICOM_HEADER_H
#define LOB_DICOM_HEADER_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where an image lies, RAS in mm: 0 where it does not say. */
typedef struct {
    double corner[3]; /* the middle of its first voxel */
    double axes[6];   /* two unit vectors: along a row, and down a column */
    int rows, columns;
} lob_dicom_plane;

typedef struct {
    char series[65];       /* Series Instance UID; never empty */
    char description[128]; /* as the file has it: any bytes, any character set */
    char modality[17];
    char date[9];   /* of the study, as 20240102; empty: not given */
    int64_t number; /* of the series; -1: it has none */
    lob_dicom_plane plane;
    int64_t frames;       /* >= 1 */
    bool is_segmentation; /* a DICOM SEG, of bits or of labels */
    bool deflated;        /* packed as a whole, so that nothing else is read */
    bool is_directory;    /* of a disc's files: DICOMDIR */
} lob_dicom_header;

/*
 * Read them from a file's bytes, which may be anything: with or without the 128 bytes before
 * "DICM", explicit VR of both byte orders or implicit VR. Nothing beyond size is touched.
 *
 * Returns false where they are no DICOM, or name no series.
 */
bool lob_dicom_header_parse(lob_dicom_header *out, const unsigned char *bytes, size_t size);

/* Do the bytes say that they are DICOM, whatever follows? */
bool lob_dicom_header_is(const unsigned char *bytes, size_t size);

#endif
