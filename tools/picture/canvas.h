/* A picture in memory: rectangles and text. */
#ifndef LOB_CANVAS_H
#define LOB_CANVAS_H

#include "volumes/status.h"

typedef struct {
    unsigned char red, green, blue;
} lob_colour;

typedef struct {
    unsigned char *rgb; /* 3 * width * height, row after row */
    int width, height;
} lob_canvas;

/* Returns LOB_OK, or LOB_ENOMEM with an empty canvas. The caller frees rgb. */
lob_status lob_canvas_make(lob_canvas *canvas, int width, int height, lob_colour background);

/* Everything below is clipped to the canvas. share: how much of the colour covers what is there. */
void lob_canvas_blend(lob_canvas *canvas, int x, int y, lob_colour colour, double share);
void lob_canvas_box(lob_canvas *canvas, int x, int y, int width, int height, lob_colour colour,
                    double share);

/*
 * Text in UTF-8 with a dark rim, its upper left corner at (x, y). A line of it takes
 * lob_text_height(size) pixels; capitals are .73 of the size. A character without a letter
 * (glyphs.bin) becomes a mark, as does a byte that is no UTF-8.
 *
 *   size  in  pixels, >= 1
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_canvas_text(lob_canvas *canvas, int x, int y, int size, lob_colour colour,
                           const char *text);

int lob_text_height(int size);
int lob_text_width(const char *text, int size);

#endif
