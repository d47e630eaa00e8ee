/*
 * A page with a viewer: a scan and its labels in one HTML file that any browser of today opens from
 * the disk, with nothing from elsewhere. The page is tools/picture/viewer.html.
 */
#ifndef LOB_VIEWER_PAGE_H
#define LOB_VIEWER_PAGE_H

#include "kernels/context.h"
#include "tools/picture/preview_picture.h"

/* The most voxels (of all channels) that a page holds: it takes one or two bytes for each, and a
 * browser four. Of a larger scan the page has means and majorities of blocks. */
enum { LOB_VIEWER_VOXELS = 1 << 25 };

/* What a page holds: axes run to the right, front and top of the patient. */
typedef struct {
    lob_dims dims;
    lob_geometry geometry;
    int64_t factor[3];   /* voxels of the scan that one along each axis stands for */
    int64_t at[3];       /* where the planes meet at first */
    int channels;        /* 3: red, green, blue; else 1 */
    void *scan;          /* channels * nx*ny*nz numbers q of scan_bytes bytes; malloc'ed */
    int scan_bytes;      /* 1 or 2 */
    double offset, step; /* a value is offset + step * q */
    void *labels;        /* nx*ny*nz dense labels; malloc'ed; NULL: none */
    lob_type label_type;
} lob_viewer_page;

/* Bytes that preparing a page takes at most, beside the content. */
int64_t lob_viewer_page_bytes(const lob_preview_content *content);

/*
 * Bring scan and labels to what a page holds. Numbers of up to 16 bits, and integers that differ by
 * less than 65536, stay exact; others are rounded to 65536 steps. What is not finite is shown as
 * the smallest value.
 *
 *   page     out  to be freed whatever is returned
 *   content  in   as lob_preview_look leaves it
 *
 * Returns LOB_OK, LOB_ENOMEM, or LOB_ECANCEL.
 */
lob_status lob_viewer_page_prepare(lob_viewer_page *page, const lob_preview_content *content,
                                   const lob_context *context, lob_error *error);

/*
 * Write the page.
 *
 *   set         in   what is seen at first: hidden labels, convention, alpha, contours
 *   compress_s  out  the wall time that compressing took is added
 *
 * Returns LOB_OK, LOB_EEXIST, LOB_ECREATE, LOB_EIO or LOB_ENOMEM; on error there is no new file.
 */
lob_status lob_viewer_page_write(const lob_viewer_page *page, const lob_preview_content *content,
                                 const lob_preview *set, const char *path, bool force, int threads,
                                 double *compress_s, lob_error *error);

void lob_viewer_page_free(lob_viewer_page *page);

#endif
