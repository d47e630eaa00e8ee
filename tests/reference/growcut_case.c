/* The generator of random and adversarial GrowCut inputs. */
#include "tests/reference/growcut_case.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "volumes/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

enum { FLAT, CHECKERED, NOISE, RAMP, BLOBS, MAZE, PATTERNS };

static const char *const pattern_names[PATTERNS] = {"flat", "checkered", "noise",
                                                    "ramp", "blobs",     "maze"};

/* A pattern's value at a voxel, in [0, 1]. */
static double pattern_at(int pattern, int64_t x, int64_t y, int64_t z, uint64_t *state)
{
    switch (pattern) {
    case FLAT:
        return 0.5;
    case CHECKERED:
        return (double)((x + y + z) % 2);
    case NOISE:
        return random_double(state);
    case RAMP:
        return (double)(x + 2 * y + 3 * z) / 256.0;
    case BLOBS:
        return (x / 3 + y / 4 + z / 2) % 3 / 2.5 + 0.05 * random_double(state);
    default: /* MAZE: corridors with one gap in each wall */
        return y % 2 == 0 || x == (y % 4 == 1 ? 0 : 4) ? 0.1 : 0.9;
    }
}

static void choose_sides(lob_dims *dims, uint64_t *state, int64_t max_side)
{
    static const int64_t sides[] = {1, 2, 3, 5, 7, 8, 11, 13, 16, 17, 19, 23, 29, 31, 37, 41};
    int64_t choices = 0, *axis[3] = {&dims->nx, &dims->ny, &dims->nz};
    while (choices < COUNT(sides) && sides[choices] <= max_side) choices++;
    for (int a = 0; a < 3; a++)
        *axis[a] = random_chance(state, 8) ? 1 : sides[random_below(state, choices)];
}

static int make_image(growcut_case *c, uint64_t *state)
{
    static const struct {
        lob_type type;
        double low, high;
    } kinds[] = {
        {LOB_U8,  0,      200               },
        {LOB_I16, -1024,  3000              },
        {LOB_I16, -32768, 32767             },
        {LOB_U16, 0,      65535             },
        {LOB_I8,  -128,   127               },
        {LOB_U32, 0,      4e9               }, /* wider than 16 bits: mapped */
        {LOB_I32, -40000, 900000            },
        {LOB_F32, -1,     1                 },
        {LOB_F64, 0,      1e300             },
        {LOB_U64, 100,    1.8e19            },
        {LOB_I64, 9e18,   9.0000000000001e18},
        {LOB_I64, -1e6,   6e17              },
        {LOB_F32, -1000,  3000              },
    };
    static const double widths[] = {1, 1, 1, 1.0 / 16, 1.0 / 256, 1.0 / 9000};
    const int64_t kind = random_below(state, COUNT(kinds));
    const double low = kinds[kind].low,
                 width = (kinds[kind].high - low) * widths[random_below(state, COUNT(widths))];
    const int pattern = (int)random_below(state, PATTERNS);
    const bool gaps = random_chance(state, 40), whole = random_chance(state, 30);
    c->image.type = kinds[kind].type;
    c->image.channels = random_chance(state, 30) ? 1 + (int)random_below(state, 10) : 1;
    if (random_chance(state, 25)) {
        c->image.slope = random_chance(state, 50) ? -0.5 : 2.25;
        c->image.inter = 17;
    }
    c->image.data = calloc((size_t)(c->n * c->image.channels), lob_type_of(c->image.type)->bytes);
    const lob_dims d = c->image.dims;
    for (int64_t i = 0; i < c->n * c->image.channels; i++) {
        const int64_t v = i % c->n;
        const double p = pattern_at(pattern, v % d.nx, v / d.nx % d.ny, v / d.nx / d.ny, state);
        const double value = low + p * width;
        put_number(&c->image, i, whole ? floor(value) : value);
        if (gaps && !lob_type_of(c->image.type)->is_integer && random_chance(state, 3))
            put_number(&c->image, i, random_chance(state, 50) ? NAN : INFINITY);
    }
    return pattern;
}

/* Seeds are few, or a share of all voxels; their type may be wider than the labels need. */
static void make_seeds(growcut_case *c, uint64_t *state)
{
    static const int32_t max[] = {1, 2, 3, 5, 7, 61, 250, 300, 30000, 40000, 2000000};
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_I32};
    c->in.labels = max[random_below(state, COUNT(max))];
    int type = c->in.labels <= 255 ? 0 : c->in.labels <= 32767 ? 1 : 2;
    if (type < 2 && random_chance(state, 20)) type++;
    c->seeds.type = types[type];
    c->seeds.data = calloc((size_t)c->n, lob_type_of(c->seeds.type)->bytes);
    const int64_t rarity = 1 + random_below(state, 60);
    const int64_t n = random_chance(state, 40) ? 1 + random_below(state, 8) : c->n / rarity;
    for (int64_t i = 0; i < n; i++)
        lob_label_put(c->seeds.data, c->seeds.type, random_below(state, c->n),
                      1 + (int32_t)random_below(state, c->in.labels));
    lob_label_put(c->seeds.data, c->seeds.type, random_below(state, c->n), c->in.labels);
}

static void make_mask(growcut_case *c, uint64_t *state)
{
    const int holes = 5 + (int)random_below(state, 40);
    c->mask = malloc((size_t)c->n);
    for (int64_t v = 0; v < c->n; v++)
        c->mask[v] = (uint8_t)(random_chance(state, holes) ? 0 : 1 + v % 7);
}

/* Strengths of seeds: 1 often, and where odd, also such as no seed may have. */
static void make_strengths(growcut_case *c, uint64_t *state, bool odd)
{
    c->seed_strength = malloc((size_t)c->n * sizeof(float));
    for (int64_t v = 0; v < c->n; v++) {
        const int64_t kind = random_below(state, 12);
        c->seed_strength[v] = odd && kind == 0   ? 0.0f
                              : odd && kind == 1 ? NAN
                              : kind < 6         ? 1.0f
                                                 : (float)(0.05 + 0.95 * random_double(state));
    }
}

static void make_options(growcut_case *c, uint64_t *state, growcut_variety variety)
{
    static const int solid[] = {6, 18, 26}, flat[] = {4, 8};
    lob_growcut_options *o = &c->options;
    *o = lob_growcut_defaults();
    c->wants_strength = c->wants_tie = true;
    const bool any_rule = variety > GROWCUT_PLAIN && c->image.channels == 1;
    o->rule = (lob_growcut_kind)random_below(state, any_rule ? 5 : 2);
    const bool flood = o->rule == LOB_RULE_FLOOD;
    o->norm = (lob_norm)random_below(state, 4);
    o->neighbours = solid[random_below(state, 3)];
    if (o->rule != LOB_RULE_STRENGTH && !flood && random_chance(state, 50))
        o->penalty = random_double(state) * 20;
    if (random_chance(state, 25)) make_mask(c, state);
    if (random_chance(state, 20)) {
        o->range[0] = -100 + 150 * random_double(state);
        o->range[1] = o->range[0] + 5000 * random_double(state);
    }
    if (!flood && random_chance(state, 25)) make_strengths(c, state, variety > GROWCUT_PLAIN);
    if (variety == GROWCUT_PLAIN) return;
    if (o->penalty > 0 && random_chance(state, 20)) o->penalty *= 5e4;
    if (random_chance(state, 20)) o->min_strength = random_double(state);
    if (random_chance(state, 20)) o->max_cost = random_double(state) * 300;
    if (!flood && random_chance(state, 25)) o->rounds = 1 + (int)random_below(state, 12);
    if (variety == GROWCUT_ANY_3D) return;
    if (random_chance(state, 35)) {
        o->slice_axis = (int)random_below(state, 3);
        o->neighbours = flat[random_below(state, 2)];
    }
    if (variety == GROWCUT_ANY) return;
    o->key_bits = random_chance(state, 60) ? 0 : random_chance(state, 50) ? 64 : 32;
    c->wants_strength = random_chance(state, 50);
    c->wants_tie = random_chance(state, 40);
}

static const char *const rule_names[] = {"strength", "distance", "flood", "value", "square"};

static void describe(growcut_case *c, int pattern)
{
    const lob_growcut_options *o = &c->options;
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld %s %s x%d, %d labels, %s, norm %d, %d neighbours, axis %d, "
             "penalty %g, strength from %g, cost to %g, %d rounds, range %g..%g, keys %d%s%s%s%s",
             (unsigned long long)c->number, (long long)c->image.dims.nx,
             (long long)c->image.dims.ny, (long long)c->image.dims.nz,
             lob_type_of(c->image.type)->name, pattern_names[pattern], c->image.channels,
             c->in.labels, rule_names[o->rule], (int)o->norm, o->neighbours, o->slice_axis,
             o->penalty, o->min_strength, o->max_cost, o->rounds, o->range[0], o->range[1],
             o->key_bits, c->mask ? ", mask" : "", c->seed_strength ? ", soft seeds" : "",
             c->wants_strength ? ", with strength" : "", c->wants_tie ? ", with ties" : "");
}

void growcut_case_make(growcut_case *c, uint64_t number, growcut_variety variety, int64_t max_side)
{
    uint64_t state = number * UINT64_C(0xD1342543DE82EF95) + 1;
    memset(c, 0, sizeof *c);
    c->number = number;
    c->image = c->seeds = lob_volume_empty();
    choose_sides(&c->image.dims, &state, max_side);
    const double spacing[3] = {0.5 + random_double(&state), 0.5 + random_double(&state),
                               1 + 3 * random_double(&state)};
    c->image.geometry = lob_geometry_of_spacing(spacing);
    c->seeds.dims = c->image.dims;
    c->n = lob_voxels(&c->image);
    const int pattern = make_image(c, &state);
    make_seeds(c, &state);
    make_options(c, &state, variety);
    c->in = (lob_growcut_input){&c->image, &c->seeds, c->in.labels, c->mask, c->seed_strength};
    describe(c, pattern);
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
    lob_growcut_output out = {malloc(bytes), NULL, NULL};
    memset(out.labels, 0x5A, bytes);
    if (c->wants_strength) {
        out.strength = malloc(n * sizeof(float));
        memset(out.strength, 0x5A, n * sizeof(float));
    }
    if (c->wants_tie) {
        out.tie = malloc(n);
        memset(out.tie, 0x5A, n);
    }
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
    if (c->wants_strength && memcmp(a->strength, b->strength, n * sizeof(float)) != 0)
        return "strength";
    return c->wants_tie && memcmp(a->tie, b->tie, n) != 0 ? "tie zone" : NULL;
}
