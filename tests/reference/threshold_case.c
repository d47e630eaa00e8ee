/* Random inputs of thresholds, histograms and denoising. */
#include "tests/reference/threshold_case.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEW, NOISE, BLOBS, EVEN, CONSTANT, WIDE, PATTERNS };

static const char *const pattern_name[] = {"few values", "noise",    "blobs",
                                           "even",       "constant", "wide"};

static int64_t side(uint64_t *random, int64_t most)
{
    static const int64_t odd[] = {1, 2, 3, 5, 7, 13, 17, 31, 33, 64, 67};
    const int64_t s =
        random_chance(random, 50) ? odd[random_below(random, 11)] : 1 + random_below(random, 70);
    return s < most ? s : most > 0 ? most : 1;
}

/* A sum of uniform numbers: nearly normal, from -3 to 3. */
static double bell(uint64_t *random)
{
    double sum = -3;
    for (int k = 0; k < 6; k++) sum += random_double(random);
    return sum;
}

/* A value in 0..100 or so. */
static double value_at(int pattern, int64_t x, int64_t y, int64_t z, uint64_t *random)
{
    switch (pattern) {
    case FEW:
        return 20.0 * (double)random_below(random, 5);
    case NOISE:
        return 50 + 15 * bell(random);
    case BLOBS:
        return ((x / 5 + y / 4 + z / 3) % 2 ? 70 : 30) + 4 * bell(random);
    case EVEN:
        return 100 * random_double(random);
    case WIDE:
        return 50 + 15 * bell(random) * (random_chance(random, 2) ? 1000 : 1);
    default:
        return 42;
    }
}

static void fill(threshold_case *c, int pattern, uint64_t *random)
{
    const lob_type_info *type = lob_type_of(c->image.type);
    const lob_dims dims = c->image.dims;
    const double stretch = type->bytes > 1 && random_chance(random, 60)
                               ? type->bytes > 2 && random_chance(random, 50) ? 3000 : 40
                               : 1;
    int64_t i = 0;
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++)
            for (int64_t x = 0; x < dims.nx; x++, i++) {
                double v = value_at(pattern, x, y, z, random) * stretch;
                if (type->lowest < 0 && c->number % 2) v -= 50 * stretch;
                if (v < type->lowest) v = type->lowest;
                if (type->is_integer) v = floor(v);
                if (type->is_integer && v > type->highest) v = type->highest;
                put_number(&c->image, i, v);
                if (!type->is_integer && c->number % 5 == 0 && random_chance(random, 3))
                    put_number(&c->image, i, random_chance(random, 50) ? NAN : -INFINITY);
            }
}

static void make_options(threshold_case *c, uint64_t *random)
{
    lob_threshold_options *o = &c->options;
    *o = lob_threshold_defaults();
    o->kind = (lob_threshold_kind)random_below(random, LOB_THRESHOLDS);
    o->above = number_at(&c->image, random_below(random, c->n));
    if (!isfinite(o->above)) o->above = 3;
    o->low = o->above - 10;
    o->high = random_chance(random, 20) ? INFINITY : o->above + 5 * random_double(random);
    o->percent = random_chance(random, 20) ? 100.0 * (double)random_below(random, 2)
                                           : 100 * random_double(random);
    o->classes = 2 + (int)random_below(random, 4);
    for (int k = 0; k < 3; k++) c->percent[k] = 100 * random_double(random);
}

static void make_denoise(threshold_case *c, uint64_t *random)
{
    static const lob_edge edges[] = {LOB_EDGE_RENORMALISE, LOB_EDGE_NEAREST, LOB_EDGE_REFLECT,
                                     LOB_EDGE_MIRROR, LOB_EDGE_WRAP};
    c->denoise = (lob_filter_step){
        .kind = LOB_FILTER_DENOISE, .along = {1, 1, 1}
    };
    if (random_chance(random, 30)) c->denoise.along[random_below(random, 3)] = 0;
    if (random_chance(random, 60)) c->denoise.noise = 1 + 20 * random_double(random);
    c->filter = (lob_filter_options){.edge = edges[random_below(random, 5)]};
}

void threshold_case_make(threshold_case *c, uint64_t number, int64_t max_voxels)
{
    static const double spacings[][3] = {
        {1,  1,  1  },
        {1,  1,  3  },
        {2,  1,  1.2},
        {.8, .8, 1.4},
        {1,  4,  1  },
        {.5, .6, .7 }
    };
    uint64_t random = number * 7919 + 17;
    *c = (threshold_case){.number = number, .image = lob_volume_empty()};
    lob_volume *image = &c->image;
    image->type = (lob_type)random_below(&random, LOB_TYPES);
    image->dims.nx = side(&random, max_voxels);
    image->dims.ny = side(&random, max_voxels / image->dims.nx);
    image->dims.nz = side(&random, max_voxels / (image->dims.nx * image->dims.ny));
    image->geometry = lob_geometry_of_spacing(spacings[random_below(&random, 6)]);
    if (random_chance(&random, 25)) {
        image->slope = random_chance(&random, 30) ? -0.5 : 0.3;
        image->inter = 7;
    }
    c->n = lob_voxels(image);
    image->data = malloc((size_t)c->n * lob_type_of(image->type)->bytes);
    if (!image->data) exit(75);
    const int pattern = (int)random_below(&random, PATTERNS);
    fill(c, pattern, &random);
    if (random_chance(&random, 35)) {
        const int percent = random_chance(&random, 10) ? 0 : 80;
        c->mask = malloc((size_t)c->n);
        if (!c->mask) exit(75);
        for (int64_t i = 0; i < c->n; i++) c->mask[i] = random_chance(&random, percent) ? 3 : 0;
    }
    make_options(c, &random);
    make_denoise(c, &random);
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lld x %lld x %lld %s, %s, slope %g%s, kind %d, classes %d, noise %g",
             (unsigned long long)number, (long long)image->dims.nx, (long long)image->dims.ny,
             (long long)image->dims.nz, lob_type_of(image->type)->name, pattern_name[pattern],
             image->slope, c->mask ? ", mask" : "", (int)c->options.kind, c->options.classes,
             c->denoise.noise);
}

void threshold_case_free(threshold_case *c)
{
    lob_volume_free(&c->image);
    free(c->mask);
}
