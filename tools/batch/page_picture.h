/* Small pictures of scans with their labels, for a page. */
#ifndef LOB_PAGE_PICTURE_H
#define LOB_PAGE_PICTURE_H

#include <stdint.h>

typedef struct {
    char *image, *labels; /* paths; NULL: there are none */
    int64_t number;       /* of its user's */
    char *picture;        /* a PNG in base64, for free() */
} lob_page_scan;

/*
 * Draw scans as `lobule preview` does, small and with fewer shades. A picture is NULL where one of
 * the two files is missing, cannot be read or holds several frames, or they lie on different grids.
 *
 *   threads     in  scans at a time; >= 1
 *   max_memory  in  for the voxels of all of these; 0: nine tenths of what is free
 */
void lob_page_pictures(lob_page_scan *scans, int count, int threads, int64_t max_memory);

#endif
