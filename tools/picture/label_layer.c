/* Drawing labels of a slice. */
#include "tools/picture/label_layer.h"

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
    int first, rows; /* points' rows that are at hand */
    int32_t *label;  /* rows * wide */
    int32_t *beside; /* rows * wide: rows to the next point beside another label, at most reach */
    double alpha;
} layer;

/* Of nine voxels, the label with most weight; of equal ones, that of the voxel in the middle, else
 * the first. */
static int32_t label_at(const lob_label_map *map, const support *across, const support *down)
{
    int32_t label[9];
    float weight[9];
    int n = 0;
    static const int order[3] = {1, 0, 2};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            const int u = order[i], v = order[j];
            const int32_t own = map->label[down->voxel[v] * map->wide + across->voxel[u]];
            const float w = down->weight[v] * across->weight[u];
            int k = 0;
            while (k < n && label[k] != own) k++;
            if (k == n) {
                label[n] = own;
                weight[n++] = 0;
            }
            weight[k] += w;
        }
    int best = 0;
    for (int k = 1; k < n; k++)
        if (weight[k] > weight[best]) best = k;
    return label[best];
}

static void find_labels(const layer *l)
{
    for (int y = 0; y < l->rows; y++) {
        const support *const down = &l->down[l->first + y];
        int32_t *const row = l->label + (size_t)y * (size_t)l->wide;
        int64_t before = -1;
        bool plain = false; /* the nine voxels have one label */
        for (int x = 0; x < l->wide; x++) {
            const support *const across = &l->across[x];
            if (across->voxel[1] != before) {
                before = across->voxel[1];
                plain = true;
                const int32_t own = l->map->label[down->voxel[1] * l->map->wide + before];
                for (int j = 0; j < 3 && plain; j++)
                    for (int i = 0; i < 3; i++)
                        plain =
                            plain &&
                            l->map->label[down->voxel[j] * l->map->wide + across->voxel[i]] == own;
                row[x] = own;
            }
            if (!plain)
                row[x] = label_at(l->map, across, down);
            else if (x > 0 && l->across[x - 1].voxel[1] == before)
                row[x] = row[x - 1];
        }
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

/* Rows to the next border above or below, the nearer; reach where there is none that near. */
static void find_borders(const layer *l)
{
    const size_t wide = (size_t)l->wide;
    for (int y = l->rows - 1; y >= 0; y--)
        for (int x = 0; x < l->wide; x++) {
            int32_t *const to = l->beside + (size_t)y * wide + (size_t)x;
            *to = is_border(l, x, y) ? 0
                  : y + 1 < l->rows  ? least(to[wide] + 1, l->reach)
                                     : l->reach;
        }
    for (size_t i = wide; i < (size_t)l->rows * wide; i++)
        l->beside[i] = least(l->beside[i], l->beside[i - wide] + 1);
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

/* Points of a row from which a border is within reach, summed up: how many lie before x. */
static void count_borders(int32_t *sums, const layer *l, int y)
{
    const int32_t *const row = l->beside + (size_t)y * (size_t)l->wide;
    sums[0] = 0;
    for (int x = 0; x < l->wide; x++) sums[x + 1] = sums[x] + (row[x] < l->reach);
}

static void draw_pixel(lob_canvas *canvas, const layer *l, int x, int y, const int at[2],
                       const int32_t *const sums[SAMPLES])
{
    double red = 0, green = 0, blue = 0, all = 0;
    for (int j = 0; j < SAMPLES; j++)
        for (int i = 0; i < SAMPLES; i++) {
            const int u = at[0] * SAMPLES + i, v = at[1] * SAMPLES + j - l->first;
            const int32_t label = l->label[(size_t)v * (size_t)l->wide + (size_t)u];
            if (label == 0) continue;
            const int low = u < l->reach ? 0 : u - l->reach;
            const int high = u + l->reach >= l->wide ? l->wide : u + l->reach + 1;
            const bool near = l->reach > 0 && sums[j][high] > sums[j][low];
            const double share = near && on_outline(l, u, v) ? 1.0 : l->alpha;
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

static lob_status draw_band(lob_canvas *canvas, layer *l, int x, int y, int from, int to)
{
    const int low = from * SAMPLES - l->reach - 1, high = to * SAMPLES + l->reach + 1;
    l->first = low < 0 ? 0 : low;
    l->rows = (high > l->tall ? l->tall : high) - l->first;
    const size_t points = (size_t)l->rows * (size_t)l->wide, line = (size_t)l->wide + 1;
    l->label = malloc(points * sizeof *l->label);
    l->beside = malloc(points * sizeof *l->beside);
    int32_t *const sums = malloc(SAMPLES * line * sizeof *sums);
    const bool memory = l->label && l->beside && sums;
    if (memory) find_labels(l);
    if (memory && l->reach > 0) find_borders(l);
    for (int v = from; memory && v < to; v++) {
        const int32_t *rows[SAMPLES];
        for (int j = 0; j < SAMPLES; j++) {
            rows[j] = sums + (size_t)j * line;
            if (l->reach > 0) count_borders(sums + (size_t)j * line, l, v * SAMPLES + j - l->first);
        }
        for (int u = 0; u < l->wide / SAMPLES; u++)
            draw_pixel(canvas, l, x, y, (const int[2]){u, v}, rows);
    }
    free(l->label);
    free(l->beside);
    free(sums);
    return memory ? LOB_OK : LOB_ENOMEM;
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
    lob_status st = l.across && l.down ? LOB_OK : LOB_ENOMEM;
    for (int from = 0; from < pixels[1] && st == LOB_OK; from += BAND)
        st = draw_band(canvas, &l, x, y, from, from + BAND < pixels[1] ? from + BAND : pixels[1]);
    free(l.across);
    free(l.down);
    return st;
}
