/* The chain of a TIFF's pages, without libtiff. */
#ifndef LOB_TIFF_PAGES_H
#define LOB_TIFF_PAGES_H

#include "io/format.h"

typedef struct {
    uint64_t offset; /* of its directory */
    int64_t number;  /* in the file, from 0 on */
} lob_tiff_page;

typedef struct {
    lob_tiff_page *page; /* count: ascending numbers; malloc'ed */
    int64_t count;
} lob_tiff_pages;

/*
 * List the pages of a file that begins with a TIFF's signature, of 8 bytes or more. Returns LOB_OK,
 * LOB_EDATA or LOB_ENOMEM; page is to be freed, whatever is returned.
 */
lob_status lob_tiff_list_pages(lob_tiff_pages *out, const lob_reading *r);

#endif
