/* The generator of random GrowCut inputs. */
#include "tests/reference/growcut_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SplitMix64: the next of a stream of random numbers. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t below(uint64_t *state, int64_t bound)
{
    return (int64_t)(next(state) % (uint64_t)bound);
}

static double unit(uint64_t *state)
{
    return (double)(next(state) >> 11) / 9007199254740992.0;
}

enum { FLAT, CHECKERBOARD, NOISE, BLOBS, MAZE, PATTERNS };

/* A pattern's value at a voxel, in [0, 1]. */
static double pattern_at(int pattern, int64_t x, int64_t y, int64_t z, uint64_t *state)
{
    switch (pattern) {
    case FLAT:
        return 0.5;
    case CHECKERBOARD:
        return (double)((x + y + z) % 2);
    case NOISE:
        return unit(state);
    case BLOBS:
        return (x / 3 + y / 4 + z / 2) % 3 / 2.5 + 0.05 * unit(state);
    default:
        return y % 2 == 0 || x == (y % 4 == 1 ? 0 : 4) ? 0.1 : 0.9; /* MAZE */
    }
}

static void put_value(lob_volume *v, int64_t i, double value)
{
    switch (v->type) {
#define PUT(type, ctype, name, integer, lowest, highest) \
    case type:                                           \
        ((ctype *)v->data)[i] = (ctype)value;            \
        break;
        LOB_TYPE_LIST(PUT)
#undef PUT
    case LOB_TYPES:
        break;
    }
}

static void make_image(growcut_case *c, uint64_t *state)
{
    static const struct {
        lob_type type;
        double low, high;
    } kinds[] = {
        {LOB_U8,  0,      200               },
        {LOB_I16, -1024,  3000              },
        {LOB_U16, 0,      65535             },
        {LOB_I8,  -100,   100               },
        {LOB_I32, -40000, 900000            }, /* wider than 16 bits: mapped */
        {LOB_F32, -1,     1                 },
        {LOB_F64, 0,      1e300             },
        {LOB_I64, 9e18,   9.0000000000001e18},
    };
    const size_t kind = (size_t)below(state, sizeof kinds / sizeof *kinds);
    const int pattern = (int)below(state, PATTERNS);
    c->image.type = kinds[kind].type;
    c->image.channels = below(state, 4) == 0 ? 1 + (int)below(state, 3) : 1;
    c->image.slope = below(state, 5) == 0 ? 0.5 : 1.0;
    c->image.data = calloc((size_t)(c->n * c->image.channels), lob_type_of(c->image.type)->bytes);
    const lob_dims d = c->image.dims;
    for (int64_t i = 0; i < c->n * c->image.channels; i++) {
        const int64_t v = i % c->n;
        const double p = pattern_at(pattern, v % d.nx, v / d.nx % d.ny, v / d.nx / d.ny, state);
        put_value(&c->image, i, kinds[kind].low + p * (kinds[kind].high - kinds[kind].low));
        if (!lob_type_of(c->image.type)->is_integer && below(state, 40) == 0)
            put_value(&c->image, i, below(state, 2) ? NAN : INFINITY);
    }
}

static void make_seeds(growcut_case *c, uint64_t *state)
{
    static const int32_t most[] = {1, 2, 3, 7, 61, 300, 40000};
    c->in.labels = most[below(state, sizeof most / sizeof *most)];
    c->seeds.type = c->in.labels <= 255 ? LOB_U8 : c->in.labels <= 32767 ? LOB_I16 : LOB_I32;
    c->seeds.data = calloc((size_t)c->n, lob_type_of(c->seeds.type)->bytes);
    const int64_t rarity = 1 + below(state, 60);
    for (int64_t v = 0; v < c->n; v++)
        if (below(state, rarity) == 0)
            put_value(&c->seeds, v, 1.0 + (double)below(state, c->in.labels));
    put_value(&c->seeds, below(state, c->n), c->in.labels);
}

static void make_options(growcut_case *c, uint64_t *state, growcut_variety variety)
{
    static const int solid[] = {6, 18, 26}, flat[] = {4, 8};
    lob_growcut_options *o = &c->options;
    *o = (lob_growcut_options)LOB_GROWCUT_DEFAULTS;
    o->rule = (lob_growcut_kind)below(state, 2);
    o->norm = (lob_norm)below(state, 4);
    o->neighbours = solid[below(state, 3)];
    if (o->rule == LOB_RULE_DISTANCE && below(state, 2)) o->penalty = unit(state) * 20;
    if (below(state, 4) == 0) {
        c->mask = malloc((size_t)c->n);
        for (int64_t v = 0; v < c->n; v++) c->mask[v] = below(state, 5) != 0;
    }
    if (below(state, 5) == 0) {
        o->range[0] = 20;
        o->range[1] = 1500;
    }
    if (below(state, 4) == 0) {
        c->seed_strength = malloc((size_t)c->n * sizeof(float));
        for (int64_t v = 0; v < c->n; v++)
            c->seed_strength[v] = below(state, 2) ? 1.0f : (float)(0.05 + 0.95 * unit(state));
    }
    if (variety == GROWCUT_PLAIN) return;
    if (below(state, 4) == 0) o->min_strength = unit(state);
    if (below(state, 4) == 0) o->max_cost = unit(state) * 300;
    if (variety == GROWCUT_ANY_3D) return;
    if (below(state, 3) == 0) {
        o->slice_axis = (int)below(state, 3);
        o->neighbours = flat[below(state, 2)];
    }
}

void growcut_case_make(growcut_case *c, uint64_t number, growcut_variety variety, int64_t most_side)
{
    static const int64_t sides[] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    int64_t choices = 0;
    while (choices < (int64_t)(sizeof sides / sizeof *sides) && sides[choices] <= most_side)
        choices++;
    uint64_t state = number * UINT64_C(0xD1342543DE82EF95) + 1;
    memset(c, 0, sizeof *c);
    c->number = number;
    c->image = c->seeds = (lob_volume)LOB_VOLUME_EMPTY;
    c->image.dims = (lob_dims){sides[below(&state, choices)], sides[below(&state, choices)],
                               sides[below(&state, choices)]};
    const double spacing[3] = {0.5 + unit(&state), 0.5 + unit(&state), 1 + 3 * unit(&state)};
    c->image.geometry = lob_geometry_of_spacing(spacing);
    c->seeds.dims = c->image.dims;
    c->n = lob_voxels(&c->image);
    make_image(c, &state);
    make_seeds(c, &state);
    make_options(c, &state, variety);
    c->in = (lob_growcut_input){&c->image, &c->seeds, c->in.labels, c->mask, c->seed_strength};
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld %s x%d, %d labels, rule %d norm %d neighbours %d axis %d",
             (unsigned long long)number, (long long)c->image.dims.nx, (long long)c->image.dims.ny,
             (long long)c->image.dims.nz, lob_type_of(c->image.type)->name, c->image.channels,
             c->in.labels, c->options.rule, c->options.norm, c->options.neighbours,
             c->options.slice_axis);
}

void growcut_case_free(growcut_case *c)
{
    lob_volume_free(&c->image);
    lob_volume_free(&c->seeds);
    free(c->mask);
    free(c->seed_strength);
    memset(c, 0, sizeof *c);
}

lob_growcut_output growcut_output_make(const growcut_case *c)
{
    /* Poisoned, so that a voxel that nobody writes shows. */
    const size_t n = (size_t)c->n, bytes = n * lob_type_of(c->seeds.type)->bytes;
    lob_growcut_output out = {malloc(bytes), malloc(n * sizeof(float)), malloc(n)};
    memset(out.labels, 0x5A, bytes);
    memset(out.strength, 0x5A, n * sizeof(float));
    memset(out.tie, 0x5A, n);
    return out;
}

void growcut_output_free(lob_growcut_output *out)
{
    free(out->labels);
    free(out->strength);
    free(out->tie);
    *out = (lob_growcut_output){0};
}

const char *growcut_output_differs(const growcut_case *c, const lob_growcut_output *a,
                                   const lob_growcut_output *b)
{
    const size_t n = (size_t)c->n;
    if (memcmp(a->labels, b->labels, n * lob_type_of(c->seeds.type)->bytes) != 0) return "labels";
    if (memcmp(a->strength, b->strength, n * sizeof(float)) != 0) return "strength";
    return memcmp(a->tie, b->tie, n) != 0 ? "tie zone" : NULL;
}
