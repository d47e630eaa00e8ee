/* Slices of a volume as pictures. */
#include "tools/picture/mosaic.h"

#include "volumes/lists.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 8 }; /* per pixel and axis, where voxels are smaller than pixels */

const char *lob_plane_name(lob_anatomical_plane plane)
{
    return plane == LOB_AXIAL ? "axial" : plane == LOB_CORONAL ? "coronal" : "sagittal";
}

lob_slice lob_slice_of(const lob_volume *volume, lob_anatomical_plane plane, int64_t slice,
                       bool neurological)
{
    /* At the left and the right by the radiological convention, at the top and the bottom. */
    static const char sides[][5] = {
        [LOB_SAGITTAL] = "APSI", [LOB_CORONAL] = "RLSI", [LOB_AXIAL] = "RLAP"};
    const char *const side = sides[plane];
    const lob_geometry *const g = &volume->geometry;
    lob_slice v = {.plane = plane, .slice = slice, .across = lob_anatomical_axis(g, plane)};
    v.right = lob_anatomical_axis(g, plane == LOB_SAGITTAL ? LOB_CORONAL : LOB_SAGITTAL);
    v.down = lob_anatomical_axis(g, plane == LOB_AXIAL ? LOB_CORONAL : LOB_AXIAL);

    char code[4];
    lob_orientation(code, g);
    v.mm[0] = (double)lob_side(volume->dims, v.right) * g->spacing_mm[v.right];
    v.mm[1] = (double)lob_side(volume->dims, v.down) * g->spacing_mm[v.down];
    if (g->unoriented) return v; /* the first row on top, as in a photograph */
    memcpy(v.side, (const char[]){side[neurological], side[!neurological], side[2], side[3]}, 4);
    v.flip_right = code[v.right] == v.side[0]; /* voxel 0 lies at the far side from its direction */
    v.flip_down = code[v.down] == v.side[2];
    return v;
}

void lob_slice_project(lob_slice *v, const lob_volume *volume, int64_t low, int64_t high)
{
    /* Where the viewer stands follows from what is at the left of the picture. */
    static const char stands[][3] = {
        [LOB_SAGITTAL] = "LR", [LOB_CORONAL] = "AP", [LOB_AXIAL] = "IS"};
    const bool neurological = v->side[0] == 'L' || v->side[0] == 'P';
    char code[4];
    lob_orientation(code, &volume->geometry);
    const bool at_end =
        !volume->geometry.unoriented && code[v->across] == stands[v->plane][neurological];
    v->projected = true;
    v->near = at_end ? high : low;
    v->far = at_end ? low : high;
    v->slice = low + (high - low) / 2;
}

void lob_slice_pixels(int pixels[2], const lob_slice *view, double pixels_per_mm)
{
    for (int a = 0; a < 2; a++) {
        const double n = floor(view->mm[a] * pixels_per_mm + 0.5);
        pixels[a] = n < 1 ? 1 : n > 32767 ? 32767 : (int)n;
    }
}

/* One axis of a picture and of the slice under it. */
typedef struct {
    int pixels;
    int64_t voxels, stride; /* stride in the volume */
    bool flip;
    int samples; /* per pixel */
} ruler;

static ruler ruler_of(const lob_volume *v, int axis, bool flip, int pixels)
{
    const int64_t strides[3] = {1, v->dims.nx, v->dims.nx * v->dims.ny};
    const int64_t n = lob_side(v->dims, axis);
    const double per_pixel = ceil((double)n / pixels);
    return (ruler){.pixels = pixels,
                   .voxels = n,
                   .stride = strides[axis],
                   .flip = flip,
                   .samples = per_pixel > MAX_SAMPLES ? MAX_SAMPLES : (int)per_pixel};
}

/* Between two voxels: which, and the share of the second. */
typedef struct {
    int64_t low, high;
    double share;
} between;

/* The voxels around a point of the picture, in pixels from its edge. */
static between between_voxels(const ruler *r, double at)
{
    const double last = (double)(r->voxels - 1);
    double v = at / r->pixels * (double)r->voxels - 0.5;
    if (r->flip) v = last - v;
    v = v < 0 ? 0 : v > last ? last : v;
    const int64_t low = (int64_t)v;
    return (between){low, low + 1 < r->voxels ? low + 1 : low, v - (double)low};
}

/* The slices that a view shows, from the viewer on. */
typedef struct {
    int64_t first, count, step; /* voxels of the volume */
} sight;

static sight sight_of(const lob_slice *view, const lob_volume *v)
{
    const int64_t strides[3] = {1, v->dims.nx, v->dims.nx * v->dims.ny};
    const int64_t stride = strides[view->across];
    if (!view->projected) return (sight){view->slice * stride, 1, 0};
    const bool back = view->near > view->far;
    return (sight){view->near * stride,
                   (back ? view->near - view->far : view->far - view->near) + 1,
                   back ? -stride : stride};
}

/* The slice's values in [0, 1] under the window, of several slices the largest; what is not finite
 * is black. */
static void window_slice(float *out, const lob_overlay *overlay, const lob_slice *view,
                         const ruler *right, const ruler *down, int channel)
{
    const lob_volume *const v = overlay->image;
    const sight along = sight_of(view, v);
    const int64_t first = channel * lob_voxels(v) + along.first;
    const double lo = overlay->window[0], wide = overlay->window[1] - lo;
    memset(out, 0, (size_t)(right->voxels * down->voxels) * sizeof *out);
    for (int64_t k = 0; k < along.count; k++)
        for (int64_t j = 0; j < down->voxels; j++)
            for (int64_t i = 0; i < right->voxels; i++) {
                float *const to = &out[j * right->voxels + i];
                double value;
                lob_values(&value, v->data, v->type,
                           first + k * along.step + i * right->stride + j * down->stride, 1);
                const double share = (v->slope * value + v->inter - lo) / wide;
                if (isfinite(value) && share > (double)*to) *to = share < 1 ? (float)share : 1.0f;
            }
}

/* A pixel's brightness: linear between voxels, averaged over samples where voxels are small. */
static double pixel_value(const float *slice, const ruler *right, const ruler *down, int x, int y)
{
    double sum = 0.0;
    for (int j = 0; j < down->samples; j++) {
        const between b = between_voxels(down, y + (j + 0.5) / down->samples);
        const float *const low = slice + b.low * right->voxels;
        const float *const high = slice + b.high * right->voxels;
        for (int i = 0; i < right->samples; i++) {
            const between a = between_voxels(right, x + (i + 0.5) / right->samples);
            const double above = (double)low[a.low] * (1 - a.share) + (double)low[a.high] * a.share;
            const double below =
                (double)high[a.low] * (1 - a.share) + (double)high[a.high] * a.share;
            sum += above * (1 - b.share) + below * b.share;
        }
    }
    return sum / (right->samples * down->samples);
}

/* The first label that is shown on a line of sight, or 0. */
static int32_t label_seen(const lob_overlay *overlay, const sight *along, int64_t at)
{
    const lob_volume *const v = overlay->labels;
    for (int64_t k = 0; k < along->count; k++) {
        const int32_t label = lob_label_at(v->data, v->type, at + along->first + k * along->step);
        if (overlay->shown[label]) return label;
    }
    return 0;
}

/* Voxels of an axis in the picture's order. */
static int64_t in_order(const ruler *r, int64_t i)
{
    return (r->flip ? r->voxels - 1 - i : i) * r->stride;
}

static lob_status draw_labels(lob_canvas *canvas, int x0, int y0, const lob_overlay *overlay,
                              const lob_slice *view, const ruler *right, const ruler *down)
{
    const sight along = sight_of(view, overlay->labels);
    const int pixels[2] = {right->pixels, down->pixels};
    int32_t *const label = malloc((size_t)(right->voxels * down->voxels) * sizeof *label);
    if (!label) return LOB_ENOMEM;
    for (int64_t j = 0; j < down->voxels; j++)
        for (int64_t i = 0; i < right->voxels; i++)
            label[j * right->voxels + i] =
                label_seen(overlay, &along, in_order(right, i) + in_order(down, j));
    const lob_label_map map = {label, right->voxels, down->voxels};
    const int chosen = pixels[0] >= 400 && pixels[1] >= 300 ? 2 : 1;
    const lob_status st =
        lob_draw_labels(canvas, x0, y0, pixels, &map, overlay->colour, overlay->alpha,
                        overlay->contour < 0 ? chosen : overlay->contour);
    free(label);
    return st;
}

lob_status lob_draw_slice(lob_canvas *canvas, int x0, int y0, double pixels_per_mm,
                          const lob_overlay *overlay, const lob_slice *view)
{
    int pixels[2];
    lob_slice_pixels(pixels, view, pixels_per_mm);
    const lob_volume *const v = overlay->image;
    const ruler right = ruler_of(v, view->right, view->flip_right, pixels[0]);
    const ruler down = ruler_of(v, view->down, view->flip_down, pixels[1]);
    const int channels = v->channels == 3 ? 3 : 1;

    float *const slice = malloc((size_t)right.voxels * (size_t)down.voxels * sizeof *slice);
    if (!slice) return LOB_ENOMEM;
    for (int c = 0; c < channels; c++) {
        window_slice(slice, overlay, view, &right, &down, c);
        for (int y = 0; y < pixels[1]; y++)
            for (int x = 0; x < pixels[0]; x++) {
                const int u = x0 + x, w = y0 + y;
                if (u < 0 || w < 0 || u >= canvas->width || w >= canvas->height) continue;
                unsigned char *const p =
                    canvas->rgb + 3 * ((size_t)w * (size_t)canvas->width + (size_t)u);
                p[c] = (unsigned char)(255 * pixel_value(slice, &right, &down, x, y) + 0.5);
                if (channels == 1) p[1] = p[2] = p[0];
            }
    }
    free(slice);
    return overlay->labels ? draw_labels(canvas, x0, y0, overlay, view, &right, &down) : LOB_OK;
}

lob_status lob_draw_scale_bar(lob_canvas *canvas, int x, int y, int max, double pixels_per_mm,
                              int size)
{
    static const double steps[] = {5, 2, 1};
    const lob_colour white = {255, 255, 255}, dark = {0, 0, 0};
    double power = 1e9, length = 0;
    for (int digit = 0; length == 0 && digit < 18; digit++) {
        for (size_t i = 0; length == 0 && i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * power * pixels_per_mm <= max) length = steps[i] * power;
        power /= 10;
    }
    if (length * pixels_per_mm < 1) return LOB_OK;

    const int pixels = (int)(length * pixels_per_mm + 0.5), thick = size / 5 + 1;
    char text[32];
    if (length >= 1)
        snprintf(text, sizeof text, "%g mm", length);
    else
        snprintf(text, sizeof text, "%g um", length * 1000);
    lob_canvas_box(canvas, x - 1, y - thick - 1, pixels + 2, thick + 2, dark, 0.55);
    lob_canvas_box(canvas, x, y - thick, pixels, thick, white, 1.0);
    return lob_canvas_text(canvas, x, y - thick - 2 - lob_text_height(size), size, white, text);
}

void lob_draw_cross(lob_canvas *canvas, int x, int y, const int pixels[2], const lob_volume *volume,
                    const lob_slice *view, const int64_t at[3])
{
    const lob_colour blue = {150, 200, 255};
    const ruler right = ruler_of(volume, view->right, view->flip_right, pixels[0]);
    const ruler down = ruler_of(volume, view->down, view->flip_down, pixels[1]);
    const int64_t i = right.flip ? right.voxels - 1 - at[view->right] : at[view->right];
    const int64_t j = down.flip ? down.voxels - 1 - at[view->down] : at[view->down];
    const int u = (int)(((double)i + 0.5) / (double)right.voxels * pixels[0]);
    const int v = (int)(((double)j + 0.5) / (double)down.voxels * pixels[1]);
    lob_canvas_box(canvas, x + u, y, 1, pixels[1], blue, 0.3);
    lob_canvas_box(canvas, x, y + v, pixels[0], 1, blue, 0.3);
}

lob_status lob_draw_sides(lob_canvas *canvas, int x, int y, const int pixels[2],
                          const lob_slice *view, int size)
{
    const lob_colour gold = {255, 214, 102};
    const int tall = lob_text_height(size), rim = size / 3;
    for (int s = 0; s < 4; s++) {
        const char text[2] = {view->side[s], '\0'};
        const int wide = lob_text_width(text, size);
        const int across[4] = {rim, pixels[0] - rim - wide, (pixels[0] - wide) / 2,
                               (pixels[0] - wide) / 2};
        const int down[4] = {(pixels[1] - tall) / 2, (pixels[1] - tall) / 2, rim / 2,
                             pixels[1] - rim / 2 - tall};
        LOB_TRY(lob_canvas_text(canvas, x + across[s], y + down[s], size, gold, text));
    }
    return LOB_OK;
}

/* The k-th smallest of n values, which change places: by halves around a pivot and, where that does
 * not get on, by sorting. */
static double kth_value(double *v, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    for (int round = 0; low < high && round < 64; round++) {
        const double pivot = v[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i > j) break;
            const double swapped = v[i];
            v[i++] = v[j];
            v[j--] = swapped;
        }
        if (k > j && k < i) return v[k];
        if (k <= j)
            high = j;
        else
            low = i;
    }
    if (low < high) qsort(v + low, (size_t)(high - low + 1), sizeof *v, lob_by_real);
    return v[k];
}

enum { BODY_HU = -200 }; /* fat and all that is denser; lungs and air lie below */

/* Whether values are those of a CT in Hounsfield units: each fiftieth at least is air's, and each
 * tenth soft tissue's. */
static bool is_ct(const double *v, int64_t n)
{
    int64_t air = 0, soft = 0;
    for (int64_t i = 0; i < n; i++) {
        air += v[i] >= -1100 && v[i] <= -900;
        soft += v[i] >= BODY_HU && v[i] <= 200;
    }
    return 50 * air >= n && 10 * soft >= n;
}

/* Keep what of n values counts; returns how many. labelled of them carry labels, dark of these lie
 * below the body. */
static int64_t keep_body(double *v, int64_t n, int64_t labelled, int64_t dark)
{
    if (!is_ct(v, n) || 2 * dark > labelled) return n;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (v[i] >= BODY_HU) v[kept++] = v[i];
    return kept;
}

lob_status lob_overlay_window(lob_overlay *overlay, double low, double high)
{
    enum { MAX = 1 << 18 };
    const lob_volume *const image = overlay->image, *const labels = overlay->labels;
    const int64_t voxels = lob_voxels(image), n = voxels * (image->channels == 3 ? 3 : 1);
    const int64_t step = n / MAX + 1;
    double *const sample = malloc((size_t)(n / step + 1) * sizeof *sample);
    if (!sample) return LOB_ENOMEM;
    int64_t count = 0, labelled = 0, dark = 0;
    /* One value of each step, at places that scatter: even ones could all lie in few columns. */
    for (int64_t k = 0; k * step < n; k++) {
        const int64_t scattered = (int64_t)((uint32_t)k * 2654435769u >> 8) % step;
        const int64_t at = k * step + scattered < n ? k * step + scattered : n - 1;
        double v;
        lob_values(&v, image->data, image->type, at, 1);
        v = image->slope * v + image->inter;
        if (!isfinite(v)) continue;
        sample[count++] = v;
        const bool shown =
            labels && overlay->shown[lob_label_at(labels->data, labels->type, at % voxels)];
        labelled += shown;
        dark += shown && v < BODY_HU;
    }
    count = keep_body(sample, count, labelled, dark);
    const double last = (double)(count - 1);
    double *const w = overlay->window;
    w[0] = count ? kth_value(sample, count, (int64_t)(low / 100.0 * last)) : 0.0;
    w[1] = count ? kth_value(sample, count, (int64_t)ceil(high / 100.0 * last)) : 1.0;
    if (!(w[0] < w[1])) w[1] = w[0] + 1.0;
    free(sample);
    return LOB_OK;
}
