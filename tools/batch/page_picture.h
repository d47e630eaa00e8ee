/* Small pictures of scans with their labels, for a page. */
#ifndef LOB_PAGE_PICTURE_H
#define LOB_PAGE_PICTURE_H

#include <stdint.h>

/* A scan and its labels; NULL: there are none. */
typedef struct {
    char *image, *labels;
} lob_page_scan;

/*
 * Draw scans as `lobule preview` does, small and with fewer shades.
 *
 *   out         out  count texts for free(), each a PNG in base64; NULL where one of the two files
 *                    is missing, cannot be read or holds several frames, or they lie on different
 *                    grids
 *   threads     in   scans at a time; >= 1
 *   max_memory  in   for the voxels of all of these; 0: nine tenths of what is free
 */
void lob_page_pictures(char **out, const lob_page_scan *scans, int count, int threads,
                       int64_t max_memory);

#endif
