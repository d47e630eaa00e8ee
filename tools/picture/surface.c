/*
 * Drawing surfaces of labels by rays: the box of the labels becomes a grid of cubes that says how
 * much of each is labelled, smoothed; a ray ends where that is half, and the label there gives the
 * colour, the slope the light.
 */
#include "tools/picture/mosaic.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 168,  /* cubes of the longest side, */
    MARGIN = 4,  /* empty ones at each end of it */
    BLOCK = 6,   /* cubes of a block that a ray passes in long steps where it is empty, */
    AROUND = 2,  /* which counts what is that near to it */
    SAMPLES = 2, /* rays of a pixel along each of its sides, unless one through its middle brings */
    ALIKE = 16,  /* colours back that differ by no more from those of the pixels around it */
    PASSES = 16  /* of smoothing at most */
};

int64_t lob_surface_bytes(void)
{
    return (int64_t)SIDE * SIDE * SIDE * (int64_t)(sizeof(float) + sizeof(int32_t)) + (1 << 20);
}

typedef struct {
    double x, y, z; /* along the volume's axes; cubes, from the first one's centre */
} vec;

typedef struct {
    int64_t n[3];
    double cube_mm;
    float *share;   /* labelled */
    int32_t *label; /* that is shown, or 0 */
    uint8_t *block; /* is there anything in it or beside it? */
    int64_t blocks[3];
} grid;

static vec add(vec a, vec b, double times)
{
    return (vec){a.x + times * b.x, a.y + times * b.y, a.z + times * b.z};
}

static double dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* ---- the grid ---- */

static int64_t cell(const grid *g, int64_t i, int64_t j, int64_t k)
{
    return (k * g->n[1] + j) * g->n[0] + i;
}

/* The voxels under cubes along an axis, as offsets into the volume; -1 outside of the box. */
static void find_voxels(int64_t offset[SIDE], const grid *g, const lob_volume *v, int axis,
                        int64_t low, int64_t high)
{
    const int64_t stride[3] = {1, v->dims.nx, v->dims.nx * v->dims.ny};
    for (int64_t i = 0; i < g->n[axis]; i++) {
        const double at = (double)(i - MARGIN) * g->cube_mm / v->geometry.spacing_mm[axis];
        const double voxel = floor(at + 0.5);
        const bool within = voxel >= 0 && voxel <= (double)(high - low);
        offset[i] = within ? (low + (int64_t)voxel) * stride[axis] : -1;
    }
}

static void fill(const grid *g, const lob_overlay *o, const int64_t low[3], const int64_t high[3])
{
    const lob_volume *const v = o->labels;
    int64_t at[3][SIDE];
    for (int a = 0; a < 3; a++) find_voxels(at[a], g, v, a, low[a], high[a]);
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++) {
            const int64_t to = cell(g, 0, j, k);
            for (int64_t i = 0; i < g->n[0]; i++) {
                const int64_t x = at[0][i], y = at[1][j], z = at[2][k];
                const bool within = x >= 0 && y >= 0 && z >= 0;
                const int32_t label = within ? lob_label_at(v->data, v->type, x + y + z) : 0;
                g->label[to + i] = o->shown[label] ? label : 0;
                g->share[to + i] = o->shown[label] ? 1.0f : 0.0f;
            }
        }
}

/* One binomial pass along n numbers, of `side` such lines side by side. before: side numbers. */
static void smooth_lines(float *lines, int64_t n, int64_t side, float *before)
{
    memcpy(before, lines, (size_t)side * sizeof *before);
    for (int64_t i = 0; i < n; i++) {
        float *const row = lines + i * side, *const after = i + 1 < n ? row + side : row;
        for (int64_t c = 0; c < side; c++) {
            const float own = row[c];
            row[c] = 0.25f * before[c] + 0.5f * own + 0.25f * after[c];
            before[c] = own;
        }
    }
}

/* Slices that are far apart leave stairs: the longer a voxel, the more is smoothed along it. */
static lob_status smooth(const grid *g, const lob_volume *v)
{
    const int64_t plane = g->n[0] * g->n[1], all = plane * g->n[2];
    const int64_t side[3] = {1, g->n[0], plane};
    float *const before = malloc((size_t)plane * sizeof *before);
    if (!before) return LOB_ENOMEM;
    for (int a = 0; a < 3; a++) {
        const double ratio = v->geometry.spacing_mm[a] / g->cube_mm;
        const double wanted = 1 + 0.7 * ratio * ratio;
        const int passes = wanted < PASSES ? (int)wanted : PASSES;
        for (int64_t at = 0; at < all; at += side[a] * g->n[a])
            for (int p = 0; p < passes; p++) smooth_lines(g->share + at, g->n[a], side[a], before);
    }
    free(before);
    return LOB_OK;
}

static void mark_block(const grid *g, const int64_t at[3])
{
    int64_t from[3], to[3];
    for (int a = 0; a < 3; a++) {
        from[a] = (at[a] > AROUND ? at[a] - AROUND : 0) / BLOCK;
        to[a] = (at[a] + AROUND) / BLOCK;
        if (to[a] >= g->blocks[a]) to[a] = g->blocks[a] - 1;
    }
    for (int64_t c = from[2]; c <= to[2]; c++)
        for (int64_t b = from[1]; b <= to[1]; b++)
            memset(g->block + (c * g->blocks[1] + b) * g->blocks[0] + from[0], 1,
                   (size_t)(to[0] - from[0] + 1));
}

static void find_blocks(const grid *g)
{
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++)
                if (g->share[cell(g, i, j, k)] >= 0.25f) mark_block(g, (const int64_t[]){i, j, k});
}

static lob_status make_grid(grid *g, const lob_overlay *o, const int64_t low[3],
                            const int64_t high[3])
{
    const double *const mm = o->labels->geometry.spacing_mm;
    double side[3], longest = 0;
    for (int a = 0; a < 3; a++) {
        side[a] = (double)(high[a] - low[a] + 1) * mm[a];
        longest = fmax(longest, side[a]);
    }
    g->cube_mm = longest / (SIDE - 2 * MARGIN - 1);
    size_t cubes = 1, blocks = 1;
    for (int a = 0; a < 3; a++) {
        g->n[a] = (int64_t)(side[a] / g->cube_mm) + 2 * MARGIN;
        g->blocks[a] = (g->n[a] + BLOCK - 1) / BLOCK;
        cubes *= (size_t)g->n[a];
        blocks *= (size_t)g->blocks[a];
    }
    g->share = malloc(cubes * sizeof *g->share);
    g->label = malloc(cubes * sizeof *g->label);
    g->block = calloc(blocks, 1);
    if (!g->share || !g->label || !g->block) return LOB_ENOMEM;
    fill(g, o, low, high);
    LOB_TRY(smooth(g, o->labels));
    find_blocks(g);
    return LOB_OK;
}

/* ---- rays ---- */

static inline bool inside(const grid *g, vec p)
{
    return p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x < (double)(g->n[0] - 1) &&
           p.y < (double)(g->n[1] - 1) && p.z < (double)(g->n[2] - 1);
}

/* Linear between cubes; 0 outside. */
static double share_at(const grid *g, vec p)
{
    if (!inside(g, p)) return 0;
    const int64_t i = (int64_t)p.x, j = (int64_t)p.y, k = (int64_t)p.z;
    const double u = p.x - (double)i, v = p.y - (double)j, w = p.z - (double)k;
    double plane[2];
    for (int c = 0; c < 2; c++) {
        const float *const a = g->share + cell(g, i, j, k + c), *const b = a + g->n[0];
        plane[c] = (1 - v) * ((1 - u) * (double)a[0] + u * (double)a[1]) +
                   v * ((1 - u) * (double)b[0] + u * (double)b[1]);
    }
    return (1 - w) * plane[0] + w * plane[1];
}

static bool is_near(const grid *g, vec p)
{
    if (!inside(g, p)) return false;
    const int64_t i = (int64_t)p.x / BLOCK, j = (int64_t)p.y / BLOCK, k = (int64_t)p.z / BLOCK;
    return g->block[(k * g->blocks[1] + j) * g->blocks[0] + i];
}

/* Cut an interval of a ray down to where a coordinate lies in [0, last]. */
static void clip(double *from, double *to, double start, double way, double last)
{
    if (way == 0) return; /* rays are oblique to all axes */
    const double a = -start / way, b = (last - start) / way;
    *from = fmax(*from, fmin(a, b));
    *to = fmin(*to, fmax(a, b));
}

/* Where a ray meets the surface. */
static bool meet(vec *at, const grid *g, vec start, vec way)
{
    const double fine = 1.0, coarse = 3.0; /* less than twice AROUND */
    double t = 0, to = 1e9, before = 0;
    clip(&t, &to, start.x, way.x, (double)(g->n[0] - 1));
    clip(&t, &to, start.y, way.y, (double)(g->n[1] - 1));
    clip(&t, &to, start.z, way.z, (double)(g->n[2] - 1));
    while (t < to) {
        const vec p = add(start, way, t);
        if (!is_near(g, p)) {
            before = 0;
            t += coarse;
            continue;
        }
        const double here = share_at(g, p);
        if (here >= 0.5) {
            const double back = here > before ? fine * (here - 0.5) / (here - before) : 0;
            *at = add(p, way, -fmin(back, fine));
            return true;
        }
        before = here;
        t += fine;
    }
    return false;
}

/* Smoothing moves the surface: the nearest labelled cube from there on inwards, else around. */
static int32_t label_near(const grid *g, vec p, vec inwards)
{
    for (int step = 1; step < 12; step++) {
        const vec q = add(p, inwards, 0.5 * step);
        const vec c = {floor(q.x + 0.5), floor(q.y + 0.5), floor(q.z + 0.5)};
        if (!inside(g, c)) continue;
        const int32_t label = g->label[cell(g, (int64_t)c.x, (int64_t)c.y, (int64_t)c.z)];
        if (label) return label;
    }
    return 0;
}

/* How the viewer stands: unit vectors along the volume's axes. */
typedef struct {
    vec right, up, towards;
} camera;

static vec slope_at(const grid *g, vec p)
{
    const double d = 2.0; /* farther than the steps of voxels */
    return (vec){
        share_at(g, (vec){p.x + d, p.y, p.z}) - share_at(g, (vec){p.x - d, p.y, p.z}),
        share_at(g, (vec){p.x, p.y + d, p.z}) - share_at(g, (vec){p.x, p.y - d, p.z}),
        share_at(g, (vec){p.x, p.y, p.z + d}) - share_at(g, (vec){p.x, p.y, p.z - d}),
    };
}

/* Light that a place sends to the viewer, and whether a little of it is a gleam. */
static void light_of(double *diffuse, double *gleam, const camera *c, vec outwards)
{
    const double front = dot(outwards, c->towards);
    const double lamp = -0.35 * dot(outwards, c->right) + 0.5 * dot(outwards, c->up) + 0.79 * front;
    const double share = lamp > 0 ? lamp : 0, square = share * share;
    *diffuse = 0.28 + 0.62 * share + 0.10 * (front > 0 ? front : 0);
    *gleam = square * square * square * square * square * square * 0.22;
}

/* ---- the picture ---- */

static vec axis_of(int axis, double sign)
{
    return (vec){axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0};
}

/* In front of the patient (or behind), turned by 25 degrees and lifted by 15. */
static camera stand(const lob_geometry *g, bool neurological)
{
    static const double cos_turn = 0.906308, sin_turn = 0.422618, cos_lift = 0.965926,
                        sin_lift = 0.258819;
    const int x = lob_anatomical_axis(g, LOB_SAGITTAL), y = lob_anatomical_axis(g, LOB_CORONAL);
    const int z = lob_anatomical_axis(g, LOB_AXIAL);
    char code[4];
    lob_orientation(code, g);
    const bool known = !g->unoriented;
    const vec right = axis_of(x, !known || code[x] == (neurological ? 'R' : 'L') ? 1 : -1);
    const vec front = axis_of(y, known && code[y] == (neurological ? 'P' : 'A') ? 1 : -1);
    const vec up = axis_of(z, known && code[z] == 'S' ? 1 : -1), none = {0, 0, 0};
    camera c;
    c.right = add(add(none, right, cos_turn), front, -sin_turn);
    const vec aside = add(add(none, front, cos_turn), right, sin_turn);
    c.towards = add(add(none, aside, cos_lift), up, sin_lift);
    c.up = add(add(none, up, cos_lift), aside, -sin_lift);
    return c;
}

/* Half of what the grid takes along a direction. */
static double half_of(const grid *g, vec along)
{
    return 0.5 * (fabs(along.x) * (double)(g->n[0] - 2 * MARGIN) +
                  fabs(along.y) * (double)(g->n[1] - 2 * MARGIN) +
                  fabs(along.z) * (double)(g->n[2] - 2 * MARGIN));
}

/* Where rays of a picture begin. */
typedef struct {
    camera camera;
    vec middle;   /* under the middle of the picture */
    double cubes; /* of a pixel */
} stage;

/* What the ray brings back that goes through a point of the picture, in pixels from its middle. */
typedef struct {
    unsigned char met, rgb[3];
} sight;

static sight look_through(const grid *g, const stage *s, const lob_colour *colour, double u,
                          double v)
{
    const camera *const c = &s->camera;
    const vec from = add(add(s->middle, c->right, u * s->cubes), c->up, -v * s->cubes);
    const vec way = {-c->towards.x, -c->towards.y, -c->towards.z};
    sight found = {.met = 0};
    vec at;
    if (!meet(&at, g, from, way)) return found;
    const vec slope = slope_at(g, at);
    const double steep = sqrt(dot(slope, slope));
    const vec inwards = steep > 0 ? (vec){slope.x / steep, slope.y / steep, slope.z / steep} : way;
    const int32_t label = label_near(g, at, inwards);
    if (label == 0) return found;
    double diffuse, gleam;
    light_of(&diffuse, &gleam, c, (vec){-inwards.x, -inwards.y, -inwards.z});
    const double own[3] = {colour[label].red, colour[label].green, colour[label].blue};
    found.met = 1;
    for (int i = 0; i < 3; i++)
        found.rgb[i] = (unsigned char)(fmin(own[i] * diffuse + 255 * gleam, 255) + 0.5);
    return found;
}

/* Does a pixel look as those around it do? Then one ray says enough. */
static bool is_smooth(const sight *seen, const int pixels[2], int u, int v)
{
    const sight *const own = seen + (size_t)v * (size_t)pixels[0] + u;
    if (u == 0 || v == 0 || u + 1 == pixels[0] || v + 1 == pixels[1]) return false;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            const sight *const other = own + (ptrdiff_t)j * pixels[0] + i;
            if (other->met != own->met) return false;
            for (int c = 0; c < 3; c++)
                if (abs(other->rgb[c] - own->rgb[c]) > ALIKE) return false;
        }
    return true;
}

/* The colour of a pixel, and how much of it is covered. */
static void draw_pixel(lob_canvas *canvas, const grid *g, const stage *s, const lob_colour *colour,
                       const int at[2], double across, double down, const sight *middle)
{
    const int rays = middle ? 1 : SAMPLES * SAMPLES;
    int sum[3] = {0, 0, 0}, met = 0;
    for (int i = 0; i < rays; i++) {
        const int right = i % SAMPLES, below = i / SAMPLES;
        const double u = across + (right + 0.5) / SAMPLES, v = down + (below + 0.5) / SAMPLES;
        const sight found = middle ? *middle : look_through(g, s, colour, u, v);
        met += found.met;
        for (int c = 0; c < 3; c++) sum[c] += found.rgb[c];
    }
    if (met == 0) return;
    const lob_colour mean = {(unsigned char)((sum[0] + met / 2) / met),
                             (unsigned char)((sum[1] + met / 2) / met),
                             (unsigned char)((sum[2] + met / 2) / met)};
    lob_canvas_blend(canvas, at[0], at[1], mean, (double)met / rays);
}

static lob_status draw_rays(lob_canvas *canvas, int x, int y, const int pixels[2], const grid *g,
                            const stage *s, const lob_colour *colour, int threads)
{
    const double left = -0.5 * pixels[0], top = -0.5 * pixels[1];
    sight *const seen = malloc((size_t)pixels[0] * (size_t)pixels[1] * sizeof *seen);
    if (!seen) return LOB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
    for (int v = 0; v < pixels[1]; v++)
        for (int u = 0; u < pixels[0]; u++)
            seen[(size_t)v * (size_t)pixels[0] + (size_t)u] =
                look_through(g, s, colour, left + u + 0.5, top + v + 0.5);
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
    for (int v = 0; v < pixels[1]; v++)
        for (int u = 0; u < pixels[0]; u++) {
            const sight *const middle = seen + (size_t)v * (size_t)pixels[0] + u;
            draw_pixel(canvas, g, s, colour, (const int[]){x + u, y + v}, left + u, top + v,
                       is_smooth(seen, pixels, u, v) ? middle : NULL);
        }
    free(seen);
    return LOB_OK;
}

lob_status lob_draw_surface(lob_canvas *canvas, int x, int y, const int pixels[2],
                            const lob_overlay *overlay, const int64_t low[3], const int64_t high[3],
                            bool neurological, int threads)
{
    grid g = {.share = NULL};
    stage s = {.camera = stand(&overlay->labels->geometry, neurological)};
    for (int a = 0; a < 3; a++) { /* of no use to anybody: nothing is drawn */
        const double mm = overlay->labels->geometry.spacing_mm[a];
        if (!(mm > 1e-30 && mm < 1e30)) return LOB_OK;
    }
    lob_status st = make_grid(&g, overlay, low, high);
    const double wide = 2 * half_of(&g, s.camera.right), tall = 2 * half_of(&g, s.camera.up);
    const double deep = half_of(&g, s.camera.towards) + 2.0 * MARGIN;
    s.cubes = 1.12 * fmax(wide / pixels[0], tall / pixels[1]);
    s.middle =
        (vec){0.5 * (double)(g.n[0] - 1), 0.5 * (double)(g.n[1] - 1), 0.5 * (double)(g.n[2] - 1)};
    s.middle = add(s.middle, s.camera.towards, deep);
    if (st == LOB_OK) st = draw_rays(canvas, x, y, pixels, &g, &s, overlay->colour, threads);
    LOB_FREE(g.share, g.label, g.block);
    return st;
}
