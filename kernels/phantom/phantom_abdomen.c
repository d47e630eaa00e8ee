/* The abdomen: organs as smooth shapes, with the brightness of a T1-weighted, fat-suppressed MRI
 * with contrast agent. */
#include "kernels/phantom/phantom_parts.h"
#include "kernels/phantom/phantom_random.h"

#include <math.h>
#include <stdlib.h>

/*
 * Template coordinates are in mm of an average body: x to the right, y to the front, z up, with the
 * origin in the middle of the trunk. The trunk is scaled to fit the field of view along x and y;
 * the height of the field is 2 * HALF_HEIGHT.
 */
#define HALF_WIDTH  168.0
#define HALF_DEPTH  118.0
#define HALF_HEIGHT 105.0
#define STROKE_MM   16.0 /* distance between strokes of seeds in a slice */
#define AROUND_MM   8.0 /* from organs, and from the skin, to the arcs that are drawn around them */

enum { MAX_VESSELS = 256 };

enum { KEY_SHAPE = 1, KEY_WARP, KEY_TEXTURE, KEY_FAT, KEY_STROKE, KEY_VESSEL };

/* Brightness of tissues, 12 bits. */
enum {
    AIR = 12,
    LUNG = 130,
    SKIN = 900,
    FAT = 480,
    MUSCLE = 860,
    BONE = 260,
    MARROW = 620,
    DISC = 420,
    CANAL = 330,
    BLOOD = 2250,
    HEART = 1750,
    LIVER = 1500,
    VESSEL = 2050,
    TUMOUR = 930,
    TUMOUR_RIM = 1180,
    SPLEEN = 1800,
    CORTEX = 2450,
    MEDULLA = 1950,
    SINUS = 800,
    WALL = 1150,
    FLUID = 420,
    GAS = 60
};

typedef struct {
    double centre[3];
    double inverse[3]; /* 1 / radius; 0: endless along this axis */
} ellipsoid;

typedef struct {
    double from[3], along[3];
    double inverse_square; /* 1 / |along|^2 */
    double radius, taper;  /* radius - taper at the far end */
} vessel;

/* shape; its centre, x y z; its radii, 0: endless along this axis; mm of random displacement */
#define SHAPE_LIST(X)                            \
    X(RIGHT_LOBE, 76, 6, 14, 66, 84, 78, 3)      \
    X(LEFT_LOBE, 2, 46, 26, 76, 34, 42, 3)       \
    X(TUMOUR_1, 92, 26, 2, 17, 15, 16, 5)        \
    X(TUMOUR_2, 62, -22, 34, 11, 12, 11, 5)      \
    X(SPLEEN_BODY, -108, -34, 32, 27, 46, 52, 3) \
    X(KIDNEY_R, 58, -54, -34, 27, 24, 50, 3)     \
    X(SINUS_R, 46, -50, -34, 13, 8, 22, 0)       \
    X(KIDNEY_L, -60, -54, -22, 27, 24, 50, 3)    \
    X(SINUS_L, -48, -50, -22, 13, 8, 22, 0)      \
    X(VERTEBRA, 0, -52, 0, 24, 18, 0, 0)         \
    X(SPINAL_CANAL, 0, -80, 0, 11, 9, 0, 0)      \
    X(ARCH, 0, -88, 0, 20, 19, 0, 0)             \
    X(STOMACH_BODY, -70, 26, 20, 34, 34, 50, 3)  \
    X(ANTRUM, -30, 46, -30, 42, 22, 20, 3)       \
    X(AORTA, -13, -23, 0, 10, 10, 0, 1)          \
    X(CAVA, 20, -24, 0, 12, 9, 0, 1)             \
    X(HEART_BODY, -22, 40, 118, 56, 46, 44, 3)   \
    X(PSOAS_R, 38, -52, -90, 15, 19, 80, 0)      \
    X(PSOAS_L, -38, -52, -90, 15, 19, 80, 0)

enum {
#define SHAPE_NAME(shape, cx, cy, cz, rx, ry, rz, jitter) shape,
    SHAPE_LIST(SHAPE_NAME)
#undef SHAPE_NAME
        SHAPES
};

enum { CENTRE = 0, RADIUS = 3, JITTER = 6, COLUMNS };

static const double template_shapes[SHAPES][COLUMNS] = {
#define SHAPE_ROW(shape, cx, cy, cz, rx, ry, rz, jitter) [shape] = {cx, cy, cz, rx, ry, rz, jitter},
    SHAPE_LIST(SHAPE_ROW)
#undef SHAPE_ROW
};

/* How deep inside of a region a seed must lie, in template mm. */
static const double seed_depth[LOB_ABDOMEN_LABELS + 1] = {
    [LOB_ABDOMEN_OTHER] = 7,  [LOB_ABDOMEN_LIVER] = 8,    [LOB_ABDOMEN_TUMOUR] = 4,
    [LOB_ABDOMEN_SPLEEN] = 8, [LOB_ABDOMEN_KIDNEY_R] = 7, [LOB_ABDOMEN_KIDNEY_L] = 7,
    [LOB_ABDOMEN_SPINE] = 6,  [LOB_ABDOMEN_STOMACH] = 5,
};

typedef struct {
    lob_dims dims;
    double stroke_gap;        /* from slice to slice */
    bool drawn;               /* strokes are a person's */
    double first[3], step[3]; /* template position of voxel 0, mm from voxel to voxel */
    uint64_t warp, texture, fat, stroke;
    ellipsoid shape[SHAPES];
    vessel vessels[MAX_VESSELS];
    int vessel_count;
} abdomen;

/* A position in the template, and what several shapes need to know there. */
typedef struct {
    double p[3];
    double warp; /* random displacement of surfaces, mm */
    double body; /* depth under the skin, mm; negative outside */
} position;

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double square(double v)
{
    return v * v;
}

/* The smooth minimum of two distances: rounded where they differ by less than k. */
static double blend(double a, double b, double k)
{
    const double h = larger(k - (a < b ? b - a : a - b), 0.0) / k;
    return smaller(a, b) - h * h * k * 0.25;
}

/* Distance to an ellipsoid's surface, negative inside; exact for spheres, else an estimate. */
static double distance(const ellipsoid *e, const double p[3])
{
    double near = 0.0, steep = 0.0;
    for (int a = 0; a < 3; a++) {
        const double d = (p[a] - e->centre[a]) * e->inverse[a];
        near += d * d;
        steep += square(d * e->inverse[a]);
    }
    const double k = sqrt(near);
    if (steep < 1e-12) return -1.0 / larger(larger(e->inverse[0], e->inverse[1]), e->inverse[2]);
    return k * (k - 1.0) / sqrt(steep);
}

static double body_depth(const double p[3])
{
    const double waist = 1.0 - 0.04 * square(p[2] / HALF_HEIGHT);
    const double x = square(p[0] / (HALF_WIDTH * waist)), y = square(p[1] / (HALF_DEPTH * waist));
    const double q = 0.62 * (x + y) + 0.38 * (x * x + y * y);
    return (1.0 - sqrt(q)) * 118.0;
}

static double liver_distance(const abdomen *m, const position *at)
{
    const double lobes =
        blend(distance(&m->shape[RIGHT_LOBE], at->p), distance(&m->shape[LEFT_LOBE], at->p), 26.0);
    double d = lobes + at->warp;
    d = larger(d, 23.5 - at->body);
    d = larger(d, 2.5 - distance(&m->shape[KIDNEY_R], at->p));
    d = larger(d, 12.0 - distance(&m->shape[VERTEBRA], at->p));
    d = larger(d, 1.5 - distance(&m->shape[CAVA], at->p));
    d = larger(d, 10.0 - distance(&m->shape[AORTA], at->p));
    return larger(d, 4.0 - distance(&m->shape[HEART_BODY], at->p));
}

static double stomach_distance(const abdomen *m, const position *at, double liver)
{
    double d =
        blend(distance(&m->shape[STOMACH_BODY], at->p), distance(&m->shape[ANTRUM], at->p), 22.0);
    d += 0.6 * at->warp;
    d = larger(d, 29.0 - at->body);
    d = larger(d, 5.0 - distance(&m->shape[KIDNEY_L], at->p));
    return larger(d, 1.5 - liver);
}

static double spleen_distance(const abdomen *m, const position *at, double stomach)
{
    double d = distance(&m->shape[SPLEEN_BODY], at->p) + 0.5 * at->warp;
    d = larger(d, 24.0 - at->body);
    d = larger(d, 5.0 - distance(&m->shape[KIDNEY_L], at->p));
    return larger(d, 2.5 - stomach);
}

/* The largest depth inside any of some vessels; negative outside. */
static double vessel_depth(const vessel *const *vessels, int count, const double p[3])
{
    double best = -1e9;
    for (int i = 0; i < count; i++) {
        const vessel *const v = vessels[i];
        const double d[3] = {p[0] - v->from[0], p[1] - v->from[1], p[2] - v->from[2]};
        double t =
            (d[0] * v->along[0] + d[1] * v->along[1] + d[2] * v->along[2]) * v->inverse_square;
        t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
        const double radius = v->radius - v->taper * t;
        const double away = square(d[0] - t * v->along[0]) + square(d[1] - t * v->along[1]) +
                            square(d[2] - t * v->along[2]);
        if (away < radius * radius) best = larger(best, radius - sqrt(away));
    }
    return best;
}

/* Wall of the trunk: skin, fat under it, muscle with ribs. */
static int wall_tissue(const abdomen *m, const position *at)
{
    const double skin = 2.5;
    const double fat =
        13.0 + 4.0 * random_smooth(m->fat, at->p[0] / 60, at->p[1] / 60, at->p[2] / 60);
    if (at->body < skin) return SKIN;
    if (at->body < fat) return FAT;
    const double middle = at->body - (fat + 4.5);
    const double along = (at->p[2] + 0.45 * at->p[1] + 400.0) / 30.0;
    const double turn = along - (double)floor_whole(along);
    const bool flank = at->p[2] > -45.0 && square(at->p[0]) > square(52.0);
    const double rib = square(middle / 4.0) + square((turn - 0.5) * 30.0 / 5.5);
    if (flank && rib < 1.0) return rib < 0.4 ? MARROW : BONE;
    return MUSCLE;
}

/* Air spaces above the domes of the diaphragm. */
static bool in_lung(const position *at)
{
    const double side = at->p[0] > 0 ? 74.0 : -78.0;
    const double dome =
        (at->p[0] > 0 ? 96.0 : 84.0) - square((at->p[0] - side) / 9.5) - square(at->p[1] / 12.0);
    return at->p[2] > dome && square(at->p[0]) > square(24.0);
}

/* Tissue without a label of its own. */
static int other_tissue(const abdomen *m, const position *at)
{
    if (at->body < 0) return AIR;
    if (at->body < 23.0) return wall_tissue(m, at);
    if (distance(&m->shape[AORTA], at->p) < 0 || distance(&m->shape[CAVA], at->p) < 0) return BLOOD;
    if (distance(&m->shape[HEART_BODY], at->p) < 0) return HEART;
    if (in_lung(at)) return LUNG;
    if (distance(&m->shape[PSOAS_R], at->p) < 0 || distance(&m->shape[PSOAS_L], at->p) < 0)
        return MUSCLE;
    const double back =
        square((at->p[0] > 0 ? at->p[0] - 36 : at->p[0] + 36) / 32) + square((at->p[1] + 88) / 20);
    if (back < 1.0) return MUSCLE;
    const double marbled = random_smooth(m->fat, at->p[0] / 9, at->p[1] / 9, at->p[2] / 9);
    return marbled > 0.45 ? MUSCLE - 120 : FAT; /* bowel walls and small vessels in the fat */
}

static int spine_tissue(const abdomen *m, const double p[3])
{
    if (distance(&m->shape[SPINAL_CANAL], p) < 0) return CANAL;
    const double body = distance(&m->shape[VERTEBRA], p);
    const double along = (p[2] + 400.0) / 33.0;
    const double turn = along - (double)floor_whole(along);
    if (body < 0 && turn < 0.22) return DISC;
    const double edge = body < 0 ? body : distance(&m->shape[ARCH], p);
    return edge > -2.5 ? BONE : MARROW;
}

static int kidney_tissue(const abdomen *m, const position *at, double kidney, int sinus)
{
    if (distance(&m->shape[sinus], at->p) + at->warp < 0) return SINUS;
    const double lobed = random_smooth(m->fat, at->p[0] / 8, at->p[1] / 8, at->p[2] / 8);
    return kidney + 2.5 * lobed > -7.0 ? CORTEX : MEDULLA;
}

static int stomach_tissue(const position *at, double stomach)
{
    if (stomach > -4.0) return WALL;
    return at->p[1] > 40.0 ? GAS
                           : FLUID; /* gas rises to the front of a patient who lies on the back */
}

typedef struct {
    int label;
    double depth;
    int tissue;
} found;

static found liver_at(const abdomen *m, const position *at, double liver,
                      const vessel *const *vessels, int count)
{
    double tumour =
        smaller(distance(&m->shape[TUMOUR_1], at->p), distance(&m->shape[TUMOUR_2], at->p));
    tumour = larger(tumour + 0.8 * at->warp, liver + 1.0);
    if (tumour < 0)
        return (found){LOB_ABDOMEN_TUMOUR, -tumour, tumour > -2.5 ? TUMOUR_RIM : TUMOUR};
    const double inside = vessel_depth(vessels, count, at->p);
    return (found){LOB_ABDOMEN_LIVER, smaller(-liver, tumour),
                   inside > 0 && liver < -1.0 ? VESSEL : LIVER};
}

/* The tissue at a position under the wall of the trunk. */
static found organ_at(const abdomen *m, const position *at, const vessel *const *vessels, int count)
{
    const double spine =
        smaller(distance(&m->shape[VERTEBRA], at->p), distance(&m->shape[ARCH], at->p));
    if (spine < 0) return (found){LOB_ABDOMEN_SPINE, -spine, spine_tissue(m, at->p)};
    const double right = distance(&m->shape[KIDNEY_R], at->p) + 0.4 * at->warp;
    if (right < 0)
        return (found){LOB_ABDOMEN_KIDNEY_R, -right, kidney_tissue(m, at, right, SINUS_R)};
    const double left = distance(&m->shape[KIDNEY_L], at->p) + 0.4 * at->warp;
    if (left < 0) return (found){LOB_ABDOMEN_KIDNEY_L, -left, kidney_tissue(m, at, left, SINUS_L)};
    const double liver = liver_distance(m, at);
    if (liver < 0) return liver_at(m, at, liver, vessels, count);
    const double stomach = stomach_distance(m, at, liver);
    if (stomach < 0) return (found){LOB_ABDOMEN_STOMACH, -stomach, stomach_tissue(at, stomach)};
    const double spleen = spleen_distance(m, at, stomach);
    if (spleen < 0) return (found){LOB_ABDOMEN_SPLEEN, -spleen, SPLEEN};

    double away = smaller(smaller(spine, right), smaller(left, liver));
    away = smaller(away, smaller(stomach, spleen));
    return (found){LOB_ABDOMEN_OTHER, away, other_tissue(m, at)};
}

/* Whether one of the strokes, this gap apart, passes through this interval. */
static bool stroke_passes(double middle, double width, double gap)
{
    return floor_whole((middle - 0.5 * width) / gap) != floor_whole((middle + 0.5 * width) / gap);
}

static bool is_drawn_slice(const abdomen *m, double z)
{
    return m->dims.nz == 1 || stroke_passes(z + m->stroke_gap * 100, m->step[2], m->stroke_gap);
}

static bool is_seed(const abdomen *m, const position *at, const found *f)
{
    if (f->depth < seed_depth[f->label]) return false;
    const double wave = 5.0 * random_smooth(m->stroke, at->p[0] / 24, at->p[2] / 24, 0.5);
    return stroke_passes(at->p[1] + wave + 3.0, m->step[1], STROKE_MM);
}

/* Whether an arc around organs or along the skin passes here; arcs have gaps. */
static bool is_on_arc(const abdomen *m, const position *at, const found *f)
{
    if (f->label != LOB_ABDOMEN_OTHER) return false;
    const double wide = larger(m->step[0], m->step[1]);
    const double from_organ = f->depth - AROUND_MM, from_skin = at->body - AROUND_MM;
    const bool passes =
        (from_organ >= 0 && from_organ < wide) || (from_skin >= 0 && from_skin < wide);
    return passes && random_smooth(m->stroke, at->p[0] / 40, at->p[1] / 40, at->p[2] / 40) > -0.2;
}

/* The vessels near a slice (axis 2) or a row (axis 1) at this coordinate. */
static int vessels_near(const vessel **out, const vessel *const *from, int count, int axis,
                        double coordinate)
{
    int near = 0;
    for (int i = 0; i < count; i++) {
        const vessel *const v = from[i];
        const double a = v->from[axis], b = a + v->along[axis];
        if (coordinate > smaller(a, b) - v->radius && coordinate < larger(a, b) + v->radius)
            out[near++] = v;
    }
    return near;
}

/* ---- drawn strokes ---- */

enum { WAYS = 8 };

/* The ways to the voxels around, in order around the circle. */
static const int ways[WAYS][2] = {
    {1,  0 },
    {1,  1 },
    {0,  1 },
    {-1, 1 },
    {-1, 0 },
    {-1, -1},
    {0,  -1},
    {1,  -1}
};

/* The deepest voxel of a label among those up to `turn` ways beside a way; NULL: there is none. */
static phantom_voxel *next(phantom_voxel *slice, lob_dims dims, const phantom_voxel *from, int way,
                           int turn)
{
    const int64_t at = from - slice, x = at % dims.nx, y = at / dims.nx;
    phantom_voxel *best = NULL;
    for (int t = -turn; t <= turn; t++) {
        const int *const step = ways[(way + t + WAYS) % WAYS];
        const int64_t u = x + step[0], v = y + step[1];
        if (u < 0 || v < 0 || u >= dims.nx || v >= dims.ny) continue;
        phantom_voxel *const to = slice + u + v * dims.nx;
        if (to->label == from->label && (!best || to->depth > best->depth)) best = to;
    }
    return best;
}

/* How far it goes on one way and the way back while it is this deep, in voxels. */
static int64_t room(phantom_voxel *slice, lob_dims dims, phantom_voxel *from, int way, float least)
{
    int64_t steps = 0;
    for (int side = 0; side < 2; side++)
        for (phantom_voxel *v = from; v && v->depth >= least; steps++)
            v = next(slice, dims, v, way + side * WAYS / 2, 0);
    return steps;
}

/*
 * Draw a line along the middle of a region, as a person does: from the deepest voxel of a label (of
 * equally deep ones the first) both ways along what is deep, within 45 degrees of the way there is
 * most room, to where less is left than two fifths of the greatest depth.
 *
 *   slice  in/out  dims.nx * dims.ny voxels with labels and depths; gets seeds
 *   least  in      depth of a seed; where no voxel is as deep, nothing is drawn
 */
static void draw_middle(phantom_voxel *slice, lob_dims dims, int32_t label, float least)
{
    phantom_voxel *deepest = NULL;
    for (int64_t i = 0; i < dims.nx * dims.ny; i++)
        if (slice[i].label == label && (!deepest || slice[i].depth > deepest->depth))
            deepest = slice + i;
    if (!deepest || deepest->depth < least) return;
    if (0.4f * deepest->depth > least) least = 0.4f * deepest->depth;
    int along = 0;
    for (int way = 1; way < WAYS / 2; way++)
        if (room(slice, dims, deepest, way, least) > room(slice, dims, deepest, along, least))
            along = way;
    for (int side = 0; side < 2; side++)
        for (phantom_voxel *v = deepest; v && v->depth >= least;) {
            v->seed = true;
            v = next(slice, dims, v, along + side * WAYS / 2, 1);
        }
}

/* ---- slices ---- */

static void abdomen_slice(phantom_voxel *out, const void *model, int64_t z)
{
    const abdomen *const m = model;
    const vessel *all[MAX_VESSELS], *of_slice[MAX_VESSELS], *of_row[MAX_VESSELS];
    for (int i = 0; i < m->vessel_count; i++) all[i] = &m->vessels[i];
    position at = {
        .p = {0, 0, m->first[2] + m->step[2] * (double)z}
    };
    const int in_slice = vessels_near(of_slice, all, m->vessel_count, 2, at.p[2]);
    const bool drawn = is_drawn_slice(m, at.p[2]);
    phantom_voxel *const slice = out;

    for (int64_t y = 0; y < m->dims.ny; y++) {
        at.p[1] = m->first[1] + m->step[1] * (double)y;
        const int in_row = vessels_near(of_row, of_slice, in_slice, 1, at.p[1]);
        for (int64_t x = 0; x < m->dims.nx; x++, out++) {
            at.p[0] = m->first[0] + m->step[0] * (double)x;
            at.body = body_depth(at.p);
            found f = {LOB_ABDOMEN_OTHER, 1e3, AIR};
            if (at.body >= 15.0) {
                at.warp = 3.5 * random_smooth(m->warp, at.p[0] / 27, at.p[1] / 27, at.p[2] / 27);
                f = organ_at(m, &at, of_row, in_row);
            } else if (at.body >= 0) {
                f.tissue = wall_tissue(m, &at);
            }
            double bright = f.tissue;
            if (at.body >= 0)
                bright *=
                    1.0 + 0.05 * random_smooth(m->texture, at.p[0] / 5, at.p[1] / 5, at.p[2] / 5);
            out->label = f.label;
            out->depth = (float)f.depth;
            out->bright = (uint16_t)(bright * 8.0);
            out->seed = drawn && (m->drawn ? is_on_arc : is_seed)(m, &at, &f);
        }
    }
    for (int label = LOB_ABDOMEN_OTHER + 1; drawn && m->drawn && label <= LOB_ABDOMEN_LABELS;
         label++)
        draw_middle(slice, m->dims, label, (float)seed_depth[label]);
}

static void normalise(double v[3])
{
    const double length = sqrt(square(v[0]) + square(v[1]) + square(v[2]));
    for (int a = 0; a < 3; a++) v[a] /= larger(length, 1e-9);
}

/* Distance to the liver without its fine detail, to limit the growth of vessels. */
static double coarse_liver(const abdomen *m, const double p[3])
{
    return larger(
        blend(distance(&m->shape[RIGHT_LOBE], p), distance(&m->shape[LEFT_LOBE], p), 26.0),
        30.0 - body_depth(p));
}

typedef struct {
    double from[3], towards[3], length, radius;
    int generations; /* of branches */
} branch;

/* Grow a vessel and its branches, two from each end, breadth first. */
static void grow_tree(abdomen *m, uint64_t key, const branch *root)
{
    branch queue[MAX_VESSELS] = {*root};
    int head = 0, tail = 1;
    normalise(queue[0].towards);

    for (; head < tail && m->vessel_count < MAX_VESSELS; head++) {
        double end[3];
        for (int a = 0; a < 3; a++)
            end[a] = queue[head].from[a] + queue[head].towards[a] * queue[head].length;
        if (head > 0 && coarse_liver(m, end) > -5.0) continue; /* leaves the liver */
        vessel *const v = &m->vessels[m->vessel_count++];
        for (int a = 0; a < 3; a++) {
            v->from[a] = queue[head].from[a];
            v->along[a] = end[a] - v->from[a];
        }
        v->inverse_square = 1.0 / (square(v->along[0]) + square(v->along[1]) + square(v->along[2]));
        v->radius = queue[head].radius;
        v->taper = 0.2 * v->radius;
        if (queue[head].generations == 0) continue;

        double apart[3];
        for (int a = 0; a < 3; a++) apart[a] = random_signed(key, (uint64_t)(head * 3 + a));
        normalise(apart);
        for (int side = -1; side <= 1 && tail < MAX_VESSELS; side += 2, tail++) {
            for (int a = 0; a < 3; a++) {
                queue[tail].from[a] = end[a];
                queue[tail].towards[a] = queue[head].towards[a] + 0.75 * side * apart[a];
            }
            normalise(queue[tail].towards);
            queue[tail].length = 0.84 * queue[head].length;
            queue[tail].radius = 0.76 * queue[head].radius;
            queue[tail].generations = queue[head].generations - 1;
        }
    }
}

static void grow_vessels(abdomen *m, uint64_t random_seed)
{
    static const branch roots[] = {
        {{26, -2, -18}, {1, 0.25, 0.3},    34, 6.5, 5}, /* portal vein, right */
        {{26, -2, -18}, {-0.25, 0.9, 0.8}, 36, 5.5, 4}, /* portal vein, left */
        {{20, -20, 66}, {0.9, 0.1, -0.5},  36, 5.0, 4}, /* hepatic veins, from the vena cava */
        {{20, -20, 66}, {0.5, 0.8, -0.5},  36, 4.6, 4},
        {{20, -20, 66}, {-0.2, 1.0, -0.5}, 36, 4.4, 3},
    };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        grow_tree(m, random_key(random_seed, KEY_VESSEL + i), &roots[i]);
}

static lob_status abdomen_make(void **model, int32_t *labels, const lob_phantom_options *options,
                               lob_error *error)
{
    abdomen *const m = calloc(1, sizeof *m);
    if (!m) return lob_fail(error, LOB_ENOMEM, "no memory for the phantom");
    m->dims = options->dims;
    m->stroke_gap = options->stroke_gap > 0 ? options->stroke_gap : options->drawn ? 40 : 16;
    m->drawn = options->drawn;
    m->warp = random_key(options->random_seed, KEY_WARP);
    m->texture = random_key(options->random_seed, KEY_TEXTURE);
    m->fat = random_key(options->random_seed, KEY_FAT);
    m->stroke = random_key(options->random_seed, KEY_STROKE);

    const double side[3] = {(double)m->dims.nx, (double)m->dims.ny, (double)m->dims.nz};
    const double scale = smaller(side[0] * options->spacing_mm[0] / (2.0 * HALF_WIDTH * 1.06),
                                 side[1] * options->spacing_mm[1] / (2.0 * HALF_DEPTH * 1.06));
    m->step[0] = options->spacing_mm[0] / scale;
    m->step[1] = options->spacing_mm[1] / scale;
    m->step[2] = 2.0 * HALF_HEIGHT / side[2];
    for (int a = 0; a < 3; a++) m->first[a] = -0.5 * (side[a] - 1.0) * m->step[a];

    const uint64_t key = random_key(options->random_seed, KEY_SHAPE);
    for (int s = 0; s < SHAPES; s++)
        for (int a = 0; a < 3; a++) {
            const uint64_t draw = (uint64_t)(s * 6 + a);
            const double *const shape = template_shapes[s];
            const double radius = shape[RADIUS + a], jitter = shape[JITTER];
            const double size = 1.0 + 0.012 * jitter * random_signed(key, draw);
            m->shape[s].inverse[a] = radius > 0 ? 1.0 / (radius * size) : 0.0;
            m->shape[s].centre[a] = shape[CENTRE + a] + jitter * random_signed(key, draw + 3);
        }
    grow_vessels(m, options->random_seed);
    *model = m;
    *labels = LOB_ABDOMEN_LABELS;
    return LOB_OK;
}

const phantom_recipe lob_phantom_abdomen = {
    .make = abdomen_make,
    .slice = abdomen_slice,
    .rician = true,
    .dims = {256, 256, 160},
    .spacing_mm = {1.5, 1.5, 2.0},
    .type = LOB_I16,
    .noise = 1.5,
    .bias = 0.2,
};
