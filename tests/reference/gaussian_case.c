/* Random calls of the Gaussian steps. */
#include "tests/reference/gaussian_case.h"

#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[] = {"gaussian", "gradient", "laplacian"};
static const char *const edges[] = {"renormalise", "nearest", "reflect",
                                    "mirror",      "wrap",    "constant"};

static int64_t random_side(uint64_t *random)
{
    static const int64_t sides[] = {1, 1, 2, 3, 5, 7, 13, 17, 31, 64, 67, 101, 131, 257};
    return sides[random_below(random, sizeof sides / sizeof *sides)];
}

static double random_sigma(uint64_t *random, bool large)
{
    if (random_chance(random, 20)) return 0;
    if (large && random_chance(random, 35)) return 5 + 35 * random_double(random);
    return random_chance(random, 50) ? (double)(1 + random_below(random, 4))
                                     : 0.1 + 4 * random_double(random);
}

#define FILL(type, ctype, name, integer, lowest, highest)                                          \
    case type:                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((ctype *)v->data)[i] =                                                                \
                (integer) ? (ctype)random_next(random)                                             \
                          : (ctype)(random_chance(random, 5) ? -0.0                                \
                                                             : 200 * random_double(random) - 100); \
        break;

static void fill(lob_volume *v, uint64_t *random)
{
    const int64_t n = lob_voxels(v) * v->channels;
    v->data = malloc((size_t)n * lob_type_of(v->type)->bytes);
    if (!v->data) exit(75);
    LOB_TYPE_SWITCH(v->type, FILL)
}

static void spoil(lob_volume *v, uint64_t *random)
{
    static const double not_data[] = {NAN, INFINITY, -INFINITY};
    const int64_t n = lob_voxels(v) * v->channels;
    const int percent = random_chance(random, 20) ? 95 : 1 + (int)random_below(random, 30);
    for (int64_t i = 0; i < n; i++) {
        if (!random_chance(random, percent)) continue;
        const double value = not_data[random_below(random, 3)];
        if (v->type == LOB_F32)
            ((float *)v->data)[i] = (float)value;
        else
            ((double *)v->data)[i] = value;
    }
}

static void make_mask(gaussian_case *c, uint64_t *random)
{
    const int64_t n = lob_voxels(&c->image);
    const int percent = random_chance(random, 20) ? 3 : (int)random_below(random, 101);
    c->mask = malloc((size_t)n);
    if (!c->mask) exit(75);
    for (int64_t i = 0; i < n; i++) c->mask[i] = random_chance(random, percent);
}

void gaussian_case_make(gaussian_case *c, uint64_t number, int64_t max_voxels, bool large)
{
    uint64_t state = number * 7919 + 17, *const random = &state;
    *c = (gaussian_case){.image = lob_volume_empty(), .finite = true};
    lob_volume *const v = &c->image;
    do v->dims = (lob_dims){random_side(random), random_side(random), random_side(random)};
    while (lob_voxels(v) > max_voxels);
    v->type = random_chance(random, 50) ? LOB_F32 : (lob_type)random_below(random, LOB_TYPES);
    v->channels = random_chance(random, 20) ? 2 : 1;
    for (int a = 0; a < 3; a++) v->geometry.spacing_mm[a] = 0.5 + 2 * random_double(random);
    fill(v, random);
    const bool real = v->type == LOB_F32 || v->type == LOB_F64;
    if (real && random_chance(random, 30)) {
        c->finite = false;
        spoil(v, random);
    }
    if (random_chance(random, 30)) make_mask(c, random);
    c->step.kind = (lob_filter_kind)random_below(random, 3);
    for (int a = 0; a < 3; a++) c->step.along[a] = random_sigma(random, large);
    if (random_chance(random, 30)) c->step.along[1] = c->step.along[2] = c->step.along[0];
    c->options.edge = (lob_edge)random_below(random, LOB_EDGE_CONSTANT + 1);
    c->options.edge_value = random_chance(random, 50) ? 0 : 50 * random_double(random);
    c->options.exact = random_chance(random, 30);
    c->in = (lob_filter_input){v, c->mask, &c->step, 1};
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %s %g %g %g of %lldx%lldx%lld %s, %d channels, edge %s %g%s%s%s",
             (unsigned long long)number, kinds[c->step.kind], c->step.along[0], c->step.along[1],
             c->step.along[2], (long long)v->dims.nx, (long long)v->dims.ny, (long long)v->dims.nz,
             lob_type_of(v->type)->name, v->channels, edges[c->options.edge], c->options.edge_value,
             c->options.exact ? ", exact" : "", c->mask ? ", mask" : "",
             c->finite ? "" : ", with NaN");
}

void gaussian_case_free(gaussian_case *c)
{
    lob_volume_free(&c->image);
    free(c->mask);
    c->mask = NULL;
}

lob_filter_call gaussian_case_call(const gaussian_case *c)
{
    const lob_filter_map same = {1, 0, -INFINITY, INFINITY, true};
    lob_filter_call call = {.step = &c->step,
                            .options = &c->options,
                            .mask = c->mask,
                            .finite = c->finite,
                            .before = same,
                            .after = same};
    for (int a = 0; a < 3; a++) call.spacing_mm[a] = c->image.geometry.spacing_mm[a];
    return call;
}
