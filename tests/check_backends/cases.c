/* Random and adversarial GrowCut inputs: prime sides, thin axes, flat, checkered, noisy, maze-like.
 */
#include "tests/check_backends/cases.h"

#include "kernels/phantom/phantom_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { CONSTANT, CHECKERED, NOISE, RAMP, MAZE, BLOBS, PATTERNS } pattern;

static const char *const pattern_name[PATTERNS] = {"constant", "checkered", "noise",
                                                   "ramp",     "maze",      "blobs"};

/* A stream of random numbers. */
typedef struct {
    uint64_t key, at;
} dice;

static uint32_t roll(dice *d, uint32_t sides)
{
    return (uint32_t)(random_bits(d->key, d->at++) >> 32) % sides;
}

static bool chance(dice *d, uint32_t percent)
{
    return roll(d, 100) < percent;
}

static void choose_sides(dice *d, lob_dims *dims)
{
    static const int64_t side[] = {1, 2, 3, 5, 7, 8, 11, 13, 16, 17, 19, 23, 31, 37, 41};
    int64_t *axis[3] = {&dims->nx, &dims->ny, &dims->nz};
    const uint32_t most = sizeof side / sizeof *side;
    do
        for (int a = 0; a < 3; a++) *axis[a] = chance(d, 12) ? 1 : side[roll(d, most)];
    while (dims->nx * dims->ny * dims->nz > 12000);
}

static double level_at(pattern kind, uint64_t key, int64_t x, int64_t y, int64_t z, uint64_t i)
{
    switch (kind) {
    case CONSTANT:
        return 0.5;
    case CHECKERED:
        return (double)((x + y + z) & 1);
    case NOISE:
        return random_unit(key, i);
    case RAMP:
        return (double)(x + 2 * y + 3 * z) / 256.0;
    case MAZE:
        return (x & 1) && (y & 1 || random_unit(key, i) < 0.7) ? 1.0 : 0.05 * random_unit(key, i);
    case BLOBS:
        return 0.5 + 0.4 * random_smooth(key, (double)x / 6, (double)y / 6, (double)z / 6) +
               0.02 * random_normal(key, i);
    case PATTERNS:
        break;
    }
    return 0.0;
}

static void store(lob_volume *image, int64_t i, double level, double width)
{
    const double v = level < 0 ? 0 : level > 1 ? 1 : level;
    switch (image->type) {
    case LOB_U8:
        ((uint8_t *)image->data)[i] = (uint8_t)(v * 255);
        break;
    case LOB_I8:
        ((int8_t *)image->data)[i] = (int8_t)(v * 255 - 128);
        break;
    case LOB_U16:
        ((uint16_t *)image->data)[i] = (uint16_t)(v * width);
        break;
    case LOB_I16:
        ((int16_t *)image->data)[i] = (int16_t)(v * width - width / 2);
        break;
    case LOB_U32:
        ((uint32_t *)image->data)[i] = (uint32_t)(v * width * 50000);
        break;
    case LOB_I32:
        ((int32_t *)image->data)[i] = (int32_t)(v * width * 3) - 70;
        break;
    case LOB_U64:
        ((uint64_t *)image->data)[i] = (uint64_t)(v * width * 1e14);
        break;
    case LOB_I64:
        ((int64_t *)image->data)[i] = (int64_t)(v * width * 1e13) - 1000000;
        break;
    case LOB_F32:
        ((float *)image->data)[i] = (float)(v * width * 0.37 - 11);
        break;
    case LOB_F64:
        ((double *)image->data)[i] = v * width * 1e-3 - 0.1;
        break;
    case LOB_TYPES:
        break;
    }
}

static bool fill_image(growcut_case *c, dice *d, pattern kind)
{
    static const double widths[] = {65535, 4095, 255, 7};
    lob_volume *image = &c->image;
    const lob_dims dims = image->dims;
    const int64_t voxels = lob_voxels(image);
    const double width = widths[roll(d, 4)];
    const bool gaps = chance(d, 30);
    const uint64_t key = random_key(d->key, 7);
    image->data = malloc((size_t)(voxels * image->channels) * lob_type_of(image->type)->bytes);
    if (!image->data) return false;
    for (int64_t i = 0; i < voxels * image->channels; i++) {
        const int64_t v = i % voxels;
        const int64_t x = v % dims.nx, y = v / dims.nx % dims.ny, z = v / dims.nx / dims.ny;
        store(image, i, level_at(kind, key + (uint64_t)(i / voxels), x, y, z, (uint64_t)i), width);
        if (!gaps || random_unit(key + 99, (uint64_t)i) > 0.03) continue;
        if (image->type == LOB_F32) ((float *)image->data)[i] = i & 1 ? NAN : -INFINITY;
        if (image->type == LOB_F64) ((double *)image->data)[i] = i & 1 ? NAN : INFINITY;
    }
    return true;
}

static bool fill_seeds(growcut_case *c, dice *d)
{
    static const int32_t most[] = {2, 5, 30, 250, 30000, 2000000};
    const int64_t voxels = lob_voxels(&c->image);
    const uint32_t which = roll(d, 6);
    c->labels = most[which];
    c->seeds = (lob_volume)LOB_VOLUME_EMPTY;
    c->seeds.dims = c->image.dims;
    c->seeds.geometry = c->image.geometry;
    c->seeds.type = which < 4 && !chance(d, 20) ? LOB_U8 : which < 5 ? LOB_I16 : LOB_I32;
    c->seeds.data = calloc((size_t)voxels, lob_type_of(c->seeds.type)->bytes);
    const bool soft = chance(d, 25), dense = chance(d, 15);
    c->strength = soft ? calloc((size_t)voxels, sizeof *c->strength) : NULL;
    if (!c->seeds.data || (soft && !c->strength)) return false;
    const int64_t n = dense ? voxels / 3 + 1 : 2 + roll(d, 8);
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = (int64_t)roll(d, (uint32_t)voxels);
        const int32_t label = 1 + (int32_t)roll(d, (uint32_t)c->labels);
        if (c->seeds.type == LOB_U8)
            ((uint8_t *)c->seeds.data)[v] = (uint8_t)label;
        else if (c->seeds.type == LOB_I16)
            ((int16_t *)c->seeds.data)[v] = (int16_t)label;
        else
            ((int32_t *)c->seeds.data)[v] = label;
        if (!soft) continue;
        const uint32_t odd = roll(d, 12);
        c->strength[v] = odd == 0   ? 0.0f
                         : odd == 1 ? NAN
                         : odd < 5  ? 1.0f
                                    : 0.05f + 0.9f * (float)random_unit(d->key, (uint64_t)v);
    }
    return true;
}

static void choose_options(growcut_case *c, dice *d)
{
    static const int solid[] = {26, 18, 6, 26}, flat[] = {8, 4};
    lob_growcut_options *o = &c->options;
    *o = (lob_growcut_options)LOB_GROWCUT_DEFAULTS;
    o->rule = chance(d, 50) ? LOB_RULE_STRENGTH : LOB_RULE_DISTANCE;
    o->norm = (lob_norm)roll(d, 4);
    o->slice_axis = chance(d, 40) ? (int)roll(d, 3) : -1;
    o->neighbours = o->slice_axis < 0 ? solid[roll(d, 4)] : flat[roll(d, 2)];
    if (o->rule == LOB_RULE_DISTANCE && chance(d, 50))
        o->penalty =
            chance(d, 80) ? 0.01 + 20 * random_unit(d->key, 1) : 1e6 * random_unit(d->key, 1);
    if (chance(d, 20)) o->min_strength = 0.2 * random_unit(d->key, 2);
    if (chance(d, 15)) o->max_cost = 300 * random_unit(d->key, 3);
    if (chance(d, 20)) {
        o->range[0] = -100 + 50 * random_unit(d->key, 4);
        o->range[1] = o->range[0] + 5000 * random_unit(d->key, 5);
    }
    o->key_bits = chance(d, 60) ? 0 : chance(d, 50) ? 64 : 32;
    c->wants_strength = chance(d, 50);
    c->wants_tie = chance(d, 40);
}

static bool fill_mask(growcut_case *c, dice *d)
{
    const int64_t voxels = lob_voxels(&c->image);
    if (!chance(d, 30)) return true;
    c->mask = malloc((size_t)voxels);
    if (!c->mask) return false;
    const uint32_t holes = 5 + roll(d, 40);
    for (int64_t v = 0; v < voxels; v++) c->mask[v] = (uint8_t)(chance(d, holes) ? 0 : 1 + v % 7);
    return true;
}

bool growcut_case_make(growcut_case *c, uint64_t n)
{
    dice d = {.key = random_key(n, 1)};
    memset(c, 0, sizeof *c);
    c->image = (lob_volume)LOB_VOLUME_EMPTY;
    choose_sides(&d, &c->image.dims);
    const pattern kind = (pattern)roll(&d, PATTERNS);
    const double spacing_mm[3] = {0.5 + roll(&d, 5), 1.0, 0.3 * (1 + roll(&d, 9))};
    c->image.geometry = lob_geometry_of_spacing(spacing_mm);
    c->image.type = chance(&d, 40) ? LOB_I16 : (lob_type)roll(&d, LOB_TYPES);
    c->image.channels = chance(&d, 70) ? 1 : 2 + (int)roll(&d, 3);
    if (chance(&d, 25)) c->image.slope = chance(&d, 50) ? -0.5 : 2.25, c->image.inter = 17;
    choose_options(c, &d);
    if (!fill_image(c, &d, kind) || !fill_seeds(c, &d) || !fill_mask(c, &d)) return false;
    const lob_growcut_options *o = &c->options;
    snprintf(
        c->what, sizeof c->what,
        "case %llu: %lldx%lldx%lld %s %s, %d channels, labels to %d, %s, norm %d, %d neighbours, "
        "axis %d, penalty %g, strength from %g, cost to %g, range %g..%g, keys %d%s%s%s%s",
        (unsigned long long)n, (long long)c->image.dims.nx, (long long)c->image.dims.ny,
        (long long)c->image.dims.nz, lob_type_of(c->image.type)->name, pattern_name[kind],
        c->image.channels, c->labels, o->rule == LOB_RULE_STRENGTH ? "strength" : "distance",
        (int)o->norm, o->neighbours, o->slice_axis, o->penalty, o->min_strength, o->max_cost,
        o->range[0], o->range[1], o->key_bits, c->mask ? ", mask" : "",
        c->strength ? ", soft seeds" : "", c->wants_strength ? ", with strength" : "",
        c->wants_tie ? ", with ties" : "");
    return true;
}

void growcut_case_free(growcut_case *c)
{
    lob_volume_free(&c->image);
    lob_volume_free(&c->seeds);
    free(c->mask);
    free(c->strength);
}
