/* Outlines of letters: glyphs.c, which make_glyphs.py makes. */
#ifndef LOB_GLYPHS_H
#define LOB_GLYPHS_H

#include <stdint.h>

/* Units are the font's, lob_glyph_em to the size of the text; y runs up from the base line. */
typedef struct {
    int32_t character;    /* Unicode */
    int32_t advance;      /* to the next letter */
    int32_t first, count; /* of lob_glyph_points */
} lob_glyph;

extern const int lob_glyph_em, lob_glyph_count;

/* By character; the last stands for those that are not there. */
extern const lob_glyph lob_glyphs[];

/* x, y, and bits: 1: on the curve, else the control point of a quadratic one; 2: last of its
 * contour, which is closed. Between two control points lies a point of the curve. */
extern const int16_t lob_glyph_points[][3];

#endif
