/* Drawing the sheet of strokes, result and uncertain voxels. */
#include "tools/commands/segment/segment_sheet.h"

#include "kernels/appearance/strokes.h"
#include "tools/inout/volumes.h"
#include "tools/picture/mosaic.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, HEIGHT = 1280, GAP = 6, ROWS = 3, COLUMNS = 5 };

static const lob_colour paper = {18, 20, 24}, ink = {222, 226, 232};

/* Volumes of the plan's box; labels are dense. */
typedef struct {
    const lob_volume *image, *seeds;
    lob_volume labels, uncertain;
    lob_label_set set;
    int32_t background;
} box;

/* A column of the sheet. */
typedef struct {
    int64_t slice; /* of the image */
    bool drawn;    /* it has strokes already */
} shown_slice;

/* What the rows show: two colours are enough where voxels are 0 and 1. */
typedef struct {
    lob_colour *colour; /* by dense label */
    bool *shown[ROWS];
    double window[2];
} look;

/* All of it, freed together. */
typedef struct {
    box box;
    look look;
    lob_canvas canvas;
    shown_slice columns[COLUMNS];
    int count;
} drawing;

static void release(drawing *sheet)
{
    LOB_VOLUMES_FREE(&sheet->box.labels, &sheet->box.uncertain);
    lob_label_set_free(&sheet->box.set);
    free(sheet->look.colour);
    for (int r = 0; r < ROWS; r++) free(sheet->look.shown[r]);
    free(sheet->canvas.rgb);
}

static lob_status make_look(look *l, const box *b)
{
    const size_t n = (size_t)b->set.count + 1;
    l->colour = calloc(n, sizeof *l->colour);
    bool memory = l->colour != NULL;
    for (int r = 0; r < ROWS; r++) {
        l->shown[r] = calloc(n, sizeof **l->shown);
        memory = memory && l->shown[r];
    }
    if (!memory) return LOB_ENOMEM;
    for (int32_t i = 1; i <= b->set.count; i++) {
        l->colour[i] = lob_label_colour(&b->seeds->names, b->set.values[i - 1]);
        l->shown[0][i] = true;
        l->shown[1][i] = i != b->background;
        l->shown[2][i] = i == 1;
    }
    return lob_percentile_window(l->window, b->image, 2, 98);
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

static lob_status draw_column(lob_canvas *canvas, const box *b, const look *l,
                              const lob_volume *const rows[ROWS], const lob_slice *view, bool drawn,
                              double scale, int column, int64_t first)
{
    static const char *const names[ROWS] = {"strokes", "result", "uncertain"};
    static const lob_colour amber[2] = {
        {0,   0,   0 },
        {255, 176, 32}
    };
    int pixels[2];
    lob_slice_pixels(pixels, view, scale);
    for (int r = 0; r < ROWS; r++) {
        const lob_overlay overlay = {
            .image = b->image,
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
        LOB_TRY(lob_draw_slice(canvas, at[0], at[1], scale, &overlay, view));
        lob_canvas_text(canvas, at[0] + 4, at[1] + 4, 1, ink, name); /* in the corner */
    }
    return LOB_OK;
}

static int by_place(const void *a, const void *b)
{
    const shown_slice *const x = a, *const y = b;
    return (x->slice > y->slice) - (x->slice < y->slice);
}

/*
 * Names beside their colours, in as many lines as they take; none where labels have no names.
 *
 *   canvas  out  NULL: nothing is drawn
 *
 * Returns the pixels from y to the end of the last line.
 */
static int draw_names(lob_canvas *canvas, const box *b, const look *l, int y, int width)
{
    enum { SWATCH = 7, LINE = LOB_GLYPH_HEIGHT + 4, SPACE = 3 * LOB_GLYPH_WIDTH };
    const lob_label_names *const names = &b->seeds->names;
    const int first = y;
    int x = GAP;
    if (names->count == 0) return 0;
    for (int32_t i = 1; i <= b->set.count; i++) {
        const int32_t value = b->set.values[i - 1];
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

/* ---- columns ---- */

/* Slices with strokes, at most n, spread over those that there are. Returns how many. */
static int take_drawn(shown_slice *columns, int n, const lob_strokes *strokes, int axis,
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
                columns[found++] = (shown_slice){first + i, true};
        }
    return found;
}

/* The sheet's slices, in their order: those that are suggested, then some with strokes. */
static lob_status choose_columns(lob_session *s, shown_slice columns[COLUMNS], int *count,
                                 const box *b, const lob_segment_plan *plan,
                                 const lob_segment_output *found, int axis)
{
    lob_strokes strokes;
    LOB_TRY(lob_strokes_count(&strokes, b->seeds->data, b->seeds->type, b->seeds->dims,
                              b->set.count, s->context.threads, &s->error));
    *count = found->slice_count < COLUMNS ? found->slice_count : COLUMNS;
    for (int i = 0; i < *count; i++) columns[i] = (shown_slice){found->slices[i].slice, false};
    *count += take_drawn(&columns[*count], COLUMNS - *count, &strokes, axis, plan->box.first[axis]);
    qsort(columns, (size_t)*count, sizeof *columns, by_place);
    lob_strokes_free(&strokes);
    return LOB_OK;
}

/* ---- the sheet ---- */

/* A copy of a volume's box. */
static lob_status cut(lob_volume *out, const lob_volume *volume, const lob_box *at)
{
    const int64_t bytes = lob_voxels(volume) * (int64_t)lob_type_of(volume->type)->bytes;
    LOB_TRY(lob_volume_like(out, volume, volume->type, 1));
    memcpy(out->data, volume->data, (size_t)bytes);
    return lob_volume_crop(out, at);
}

static lob_status make_box(lob_session *s, box *b, lob_volume *image, lob_volume *strokes,
                           const lob_segment_plan *plan, const lob_segment_output *found)
{
    lob_label_set labels = {0};
    LOB_TRY(lob_volume_crop(image, &plan->box));
    LOB_TRY(lob_volume_crop(strokes, &plan->box));
    LOB_TRY(lob_labels_dense(strokes, &b->set, "strokes", &s->error));
    LOB_TRY(cut(&b->uncertain, &found->uncertain, &plan->box));
    LOB_TRY(cut(&b->labels, &found->labels, &plan->box));
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
    const lob_volume *const rows[ROWS] = {b->seeds, &b->labels, &b->uncertain};
    lob_canvas *const canvas = &sheet->canvas;
    lob_slice view = lob_slice_of(b->image, lob_segment_plane(&b->image->geometry, axis), 0, false);
    const double scale = scale_of(&view, sheet->count);
    int pixels[2];
    lob_slice_pixels(pixels, &view, scale);
    const int width = GAP + sheet->count * (pixels[0] + GAP), tall = GAP + ROWS * (pixels[1] + GAP);
    LOB_TRY(make_look(&sheet->look, b));
    LOB_TRY(lob_canvas_make(canvas, width, tall + draw_names(NULL, b, l, tall, width), paper));
    for (int i = 0; i < sheet->count; i++) {
        view.slice = sheet->columns[i].slice - first;
        LOB_TRY(draw_column(canvas, b, l, rows, &view, sheet->columns[i].drawn, scale, i, first));
    }
    draw_names(canvas, b, l, tall, width);
    return LOB_OK;
}

static lob_status make_sheet(lob_session *s, drawing *sheet, lob_volume *image, lob_volume *strokes,
                             const lob_segment_plan *plan, const lob_segment_output *found)
{
    int axis = plan->axis;
    for (int k = 0; k < 3 && axis < 0; k++)
        if (lob_side(image->dims, k) == 1) axis = k;
    LOB_TRY(make_box(s, &sheet->box, image, strokes, plan, found));
    LOB_TRY(choose_columns(s, sheet->columns, &sheet->count, &sheet->box, plan, found, axis));
    return draw(sheet, axis, plan->box.first[axis]);
}

lob_status lob_segment_sheet(lob_session *s, lob_volume *image, lob_volume *strokes,
                             const lob_segment_plan *plan, const lob_segment_output *found,
                             const char *path)
{
    drawing sheet = {
        .box = {.image = image, .seeds = strokes}
    };
    sheet.box.labels = sheet.box.uncertain = lob_volume_empty();
    const int64_t n = lob_voxels(image) * 2;
    LOB_TRY(lob_session_take(s, n, path));
    lob_session_compute(s, "drawing");
    lob_status st = make_sheet(s, &sheet, image, strokes, plan, found);
    if (st == LOB_ENOMEM) lob_session_no_memory(s, path);
    if (st == LOB_OK) lob_session_computed(s);
    const lob_canvas *const drawn = &sheet.canvas;
    if (st == LOB_OK)
        st = lob_session_write_picture(s, drawn->rgb, drawn->width, drawn->height, path);
    release(&sheet);
    lob_session_give(s, n);
    return st;
}
