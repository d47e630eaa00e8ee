/* Random images and steps for median and box. */
#include "tests/reference/neighbourhood_case.h"

#include "tests/reference/random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};

static lob_filter_map random_map(uint64_t *random)
{
    lob_filter_map map = {(float)(random_double(random) * 4 - 2), (float)random_below(random, 9),
                          -INFINITY, INFINITY, false};
    if (random_chance(random, 50)) map.low = -20.0f, map.high = 50.0f;
    return map;
}

static void *memory_for(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    if (!memory) exit(75);
    return memory;
}

/* Sides are prime or 1; now and then a row is longer than what is worked on together. */
static int64_t random_side(uint64_t *random, int axis)
{
    static const int64_t sides[] = {1, 1, 2, 3, 5, 7, 11, 13, 17, 31, 67, 131};
    if (axis == 0 && random_chance(random, 15)) return 257 + random_below(random, 300);
    return sides[random_below(random, 12)];
}

/* Numbers of a few values, so that many are equal; of many; or at the ends of the type. */
static double random_value(uint64_t *random, int how, const lob_type_info *type)
{
    if (how == 0) return (double)random_below(random, 4);
    if (how == 1 && type->is_integer)
        return floor(type->lowest + random_double(random) * (type->highest - type->lowest));
    if (how == 1) return (random_double(random) - 0.4) * exp2((double)random_below(random, 8));
    const double step = (double)random_below(random, 3);
    return type->is_integer
               ? (random_chance(random, 50) ? type->lowest + step : type->highest - 1024 * step)
               : (random_chance(random, 50) ? -0.0 : 0.0) + (step > 1 ? step : 0);
}

#define PUT(type, ctype, name, integer, lowest, highest)                          \
    case type:                                                                    \
        ((ctype *)image->data)[i] = !(integer)                 ? (ctype)value     \
                                    : value >= (double)highest ? (ctype)(highest) \
                                    : value <= (double)lowest  ? (ctype)(lowest)  \
                                                               : (ctype)value;     \
        break;

static void fill(lob_filter_image *image, int64_t n, int how, int not_finite, uint64_t *random)
{
    const lob_type_info *const type = lob_type_of(image->type);
    image->data = memory_for((size_t)n * type->bytes);
    for (int64_t i = 0; i < n; i++) {
        double value = random_value(random, how, type);
        if (!type->is_integer && random_chance(random, not_finite))
            value = random_chance(random, 50)   ? NAN
                    : random_chance(random, 50) ? INFINITY
                                                : -INFINITY;
        LOB_TYPE_SWITCH(image->type, PUT);
    }
}

static void random_radii(neighbourhood_case *c, lob_filter_kind kind, uint64_t *random)
{
    static const double ones[][3] = {
        {1, 1, 1},
        {1, 1, 0},
        {1, 0, 1},
        {0, 1, 1},
        {2, 2, 2},
        {2, 2, 0}
    };
    const int64_t row = random_below(random, 9);
    for (int a = 0; a < 3; a++)
        c->step.along[a] = row < 6 ? ones[row][a] : (double)random_below(random, row == 6 ? 4 : 9);
    if (kind == LOB_FILTER_BOX && random_chance(random, 30))
        c->step.along[random_below(random, 3)] = (double)random_below(random, 90);
    /* Around the largest windows that shared memory holds, of 64-bit voxels. */
    if (kind == LOB_FILTER_MEDIAN && random_chance(random, 10)) {
        c->step.along[0] = 1;
        c->step.along[1] = (double)(8 + random_below(random, 33));
        c->step.along[2] = 2;
    }
}

/* Halve radii and sides until the reference has little enough to do. */
static void shrink(neighbourhood_case *c, int64_t work)
{
    lob_dims *const d = &c->in.dims;
    for (;;) {
        double all = (double)d->nx * (double)d->ny * (double)d->nz;
        for (int a = 0; a < 3; a++) all *= 2 * c->step.along[a] + 1;
        if (all <= (double)work) return;
        int64_t *const side = d->nz > d->ny ? &d->nz : &d->ny;
        if (*side > 5)
            *side = *side / 2;
        else if (d->nx > 300)
            d->nx = 259;
        else
            for (int a = 0; a < 3; a++) c->step.along[a] = floor(c->step.along[a] / 2);
        if (d->nx == 259 && d->ny <= 5 && d->nz <= 5) d->nx = 67;
    }
}

void neighbourhood_case_make(neighbourhood_case *c, lob_filter_kind kind, uint64_t number,
                             int64_t work)
{
    uint64_t state = number * 2 + (kind == LOB_FILTER_BOX), *const random = &state;
    random_next(random);
    *c = (neighbourhood_case){.step = {.kind = kind}};
    c->in = (lob_filter_image){.type = (lob_type)random_below(random, LOB_TYPES)};
    if (random_chance(random, 25)) c->in.type = random_chance(random, 50) ? LOB_F32 : LOB_I16;
    c->in.dims = (lob_dims){random_side(random, 0), random_side(random, 1), random_side(random, 2)};
    c->in.channels = random_chance(random, 20) ? 2 : 1;
    random_radii(c, kind, random);
    shrink(c, work / c->in.channels);
    c->options.edge = (lob_edge)random_below(random, LOB_EDGE_CONSTANT + 1);
    c->options.edge_value = random_double(random) * 5 - 2;

    const int64_t voxels = lob_dims_voxels(c->in.dims);
    const int how = (int)random_below(random, 3);
    const bool real = !lob_type_of(c->in.type)->is_integer;
    const int not_finite =
        real && random_chance(random, 40) ? 1 + (int)random_below(random, 60) : 0;
    c->n = c->in.channels * voxels;
    fill(&c->in, c->n, how, not_finite, random);
    if (random_chance(random, 30)) {
        const int share = (int)random_below(random, 101);
        c->mask = memory_for((size_t)voxels);
        for (int64_t i = 0; i < voxels; i++) c->mask[i] = random_chance(random, share);
    }
    c->out = c->in;
    if (kind == LOB_FILTER_BOX) c->out.type = LOB_F32;
    c->bytes = (size_t)c->n * lob_type_of(c->out.type)->bytes;
    c->out.data = memory_for(c->bytes);
    c->call = (lob_filter_call){
        .step = &c->step,
        .options = &c->options,
        .spacing_mm = {1, 1, 1},
        .mask = c->mask,
        .finite = not_finite == 0 && (real || !random_chance(random, 10)),
        .before = identity,
        .after = identity
    };
    if (kind == LOB_FILTER_BOX && random_chance(random, 25)) c->call.before = random_map(random);
    if (kind == LOB_FILTER_BOX && random_chance(random, 25)) c->call.after = random_map(random);
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld, %d channels of %s to %s, radius %g,%g,%g, edge %d%s%s%s%s",
             (unsigned long long)number, (long long)c->in.dims.nx, (long long)c->in.dims.ny,
             (long long)c->in.dims.nz, c->in.channels, lob_type_of(c->in.type)->name,
             lob_type_of(c->out.type)->name, c->step.along[0], c->step.along[1], c->step.along[2],
             (int)c->options.edge, c->mask ? ", mask" : "", c->call.finite ? "" : ", not finite",
             c->call.before.identity ? "" : ", before", c->call.after.identity ? "" : ", after");
}

void neighbourhood_case_slab(neighbourhood_case *slab, const neighbourhood_case *c, int64_t from,
                             int64_t to, int64_t reach, int64_t *skip)
{
    const lob_dims d = c->in.dims;
    const int64_t begin = from > reach ? from - reach : 0;
    const int64_t end = d.nz - to > reach ? to + reach : d.nz;
    const size_t plane = (size_t)(d.nx * d.ny), n = (size_t)(end - begin) * plane;
    const size_t width = lob_type_of(c->in.type)->bytes;
    *slab = *c;
    slab->in.dims.nz = slab->out.dims.nz = end - begin;
    slab->n = (int64_t)n * c->in.channels;
    slab->bytes = (size_t)slab->n * lob_type_of(c->out.type)->bytes;
    slab->in.data = memory_for((size_t)slab->n * width);
    slab->out.data = memory_for(slab->bytes);
    for (int k = 0; k < c->in.channels; k++)
        memcpy((char *)slab->in.data + (size_t)k * n * width,
               (const char *)c->in.data +
                   ((size_t)k * (size_t)d.nz + (size_t)begin) * plane * width,
               n * width);
    if (c->mask) {
        slab->mask = memory_for(n);
        memcpy(slab->mask, c->mask + (size_t)begin * plane, n);
    }
    slab->call.step = &slab->step;
    slab->call.options = &slab->options;
    slab->call.mask = slab->mask;
    slab->call.origin[2] = begin;
    *skip = from - begin;
}

void neighbourhood_case_free(neighbourhood_case *c)
{
    free(c->in.data);
    free(c->out.data);
    free(c->mask);
    *c = (neighbourhood_case){0};
}
