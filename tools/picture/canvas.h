/* A picture in memory: rectangles, text in a small built-in font, easily distinguished colours.
 */
#ifndef LOB_CANVAS_H
#define LOB_CANVAS_H

#include "volumes/status.h"

#include <stdint.h>

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

enum { LOB_GLYPH_WIDTH = 6, LOB_GLYPH_HEIGHT = 8 }; /* with the gap to the next, at scale 1 */

/* Text with its upper left corner at (x, y), with a dark rim; characters outside ASCII become '?'.
 */
void lob_canvas_text(lob_canvas *canvas, int x, int y, int scale, lob_colour colour,
                     const char *text);

/* Pixels that a text takes, without the gap after its last letter. */
int lob_canvas_text_width(const char *text, int scale);

#endif
