/* Drawing into a picture in memory. */
#include "tools/picture/canvas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Letters of 5 x 7 pixels from ' ' to '~'. A letter is seven rows of five bits, the leftmost pixel
 * highest, the top row first, written as seven pairs of hexadecimal digits.
 */
static const char letters[95][15] = {
    "00000000000000", "04040404040004", "0a0a0a00000000", "0a0a1f0a1f0a0a", "040f140e051e04",
    "18190204081303", "0c12140815120d", "04040800000000", "02040808080402", "08040202020408",
    "000a041f040a00", "0004041f040400", "00000000060408", "0000001f000000", "00000000000c0c",
    "00010204081000", "0e11131519110e", "040c040404040e", "0e11010204081f", "1f02040201110e",
    "02060a121f0202", "1f101e0101110e", "0608101e11110e", "1f010204080808", "0e11110e11110e",
    "0e11110f01020c", "000c0c000c0c00", "000c0c000c0408", "02040810080402", "00001f001f0000",
    "08040201020408", "0e110102040004", "0e11010d15150e", "0e1111111f1111", "1e11111e11111e",
    "0e11101010110e", "1c12111111121c", "1f10101e10101f", "1f10101e101010", "0e11101711110f",
    "1111111f111111", "0e04040404040e", "0702020202120c", "11121418141211", "1010101010101f",
    "111b1515111111", "11191915131311", "0e11111111110e", "1e11111e101010", "0e11111115120d",
    "1e11111e141211", "0f10100e01011e", "1f040404040404", "1111111111110e", "11111111110a04",
    "1111111515150a", "11110a040a1111", "1111110a040404", "1f01020408101f", "0e08080808080e",
    "00100804020100", "0e02020202020e", "040a1100000000", "0000000000001f", "08040200000000",
    "00000e010f110f", "1010161911111e", "00000e1010110e", "01010d1311110f", "00000e111f100e",
    "0609081c080808", "00000f110f010e", "10101619111111", "04000c0404040e", "0200060202120c",
    "10101214181412", "0c04040404040e", "00001a15151111", "00001619111111", "00000e1111110e",
    "00001e111e1010", "00000d130f0101", "00001619101010", "00000f100e011e", "08081c08080906",
    "0000111111130d", "00001111110a04", "0000111115150a", "0000110a040a11", "000011110f010e",
    "00001f0204081f", "02040408040402", "04040404040404", "08040402040408", "0000080d160200",
};

lob_status lob_canvas_make(lob_canvas *canvas, int width, int height, lob_colour background)
{
    const size_t pixels = (size_t)width * (size_t)height;
    *canvas = (lob_canvas){malloc(3 * pixels), width, height};
    if (!canvas->rgb) {
        *canvas = (lob_canvas){0};
        return LOB_ENOMEM;
    }
    for (size_t i = 0; i < pixels; i++) memcpy(canvas->rgb + 3 * i, &background, 3);
    return LOB_OK;
}

static unsigned char mix(unsigned char under, unsigned char over, double share)
{
    return (unsigned char)(under + (over - under) * share + 0.5);
}

void lob_canvas_blend(lob_canvas *canvas, int x, int y, lob_colour colour, double share)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height) return;
    unsigned char *const p = canvas->rgb + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x);
    p[0] = mix(p[0], colour.red, share);
    p[1] = mix(p[1], colour.green, share);
    p[2] = mix(p[2], colour.blue, share);
}

void lob_canvas_box(lob_canvas *canvas, int x, int y, int width, int height, lob_colour colour,
                    double share)
{
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) lob_canvas_blend(canvas, x + i, y + j, colour, share);
}

static int hex(char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Does a letter have ink here? */
static int inked(char character, int column, int row)
{
    if (column < 0 || column > 4 || row < 0 || row > 6) return 0;
    const int c = character >= ' ' && character <= '~' ? character : '?';
    const char *const rows = letters[c - ' '];
    return (hex(rows[2 * row]) * 16 + hex(rows[2 * row + 1])) >> (4 - column) & 1;
}

/* One letter: first the rim (pixels beside ink), so that it never covers ink. */
static void draw_letter(lob_canvas *canvas, int x, int y, int scale, lob_colour colour, char c)
{
    const lob_colour dark = {0, 0, 0};
    for (int row = -1; row <= 7; row++)
        for (int column = -1; column <= 5; column++) {
            int near = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++) near |= inked(c, column + i, row + j);
            if (inked(c, column, row))
                lob_canvas_box(canvas, x + column * scale, y + row * scale, scale, scale, colour,
                               1.0);
            else if (near)
                lob_canvas_box(canvas, x + column * scale, y + row * scale, scale, scale, dark,
                               0.8);
        }
}

void lob_canvas_text(lob_canvas *canvas, int x, int y, int scale, lob_colour colour,
                     const char *text)
{
    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80) continue; /* the tail of a UTF-8 character */
        draw_letter(canvas, x, y, scale, colour, *text);
        x += LOB_GLYPH_WIDTH * scale;
    }
}

int lob_canvas_text_width(const char *text, int scale)
{
    int letters_seen = 0;
    for (; *text; text++) letters_seen += ((unsigned char)*text & 0xc0) != 0x80;
    return letters_seen ? (letters_seen * LOB_GLYPH_WIDTH - 1) * scale : 0;
}
