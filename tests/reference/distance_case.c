/* The generator of labels whose distances are compared. */
#include "tests/reference/distance_case.h"

#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOISE, BLOCKS, BALLS, RUNS, FULL, EMPTY, ONE, SHAPES };
static const char *const shape_names[SHAPES] = {"noise", "blocks", "balls",    "runs",
                                                "full",  "empty",  "one voxel"};

static const double spacings[][3] = {
    {1,   1,    1       },
    {0.7, 0.7,  0.7     },
    {1,   1,    3       },
    {0.7, 0.7,  5       },
    {1.1, 2,    0.31    },
    {3,   1,    2       },
    {1.5, 1,    INFINITY},
    {1,   0.01, 7       }
};

static int64_t label_at(int shape, int64_t x, int64_t y, int64_t z, int64_t i, int64_t count,
                        int64_t period, const double ball[4], uint64_t *state, int percent)
{
    const double dx = (double)x - ball[0], dy = (double)y - ball[1], dz = (double)z - ball[2];
    switch (shape) {
    case NOISE:
        return random_chance(state, percent) ? 1 + random_below(state, count) : 0;
    case BLOCKS:
        return (x / period * 7 + y / period * 5 + z / period * 3) % (count + 1);
    case BALLS:
        return (int64_t)(sqrt(dx * dx + dy * dy + dz * dz) / ball[3]) % (count + 1);
    case RUNS:
        return i / period % (count + 1);
    case FULL:
        return 1;
    case ONE:
        return i == period * 97;
    default:
        return 0;
    }
}

static void put(void *labels, lob_type type, int64_t i, int64_t label)
{
    switch (lob_type_of(type)->bytes) {
    case 1:
        ((uint8_t *)labels)[i] = (uint8_t)label;
        break;
    case 2:
        ((uint16_t *)labels)[i] = (uint16_t)label;
        break;
    default:
        ((uint32_t *)labels)[i] = (uint32_t)label;
    }
}

static void choose_dims(lob_dims *d, int64_t max_voxels, uint64_t *state)
{
    static const int64_t sides[] = {1, 2, 3, 5, 7, 13, 31, 32, 33, 64, 67, 131, 257, 521, 1100};
    int64_t *const side[] = {&d->nx, &d->ny, &d->nz};
    for (int a = 0; a < 3; a++) *side[a] = sides[random_below(state, sizeof sides / sizeof *sides)];
    while (d->nx * d->ny * d->nz > max_voxels) {
        int64_t *longest = &d->nx;
        if (d->ny > *longest) longest = &d->ny;
        if (d->nz > *longest) longest = &d->nz;
        *longest = (*longest + 1) / 2;
    }
}

void distance_case_make(distance_case *c, uint64_t number, int64_t max_voxels)
{
    static const lob_type types[] = {LOB_U8, LOB_U16, LOB_I16, LOB_I32, LOB_U32};
    uint64_t state = number * 77 + 5;
    const int shape = random_chance(&state, 90) ? (int)random_below(&state, FULL)
                                                : FULL + (int)random_below(&state, SHAPES - FULL);
    const int64_t counts[] = {1, 2, 5, 200};
    const int64_t count = counts[random_below(&state, 4)];
    const int percents[] = {1, 5, 30, 60, 97};
    const int percent = percents[random_below(&state, 5)];
    lob_dims *const d = &c->in.dims;
    *c = (distance_case){.number = number, .options = lob_distance_defaults()};
    choose_dims(d, max_voxels, &state);
    c->n = lob_dims_voxels(*d);
    c->in.type = types[random_below(&state, 5)];
    const double *mm = spacings[random_below(&state, sizeof spacings / sizeof *spacings)];
    for (int a = 0; a < 3; a++) c->in.spacing[a] = mm[a];
    if (random_chance(&state, 15)) c->in.only = (uint32_t)(1 + random_below(&state, count));
    c->options.kind = (lob_distance_kind)random_below(&state, LOB_DISTANCES);
    if (random_chance(&state, 40)) c->options.max = random_double(&state) * 12;
    c->options.squared = random_chance(&state, 20);
    c->feature = c->options.kind != LOB_DISTANCE_TO_OTHER && random_chance(&state, 50);
    c->distance = !c->feature || random_chance(&state, 70);
    c->labels = calloc((size_t)c->n, lob_type_of(c->in.type)->bytes);
    if (!c->labels) exit(75);
    c->in.labels = c->labels;
    const int64_t period = 1 + random_below(&state, 40);
    const double ball[4] = {random_double(&state) * (double)d->nx,
                            random_double(&state) * (double)d->ny,
                            random_double(&state) * (double)d->nz, 1 + random_double(&state) * 20};
    for (int64_t i = 0; i < c->n; i++)
        put(c->labels, c->in.type, i,
            label_at(shape, i % d->nx, i / d->nx % d->ny, i / d->nx / d->ny, i, count, period, ball,
                     &state, percent));
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %s, %lld x %lld x %lld, %s, spacing %g %g %g, kind %d, max %g, only %u",
             (unsigned long long)number, shape_names[shape], (long long)d->nx, (long long)d->ny,
             (long long)d->nz, lob_type_of(c->in.type)->name, c->in.spacing[0], c->in.spacing[1],
             c->in.spacing[2], (int)c->options.kind, c->options.max, c->in.only);
}

void distance_case_free(distance_case *c)
{
    free(c->labels);
    c->labels = NULL;
}
