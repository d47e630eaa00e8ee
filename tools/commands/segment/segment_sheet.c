/* Drawing the sheet of strokes, result and uncertain voxels. */
#include "tools/commands/segment/segment_sheet.h"

#include "tools/inout/volumes.h"
#include "tools/picture/mosaic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, HEIGHT = 1280, GAP = 6, ROWS = 3 };

static const lob_colour paper = {18, 20, 24}, ink = {222, 226, 232};

/* What the rows show: two colours are enough where voxels are 0 and 1. */
typedef struct {
    lob_colour *colour; /* by dense label */
    bool *shown[ROWS];
    double window[2];
} look;

static void free_look(look *l)
{
    free(l->colour);
    for (int r = 0; r < ROWS; r++) free(l->shown[r]);
}

/* What labels are called: the result carries the names of the strokes where these have any. */
static const lob_label_names *names_of(const lob_segment_box *box)
{
    return box->labels->names.count > 0 ? &box->labels->names : &box->seeds->names;
}

static lob_status make_look(look *l, const lob_segment_box *box)
{
    const size_t n = (size_t)box->set.count + 1;
    l->colour = calloc(n, sizeof *l->colour);
    bool memory = l->colour != NULL;
    for (int r = 0; r < ROWS; r++) {
        l->shown[r] = calloc(n, sizeof **l->shown);
        memory = memory && l->shown[r];
    }
    if (!memory) return LOB_ENOMEM;
    for (int32_t i = 1; i <= box->set.count; i++) {
        l->colour[i] = lob_label_colour(names_of(box), box->set.values[i - 1]);
        l->shown[0][i] = true;
        l->shown[1][i] = i != box->background;
        l->shown[2][i] = i == 1;
    }
    return lob_percentile_window(l->window, box->image, 2, 98);
}

/* Pixels of a mm, so that all slices fit. */
static double scale_of(const lob_slice *view, int count)
{
    const double across = (WIDTH - (count + 1) * GAP) / (count * view->mm[0]);
    const double down = (HEIGHT - (ROWS + 1) * GAP) / (ROWS * view->mm[1]);
    return fmin(across, down);
}

lob_anatomical_plane lob_segment_plane(const lob_geometry *geometry, int axis)
{
    static const lob_anatomical_plane planes[] = {LOB_AXIAL, LOB_CORONAL, LOB_SAGITTAL};
    for (size_t i = 0; i < LOB_COUNT(planes); i++)
        if (lob_anatomical_axis(geometry, planes[i]) == axis) return planes[i];
    return LOB_AXIAL;
}

/* A tile: the slice, its row's labels, and in the corner what it is. */
static lob_status draw_tile(lob_canvas *canvas, const lob_slice *view, const lob_overlay *overlay,
                            double scale, const int at[2], const char *name)
{
    const lob_status st = lob_draw_slice(canvas, at[0], at[1], scale, overlay, view);
    if (st == LOB_OK) lob_canvas_text(canvas, at[0] + 4, at[1] + 4, 1, ink, name);
    return st;
}

static lob_status draw_column(lob_canvas *canvas, const lob_segment_box *box, const look *l,
                              const lob_volume *const rows[ROWS], const lob_slice *view, bool drawn,
                              double scale, int column, int64_t first)
{
    static const char *const names[ROWS] = {"strokes", "result", "uncertain"};
    static const lob_colour amber[2] = {
        {0,   0,   0 },
        {255, 176, 32}
    };
    int pixels[2];
    lob_status st = LOB_OK;
    lob_slice_pixels(pixels, view, scale);
    for (int r = 0; r < ROWS && st == LOB_OK; r++) {
        const lob_overlay overlay = {
            .image = box->image,
            .window = {l->window[0], l->window[1]},
            .labels = rows[r],
            .colour = r == 2 ? amber : l->colour,
            .shown = l->shown[r],
            .contour = -1,
            .alpha = r == 0   ? 0.9
                     : r == 1 ? 0.35
                              : 0.6
        };
        const int at[2] = {GAP + column * (pixels[0] + GAP), GAP + r * (pixels[1] + GAP)};
        char name[64];
        snprintf(name, sizeof name, "%s %c %lld",
                 r > 0 || drawn ? names[r] : "suggested:", "xyz"[view->across],
                 (long long)(first + view->slice));
        st = draw_tile(canvas, view, &overlay, scale, at, name);
    }
    return st;
}

static int by_place(const void *a, const void *b)
{
    const lob_segment_slice *const x = a, *const y = b;
    return (x->slice > y->slice) - (x->slice < y->slice);
}

/*
 * Names beside their colours, in as many lines as they take; none where labels have no names.
 *
 *   canvas  out  NULL: nothing is drawn
 *
 * Returns the pixels from y to the end of the last line.
 */
static int draw_names(lob_canvas *canvas, const lob_segment_box *box, const look *l, int y,
                      int width)
{
    enum { SWATCH = 7, LINE = LOB_GLYPH_HEIGHT + 4, SPACE = 3 * LOB_GLYPH_WIDTH };
    const lob_label_names *const names = names_of(box);
    const int first = y;
    int x = GAP;
    if (names->count == 0) return 0;
    for (int32_t i = 1; i <= box->set.count; i++) {
        const int32_t value = box->set.values[i - 1];
        const lob_label_name *const row = lob_label_names_find(names, value);
        char text[64];
        snprintf(text, sizeof text, "%d %.40s", value, row ? row->name : "");
        const int wide = SWATCH + 4 + lob_canvas_text_width(text, 1);
        if (x > GAP && x + wide > width - GAP) {
            x = GAP;
            y += LINE;
        }
        if (canvas) {
            lob_canvas_box(canvas, x, y, SWATCH, SWATCH, l->colour[i], 1.0);
            lob_canvas_text(canvas, x + SWATCH + 4, y, 1, ink, text);
        }
        x += wide + SPACE;
    }
    return y + LINE - first;
}

lob_status lob_segment_sheet(lob_session *s, const lob_segment_box *box,
                             const lob_volume *uncertain, const lob_segment_slice *slices,
                             int count, int axis, int64_t first, const char *path)
{
    const lob_volume *const rows[ROWS] = {box->seeds, box->labels, uncertain};
    const lob_anatomical_plane plane = lob_segment_plane(&box->image->geometry, axis);
    lob_canvas canvas = {.rgb = NULL};
    look l = {.colour = NULL};
    lob_segment_slice order[LOB_SEGMENT_SHEET_SLICES];
    memcpy(order, slices, (size_t)count * sizeof *order);
    qsort(order, (size_t)count, sizeof *order, by_place);
    lob_session_compute(s, "drawing");
    lob_slice view = lob_slice_of(box->image, plane, 0, false);
    const double scale = scale_of(&view, count);
    int pixels[2];
    lob_slice_pixels(pixels, &view, scale);
    const int width = GAP + count * (pixels[0] + GAP), tall = GAP + ROWS * (pixels[1] + GAP);
    lob_status st = make_look(&l, box);
    if (st == LOB_OK)
        st = lob_canvas_make(&canvas, width, tall + draw_names(NULL, box, &l, tall, width), paper);
    for (int i = 0; i < count && st == LOB_OK; i++) {
        view.slice = order[i].slice;
        st = draw_column(&canvas, box, &l, rows, &view, order[i].drawn, scale, i, first);
    }
    if (st == LOB_OK) draw_names(&canvas, box, &l, tall, width);
    if (st == LOB_ENOMEM) lob_session_no_memory(s, path);
    if (st == LOB_OK) {
        lob_session_computed(s);
        st = lob_session_write_picture(s, canvas.rgb, canvas.width, canvas.height, path);
    }
    free(canvas.rgb);
    free_look(&l);
    return st;
}
