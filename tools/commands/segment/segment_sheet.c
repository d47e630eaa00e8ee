/* Drawing the sheet of strokes, result and uncertain voxels. */
#include "tools/commands/segment/segment_sheet.h"

#include "kernels/appearance/strokes.h"
#include "tools/inout/volumes.h"
#include "tools/picture/colours.h"
#include "tools/picture/mosaic.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1840, /* pixels, where several slices stand beside each other */
    GAP = 8,
    TEXT = 15,
    ROWS = 3,
    SLICES = 60 /* that are shown at most */
};

static const lob_colour paper = {18, 20, 24}, ink = {222, 226, 232};

/* Volumes of the plan's box; labels are dense. */
typedef struct {
    const lob_volume *image, *uncertain;
    lob_volume seeds, labels;
    lob_label_set set;
    int32_t background;
} box;

/* A slice of the sheet. */
typedef struct {
    int64_t slice; /* of the image */
    bool drawn;    /* it has strokes already */
} shown_slice;

/* Slices stand beside each other, each as strokes, result and doubt below each other; what has no
 * room in a line of them goes into the next. */
typedef struct {
    double pixels_per_mm;
    int tile[2]; /* pixels */
    int columns;
    int width, height; /* without names */
} layout;

/* What the rows show: two colours are enough where voxels are 0 and 1. */
typedef struct {
    lob_colour *colour; /* by dense label */
    bool *shown;        /* likewise, of a row after the other */
    double window[2];
} look;

/* All of it, freed together. */
typedef struct {
    box box;
    look look;
    lob_canvas canvas;
    shown_slice slices[SLICES];
    int count;
} drawing;

static void release(drawing *sheet)
{
    LOB_VOLUMES_FREE(&sheet->box.seeds, &sheet->box.labels);
    lob_label_set_free(&sheet->box.set);
    LOB_FREE(sheet->look.colour, sheet->look.shown, sheet->canvas.rgb);
}

static lob_status make_look(look *l, const box *b)
{
    const size_t n = (size_t)b->set.count + 1;
    l->colour = calloc(n, sizeof *l->colour);
    l->shown = calloc(ROWS * n, sizeof *l->shown);
    if (!l->colour || !l->shown) return LOB_ENOMEM;
    for (size_t i = 1; i < n; i++) {
        l->shown[i] = true;
        l->shown[n + i] = (int32_t)i != b->background;
        l->shown[2 * n + i] = i == 1;
    }
    LOB_TRY(lob_colours_choose(l->colour, &b->labels, &b->set, &b->seeds.names));
    lob_overlay result = {.image = b->image, .labels = &b->labels, .shown = l->shown + n};
    LOB_TRY(lob_overlay_window(&result, 2, 98));
    memcpy(l->window, result.window, sizeof l->window);
    return LOB_OK;
}

/* The more slices, the smaller. */
static layout lay_out(const lob_slice *view, int count)
{
    const int side = count <= 4 ? 440 : count <= 10 ? 356 : count <= 30 ? 290 : 220;
    layout l = {.pixels_per_mm = side / fmax(view->mm[0], view->mm[1])};
    lob_slice_pixels(l.tile, view, l.pixels_per_mm);
    const int most = (WIDTH - GAP) / (l.tile[0] + GAP), lines = (count + most - 1) / most;
    l.columns = (count + lines - 1) / lines;
    l.width = GAP + l.columns * (l.tile[0] + GAP);
    l.height = lines * (ROWS * (l.tile[1] + GAP) + 2 * GAP);
    return l;
}

lob_anatomical_plane lob_segment_plane(const lob_geometry *geometry, int axis)
{
    int plane = LOB_AXIAL;
    while (plane > 0 && lob_anatomical_axis(geometry, (lob_anatomical_plane)plane) != axis) plane--;
    return (lob_anatomical_plane)plane;
}

/* A slice, three times; (x, y) is its upper left corner. */
static lob_status draw_slice(lob_canvas *canvas, const drawing *sheet, const lob_slice *view,
                             const layout *place, int number, int64_t first)
{
    const box *const b = &sheet->box;
    const lob_volume *const rows[ROWS] = {&b->seeds, &b->labels, b->uncertain};
    static const char *const names[ROWS] = {"strokes", "result", "uncertain"};
    static const double covers[ROWS] = {1.0, 0.35, 0.6};
    static const lob_colour amber[2] = {
        {0,   0,   0 },
        {255, 176, 32}
    };
    const look *const l = &sheet->look;
    const int line = number / place->columns, column = number % place->columns;
    const int x = GAP + column * (place->tile[0] + GAP);
    for (int r = 0; r < ROWS; r++) {
        const lob_overlay overlay = {
            .image = b->image,
            .window = {l->window[0], l->window[1]},
            .labels = rows[r],
            .colour = r == 2 ? amber : l->colour,
            .shown = l->shown + r * (b->set.count + 1),
            .contour = r == 0 ? 0 : -1,
            .alpha = covers[r]
        };
        const int y =
            GAP + line * (ROWS * (place->tile[1] + GAP) + 2 * GAP) + r * (place->tile[1] + GAP);
        char name[64];
        snprintf(name, sizeof name, "%s %c %lld",
                 r > 0 || sheet->slices[number].drawn ? names[r] : "suggested:",
                 "xyz"[view->across], (long long)(first + view->slice));
        LOB_TRY(lob_draw_slice(canvas, x, y, place->pixels_per_mm, &overlay, view));
        LOB_TRY(lob_canvas_text(canvas, x + GAP / 2, y + 2, TEXT, ink, name)); /* in the corner */
    }
    return LOB_OK;
}

/*
 * Names beside their colours, in as many lines as they take.
 *
 *   canvas  out  NULL: nothing is drawn
 *
 * Adds the pixels of the lines to *y.
 */
static lob_status draw_names(int *y, lob_canvas *canvas, const box *b, const look *l, int width)
{
    enum { SWATCH = 12, LINE = TEXT + 9, SPACE = 2 * TEXT };
    int x = GAP;
    for (int32_t i = 1; i <= b->set.count; i++) {
        const int32_t value = b->set.values[i - 1];
        const lob_label_name *const row = lob_label_names_find(&b->seeds.names, value);
        char text[160];
        snprintf(text, sizeof text, row ? "%d %.120s" : "label %d", value, row ? row->name : "");
        const int wide = SWATCH + 6 + lob_text_width(text, TEXT);
        if (x > GAP && x + wide > width - GAP) {
            x = GAP;
            *y += LINE;
        }
        if (canvas) {
            lob_canvas_box(canvas, x, *y + 4, SWATCH, SWATCH, l->colour[i], 1.0);
            LOB_TRY(lob_canvas_text(canvas, x + SWATCH + 6, *y, TEXT, ink, text));
        }
        x += wide + SPACE;
    }
    *y += LINE;
    return LOB_OK;
}

/* ---- slices ---- */

/* Slices with strokes, at most n, spread over those that there are. Returns how many. */
static int take_drawn(shown_slice *slices, int n, const lob_strokes *strokes, int axis,
                      int64_t first)
{
    const int64_t side = lob_side(strokes->dims, axis);
    int64_t all = 0, seen = 0;
    int found = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < side && n > 0; i++) {
            const int64_t *const voxels = lob_strokes_in(strokes, axis, i);
            bool drawn = false;
            for (int32_t k = 0; k < strokes->labels; k++) drawn = drawn || voxels[k] > 0;
            if (!drawn) continue;
            const int64_t most = all > n ? n : all > 0 ? all : 1;
            if (pass == 0)
                all++;
            else if (seen++ == (2 * found + 1) * all / (2 * most))
                slices[found++] = (shown_slice){first + i, true};
        }
    return found;
}

/* The sheet's slices, in their order: those that are suggested and those with strokes. */
static lob_status choose_slices(lob_session *s, drawing *sheet, const lob_segment_plan *plan,
                                const lob_segment_output *found, int axis)
{
    const box *const b = &sheet->box;
    int n = 0;
    lob_strokes strokes;
    LOB_TRY(lob_strokes_count(&strokes, b->seeds.data, b->seeds.type, b->seeds.dims, b->set.count,
                              NULL, s->context.threads, &s->error));
    for (; n < found->slice_count && n < SLICES; n++)
        sheet->slices[n] = (shown_slice){found->slices[n].slice, false};
    n += take_drawn(&sheet->slices[n], SLICES - n, &strokes, axis, plan->box.first[axis]);
    qsort(sheet->slices, (size_t)n, sizeof *sheet->slices, lob_by_int64);
    lob_strokes_free(&strokes);
    sheet->count = n;
    return LOB_OK;
}

/* ---- the sheet ---- */

static lob_status copy(lob_volume *out, const lob_volume *volume)
{
    LOB_TRY(lob_volume_like(out, volume, volume->type, 1));
    memcpy(out->data, volume->data, (size_t)lob_volume_bytes(volume));
    return LOB_OK;
}

/* Strokes and labels become dense, on copies: both are still needed. */
static lob_status make_box(lob_session *s, box *b, const lob_volume *seeds,
                           const lob_segment_plan *plan, const lob_segment_output *found)
{
    lob_label_set labels = {0};
    LOB_TRY(copy(&b->seeds, seeds));
    LOB_TRY(copy(&b->labels, &found->labels));
    LOB_TRY(lob_labels_dense(&b->seeds, &b->set, "strokes", &s->error));
    LOB_TRY(lob_labels_dense(&b->labels, &labels, "labels", &s->error));
    for (int32_t i = 0; i < labels.count; i++)
        labels.values[i] = lob_label_set_find(&b->set, labels.values[i]);
    const lob_status st = lob_labels_restore(&b->labels, &labels);
    lob_label_set_free(&labels);
    b->background = lob_label_set_find(&b->set, plan->background);
    return st;
}

static lob_status draw(drawing *sheet, int axis, int64_t first)
{
    const box *const b = &sheet->box;
    const look *const l = &sheet->look;
    lob_canvas *const canvas = &sheet->canvas;
    lob_slice view = lob_slice_of(b->image, lob_segment_plane(&b->image->geometry, axis), 0, false);
    const layout place = lay_out(&view, sheet->count);
    int tall = place.height, y = place.height;
    LOB_TRY(make_look(&sheet->look, b));
    LOB_TRY(draw_names(&tall, NULL, b, l, place.width));
    LOB_TRY(lob_canvas_make(canvas, place.width, tall, paper));
    for (int i = 0; i < sheet->count; i++) {
        view.slice = sheet->slices[i].slice - first;
        LOB_TRY(draw_slice(canvas, sheet, &view, &place, i, first));
    }
    return draw_names(&y, canvas, b, l, place.width);
}

lob_status lob_segment_sheet(lob_session *s, const lob_volume *image, const lob_volume *strokes,
                             const lob_segment_plan *plan, const lob_segment_output *found,
                             const char *path)
{
    drawing sheet = {
        .box = {.image = image, .uncertain = &found->uncertain}
    };
    sheet.box.seeds = sheet.box.labels = lob_volume_empty();
    const int64_t n = lob_volume_bytes(strokes) + lob_volume_bytes(&found->labels);
    LOB_TRY(lob_session_take(s, n, path));
    lob_session_compute(s, "drawing");
    const int axis = plan->across;
    lob_status st = make_box(s, &sheet.box, strokes, plan, found);
    if (st == LOB_OK) st = choose_slices(s, &sheet, plan, found, axis);
    if (st == LOB_OK) st = draw(&sheet, axis, plan->box.first[axis]);
    if (st == LOB_ENOMEM) lob_session_no_memory(s, path);
    if (st == LOB_OK) lob_session_computed(s);
    if (st == LOB_OK) st = lob_session_write_picture(s, &sheet.canvas, path);
    release(&sheet);
    lob_session_give(s, n);
    return st;
}
