/* The page of a batch: one HTML file without anything from outside. */
#ifndef LOB_BATCH_PAGE_H
#define LOB_BATCH_PAGE_H

#include "tools/batch/batch_log.h"
#include "tools/session/session.h"

/* What a page has where nobody says otherwise: 500 pictures. */
enum { LOB_PAGE_PICTURES = 500 };

/*
 * Write FOLDER/page.html, over an older one: failures first, then what is far from the other scans
 * (see tools/batch/cohort.h), then the rest; the volumes of each, sortable by any column, and
 * pictures of so many of them. Pictures are read from the first image and the last labels of
 * a scan's row; those of scans that are far come first.
 *
 *   s         in  whose threads draw, whose max_memory bounds the voxels that are read for it, and
 *                 whose stage "page" this is
 *   folder    in  that of the status table
 *   table     in  as it was read
 *   summary   in  of the run that has just ended; NULL: the page says nothing of rates
 *   pictures  in  scans that get one at most
 *
 * Returns LOB_OK, also where pictures cannot be made, what lob_cohort_make or lob_output_begin
 * does, LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_batch_page_write(lob_session *s, const char *folder, const lob_batch_table *table,
                                const lob_batch_summary *summary, int pictures);

#endif
