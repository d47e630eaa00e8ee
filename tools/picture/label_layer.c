/* Drawing labels of a slice. */
#include "tools/picture/mosaic.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4, BAND = 32 }; /* per pixel and axis; pixel rows that are worked on together */

/* The voxels around a point along one axis, and their weights. */
typedef struct {
    int64_t voxel[3];
    float weight[3];
} support;

/* Of each point of an axis; malloc'ed. */
static support *supports_of(int points, int64_t voxels)
{
    support *const all = malloc((size_t)points * sizeof *all);
    for (int i = 0; all && i < points; i++) {
        const double at = (i + 0.5) / points * (double)voxels - 0.5;
        const double middle = floor(at + 0.5), t = at - middle; /* -0.5 .. 0.5 */
        all[i].weight[0] = (float)(0.5 * (0.5 - t) * (0.5 - t));
        all[i].weight[1] = (float)(0.75 - t * t);
        all[i].weight[2] = (float)(0.5 * (0.5 + t) * (0.5 + t));
        for (int k = 0; k < 3; k++) {
            const int64_t v = (int64_t)middle + k - 1;
            all[i].voxel[k] = v < 0 ? 0 : v >= voxels ? voxels - 1 : v;
        }
    }
    return all;
}

/* What a band of the picture takes, with as many rows above and below as outlines reach. */
typedef struct {
    const lob_label_map *map;
    const lob_colour *colour;
    support *across, *down;
    int wide, tall;  /* points of the whole picture */
    int reach;       /* points that an outline is wide */
    int first, rows; /* points' rows that are at hand, whole pixels */
    int32_t *edges; /* (map->wide + 1) * (map->tall + 1): voxels above and left of there that differ
                       from the next to the right or below */
    bool *mixed;    /* pixels: more than one label may lie within reach, */
    bool *needed;   /* or within reach of such a pixel; the labels of others are not looked at */
    int32_t *label; /* rows * wide */
    int32_t *beside; /* rows * wide: rows to the next point beside another label, at most reach */
    double alpha;
} layer;

/* ---- where borders run ---- */

static int32_t *edges_of(const lob_label_map *map)
{
    const int64_t wide = map->wide, line = wide + 1;
    int32_t *const sums = calloc((size_t)(line * (map->tall + 1)), sizeof *sums);
    for (int64_t y = 0; sums && y < map->tall; y++) {
        const int32_t *const row = map->label + y * wide;
        int32_t *const to = sums + (y + 1) * line + 1;
        int32_t sum = 0;
        for (int64_t x = 0; x < wide; x++) {
            sum += (x + 1 < wide && row[x + 1] != row[x]) ||
                   (y + 1 < map->tall && row[x + wide] != row[x]);
            to[x] = to[x - line] + sum;
        }
    }
    return sums;
}

/* The point of an axis that is n from here, or its last. */
static int point(int at, int n, int points)
{
    return at + n < 0 ? 0 : at + n >= points ? points - 1 : at + n;
}

/* May the points within reach of a pixel, and those beside them, have several labels? */
static bool is_mixed(const layer *l, int u, int v, int reach)
{
    const int64_t line = l->map->wide + 1;
    const int far = reach + 1, last = SAMPLES + reach;
    const int64_t left = l->across[point(u * SAMPLES, -far, l->wide)].voxel[0];
    const int64_t right = l->across[point(u * SAMPLES, last, l->wide)].voxel[2] + 1;
    const int32_t *const top =
        l->edges + l->down[point(v * SAMPLES, -far, l->tall)].voxel[0] * line;
    const int32_t *const end =
        l->edges + (l->down[point(v * SAMPLES, last, l->tall)].voxel[2] + 1) * line;
    return end[right] - end[left] - top[right] + top[left] > 0;
}

/* What is decided of the band's pixels: mixed, and whose labels are needed, a pixel farther than
 * outlines reach, since a border shows beside it. */
static void find_mixed(const layer *l)
{
    const int wide = l->wide / SAMPLES, near = (l->reach / SAMPLES + 1) * SAMPLES;
    for (int v = 0, at = 0; v < l->rows / SAMPLES; v++)
        for (int u = 0; u < wide; u++, at++) {
            l->mixed[at] = is_mixed(l, u, l->first / SAMPLES + v, l->reach);
            l->needed[at] = is_mixed(l, u, l->first / SAMPLES + v, l->reach + near);
        }
}

/* ---- points ---- */

/* The labels of nine voxels: that of the voxel in the middle first, and which of them each has. */
typedef struct {
    int32_t label[9];
    int which[9], count;
} nine;

/* The order of the nine, along either axis. */
static const int order[3] = {1, 0, 2};

static void find_nine(nine *to, const lob_label_map *map, const support *across,
                      const support *down)
{
    to->count = 0;
    for (int i = 0; i < 9; i++) {
        const int64_t x = across->voxel[order[i % 3]], y = down->voxel[order[i / 3]];
        const int32_t own = map->label[y * map->wide + x];
        int k = 0;
        while (k < to->count && to->label[k] != own) k++;
        if (k == to->count) to->label[to->count++] = own;
        to->which[i] = k;
    }
}

/* The label with most weight; of equal ones, that of the voxel in the middle, else the first. */
static int32_t label_at(const nine *of, const support *across, const support *down)
{
    float weight[9] = {0};
    int best = 0;
    if (of->count == 1) return of->label[0];
    for (int i = 0; i < 9; i++)
        weight[of->which[i]] += down->weight[order[i / 3]] * across->weight[order[i % 3]];
    for (int k = 1; k < of->count; k++)
        if (weight[k] > weight[best]) best = k;
    return of->label[best];
}

/* The labels of points from..to - 1 of a row. */
static void find_row(const layer *l, int y, int from, int to)
{
    const support *const down = &l->down[l->first + y];
    int32_t *const row = l->label + (size_t)y * (size_t)l->wide;
    nine around;
    for (int x = from; x < to;) {
        const int64_t voxel = l->across[x].voxel[1];
        find_nine(&around, l->map, &l->across[x], down);
        for (; x < to && l->across[x].voxel[1] == voxel; x++)
            row[x] = label_at(&around, &l->across[x], down);
    }
}

static bool is_border(const layer *l, int x, int y)
{
    const int32_t *const p = l->label + (size_t)y * (size_t)l->wide + x;
    return (x > 0 && p[-1] != *p) || (x + 1 < l->wide && p[1] != *p) ||
           (y > 0 && p[-l->wide] != *p) || (y + 1 < l->rows && p[l->wide] != *p);
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Rows to the next border below, or reach where there is none that near, of points of a row. */
static void look_down(const layer *l, int y, int from, int to)
{
    int32_t *const row = l->beside + (size_t)y * (size_t)l->wide;
    for (int x = from; x < to; x++)
        row[x] = is_border(l, x, y) ? 0
                 : y + 1 < l->rows  ? least(row[x + l->wide] + 1, l->reach)
                                    : l->reach;
}

/* Above too: the nearer. */
static void look_up(const layer *l, int y, int from, int to)
{
    int32_t *const row = l->beside + (size_t)y * (size_t)l->wide;
    for (int x = from; x < to && y > 0; x++) row[x] = least(row[x], row[x - l->wide] + 1);
}

/*
 * Do something with the needed points of a row. The others keep what they have: it comes into
 * nothing that is drawn, since what is needed reaches farther than outlines.
 */
static void at_needed(const layer *l, int y, void (*work)(const layer *, int, int, int))
{
    const int wide = l->wide / SAMPLES;
    const bool *const needed = l->needed + y / SAMPLES * wide;
    for (int u = 0, end; u < wide; u = end) {
        for (end = u; end < wide && needed[end] == needed[u];) end++;
        if (needed[u]) work(l, y, u * SAMPLES, end * SAMPLES);
    }
}

/* Is the border of this point's label nearer than the outline is wide? A point at the border is
 * half a point from it. */
static bool on_outline(const layer *l, int x, int y)
{
    const int32_t *const row = l->beside + (size_t)y * (size_t)l->wide;
    const double most = (l->reach - 0.5) * (l->reach - 0.5);
    for (int d = 0; d < l->reach; d++)
        for (int way = -1; way <= 1; way += 2) {
            const int u = x + way * d;
            if (u < 0 || u >= l->wide || row[u] >= l->reach) continue;
            if ((double)d * d + (double)row[u] * row[u] < most) return true;
        }
    return false;
}

/* Mix the points of a pixel; if it is not mixed, all are like its voxel, without an outline. */
static void draw_pixel(lob_canvas *canvas, const layer *l, int x, int y, const int at[2])
{
    const int v0 = at[1] * SAMPLES - l->first, u0 = at[0] * SAMPLES;
    const bool mixed = l->mixed[v0 / SAMPLES * (l->wide / SAMPLES) + at[0]];
    const int64_t below = l->down[at[1] * SAMPLES].voxel[1], right = l->across[u0].voxel[1];
    const int32_t own = l->map->label[below * l->map->wide + right];
    double red = 0, green = 0, blue = 0, all = 0;
    if (!mixed && own == 0) return;
    for (int j = 0; j < SAMPLES; j++)
        for (int i = 0; i < SAMPLES; i++) {
            const int u = u0 + i, v = v0 + j;
            const int32_t label = mixed ? l->label[(size_t)v * (size_t)l->wide + (size_t)u] : own;
            if (label == 0) continue;
            const double share = mixed && on_outline(l, u, v) ? 1.0 : l->alpha;
            red += share * l->colour[label].red;
            green += share * l->colour[label].green;
            blue += share * l->colour[label].blue;
            all += share;
        }
    if (all == 0) return;
    const lob_colour mean = {(unsigned char)(red / all + 0.5), (unsigned char)(green / all + 0.5),
                             (unsigned char)(blue / all + 0.5)};
    lob_canvas_blend(canvas, x + at[0], y + at[1], mean, all / (SAMPLES * SAMPLES));
}

/* Rows from..to - 1 of pixels. Labels of as many more are found as outlines reach, and one. */
static void draw_band(lob_canvas *canvas, layer *l, int x, int y, int from, int to)
{
    const int low = from * SAMPLES - l->reach - SAMPLES, high = to * SAMPLES + l->reach + SAMPLES;
    l->first = low < 0 ? 0 : low;
    l->rows = (high > l->tall ? l->tall : high) - l->first;
    find_mixed(l);
    for (int v = 0; v < l->rows; v++) at_needed(l, v, find_row);
    for (int v = l->rows - 1; v >= 0 && l->reach > 0; v--) at_needed(l, v, look_down);
    for (int v = 0; v < l->rows && l->reach > 0; v++) at_needed(l, v, look_up);
    for (int v = from; v < to; v++)
        for (int u = 0; u < l->wide / SAMPLES; u++)
            draw_pixel(canvas, l, x, y, (const int[2]){u, v});
}

lob_status lob_draw_labels(lob_canvas *canvas, int x, int y, const int pixels[2],
                           const lob_label_map *map, const lob_colour *colour, double alpha,
                           int contour)
{
    layer l = {.map = map,
               .colour = colour,
               .wide = pixels[0] * SAMPLES,
               .tall = pixels[1] * SAMPLES,
               .reach = contour * SAMPLES,
               .alpha = alpha};
    l.across = supports_of(l.wide, map->wide);
    l.down = supports_of(l.tall, map->tall);
    l.edges = edges_of(map);
    const size_t rows = (size_t)((BAND + 2) * SAMPLES + 2 * l.reach);
    const size_t points = rows * (size_t)l.wide, samples = SAMPLES * SAMPLES;
    l.label = calloc(points, sizeof *l.label);
    l.beside = calloc(points, sizeof *l.beside);
    l.mixed = malloc(points / samples);
    l.needed = malloc(points / samples);
    const bool memory = l.across && l.down && l.edges && l.label && l.beside && l.mixed && l.needed;
    for (int from = 0; from < pixels[1] && memory; from += BAND)
        draw_band(canvas, &l, x, y, from, from + BAND < pixels[1] ? from + BAND : pixels[1]);
    LOB_FREE(l.across, l.down, l.edges, l.label, l.beside, l.mixed, l.needed);
    return memory ? LOB_OK : LOB_ENOMEM;
}
