/* Laying out and drawing a scan and its labels. */
#include "tools/picture/preview_picture.h"

#include "tools/options/label_list.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef lob_preview settings;
typedef lob_preview_content content;
typedef lob_preview_layout layout;

/* The order of the words of --plane. */
static const lob_anatomical_plane planes[] = {LOB_AXIAL, LOB_CORONAL, LOB_SAGITTAL};

lob_preview lob_preview_defaults(void)
{
    return (lob_preview){
        .plane = -1,
        .size = 1200,
        .window = {-INFINITY, INFINITY},
        .alpha = 0.35,
        .contour = -1,
        .at = { INFINITY, INFINITY, INFINITY}
    };
}

/* ---- what is in the volumes ---- */

static bool is_hidden(const settings *set, const content *c, int32_t dense)
{
    if (!set->hide)
        return c->set.count > 1 && 2 * c->set.voxels[dense - 1] > lob_voxels(&c->labels);
    return lob_label_list_has(set->hide, c->set.values[dense - 1]);
}

static bool is_shown(const content *c, int64_t voxel)
{
    return c->shown[lob_label_at(c->labels.data, c->labels.type, voxel)];
}

static bool is_bright(const content *c, int64_t voxel)
{
    double v;
    lob_values(&v, c->image.data, c->image.type, voxel, 1);
    return c->image.slope * v + c->image.inter >
           0.5 * (c->overlay.window[0] + c->overlay.window[1]);
}

/* The planes meet at the centre of mass of the voxels inside. Returns how many these are. */
static int64_t locate(content *c, bool (*inside)(const content *c, int64_t voxel), int64_t low[3],
                      int64_t high[3])
{
    const lob_dims d = c->image.dims;
    double sum[3] = {0, 0, 0};
    int64_t count = 0, at = 0;
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++, at++) {
                if (!inside(c, at)) continue;
                const int64_t p[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    sum[a] += (double)p[a];
                    if (count == 0 || p[a] < low[a]) low[a] = p[a];
                    if (count == 0 || p[a] > high[a]) high[a] = p[a];
                }
                count++;
            }
    for (int a = 0; a < 3 && count; a++) c->at[a] = (int64_t)(sum[a] / (double)count + 0.5);
    return count;
}

/* Box and centre of the labels shown; else the whole grid, and the centre of what is brighter than
 * the window's middle or, without any, of the grid. */
static void locate_content(content *c, bool labels)
{
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        c->high[a] = lob_side(c->image.dims, a) - 1;
        c->at[a] = lob_side(c->image.dims, a) / 2;
    }
    if (!labels || locate(c, is_shown, c->low, c->high) == 0) locate(c, is_bright, low, high);
}

lob_status lob_preview_look(lob_preview_content *c, const lob_preview *set, lob_error *error)
{
    const bool labels = c->labels.data != NULL;
    lob_status st = labels ? lob_labels_dense(&c->labels, &c->set, set->labels, error) : LOB_OK;
    if (st != LOB_OK) return st;
    c->colour = calloc((size_t)c->set.count + 1, sizeof *c->colour);
    c->shown = calloc((size_t)c->set.count + 1, sizeof *c->shown);
    if (!c->colour || !c->shown)
        return lob_fail_file(error, LOB_ENOMEM, set->image, "out of memory");
    for (int32_t i = 1; i <= c->set.count; i++) {
        c->colour[i] = lob_label_colour(&c->labels.names, c->set.values[i - 1]);
        c->shown[i] = !is_hidden(set, c, i);
    }
    c->overlay = (lob_overlay){
        .image = &c->image,
        .window = {set->window[0], set->window[1]},
        .labels = labels ? &c->labels : NULL,
        .colour = c->colour,
        .shown = c->shown,
        .alpha = set->alpha,
        .contour = set->contour
    };
    /* The brightest of hundreds of voxels lie among the last percent. */
    if (!isfinite(set->window[0]) || !isfinite(set->window[1]))
        st = lob_percentile_window(c->overlay.window, &c->image, set->project ? 50 : 2,
                                   set->project ? 99.9 : 98);
    if (st != LOB_OK) return lob_fail_file(error, st, set->image, "out of memory");
    locate_content(c, labels);
    for (int a = 0; a < 3 && isfinite(set->at[a]); a++) c->at[a] = (int64_t)(set->at[a] + 0.5);
    return LOB_OK;
}

void lob_preview_content_free(lob_preview_content *c)
{
    free(c->colour);
    free(c->shown);
    lob_label_set_free(&c->set);
    lob_volume_free(&c->image);
    lob_volume_free(&c->labels);
}

/* ---- where things go ---- */

/* "1234 ml", "0.51 mm3", "870 um3" */
static void volume_text(char *text, size_t size, double mm3)
{
    static const struct {
        double mm3;
        const char *name;
    } units[] = {
        {1e3,  "ml" },
        {1.0,  "mm3"},
        {1e-9, "um3"}
    };
    size_t u = 0;
    while (u + 1 < sizeof units / sizeof units[0] && mm3 < 0.01 * units[u].mm3) u++;
    const double value = mm3 / units[u].mm3;
    snprintf(text, size, value >= 1000 && value < 1e9 ? "%.0f %s" : "%.3g %s", value,
             units[u].name);
}

static int line_height(const layout *l)
{
    return (LOB_GLYPH_HEIGHT + 3) * l->text;
}

/* "12  870 mm3 off  left kidney": what stands in the legend beside a label's colour. */
static void entry_text(char *text, size_t size, const content *c, int32_t dense)
{
    const int32_t value = c->set.values[dense - 1];
    const lob_label_name *const row = lob_label_names_find(&c->labels.names, value);
    const double mm3 = (double)c->set.voxels[dense - 1] * lob_voxel_mm3(&c->labels.geometry);
    char volume[32];
    volume_text(volume, sizeof volume, mm3);
    snprintf(text, size, "%-3" PRId32 " %-8s%s%s%.40s", value, volume,
             c->shown[dense] ? "" : " off", row ? " " : "", row ? row->name : "");
}

/* Width of a label's entry in the legend, from the first of them: what comes after many has no room
 * anyway. */
static int cell_width(const layout *l, const content *c)
{
    enum { MAX = 400 };
    int widest = 18 * LOB_GLYPH_WIDTH * l->text;
    for (int32_t i = 1; i <= c->set.count && i <= MAX; i++) {
        char text[128];
        entry_text(text, sizeof text, c, i);
        const int width = lob_canvas_text_width(text, l->text);
        if (width > widest) widest = width;
    }
    return widest + 3 * LOB_GLYPH_WIDTH * l->text; /* the colour, and a gap */
}

/* Views in `columns` columns, tiles of one size, the legend as a strip below. */
static void lay_out_grid(layout *l, const settings *set, const content *c, int columns)
{
    const int rows = (l->count + columns - 1) / columns;
    const int cells = set->size / l->cell > 0 ? set->size / l->cell : 1;
    const int half = set->size / 2 / line_height(l), most = half > 5 ? 4 : half > 1 ? half - 1 : 0;
    const int all = (c->set.count + cells - 1) / cells, lines = all > most ? most : all;
    const int strip = (1 + lines) * line_height(l) + l->gap;
    const double across = (set->size - (columns + 1) * l->gap) / (columns * l->tiles[0].view.mm[0]);
    const double down = (set->size - (rows + 1) * l->gap - strip) / (rows * l->tiles[0].view.mm[1]);
    l->pixels_per_mm = fmax(fmin(across, down), DBL_MIN);
    int pixels[2];
    lob_slice_pixels(pixels, &l->tiles[0].view, l->pixels_per_mm);
    for (int i = 0; i < l->count; i++) {
        l->tiles[i].x = l->gap + i % columns * (pixels[0] + l->gap);
        l->tiles[i].y = l->gap + i / columns * (pixels[1] + l->gap);
    }
    l->width = l->gap + columns * (pixels[0] + l->gap);
    l->height = l->gap + rows * (pixels[1] + l->gap) + strip;
    const int legend[4] = {l->gap, l->height - strip, l->width - 2 * l->gap, strip};
    memcpy(l->legend, legend, sizeof legend);
}

/* The number of columns that gives the largest tiles. */
static int best_columns(const layout *l, const settings *set)
{
    int best = 1;
    double largest = 0;
    for (int columns = 1; columns <= l->count; columns++) {
        const int rows = (l->count + columns - 1) / columns;
        const double across = set->size / (columns * l->tiles[0].view.mm[0]);
        const double down = 0.8 * set->size / (rows * l->tiles[0].view.mm[1]);
        if (fmin(across, down) > largest) {
            largest = fmin(across, down);
            best = columns;
        }
    }
    return best;
}

/*
 *     axial     legend      Coronal shares its left and right with axial,
 *     coronal   sagittal    and its top and bottom with sagittal.
 */
static void lay_out_planes(layout *l, const settings *set)
{
    const lob_slice *const axial = &l->tiles[0].view, *const sagittal = &l->tiles[2].view;
    const double wide = axial->mm[0] + sagittal->mm[0], tall = axial->mm[1] + sagittal->mm[1];
    l->pixels_per_mm = fmax((set->size - 3 * l->gap) / fmax(wide, tall), DBL_MIN);
    int a[2], b[2];
    lob_slice_pixels(a, axial, l->pixels_per_mm);
    lob_slice_pixels(b, sagittal, l->pixels_per_mm);
    const int x = 2 * l->gap + a[0], y = 2 * l->gap + a[1];
    const int places[3][2] = {
        {l->gap, l->gap},
        {l->gap, y     },
        {x,      y     }
    };
    for (int i = 0; i < 3; i++) {
        l->tiles[i].x = places[i][0];
        l->tiles[i].y = places[i][1];
    }
    l->width = x + b[0] + l->gap;
    l->height = y + b[1] + l->gap;
    const int legend[4] = {x + l->gap, l->gap, b[0] - l->gap, a[1]};
    memcpy(l->legend, legend, sizeof legend);
    l->cross = !set->project;
    l->upright = true;
}

static void add_tile(layout *l, const settings *set, const content *c, lob_anatomical_plane plane,
                     int64_t slice)
{
    l->tiles[l->count++].view = lob_slice_of(&c->image, plane, slice, set->convention == 1);
}

/* The slice where the planes meet, or the projection of all. */
static void add_whole(layout *l, const settings *set, const content *c, lob_anatomical_plane plane)
{
    const int axis = lob_anatomical_axis(&c->image.geometry, plane);
    add_tile(l, set, c, plane, c->at[axis]);
    if (set->project)
        lob_slice_project(&l->tiles[l->count - 1].view, &c->image, 0,
                          lob_side(c->image.dims, axis) - 1);
}

/* Slices spread evenly over the extent of the labels. */
static void lay_out_montage(layout *l, const settings *set, const content *c,
                            lob_anatomical_plane plane)
{
    const int axis = lob_anatomical_axis(&c->image.geometry, plane);
    const int64_t extent = c->high[axis] - c->low[axis] + 1;
    const int64_t n = set->montage < extent ? set->montage : extent;
    for (int64_t i = 0; i < n; i++) {
        add_tile(l, set, c, plane, c->low[axis] + (2 * i + 1) * extent / (2 * n));
        if (set->project)
            lob_slice_project(&l->tiles[i].view, &c->image, c->low[axis] + i * extent / n,
                              c->low[axis] + (i + 1) * extent / n - 1);
    }
    lay_out_grid(l, set, c, best_columns(l, set));
}

static void lay_out(layout *l, const settings *set, const content *c)
{
    *l = (layout){.gap = set->size >= 900 ? 8 : 4, .text = set->size >= 900 ? 2 : 1};
    l->cell = cell_width(l, c);
    if (set->montage > 0) {
        lay_out_montage(l, set, c, set->plane < 0 ? LOB_AXIAL : planes[set->plane]);
        return;
    }
    /* A volume one voxel thick is shown in its plane only; a row of voxels, in any. */
    int best = -1;
    bool solid = true;
    for (int p = 0; p < 3; p++) {
        const int axis = lob_anatomical_axis(&c->image.geometry, planes[p]);
        solid &= lob_side(c->image.dims, axis) > 1;
        const int other = best < 0 ? -1 : lob_anatomical_axis(&c->image.geometry, planes[best]);
        if (best < 0 || lob_side(c->image.dims, axis) < lob_side(c->image.dims, other)) best = p;
    }
    if (set->plane >= 0) best = set->plane;
    if (set->plane >= 0 || !solid) {
        add_whole(l, set, c, planes[best]);
        lay_out_grid(l, set, c, 1);
        return;
    }
    for (int p = 0; p < 3; p++) add_whole(l, set, c, planes[p]);
    lay_out_planes(l, set);
}

/*
 * Lay out so that neither side of the picture is longer than --size. Rounding, the gaps between
 * many slices, and slices of less than a pixel take more than their share: then all is laid out
 * again for as much less.
 */
lob_status lob_preview_lay_out(lob_preview_layout *l, const lob_preview *set,
                               const lob_preview_content *c, lob_error *error)
{
    settings within = *set;
    for (int over = 0; over < within.size;) {
        within.size -= over;
        lay_out(l, &within, c);
        const double *const mm = c->image.geometry.spacing_mm;
        if (!isfinite(l->tiles[0].view.mm[0] + l->tiles[0].view.mm[1]))
            return lob_fail_file(error, LOB_EDATA, set->image,
                                 "voxels of %g x %g x %g mm are too large to draw; correct the "
                                 "spacing in its header",
                                 mm[0], mm[1], mm[2]);
        over = (l->width > l->height ? l->width : l->height) - set->size;
        if (over <= 0) return LOB_OK;
    }
    return lob_fail(error, LOB_EARG, "--size %d: %d slices do not fit; choose a larger picture",
                    set->size, l->count);
}

/* ---- drawing ---- */

static const lob_colour paper = {18, 20, 24}, ink = {222, 226, 232}, pale = {140, 148, 160};

/* A swatch, the label, its volume and name. */
static void draw_entry(lob_canvas *canvas, const layout *l, const content *c, int32_t dense, int x,
                       int y)
{
    const int swatch = 7 * l->text;
    char text[128];
    entry_text(text, sizeof text, c, dense);
    lob_canvas_box(canvas, x, y, swatch, swatch, c->colour[dense], c->shown[dense] ? 1.0 : 0.3);
    lob_canvas_text(canvas, x + swatch + 4 * l->text, y, l->text, c->shown[dense] ? ink : pale,
                    text);
}

/* Lines of text on top, then the labels in columns; what does not fit is counted. */
static void draw_legend(lob_canvas *canvas, const layout *l, const settings *set, const content *c)
{
    const char *const slash = strrchr(set->image, '/');
    const int line = line_height(l), bottom = l->legend[1] + l->legend[3];
    char text[128];
    int y = l->legend[1] + 2 * l->text;
    snprintf(text, sizeof text, "%.60s   window %.4g .. %.4g", slash ? slash + 1 : set->image,
             c->overlay.window[0], c->overlay.window[1]);
    if (lob_canvas_text_width(text, l->text) > l->legend[2]) {
        char *const second = strstr(text, "   window");
        if (second && y + 2 * line <= bottom) {
            lob_canvas_text(canvas, l->legend[0], y + line, l->text, pale, second + 3);
        }
        if (second) *second = '\0';
        lob_canvas_text(canvas, l->legend[0], y, l->text, ink, text);
        y += y + 2 * line <= bottom ? 2 * line : line;
    } else {
        lob_canvas_text(canvas, l->legend[0], y, l->text, pale, text);
        y += line;
    }
    if (l->upright) y += line / 2;

    const int columns = l->legend[2] / l->cell > 0 ? l->legend[2] / l->cell : 1;
    const int rows = (bottom - y) / line;
    const int capacity = rows > 0 ? columns * rows : 0;
    for (int32_t i = 0; i < c->set.count && i < capacity; i++) {
        const int at = l->upright ? i / rows : i % columns;
        const int down = l->upright ? i % rows : i / columns;
        const int u = l->legend[0] + at * l->cell, v = y + down * line;
        if (i == capacity - 1 && c->set.count > capacity) {
            snprintf(text, sizeof text, "and %" PRId32 " more", c->set.count - i);
            lob_canvas_text(canvas, u, v, l->text, pale, text);
        } else {
            draw_entry(canvas, l, c, i + 1, u, v);
        }
    }
}

/* "coronal y 31", in a montage "y 31"; of a projection "coronal MIP", "y 24-31 MIP". */
static void tile_name(char *name, size_t size, const layout *l, const lob_slice *view)
{
    const bool many = l->count > 3, plane = !many && view->side[0];
    const char axis = "xyz"[view->across];
    const int64_t low = view->near < view->far ? view->near : view->far;
    const int64_t high = view->near < view->far ? view->far : view->near;
    const char *const word = plane ? lob_plane_name(view->plane) : "", *const gap =
                                                                           plane ? " " : "";
    if (!view->projected)
        snprintf(name, size, "%s%s%c %" PRId64, word, gap, axis, view->slice);
    else if (many)
        snprintf(name, size, "%c %" PRId64 "-%" PRId64 " MIP", axis, low, high);
    else
        snprintf(name, size, "%s%sMIP", word, gap);
}

/* One view with its letters, its name, and on the first one the scale bar. */
static lob_status draw_tile(lob_canvas *canvas, const layout *l, const content *c, int number)
{
    const lob_preview_tile *const t = &l->tiles[number];
    const lob_slice *const view = &t->view;
    int pixels[2];
    lob_slice_pixels(pixels, view, l->pixels_per_mm);
    LOB_TRY(lob_draw_slice(canvas, t->x, t->y, l->pixels_per_mm, &c->overlay, view));
    if (l->cross) lob_draw_cross(canvas, t->x, t->y, pixels, &c->image, view, c->at);

    const bool large = pixels[0] >= 70 * l->text && pixels[1] >= 50 * l->text;
    const int text = large ? l->text : 1, rim = 3 * text;
    char name[64];
    tile_name(name, sizeof name, l, view);
    const bool several = lob_side(c->image.dims, view->across) > 1;
    if ((several || view->side[0]) && pixels[1] >= 20 &&
        lob_canvas_text_width(name, text) + 2 * rim < pixels[0])
        lob_canvas_text(canvas, t->x + rim, t->y + rim, text, ink, name);
    if (large) lob_draw_sides(canvas, t->x, t->y, pixels, view, text);
    if (number == 0 && pixels[1] >= 24 * text)
        lob_draw_scale_bar(canvas, t->x + 2 * rim, t->y + pixels[1] - 2 * rim, pixels[0] / 3,
                           l->pixels_per_mm, text);
    return LOB_OK;
}

lob_status lob_preview_draw(lob_canvas *canvas, const lob_preview *set,
                            const lob_preview_content *c, const lob_preview_layout *l)
{
    LOB_TRY(lob_canvas_make(canvas, l->width, l->height, paper));
    for (int i = 0; i < l->count; i++) LOB_TRY(draw_tile(canvas, l, c, i));
    draw_legend(canvas, l, set, c);
    return LOB_OK;
}
