/*
 * What the text in a TIFF's first page says of its pages: ImageJ's lines and OME-XML, read and
 * made. Nothing here knows libtiff.
 *
 * ImageJ: imagej.net/ij/developer/source/ij/io/TiffDecoder.java, FileOpener.java; the pages count
 * channels, then slices, then frames. OME: docs.openmicroscopy.org/ome-model/latest/ome-tiff.
 */
#ifndef LOB_TIFF_TEXT_H
#define LOB_TIFF_TEXT_H

#include "io/tiff/tiff_pages.h"
#include "volumes/volume.h"

typedef enum { LOB_TIFF_PLAIN, LOB_TIFF_IMAGEJ, LOB_TIFF_OME } lob_tiff_kind;

typedef struct {
    lob_tiff_kind kind;
    int64_t channels, slices, frames; /* of pages; their product is the number of planes */
    int64_t *page; /* channels * slices * frames, channels fastest: the index in pages of each
                      plane; malloc'ed. NULL: they are in the order that the three say */
    double spacing_mm[3];  /* 0: not said */
    double unit_mm;        /* ImageJ: the unit of the resolution, in mm; 0: not said */
    bool micrometres;      /* lengths are in micrometres or smaller units */
    double slope, inter;   /* ImageJ: of values */
    int64_t left_out;      /* OME: pages that hold no plane of the image that is read */
    char unknown_unit[64]; /* a unit of length that is named but not known; "": there is none */
} lob_tiff_text;

/*
 * Take in the text.
 *
 *   out      out  its page is to be freed, whatever is returned
 *   text     in   NULL: there is none, and every page is a slice
 *   pages    in   pages that hold the stack: OME's text speaks of them by their numbers in the
 *                 file; with ImageJ's, one may stand for planes that follow one another behind its
 *                 voxels
 *   samples  in   numbers of a pixel, alpha included, which OME counts as channels
 *   r        in   its path and error, for messages
 *
 * Takes memory in proportion to the text and the pages, and little more time. Returns LOB_OK,
 * LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_tiff_text_read(lob_tiff_text *out, const char *text, const lob_tiff_pages *pages,
                              int samples, const lob_reading *r);

/* Make the text of a volume whose pages count channels, then slices; malloc'ed, NULL where there is
 * no memory. */
char *lob_tiff_text_make(const lob_volume *volume, lob_type type, lob_tiff_kind kind);

/* How lengths are given in what is written: 1e-3 for micrometres, else 1. */
double lob_tiff_text_unit_mm(const lob_geometry *geometry);

/* The OME name of a type; NULL: it has none. */
const char *lob_tiff_text_type(lob_type type);

#endif
