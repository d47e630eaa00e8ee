/*
 * The picture of a scan and its labels: the three planes through the labels' centre of mass and the
 * labels in space, or a montage of slices; letters for the patient's sides, a scale bar, a legend
 * of names and volumes.
 */
#ifndef LOB_PREVIEW_PICTURE_H
#define LOB_PREVIEW_PICTURE_H

#include "tools/picture/mosaic.h"

enum { LOB_PREVIEW_TILES = 400 };

/* What is asked for. */
typedef struct {
    const char *image, *labels; /* names of the files, for the legend and messages */
    int plane;                  /* 0 axial, 1 coronal, 2 sagittal; -1: all three */
    int montage;                /* slices of one plane, at most LOB_PREVIEW_TILES; 0: none */
    bool project;               /* not slices but the brightest voxels of all of them, in a montage
                                   of each tile's share */
    int size;                   /* neither side of the picture has more pixels; >= 64 */
    int convention;             /* 0 radiological, 1 neurological */
    double window[2];           /* values shown black and white, low < high; infinite: chosen */
    double alpha;               /* how much labels cover the image, 0..1 */
    int contour;                /* pixels that contours are wide; < 0: chosen */
    double at[3];               /* voxel where the planes meet; infinite: chosen */
    const char *hide;           /* labels, "1,3-5"; NULL: chosen; "": none */
    bool plain;                 /* slices alone, without a word */
    int threads;                /* that draw */
} lob_preview;

/* The volumes, and what follows from them. */
typedef struct {
    lob_volume image, labels; /* labels is empty where there are none */
    lob_label_set set;
    lob_colour *colour;
    bool *shown;
    lob_overlay overlay;
    int64_t at[3];           /* where the planes meet */
    int64_t low[3], high[3]; /* box of the labels shown, else of the image */
    bool any_shown;          /* a label is */
} lob_preview_content;

/* A slice and its position in the picture. */
typedef struct {
    lob_slice view;
    int cell; /* of the table in which parts lie, row after row */
    int x, y;
} lob_preview_tile;

typedef struct {
    int count, width, height;
    double pixels_per_mm;
    int columns, rows; /* of the table */
    int body[4];       /* x, y, width, height of the labels in space; width 0: they are not shown */
    int legend[4];     /* likewise; height 0: there is none */
    int gap, text;     /* pixels between parts; size of text */
    int entry[3];      /* of a label in the legend: its width, that of its number, of its volume */
    bool cross;        /* lines show where the planes meet */
    lob_preview_tile tiles[LOB_PREVIEW_TILES];
} lob_preview_layout;

/* What is drawn where nothing else is asked for, in 1200 pixels. */
lob_preview lob_preview_defaults(void);

/*
 * Find out what there is to show, where the planes meet and which values are black and white.
 *
 *   c  in/out  the volumes are there, on one grid; labels become dense; to be freed whatever is
 *              returned
 *
 * Returns LOB_OK, what lob_labels_dense does, or LOB_ENOMEM.
 */
lob_status lob_preview_look(lob_preview_content *c, const lob_preview *set, lob_error *error);

void lob_preview_content_free(lob_preview_content *c);

/*
 * Lay out so that neither side of the picture is longer than set->size.
 *
 * Returns LOB_OK, LOB_EDATA (voxels too large to draw) or LOB_EARG (slices that do not fit).
 */
lob_status lob_preview_lay_out(lob_preview_layout *l, const lob_preview *set,
                               const lob_preview_content *c, lob_error *error);

/* Draw it; the caller frees canvas->rgb, which may be NULL. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_preview_draw(lob_canvas *canvas, const lob_preview *set,
                            const lob_preview_content *c, const lob_preview_layout *l);

#endif
