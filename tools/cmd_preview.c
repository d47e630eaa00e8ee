/* lobule preview: a scan and its labels in one picture. */
#include "io/png.h"
#include "tools/commands.h"
#include "tools/grid.h"
#include "tools/label_list.h"
#include "tools/mosaic.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TILES = 400 };

typedef struct {
    const char *image, *labels, *output;
    int frame, plane, montage, size, convention;
    double window[2], alpha, at[3];
    const char *hide; /* "1,3-5"; NULL: chosen; "": none */
} settings;

/* The order of the words of --plane. */
static const lob_anatomical_plane planes[] = {LOB_AXIAL, LOB_CORONAL, LOB_SAGITTAL};

/* The inputs, and what follows from them. */
typedef struct {
    lob_volume image, labels;
    lob_label_set set;
    lob_colour *colour;
    bool *shown;
    lob_overlay overlay;
    int64_t at[3];           /* where the planes meet */
    int64_t low[3], high[3]; /* box of the labels shown, else of the image */
} content;

/* A slice and its position in the picture. */
typedef struct {
    lob_slice view;
    int x, y;
} tile;

typedef struct {
    int count, width, height;
    double pixels_per_mm;
    int legend[4]; /* x, y, width, height */
    int gap, text; /* pixels between parts; scale of text */
    bool cross;
    tile tiles[MAX_TILES];
} layout;

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

/* The colour that the file gives a label, or one of our own. */
static lob_colour colour_of(const lob_volume *labels, int32_t label)
{
    const lob_label_name *row = lob_label_names_find(&labels->names, label);
    const lob_rgba c = row ? row->colour : lob_label_default_colour(label);
    return (lob_colour){c.red, c.green, c.blue};
}

static lob_status read_labels(lob_session *s, const settings *set, content *c)
{
    lob_status st = lob_session_read(s, &c->labels, set->labels, LOB_FRAME_NONE);
    if (st == LOB_OK) st = lob_grid_match_part(s, &c->labels, set->labels, &c->image, set->image);
    if (st == LOB_OK) st = lob_labels_dense(&c->labels, &c->set, set->labels, &s->error);
    if (st != LOB_OK) return st;
    c->colour = calloc((size_t)c->set.count + 1, sizeof *c->colour);
    c->shown = calloc((size_t)c->set.count + 1, sizeof *c->shown);
    if (!c->colour || !c->shown) return lob_session_no_memory(s, set->labels);
    for (int32_t i = 1; i <= c->set.count; i++) {
        c->colour[i] = colour_of(&c->labels, c->set.values[i - 1]);
        c->shown[i] = !is_hidden(set, c, i);
    }
    return LOB_OK;
}

static bool any_finite(const lob_volume *v)
{
    const int64_t n = lob_voxels(v) * v->channels;
    for (int64_t i = 0; i < n; i++) {
        double value;
        lob_values(&value, v->data, v->type, i, 1);
        if (isfinite(value)) return true;
    }
    return false;
}

/* Read both volumes and find out where to cut and which values to show. */
static lob_status prepare(lob_session *s, const settings *set, content *c)
{
    lob_status st = lob_session_read(s, &c->image, set->image, set->frame);
    if (st == LOB_OK && set->labels) st = read_labels(s, set, c);
    if (st != LOB_OK) return st;
    if (!any_finite(&c->image))
        lob_session_note(s, "%s: every voxel is NaN or infinite, so there is nothing to see of it",
                         set->image);

    c->overlay = (lob_overlay){
        .image = &c->image,
        .window = {set->window[0], set->window[1]},
        .labels = set->labels ? &c->labels : NULL,
        .colour = c->colour,
        .shown = c->shown,
        .alpha = set->alpha
    };
    if (!isfinite(set->window[0]) || !isfinite(set->window[1]))
        st = lob_percentile_window(c->overlay.window, &c->image, 2, 98);
    else if (!(set->window[0] < set->window[1]))
        return lob_fail(&s->error, LOB_EARG, "--window: LO must lie below HI");
    if (st != LOB_OK) return lob_fail(&s->error, st, "%s: out of memory", set->image);
    locate_content(c, set->labels != NULL);

    for (int a = 0; a < 3 && isfinite(set->at[a]); a++) {
        if (set->at[a] > (double)lob_side(c->image.dims, a) - 0.5)
            return lob_fail(&s->error, LOB_EARG,
                            "--at: %g is outside the volume, which has %" PRId64
                            " voxels along that axis",
                            set->at[a], lob_side(c->image.dims, a));
        c->at[a] = (int64_t)(set->at[a] + 0.5);
    }
    return LOB_OK;
}

/* ---- where things go ---- */

static int line_height(const layout *l)
{
    return (LOB_GLYPH_HEIGHT + 3) * l->text;
}

/* Width of a label's entry in the legend. */
static int cell_width(const layout *l)
{
    return 21 * LOB_GLYPH_WIDTH * l->text;
}

/* Views in `columns` columns, tiles of one size, the legend as a strip below. */
static void lay_out_grid(layout *l, const settings *set, const content *c, int columns)
{
    const int rows = (l->count + columns - 1) / columns;
    const int cells = set->size / cell_width(l) > 0 ? set->size / cell_width(l) : 1;
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
    l->cross = true;
}

static void add_tile(layout *l, const settings *set, const content *c, lob_anatomical_plane plane,
                     int64_t slice)
{
    l->tiles[l->count++].view = lob_slice_of(&c->image, plane, slice, set->convention == 1);
}

/* Slices spread evenly over the extent of the labels. */
static void lay_out_montage(layout *l, const settings *set, const content *c,
                            lob_anatomical_plane plane)
{
    const int axis = lob_anatomical_axis(&c->image.geometry, plane);
    const int64_t extent = c->high[axis] - c->low[axis] + 1;
    const int64_t n = set->montage < extent ? set->montage : extent;
    for (int64_t i = 0; i < n; i++)
        add_tile(l, set, c, plane, c->low[axis] + (2 * i + 1) * extent / (2 * n));
    lay_out_grid(l, set, c, best_columns(l, set));
}

static void lay_out(layout *l, const settings *set, const content *c)
{
    *l = (layout){.gap = set->size >= 900 ? 8 : 4, .text = set->size >= 900 ? 2 : 1};
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
        add_tile(l, set, c, planes[best],
                 c->at[lob_anatomical_axis(&c->image.geometry, planes[best])]);
        lay_out_grid(l, set, c, 1);
        return;
    }
    for (int p = 0; p < 3; p++)
        add_tile(l, set, c, planes[p], c->at[lob_anatomical_axis(&c->image.geometry, planes[p])]);
    lay_out_planes(l, set);
}

/*
 * Lay out so that neither side of the picture is longer than --size. Rounding, the gaps between
 * many slices, and slices of less than a pixel take more than their share: then all is laid out
 * again for as much less.
 */
static lob_status lay_out_within(lob_session *s, layout *l, const settings *set, const content *c)
{
    settings within = *set;
    for (int over = 0; over < within.size;) {
        within.size -= over;
        lay_out(l, &within, c);
        const double *const mm = c->image.geometry.spacing_mm;
        if (!isfinite(l->tiles[0].view.mm[0] + l->tiles[0].view.mm[1]))
            return lob_fail(&s->error, LOB_EDATA,
                            "%s: voxels of %g x %g x %g mm are too large to draw; correct the "
                            "spacing in its header",
                            set->image, mm[0], mm[1], mm[2]);
        over = (l->width > l->height ? l->width : l->height) - set->size;
        if (over <= 0) return LOB_OK;
    }
    return lob_fail(&s->error, LOB_EARG, "--size %d: %d slices do not fit; choose a larger picture",
                    set->size, l->count);
}

/* ---- drawing ---- */

static const lob_colour paper = {18, 20, 24}, ink = {222, 226, 232}, pale = {140, 148, 160};

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
    while (u + 1 < LOB_COUNT(units) && mm3 < 0.01 * units[u].mm3) u++;
    const double value = mm3 / units[u].mm3;
    snprintf(text, size, value >= 1000 && value < 1e9 ? "%.0f %s" : "%.3g %s", value,
             units[u].name);
}

/* A swatch, the label, its volume. */
static void draw_entry(lob_canvas *canvas, const layout *l, const content *c, int32_t dense, int x,
                       int y)
{
    const double voxel_mm3 = lob_voxel_mm3(&c->labels.geometry);
    const int swatch = 7 * l->text;
    char volume[32], text[64];
    volume_text(volume, sizeof volume, (double)c->set.voxels[dense - 1] * voxel_mm3);
    snprintf(text, sizeof text, "%-3" PRId32 " %s%s", c->set.values[dense - 1], volume,
             c->shown[dense] ? "" : " off");
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
    if (l->cross) y += line / 2;

    const int cell = cell_width(l);
    const int columns = l->legend[2] / cell > 0 ? l->legend[2] / cell : 1;
    const int rows = (bottom - y) / line;
    const int capacity = rows > 0 ? columns * rows : 0;
    for (int32_t i = 0; i < c->set.count && i < capacity; i++) {
        const int at = l->cross ? i / rows : i % columns, down = l->cross ? i % rows : i / columns;
        const int u = l->legend[0] + at * cell, v = y + down * line;
        if (i == capacity - 1 && c->set.count > capacity) {
            snprintf(text, sizeof text, "and %" PRId32 " more", c->set.count - i);
            lob_canvas_text(canvas, u, v, l->text, pale, text);
        } else {
            draw_entry(canvas, l, c, i + 1, u, v);
        }
    }
}

/* One view with its letters, its name, and on the first one the scale bar. */
static lob_status draw_tile(lob_canvas *canvas, const layout *l, const content *c, int number)
{
    static const char axis_names[] = "xyz";
    const tile *const t = &l->tiles[number];
    const lob_slice *const view = &t->view;
    int pixels[2];
    lob_slice_pixels(pixels, view, l->pixels_per_mm);
    lob_status st = lob_draw_slice(canvas, t->x, t->y, l->pixels_per_mm, &c->overlay, view);
    if (st != LOB_OK) return st;
    if (l->cross) lob_draw_cross(canvas, t->x, t->y, pixels, &c->image, view, c->at);

    const bool large = pixels[0] >= 70 * l->text && pixels[1] >= 50 * l->text;
    const int text = large ? l->text : 1, rim = 3 * text;
    char name[48];
    if (l->count > 3 || !view->side[0])
        snprintf(name, sizeof name, "%c %" PRId64, axis_names[view->across], view->slice);
    else
        snprintf(name, sizeof name, "%s %c %" PRId64, lob_plane_name(view->plane),
                 axis_names[view->across], view->slice);
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

static lob_status draw(lob_session *s, lob_canvas *canvas, const settings *set, const content *c,
                       const layout *l)
{
    lob_status st = lob_session_take(s, lob_product(l->width, l->height, 3, 1), set->output);
    if (st != LOB_OK) return st;
    st = lob_canvas_make(canvas, l->width, l->height, paper);
    for (int i = 0; i < l->count && st == LOB_OK; i++) {
        st = lob_session_cancelled(s);
        if (st == LOB_OK) st = draw_tile(canvas, l, c, i);
    }
    if (st == LOB_ENOMEM) lob_fail(&s->error, st, "%s: out of memory", set->output);
    if (st == LOB_OK) draw_legend(canvas, l, set, c);
    return st;
}

/* ---- the command ---- */

static void report(lob_session *s, const content *c, const layout *l)
{
    const int pixels[2] = {l->width, l->height};
    const double at[3] = {(double)c->at[0], (double)c->at[1], (double)c->at[2]};
    cJSON_AddItemToObject(s->results, "pixels", cJSON_CreateIntArray(pixels, 2));
    cJSON_AddNumberToObject(s->results, "pixels_per_mm", l->pixels_per_mm);
    cJSON_AddItemToObject(s->results, "window", cJSON_CreateDoubleArray(c->overlay.window, 2));
    cJSON_AddItemToObject(s->results, "planes_meet_at", cJSON_CreateDoubleArray(at, 3));
    cJSON *const views = cJSON_AddArrayToObject(s->results, "views");
    for (int i = 0; i < l->count && views; i++) {
        const lob_slice *const v = &l->tiles[i].view;
        const char sides[4][2] = {{v->side[0]}, {v->side[1]}, {v->side[2]}, {v->side[3]}};
        cJSON *const view = cJSON_CreateObject();
        cJSON_AddStringToObject(view, "plane", lob_plane_name(v->plane));
        cJSON_AddNumberToObject(view, "slice", (double)v->slice);
        cJSON_AddNumberToObject(view, "x", l->tiles[i].x);
        cJSON_AddNumberToObject(view, "y", l->tiles[i].y);
        cJSON_AddStringToObject(view, "left", sides[0]);
        cJSON_AddStringToObject(view, "top", sides[2]);
        cJSON_AddItemToArray(views, view);
    }
}

static lob_status preview(lob_session *s, const settings *set)
{
    if (!lob_is_png_name(set->output))
        return lob_fail(&s->error, LOB_EARG, "%s: a preview is a PNG; give it a name in .png",
                        set->output);
    content c = {.image = lob_volume_empty(), .labels = lob_volume_empty()};
    lob_canvas canvas = {.rgb = NULL};
    layout *const l = malloc(sizeof *l);
    lob_status st = l ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK && set->hide && *set->hide)
        st = lob_label_list_check(set->hide, "hide", &s->error);
    if (st == LOB_OK) st = prepare(s, set, &c);
    lob_session_compute(s, "drawing");
    if (st == LOB_OK) {
        st = lay_out_within(s, l, set, &c);
        if (st == LOB_OK) st = draw(s, &canvas, set, &c, l);
        lob_session_computed(s);
    }
    if (st == LOB_OK)
        st = lob_session_write_picture(s, canvas.rgb, canvas.width, canvas.height, set->output);
    if (st == LOB_OK) report(s, &c, l);
    free(canvas.rgb);
    free(l);
    free(c.colour);
    free(c.shown);
    lob_label_set_free(&c.set);
    lob_volume_free(&c.image);
    lob_volume_free(&c.labels);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {
        .frame = -1,
        .plane = -1,
        .size = 1200,
        .window = {-INFINITY, INFINITY},
        .alpha = 0.35,
        .at = { INFINITY, INFINITY, INFINITY}
    };
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPERAND_INPUT("LABELS", &set.labels, LOB_FILE_LABELS, "labels on the image's grid"),
        OPT_OUTPUT("output", &set.output, LOB_FILE_OTHER, "picture to write, in .png",
                   .letter = 'o', .required = true),
        OPT_CHOICE("plane", &set.plane, "axial|coronal|sagittal",
                   "show this plane alone; left out: all three, in a montage axial"),
        OPT_INT("montage", &set.montage, "N", 1, MAX_TILES,
                "show N slices of one plane, spread over the extent of the labels"),
        OPT_TRIPLE("at", &set.at, 0, 1e9,
                   "voxel where the planes meet; left out: the labels' centre of mass, without "
                   "labels that of the image"),
        OPT_PAIR("window", &set.window, -INFINITY, INFINITY,
                 "values shown black and white; left out: the percentiles 2 and 98"),
        OPT_REAL("alpha", &set.alpha, "SHARE", 0, 1, "how much labels cover the image"),
        OPT_TEXT(
            "hide", &set.hide, "LIST",
            "labels not to draw, as 1,3-5, or '' for none; left out: of several, one that fills "
            "over half of the volume"),
        OPT_CHOICE("convention", &set.convention, "radiological|neurological",
                   "radiological shows the patient's right at the left"),
        OPT_INT("size", &set.size, "PIXELS", 64, 8192, "neither side of the picture is longer"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, preview(&s, &set));
}

const lob_command lob_command_preview = {
    .name = "preview",
    .summary = "draw a scan and its labels into a PNG",
    .description =
        "Shows the three planes through the labels' centre of mass, or a montage of slices: mm are "
        "square whatever the voxels are, letters tell the patient's sides, a bar tells the scale, "
        "labels lie over the image as a tint with contours, and a legend lists their volumes.\n"
        "Slices follow the voxel grid: an oblique scan is not resampled but turned to the nearest "
        "direction.",
    .examples = "lobule preview scan.nii.gz labels.nii.gz -o preview.png\n"
                "lobule preview scan.nii.gz labels.nii.gz -o slices.png --montage 12 --hide 1\n"
                "lobule preview scan.nii.gz -o ct.png --plane coronal --window -160,240",
    .run = run,
};
