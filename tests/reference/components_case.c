/* The generator of random and adversarial inputs of components. */
#include "tests/reference/components_case.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

enum { EMPTY, FULL, CHECKERED, NOISE, BLOBS, SHELLS, SERPENTINE, COMB, SPIRAL, SHAPES };
static const char *const shape_names[SHAPES] = {
    "empty", "full", "checkered", "noise", "blobs", "shells", "serpentine", "comb", "spiral"};

enum { ONE, FEW, BLOCKS, RAMP, WAVES, VALUES };
static const char *const value_names[VALUES] = {"one value", "few values", "blocks", "ramp",
                                                "waves"};

enum { BALLS = 12 };

/* What a pattern is made of beside its kind. */
typedef struct {
    int kind;
    lob_dims dims;
    uint64_t *state;
    double density;
    double ball[BALLS][4]; /* centre and squared radius */
    int64_t period;
} pattern;

static bool in_balls(const pattern *p, int64_t x, int64_t y, int64_t z)
{
    int inside = 0;
    for (int b = 0; b < BALLS; b++) {
        const double dx = (double)x - p->ball[b][0], dy = (double)y - p->ball[b][1];
        const double dz = (double)z - p->ball[b][2];
        inside += dx * dx + dy * dy + dz * dz < p->ball[b][3];
    }
    return inside % 3 != 0;
}

/* How far a voxel is from the nearest side of its plane, ring after ring: the walls of a spiral
 * are even rings, cut open where the path leads on inwards. */
static bool in_spiral(const pattern *p, int64_t x, int64_t y, int64_t z)
{
    const int64_t right = p->dims.nx - 1 - x, down = p->dims.ny - 1 - y;
    int64_t ring = x < y ? x : y;
    if (right < ring) ring = right;
    if (down < ring) ring = down;
    if (z % 2) return x == p->dims.nx / 2 && y == p->dims.ny / 2;
    const bool gate = y == ring + 1 && x == ring;
    return ring % 2 == 0 ? !gate : x == ring && y == ring + 1;
}

static bool pattern_at(const pattern *p, int64_t x, int64_t y, int64_t z)
{
    const int64_t t = p->period;
    switch (p->kind) {
    case EMPTY:
        return false;
    case FULL:
        return true;
    case CHECKERED:
        return (x + y + z) % 2 == 0;
    case NOISE:
        return random_double(p->state) < p->density;
    case BLOBS:
        return in_balls(p, x, y, z);
    case SHELLS: { /* boxes in boxes, each hollow, with a gap now and then */
        const int64_t mx = x % (t + 4), my = y % (t + 4), mz = z % (t + 4), max = t + 2;
        if (mx > max || my > max || mz > max) return false;
        const bool wall = mx == 0 || my == 0 || mz == 0 || mx == max || my == max || mz == max;
        const bool core = mx > 1 && my > 1 && mz > 1 && mx < max - 1 && my < max - 1;
        return wall ? !random_chance(p->state, 1) : core;
    }
    case SERPENTINE: /* corridors that turn at alternating ends, in the plane and across planes */
        if (z % 2) return y == p->dims.ny - 1 && x == (z % 4 == 1 ? 0 : p->dims.nx - 1);
        return y % 2 == 0 || x == (y % 4 == 1 ? 0 : p->dims.nx - 1);
    case COMB: /* teeth that only their last plane or row joins */
        return (x % 2 == 0 && (y + z) % 2 == 0) || (z == p->dims.nz - 1 && y == p->dims.ny - 1);
    default:
        return in_spiral(p, x, y, z);
    }
}

/* Which of the values a foreground voxel has. */
static int64_t value_at(const pattern *p, int kind, int64_t values, int64_t x, int64_t y, int64_t z)
{
    const int64_t t = p->period + 1;
    switch (kind) {
    case ONE:
        return 0;
    case FEW:
        return random_below(p->state, values);
    case BLOCKS:
        return (x / t * 7 + y / t * 5 + z / t * 3) % values;
    case RAMP:
        return (x + y + z) % values;
    default:
        return (int64_t)((double)values *
                         (0.5 + 0.49 * sin(0.7 * (double)x + 0.9 * (double)(y + z))));
    }
}

/* The k-th stored value: small whole numbers, decimals, or the ends of what the type holds. */
static void put_value(lob_volume *v, int64_t i, int64_t k, int palette)
{
    const lob_type_info *info = lob_type_of(v->type);
    if (palette == 1 && v->type == LOB_U64) {
        ((uint64_t *)v->data)[i] = UINT64_MAX - (uint64_t)k;
    } else if (palette == 1 && v->type == LOB_I64) {
        ((int64_t *)v->data)[i] = k % 2 ? INT64_MAX - k : INT64_MIN + k;
    } else if (palette == 1 && info->is_integer) {
        put_number(v, i, k % 2 ? info->highest - (double)k : info->lowest + (double)k);
    } else if (palette == 1) {
        put_number(v, i, ((double)k - 2) * (v->type == LOB_F32 ? 1.7e37 : 1e307));
    } else if (palette == 2 && !info->is_integer) {
        put_number(v, i, (double)(k % 100 - 3) * 0.3);
    } else if (palette == 2 && info->lowest < 0) {
        put_number(v, i, (double)(k % 100 - 50));
    } else {
        put_number(v, i, (double)(k + 1));
    }
}

static void choose_sides(lob_dims *dims, uint64_t *state, int64_t max_voxels)
{
    static const int64_t sides[] = {1,  2,  3,  4,  5,  7,  8,  11, 13,  16,  17, 19,
                                    23, 31, 32, 33, 47, 63, 64, 65, 127, 128, 129};
    int64_t *axis[3] = {&dims->nx, &dims->ny, &dims->nz};
    int64_t left = max_voxels;
    const int64_t start = random_below(state, 3);
    for (int a = 0; a < 3; a++) {
        int64_t choices = 0;
        while (choices < COUNT(sides) && sides[choices] <= left) choices++;
        const int64_t side = random_chance(state, 8) ? 1 : sides[random_below(state, choices)];
        *axis[(start + a) % 3] = side;
        left /= side;
    }
}

static void must(lob_status status)
{
    if (status != LOB_OK) abort();
}

static lob_volume empty_of(lob_dims dims, lob_type type, int channels)
{
    static const double mm[3] = {0.5, 1, 2};
    lob_volume like = lob_volume_empty(), v;
    like.dims = dims;
    like.geometry = lob_geometry_of_spacing(mm);
    must(lob_volume_like(&v, &like, type, channels));
    return v;
}

/* Not all of a real-valued image is data. */
static void spoil(lob_volume *v, uint64_t *state, int percent)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0};
    if (lob_type_of(v->type)->is_integer) return;
    for (int64_t i = 0; i < lob_voxels(v) * v->channels; i++)
        if (random_chance(state, percent)) put_number(v, i, odd[random_below(state, COUNT(odd))]);
}

static void make_image(components_case *c, lob_dims dims, uint64_t *state)
{
    static const int64_t many[] = {1, 2, 3, 5, 20, 90};
    static const double slopes[] = {1, 1, 1, 2, -1, 0.5, 0.1}, inters[] = {0, 0, 0, 5, -3, 0.25};
    pattern p = {.kind = (int)random_below(state, SHAPES),
                 .dims = dims,
                 .state = state,
                 .density = random_double(state),
                 .period = 2 + random_below(state, 6)};
    for (int b = 0; b < BALLS; b++) {
        for (int a = 0; a < 3; a++) p.ball[b][a] = random_double(state) * (double)lob_side(dims, a);
        p.ball[b][3] = random_double(state) * 60;
    }
    const int values_kind = (int)random_below(state, VALUES), palette = (int)random_below(state, 3);
    const int64_t values = many[random_below(state, COUNT(many))];
    const int channels = random_chance(state, 80) ? 1 : (int)(2 + random_below(state, 3));
    c->image = empty_of(dims, (lob_type)random_below(state, LOB_TYPES), channels);
    c->image.slope = slopes[random_below(state, COUNT(slopes))];
    c->image.inter = c->image.slope == 1 ? 0 : inters[random_below(state, COUNT(inters))];
    int64_t i = 0;
    for (int k = 0; k < channels; k++)
        for (int64_t z = 0; z < dims.nz; z++)
            for (int64_t y = 0; y < dims.ny; y++)
                for (int64_t x = 0; x < dims.nx; x++, i++)
                    if (pattern_at(&p, x, y, z))
                        put_value(&c->image, i, value_at(&p, values_kind, values, x, y, z),
                                  palette);
    if (random_chance(state, 60)) spoil(&c->image, state, 3);
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld %s x%d slope %g inter %g, %s of %lld %s",
             (unsigned long long)c->number, (long long)dims.nx, (long long)dims.ny,
             (long long)dims.nz, lob_type_of(c->image.type)->name, channels, c->image.slope,
             c->image.inter, shape_names[p.kind], (long long)values, value_names[values_kind]);
}

/* What is measured, in every type, up to the ends of what it holds. */
static void make_intensities(components_case *c, uint64_t *state)
{
    const lob_type type = (lob_type)random_below(state, LOB_TYPES);
    const lob_type_info *info = lob_type_of(type);
    const double wide = random_chance(state, 30) ? 0.99 : random_chance(state, 50) ? 1e-4 : 0;
    c->intensities = empty_of(c->image.dims, type, 1);
    for (int64_t i = 0; i < c->n; i++) {
        const double share = random_double(state);
        const double value =
            wide > 0 ? wide * (info->lowest * (1 - share) + info->highest * share) : share * 100;
        put_number(&c->intensities, i, info->is_integer ? floor(value) : value);
    }
    spoil(&c->intensities, state, 4);
    c->in.intensities = &c->intensities;
}

static void choose_criterion(components_case *c, uint64_t *state)
{
    static const double tolerances[] = {0, 0.5, 1, 2.5, 10, 1e6, 1e18, INFINITY};
    static const double lows[] = {-INFINITY, -60, 0, 1, 1.5, 2, 1e30};
    static const double highs[] = {INFINITY, 2, 2.5, 3, 20, 1e300};
    lob_components_options *o = &c->options;
    o->join = (lob_join)random_below(state, 3);
    if (o->join == LOB_JOIN_TOLERANCE)
        o->tolerance = tolerances[random_below(state, COUNT(tolerances))];
    o->ranged = random_chance(state, 30);
    if (o->ranged) {
        o->range[0] = lows[random_below(state, COUNT(lows))];
        o->range[1] = highs[random_below(state, COUNT(highs))];
        if (o->range[1] < o->range[0]) o->range[1] = INFINITY;
    }
    if (c->image.type == LOB_F32 && random_chance(state, 60)) { /* put_value's, but as doubles */
        o->tolerance = (double)random_below(state, 4) * 0.3;
        o->range[0] = (double)random_below(state, 6) * 0.3;
        o->range[1] = o->range[0] + (double)random_below(state, 4) * 0.3;
        o->ranged = random_chance(state, 50);
    }
    o->slice_axis = random_chance(state, 40) ? (int)random_below(state, 3) : -1;
    static const int flat[] = {4, 8}, solid[] = {6, 18, 26};
    o->neighbours =
        o->slice_axis >= 0 ? flat[random_below(state, 2)] : solid[random_below(state, 3)];
}

static void choose_selection(components_case *c, uint64_t *state)
{
    lob_components_options *o = &c->options;
    if (random_chance(state, 30)) o->order = LOB_ORDER_SIZE;
    if (random_chance(state, 25)) o->min_voxels = random_below(state, 12);
    if (random_chance(state, 20)) o->max_voxels = o->min_voxels + random_below(state, 40);
    if (random_chance(state, 25)) o->largest = 1 + random_below(state, 6);
    o->fill_holes = random_chance(state, 30);
    o->keep_values =
        o->join == LOB_JOIN_EQUAL && c->image.channels == 1 && random_chance(state, 30);
    o->regions = random_chance(state, 60);
    if (random_chance(state, 15)) {
        static const lob_type types[] = {LOB_U8, LOB_I16, LOB_I32};
        o->type = types[random_below(state, COUNT(types))];
    }
}

void components_case_make(components_case *c, uint64_t number, int64_t max_voxels)
{
    uint64_t state = number * UINT64_C(0xD1342543DE82EF95) + 11;
    lob_dims dims;
    *c = (components_case){.number = number, .options = lob_components_defaults()};
    choose_sides(&dims, &state, max_voxels);
    c->n = dims.nx * dims.ny * dims.nz;
    make_image(c, dims, &state);
    c->intensities = lob_volume_empty();
    c->in.image = &c->image;
    if (random_chance(&state, 25)) {
        c->mask = malloc((size_t)c->n);
        if (!c->mask) abort();
        for (int64_t i = 0; i < c->n; i++)
            c->mask[i] = random_chance(&state, 85) ? (uint8_t)(1 + random_below(&state, 255)) : 0;
        c->in.mask = c->mask;
    }
    choose_criterion(c, &state);
    choose_selection(c, &state);
    if (c->options.regions && random_chance(&state, 60)) make_intensities(c, &state);
    const lob_components_options *o = &c->options;
    const size_t used = strlen(c->shape);
    snprintf(c->shape + used, sizeof c->shape - used,
             ", join %d tolerance %g range %d [%g, %g] %d neighbours axis %d order %d voxels %lld.."
             "%lld largest %lld holes %d values %d regions %d type %d%s",
             o->join, o->tolerance, o->ranged, o->range[0], o->range[1], o->neighbours,
             o->slice_axis, o->order, (long long)o->min_voxels, (long long)o->max_voxels,
             (long long)o->largest, o->fill_holes, o->keep_values, o->regions, o->type,
             c->mask ? " masked" : "");
}

void components_case_free(components_case *c)
{
    lob_volume_free(&c->image);
    lob_volume_free(&c->intensities);
    free(c->mask);
    c->mask = NULL;
}
