/* Laying out and drawing a scan and its labels. */
#include "tools/picture/preview_picture.h"

#include "io/platform.h"
#include "tools/options/options.h"
#include "tools/picture/colours.h"
#include "volumes/free.h"

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
        .threads = 1,
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

/* Which voxels of a line count. */
typedef void inside_line(bool *inside, const content *c, int64_t first, int64_t count);

static void find_shown(bool *inside, const content *c, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        inside[i] = c->shown[lob_label_at(c->labels.data, c->labels.type, first + i)];
}

static void find_bright(bool *inside, const content *c, int64_t first, int64_t count)
{
    const double middle = 0.5 * (c->overlay.window[0] + c->overlay.window[1]);
    enum { MANY = 256 };
    double v[MANY];
    for (int64_t from = 0; from < count; from += MANY) {
        const int64_t n = count - from < MANY ? count - from : MANY;
        lob_values(v, c->image.data, c->image.type, first + from, n);
        for (int64_t i = 0; i < n; i++)
            inside[from + i] = c->image.slope * v[i] + c->image.inter > middle;
    }
}

/* The planes meet at the centre of mass of the voxels inside. Returns how many these are, or -1
 * where memory lacks. */
static int64_t locate(content *c, inside_line *find, int64_t low[3], int64_t high[3])
{
    const lob_dims d = c->image.dims;
    bool *const inside = malloc((size_t)d.nx);
    double sum[3] = {0, 0, 0};
    int64_t all = 0;
    for (int64_t line = 0; inside && line < d.ny * d.nz; line++) {
        int64_t count = 0, across = 0;
        find(inside, c, line * d.nx, d.nx);
        for (int64_t x = 0; x < d.nx; x++) {
            count += inside[x];
            across += inside[x] * x;
        }
        if (count == 0) continue;
        int64_t first = 0, last = d.nx - 1;
        while (!inside[first]) first++;
        while (!inside[last]) last--;
        const int64_t near[3] = {first, line % d.ny, line / d.ny},
                      far[3] = {last, near[1], near[2]};
        sum[0] += (double)across;
        for (int a = 1; a < 3; a++) sum[a] += (double)(count * near[a]);
        for (int a = 0; a < 3; a++) {
            if (all == 0 || near[a] < low[a]) low[a] = near[a];
            if (all == 0 || far[a] > high[a]) high[a] = far[a];
        }
        all += count;
    }
    for (int a = 0; a < 3 && all; a++) c->at[a] = (int64_t)(sum[a] / (double)all + 0.5);
    const bool memory = inside != NULL;
    free(inside);
    return memory ? all : -1;
}

/* Box and centre of the labels shown; else the whole grid, and the centre of what is brighter than
 * the window's middle or, without any, of the grid. */
static lob_status locate_content(content *c, bool labels)
{
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        c->high[a] = lob_side(c->image.dims, a) - 1;
        c->at[a] = lob_side(c->image.dims, a) / 2;
    }
    const int64_t shown = labels ? locate(c, find_shown, c->low, c->high) : 0;
    c->any_shown = shown > 0;
    if (shown < 0 || (shown == 0 && locate(c, find_bright, low, high) < 0)) return LOB_ENOMEM;
    return LOB_OK;
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
    for (int32_t i = 1; i <= c->set.count; i++) c->shown[i] = !is_hidden(set, c, i);
    if (labels) st = lob_colours_choose(c->colour, &c->labels, &c->set, &c->labels.names);
    if (st != LOB_OK) return lob_fail_file(error, st, set->image, "out of memory");
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
        st = lob_overlay_window(&c->overlay, set->project ? 50 : 2, set->project ? 99.9 : 98);
    if (st != LOB_OK) return lob_fail_file(error, st, set->image, "out of memory");
    st = locate_content(c, labels);
    if (st != LOB_OK) return lob_fail_file(error, st, set->image, "out of memory");
    for (int a = 0; a < 3 && isfinite(set->at[a]); a++) c->at[a] = (int64_t)(set->at[a] + 0.5);
    return LOB_OK;
}

void lob_preview_content_free(lob_preview_content *c)
{
    LOB_FREE(c->colour, c->shown);
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

/* A label's name, as much of it as a legend has room for; "label 3" without one. */
static void name_text(char *text, size_t size, const content *c, int32_t dense)
{
    enum { MOST = 40 };
    const int32_t value = c->set.values[dense - 1];
    const lob_label_name *const row = lob_label_names_find(&c->labels.names, value);
    if (!row) {
        snprintf(text, size, "label %" PRId32, value);
        return;
    }
    size_t n = 0;
    for (int letters = 0; row->name[n] && (letters < MOST || (row->name[n] & 0xc0) == 0x80); n++)
        letters += ((unsigned char)row->name[n] & 0xc0) != 0x80;
    while (n > 0 && n + 4 > size) n--;
    snprintf(text, size, "%.*s%s", (int)n, row->name, row->name[n] ? "\u2026" : "");
}

static int line_height(const layout *l)
{
    return lob_text_height(l->text) + l->text / 5;
}

static int swatch_of(const layout *l)
{
    return 3 * l->text / 4;
}

/* Widths of a label's entry, from the first of them: what comes after many has no room anyway. */
static void measure_entries(layout *l, const content *c)
{
    enum { MAX = 400 };
    int name = 0, number = 0;
    int volume = lob_text_width("8888 ml", l->text); /* pictures of like scans are laid out alike */
    for (int32_t i = 1; i <= c->set.count && i <= MAX; i++) {
        char text[200];
        name_text(text, sizeof text, c, i);
        const int wide = lob_text_width(text, l->text);
        name = wide > name ? wide : name;
        snprintf(text, sizeof text, "%" PRId32, c->set.values[i - 1]);
        const int digits = lob_text_width(text, l->text);
        number = digits > number ? digits : number;
        volume_text(text, sizeof text,
                    (double)c->set.voxels[i - 1] * lob_voxel_mm3(&c->labels.geometry));
        const int size = lob_text_width(text, l->text);
        volume = size > volume ? size : volume;
    }
    l->entry[0] = swatch_of(l) + number + name + volume + 4 * l->text;
    l->entry[1] = number;
    l->entry[2] = volume;
}

static int entries_across(const layout *l, int width)
{
    const int n = (width - 2 * l->gap) / l->entry[0];
    return n > 0 ? n : 1;
}

/* Lines of a legend in a picture of this width: all labels, or what a third of it holds. */
static int lines_of(const layout *l, const settings *set, const content *c, int width)
{
    const int across = entries_across(l, width), most = set->size / 3 / line_height(l) - 1;
    const int all = (c->set.count + across - 1) / across;
    return all < most ? all : most > 0 ? most : 0;
}

/* ---- the table ---- */

/* Widths of its columns and heights of its rows, in mm. */
typedef struct {
    double across[LOB_PREVIEW_TILES], down[LOB_PREVIEW_TILES];
    double wide, tall; /* sums */
} measure;

static void measure_table(measure *m, const layout *l)
{
    *m = (measure){.wide = 0};
    for (int i = 0; i < l->count; i++) {
        const lob_preview_tile *const t = &l->tiles[i];
        double *const wide = &m->across[t->cell % l->columns], *const tall =
                                                                   &m->down[t->cell / l->columns];
        *wide = fmax(*wide, t->view.mm[0]);
        *tall = fmax(*tall, t->view.mm[1]);
    }
    for (int i = 0; i < l->columns; i++) m->wide += m->across[i];
    for (int i = 0; i < l->rows; i++) m->tall += m->down[i];
}

/* Where parts lie: columns and rows as wide and tall as the slices in them, each slice in the
 * middle of its cell. Returns the pixels of the whole in size. */
static void place_tiles(layout *l, const measure *m)
{
    int left[LOB_PREVIEW_TILES + 1], top[LOB_PREVIEW_TILES + 1], pixels[2];
    left[0] = top[0] = l->gap;
    for (int i = 0; i < l->columns || i < l->rows; i++) {
        const lob_slice widest = {
            .mm = {m->across[i % l->columns], m->down[i % l->rows]}
        };
        lob_slice_pixels(pixels, &widest, l->pixels_per_mm);
        if (i < l->columns) left[i + 1] = left[i] + pixels[0] + l->gap;
        if (i < l->rows) top[i + 1] = top[i] + pixels[1] + l->gap;
    }
    for (int i = 0; i < l->count; i++) {
        lob_preview_tile *const t = &l->tiles[i];
        const int column = t->cell % l->columns, row = t->cell / l->columns;
        lob_slice_pixels(pixels, &t->view, l->pixels_per_mm);
        t->x = left[column] + (left[column + 1] - l->gap - left[column] - pixels[0]) / 2;
        t->y = top[row] + (top[row + 1] - l->gap - top[row] - pixels[1]) / 2;
    }
    l->width = left[l->columns];
    l->height = top[l->rows];
    if (l->body[2] == 0) return;
    const int body[4] = {left[1], top[0], left[2] - l->gap - left[1], top[1] - l->gap - top[0]};
    memcpy(l->body, body, sizeof body);
}

/* The scale at which the table and so many pixels beside and below it fit. */
static double scale_of(const layout *l, const settings *set, const measure *m, int beside,
                       int below)
{
    const double across = (set->size - (l->columns + 1) * l->gap - beside) / m->wide;
    const double down = (set->size - (l->rows + 1) * l->gap - below) / m->tall;
    return fmax(fmin(across, down), DBL_MIN);
}

/* The legend below the tiles, with as many lines as the labels take: a narrow picture has fewer of
 * them in a line. Returns the labels that have room. */
static int lay_out_below(layout *l, const settings *set, const content *c, const measure *m)
{
    int lines = lines_of(l, set, c, set->size);
    for (int round = 0;; round++) {
        const int strip = set->plain ? 0 : (1 + lines) * line_height(l) + l->gap;
        l->pixels_per_mm = scale_of(l, set, m, 0, strip);
        place_tiles(l, m);
        const int legend[4] = {l->gap, l->height, l->width - 2 * l->gap, strip};
        memcpy(l->legend, legend, sizeof legend);
        l->height += strip;
        const int needed = lines_of(l, set, c, l->width);
        if (needed <= lines || round == 4) return lines * entries_across(l, l->width);
        lines = needed;
    }
}

/* Beside them, in so many columns. */
static int lay_out_beside(layout *l, const settings *set, const measure *m, int columns)
{
    const int wide = columns * l->entry[0] + l->gap;
    l->pixels_per_mm = scale_of(l, set, m, wide, 0);
    place_tiles(l, m);
    const int legend[4] = {l->width + l->gap, l->gap, wide - 2 * l->gap, l->height - l->gap};
    memcpy(l->legend, legend, sizeof legend);
    l->width += wide;
    return ((l->legend[3] - l->gap) / line_height(l) - 1) * columns;
}

/* Place the tiles, by their cells, and the legend where it leaves them most room. */
static void lay_out_table(layout *l, const settings *set, const content *c)
{
    measure m;
    measure_table(&m, l);
    const int below = lay_out_below(l, set, c, &m);
    layout *const other = set->plain || c->set.count < 2 ? NULL : malloc(sizeof *other);
    for (int columns = 1; other && columns * l->entry[0] < set->size / 2; columns++) {
        memcpy(other, l, sizeof *other);
        const int room = lay_out_beside(other, set, &m, columns);
        if (room < c->set.count && (room <= below || c->set.count > 4 * room)) continue;
        if (below < c->set.count || other->pixels_per_mm > l->pixels_per_mm)
            memcpy(l, other, sizeof *l);
        break;
    }
    free(other);
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
 *     axial     labels in space      Coronal shares its left and right with axial, its top and
 *     coronal   sagittal             bottom with sagittal. Without labels the three stand in a row.
 */
static void lay_out_planes(layout *l, const settings *set, const content *c)
{
    const bool body = c->any_shown && !set->plain;
    l->columns = body ? 2 : 3;
    l->rows = body ? 2 : 1;
    for (int i = 0; i < 3; i++) l->tiles[i].cell = body && i > 0 ? i + 1 : i;
    l->body[2] = body;
    l->cross = !set->project && !set->plain;
    lay_out_table(l, set, c);
}

static void add_tile(layout *l, const settings *set, const content *c, lob_anatomical_plane plane,
                     int64_t slice)
{
    lob_preview_tile *const t = &l->tiles[l->count];
    t->view = lob_slice_of(&c->image, plane, slice, set->convention == 1);
    t->cell = l->count++;
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
    l->columns = best_columns(l, set);
    l->rows = (l->count + l->columns - 1) / l->columns;
    lay_out_table(l, set, c);
}

static void lay_out(layout *l, const settings *set, const content *c)
{
    const int text = set->size / 75;
    *l = (layout){.gap = set->size >= 900 ? 8 : 4, .columns = 1, .rows = 1};
    l->text = text < 10 ? 10 : text > 24 ? 24 : text;
    measure_entries(l, c);
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
        lay_out_table(l, set, c);
        return;
    }
    for (int p = 0; p < 3; p++) add_whole(l, set, c, planes[p]);
    lay_out_planes(l, set, c);
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

/* A swatch, the label's number, name and volume. */
static lob_status draw_entry(lob_canvas *canvas, const layout *l, const content *c, int32_t dense,
                             int x, int y)
{
    const int swatch = swatch_of(l), number = x + swatch + l->text / 2;
    const int right = x + l->entry[0] - 2 * l->text;
    const lob_colour words = c->shown[dense] ? ink : pale;
    char text[200];
    lob_canvas_box(canvas, x, y + l->text / 4, swatch, swatch, c->colour[dense],
                   c->shown[dense] ? 1.0 : 0.3);
    snprintf(text, sizeof text, "%" PRId32, c->set.values[dense - 1]);
    LOB_TRY(lob_canvas_text(canvas, number, y, l->text, pale, text));
    name_text(text, sizeof text, c, dense);
    LOB_TRY(lob_canvas_text(canvas, number + l->entry[1] + l->text / 2, y, l->text, words, text));
    volume_text(text, sizeof text,
                (double)c->set.voxels[dense - 1] * lob_voxel_mm3(&c->labels.geometry));
    if (!c->shown[dense]) snprintf(text, sizeof text, "off");
    return lob_canvas_text(canvas, right - lob_text_width(text, l->text), y, l->text,
                           c->shown[dense] ? ink : pale, text);
}

/* The file and the window, the latter where there is room. */
static lob_status draw_title(lob_canvas *canvas, const layout *l, const settings *set,
                             const content *c, int y)
{
    char name[300], window[80];
    snprintf(name, sizeof name, "%s", lob_name_in_path(set->image));
    snprintf(window, sizeof window, "window %.4g to %.4g", c->overlay.window[0],
             c->overlay.window[1]);
    const int wide = lob_text_width(window, l->text);
    LOB_TRY(lob_canvas_text(canvas, l->legend[0], y, l->text, ink, name));
    if (lob_text_width(name, l->text) + 2 * l->text + wide > l->legend[2]) return LOB_OK;
    return lob_canvas_text(canvas, l->legend[0] + l->legend[2] - wide, y, l->text, pale, window);
}

/* A line on top, then the labels in columns; what does not fit is counted. */
static lob_status draw_legend(lob_canvas *canvas, const layout *l, const settings *set,
                              const content *c)
{
    const int line = line_height(l), across = entries_across(l, l->legend[2] + 2 * l->gap);
    const int down = (l->legend[3] - l->gap) / line - 1, capacity = across * down;
    const int wide = l->legend[2] / across, y = l->legend[1] + line;
    char text[64];
    LOB_TRY(draw_title(canvas, l, set, c, l->legend[1]));
    const int rows =
        (c->set.count + across - 1) / across < down ? (c->set.count + across - 1) / across : down;
    for (int32_t i = 0; i < c->set.count && i < capacity; i++) {
        const int u = l->legend[0] + i / rows * wide, v = y + i % rows * line;
        if (i < capacity - 1 || c->set.count <= capacity) {
            LOB_TRY(draw_entry(canvas, l, c, i + 1, u, v));
            continue;
        }
        snprintf(text, sizeof text, "and %" PRId32 " more", c->set.count - i);
        LOB_TRY(lob_canvas_text(canvas, u, v, l->text, pale, text));
    }
    return LOB_OK;
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

    if (l->legend[3] == 0) return LOB_OK;
    const bool large = pixels[0] >= 6 * l->text && pixels[1] >= 5 * l->text;
    const int text = large ? l->text : 10, rim = text / 3;
    char name[64];
    tile_name(name, sizeof name, l, view);
    const bool several = lob_side(c->image.dims, view->across) > 1;
    if ((several || view->side[0]) && pixels[1] >= 20 &&
        lob_text_width(name, text) + 2 * rim < pixels[0] / (view->side[0] && large ? 2 : 1))
        LOB_TRY(lob_canvas_text(canvas, t->x + rim, t->y + rim / 2, text, ink, name));
    if (large && view->side[0]) LOB_TRY(lob_draw_sides(canvas, t->x, t->y, pixels, view, text));
    if (number == 0 && pixels[1] >= 3 * text)
        LOB_TRY(lob_draw_scale_bar(canvas, t->x + 2 * rim, t->y + pixels[1] - 2 * rim,
                                   pixels[0] / 3, l->pixels_per_mm, text));
    return LOB_OK;
}

static lob_status draw_body(lob_canvas *canvas, const settings *set, const content *c,
                            const layout *l)
{
    const int *const b = l->body;
    const lob_colour black = {0, 0, 0};
    if (b[2] == 0) return LOB_OK;
    lob_canvas_box(canvas, b[0], b[1], b[2], b[3], black, 1.0);
    LOB_TRY(lob_draw_surface(canvas, b[0], b[1], b + 2, &c->overlay, c->low, c->high,
                             set->convention == 1, set->threads));
    const char *const name = set->convention == 1 ? "from behind" : "from the front";
    if (lob_text_width(name, l->text) + l->text > b[2] || b[3] < 3 * l->text) return LOB_OK;
    return lob_canvas_text(canvas, b[0] + l->text / 3, b[1] + l->text / 6, l->text, ink, name);
}

lob_status lob_preview_draw(lob_canvas *canvas, const lob_preview *set,
                            const lob_preview_content *c, const lob_preview_layout *l)
{
    const lob_colour black = {0, 0, 0};
    LOB_TRY(lob_canvas_make(canvas, l->width, l->height, set->plain ? black : paper));
    for (int i = 0; i < l->count; i++) LOB_TRY(draw_tile(canvas, l, c, i));
    LOB_TRY(draw_body(canvas, set, c, l));
    return l->legend[3] > 0 ? draw_legend(canvas, l, set, c) : LOB_OK;
}
