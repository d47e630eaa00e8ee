/* Drawing into a picture in memory. */
#include "tools/picture/canvas.h"

#include "glyphs_bin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- text ---- */

/* The next character of UTF-8; what is no UTF-8 counts byte by byte, as a character that no font
 * has. */
static int32_t next_character(const char **text)
{
    const unsigned char *const s = (const unsigned char *)*text;
    const int more = s[0] < 0x80 ? 0 : s[0] < 0xc2 ? -1 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
    static const unsigned char head[] = {0x7f, 0x1f, 0x0f, 0x07};
    int32_t value = more < 0 ? -1 : s[0] & head[more];
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            value = -1;
            break;
        }
        value = value << 6 | (s[i] & 0x3f);
    }
    *text += value < 0 || more < 0 ? 1 : more + 1;
    return value;
}

/*
 * Outlines of letters: glyphs.bin, which make_glyphs.py makes of DejaVu Sans (LICENSE), is words of
 * 16 bits, the low byte first: units to the size of the text; how many letters; of each, in the
 * order of Unicode, its character, the advance to the next, its first point and how many it has;
 * then of all points x, y, which runs up from the base line, and bits. 1: on the curve, else the
 * control point of a quadratic one; 2: last of its contour, which is closed. Between two control
 * points lies a point of the curve.
 */
static int word(int at)
{
    return glyphs_bin[2 * at] | glyphs_bin[2 * at + 1] << 8;
}

enum { EM, LETTERS, FIRST_LETTER };        /* words of the file */
enum { CHARACTER, ADVANCE, FIRST, COUNT }; /* of a letter */

/* Where its words begin; the last letter stands for those that are not there. */
static int letter_of(int32_t character)
{
    int low = 0, high = word(LETTERS) - 1;
    const int last = high;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (word(FIRST_LETTER + 4 * middle + CHARACTER) < character)
            low = middle + 1;
        else
            high = middle;
    }
    const bool there = word(FIRST_LETTER + 4 * low + CHARACTER) == character;
    return FIRST_LETTER + 4 * (there ? low : last);
}

int lob_text_width(const char *text, int size)
{
    int64_t advance = 0; /* in the font's units */
    while (*text) advance += word(letter_of(next_character(&text)) + ADVANCE);
    return (int)((advance * size + word(EM) - 1) / word(EM));
}

int lob_text_height(int size)
{
    return (5 * size + 3) / 4;
}

/*
 * Areas that lines enclose. A cell holds what the lines through its pixel add to the coverage of
 * that pixel and of all to its right: the sum along a row is the coverage, exactly.
 */
typedef struct {
    float *cells;
    int width, height;
} area;

typedef struct {
    double x, y;
} point;

/* The part of a line that lies in one row: from (x0, y0) to (x1, y1), rows counted from this one's
 * top; down is +1 or -1. */
static void add_in_row(float *row, int width, point a, point b, double down)
{
    const double tall = fabs(b.y - a.y) * down, left = fmin(a.x, b.x), right = fmax(a.x, b.x);
    const int first = (int)floor(left), last = (int)floor(right);
    if (tall == 0 || last < 0 || first + 1 >= width) return;
    if (first == last) {
        const double inside = 1.0 - (0.5 * (left + right) - first);
        row[first] += (float)(tall * inside);
        row[first + 1] += (float)(tall * (1.0 - inside));
        return;
    }
    for (int x = first; x <= last && x + 1 < width; x++) {
        const double from = fmax(left, x), to = fmin(right, x + 1.0);
        const double part = (to - from) / (right - left), inside = x + 1.0 - 0.5 * (from + to);
        row[x] += (float)(tall * part * inside);
        row[x + 1] += (float)(tall * part * (1.0 - inside));
    }
}

static void add_line(area *to, point a, point b)
{
    const double down = a.y < b.y ? 1.0 : -1.0;
    const point top = down > 0 ? a : b, low = down > 0 ? b : a;
    for (int y = (int)floor(top.y); y < to->height && y < low.y; y++) {
        if (y < 0) continue;
        const double from = fmax(top.y, y), until = fmin(low.y, y + 1.0);
        const double slope = (low.x - top.x) / (low.y - top.y);
        const point p = {top.x + slope * (from - top.y), from};
        const point q = {top.x + slope * (until - top.y), until};
        if (until > from)
            add_in_row(to->cells + (size_t)y * (size_t)to->width, to->width, p, q, down);
    }
}

static void add_curve(area *to, point a, point control, point b)
{
    enum { PIECES = 6 }; /* a letter's curves turn by a quarter at most */
    point from = a;
    for (int i = 1; i <= PIECES; i++) {
        const double t = (double)i / PIECES, u = 1 - t;
        const point p = {u * u * a.x + 2 * u * t * control.x + t * t * b.x,
                         u * u * a.y + 2 * u * t * control.y + t * t * b.y};
        add_line(to, from, p);
        from = p;
    }
}

static point middle_of(point a, point b)
{
    return (point){0.5 * (a.x + b.x), 0.5 * (a.y + b.y)};
}

/* One contour of n points, whose words begin at first. */
static void add_contour(area *to, int first, int n, point origin, double scale)
{
#define WORD(i, k) ((int16_t)word(first + 3 * ((i) % n) + (k)))
#define PLACE(i)   ((point){origin.x + scale * WORD(i, 0), origin.y - scale * WORD(i, 1)})
#define IS_ON(i)   (WORD(i, 2) & 1)
    int begin = 0;
    if (n < 2) return;
    while (begin < n && !IS_ON(begin)) begin++;
    const bool none = begin == n; /* all are control points */
    if (none) begin = 0;
    point from = none ? middle_of(PLACE(n - 1), PLACE(0)) : PLACE(begin);
    for (int k = none ? 0 : 1, i = begin + k; k < n + !none; k++, i++) {
        if (IS_ON(i)) {
            add_line(to, from, PLACE(i));
            from = PLACE(i);
            continue;
        }
        const bool ends = IS_ON(i + 1);
        const point next = ends ? PLACE(i + 1) : middle_of(PLACE(i), PLACE(i + 1));
        add_curve(to, from, PLACE(i), next);
        from = next;
        if (ends) {
            k++;
            i++;
        }
    }
#undef WORD
#undef PLACE
#undef IS_ON
}

static void add_letter(area *to, int letter, point origin, double scale)
{
    int at = FIRST_LETTER + 4 * word(LETTERS) + 3 * word(letter + FIRST);
    for (int n = 1, left = word(letter + COUNT); left > 0; n++, left--)
        if (word(at + 3 * n - 1) & 2) {
            add_contour(to, at, n, origin, scale);
            at += 3 * n;
            n = 0;
        }
}

static void settle(const area *a)
{
    for (int y = 0; y < a->height; y++) {
        float sum = 0, *const row = a->cells + (size_t)y * (size_t)a->width;
        for (int x = 0; x < a->width; x++) {
            sum += row[x];
            row[x] = fminf(fabsf(sum), 1.0f);
        }
    }
}

/* The most that text covers of this pixel and those beside it. */
static double near(const area *a, int x, int y)
{
    float most = 0;
    for (int v = y - 1; v <= y + 1; v++)
        for (int u = x - 1; u <= x + 1; u++)
            if (u >= 0 && v >= 0 && u < a->width && v < a->height)
                most = fmaxf(most, a->cells[(size_t)v * (size_t)a->width + (size_t)u]);
    return (double)most;
}

lob_status lob_canvas_text(lob_canvas *canvas, int x, int y, int size, lob_colour colour,
                           const char *text)
{
    enum { RIM = 2 };
    const lob_colour dark = {0, 0, 0};
    const double scale = (double)size / word(EM);
    int width = lob_text_width(text, size) + 2 * RIM + size / 2;
    if (width > canvas->width + 2 * RIM) width = canvas->width + 2 * RIM; /* the rest is not seen */
    area a = {.width = width, .height = lob_text_height(size) + 2 * RIM + size / 4};
    a.cells = calloc((size_t)a.width * (size_t)a.height, sizeof *a.cells);
    if (!a.cells) return LOB_ENOMEM;
    point pen = {RIM, RIM + floor(0.95 * size + 0.5)};
    while (*text && pen.x < a.width) {
        const int letter = letter_of(next_character(&text));
        add_letter(&a, letter, pen, scale);
        pen.x += scale * word(letter + ADVANCE);
    }
    settle(&a);
    for (int j = 0; j < a.height; j++)
        for (int i = 0; i < a.width; i++) {
            const double ink = (double)a.cells[(size_t)j * (size_t)a.width + (size_t)i];
            const int u = x - RIM + i, v = y - RIM + j;
            const double rim = near(&a, i, j);
            if (rim > 0) lob_canvas_blend(canvas, u, v, dark, 0.75 * rim);
            if (ink > 0) lob_canvas_blend(canvas, u, v, colour, ink);
        }
    free(a.cells);
    return LOB_OK;
}
