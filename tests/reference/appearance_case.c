/* Random inputs of appearance and refining. */
#include "tests/reference/appearance_case.h"

#include "kernels/resample/resample.h"
#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t side(uint64_t *random, int64_t most)
{
    static const int64_t odd[] = {1, 2, 3, 5, 7, 13, 17, 31, 33, 64, 67};
    const int64_t s =
        random_chance(random, 50) ? odd[random_below(random, 11)] : 1 + random_below(random, 50);
    return s < most ? s : most > 0 ? most : 1;
}

/* Blobs whose values differ by label, with noise; NaN and infinity now and then. */
static void fill(appearance_case *c, lob_volume *image, uint64_t *random)
{
    const lob_type_info *type = lob_type_of(image->type);
    const lob_dims d = image->dims;
    const double noise = 30 * random_double(random);
    image->data = calloc((size_t)(c->n * image->channels), type->bytes);
    if (!image->data) exit(75);
    for (int64_t i = 0; i < c->n * image->channels; i++) {
        const int64_t x = i % d.nx, y = i / d.nx % d.ny, z = i / (d.nx * d.ny) % d.nz;
        double v = 20 + 30 * (double)((x / 7 + y / 5 + z / 3) % 3) + noise * random_double(random);
        if (type->is_integer) v = floor(v);
        if (v > type->highest) v = type->highest;
        put_number(image, i, v);
        if (!type->is_integer && c->number % 4 == 0 && random_chance(random, 2))
            put_number(image, i, random_chance(random, 50) ? NAN : INFINITY);
    }
}

static void make_views(appearance_case *c, lob_dims dims, uint64_t *random)
{
    static const double spacings[][3] = {
        {1,  1,  1  },
        {1,  1,  3  },
        {2,  1,  1.2},
        {.8, .8, 1.4},
        {1,  4,  1  },
        {.5, .6, .7 }
    };
    const double *spacing = spacings[random_below(random, 6)];
    c->in.view_count = 1 + (int)random_below(random, 2);
    c->in.views = c->views;
    for (int v = 0; v < 2; v++) {
        lob_volume *image = &c->image[v];
        *image = lob_volume_empty();
        image->dims = dims;
        image->geometry = lob_geometry_of_spacing(spacing);
        image->type = (lob_type)random_below(random, LOB_TYPES);
        image->channels = random_chance(random, 70) ? 1 : 2 + (int)random_below(random, 2);
        if (random_chance(random, 25)) {
            image->slope = -0.3;
            image->inter = 7;
        }
        fill(c, image, random);
        c->views[v] = image;
    }
}

/* Strokes in a few slices, and every label somewhere; an outline of larger boxes. */
static void make_labels(appearance_case *c, lob_dims d, uint64_t *random)
{
    const int axis = (int)random_below(random, 3);
    const int64_t gap = 1 + random_below(random, 6);
    const int percent = 1 + (int)random_below(random, 20);
    c->in.seed_type = random_chance(random, 70)   ? LOB_U8
                      : random_chance(random, 50) ? LOB_I16
                                                  : LOB_I32;
    c->in.outline_type = random_chance(random, 70) ? LOB_U8 : LOB_I32;
    c->seeds = calloc((size_t)c->n, sizeof(int32_t));
    c->outline = calloc((size_t)c->n, sizeof(int32_t));
    if (!c->seeds || !c->outline) exit(75);
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
        const int32_t blob = 1 + (int32_t)((at[0] / 7 + at[1] / 5 + at[2] / 3) % c->in.labels);
        const bool drawn = at[axis] % gap == 0 && random_chance(random, percent);
        const bool wrong = random_chance(random, 5);
        lob_label_put(c->outline, c->in.outline_type, i,
                      wrong ? (int32_t)random_below(random, c->in.labels + 1) : blob);
        if (drawn) lob_label_put(c->seeds, c->in.seed_type, i, blob);
    }
    for (int32_t l = 1; l <= c->in.labels; l++)
        lob_label_put(c->seeds, c->in.seed_type, (l - 1) * (c->n / c->in.labels), l);
    c->in.seeds = c->seeds;
    c->in.background = 1 + (int32_t)random_below(random, c->in.labels);
}

/* A column along z with a wall around, too wide on one side and with an arm into the column, and
 * strokes along its middle. */
static void make_wall(appearance_case *c)
{
    const lob_dims d = c->image[0].dims;
    const double *const mm = c->image[0].geometry.spacing_mm;
    const double radius = fmin((double)d.nx * mm[0], (double)d.ny * mm[1]) / 5;
    const lob_type type = c->in.seed_type;
    int32_t *const wall = &c->walls[0], *const core = &c->walls[1];
    if (c->number % 8 != 3 || c->in.labels < 3) return;
    *core = c->in.background == 1 ? 2 : 1;
    *wall = c->in.background == 3 ? 2 : 3;
    for (int64_t i = 0; i < c->n; i++) {
        const double x = ((double)(i % d.nx) - 0.5 * (double)d.nx) * mm[0];
        const double y = ((double)(i / d.nx % d.ny) - 0.5 * (double)d.ny) * mm[1];
        const double r = hypot(x, y) / radius;
        const bool middle = r >= 1.15 && r < 1.35 && i % 3 == 0;
        const bool arm = x > 0.4 * radius && fabs(y) < 0.2 * radius;
        lob_label_put(c->outline, c->in.outline_type, i,
                      r < 1 && !arm             ? *core
                      : r < (x < 0 ? 1.5 : 2.2) ? *wall
                                                : c->in.background);
        if (middle)
            lob_label_put(c->seeds, type, i, *wall);
        else if (lob_label_at(c->seeds, type, i) == *wall)
            lob_label_put(c->seeds, type, i, c->in.background);
    }
    for (int32_t l = 1; l <= c->in.labels; l++)
        lob_label_put(c->seeds, type, (l - 1) * (c->n / c->in.labels), l);
}

/* Strokes nearby, now and then, with nodes closer and wider than they speak. */
static void make_local(appearance_case *c)
{
    uint64_t random = c->number * 86028121 + 5;
    lob_appearance_options *o = &c->options;
    if (random_chance(&random, 60)) return;
    o->local = random_chance(&random, 20) ? 1 : 0.05 + 0.9 * random_double(&random);
    o->local_axis = (int)random_below(&random, 3);
    double longest = 1; /* a few nodes take time enough */
    for (int a = 0; a < 3; a++)
        if (a != o->local_axis)
            longest = fmax(longest, (double)lob_side(c->image[0].dims, a) *
                                        c->image[0].geometry.spacing_mm[a]);
    o->local_mm = (0.2 + random_double(&random)) * longest;
}

static void make_options(appearance_case *c, uint64_t *random)
{
    lob_appearance_options *o = &c->options;
    *o = lob_appearance_defaults();
    if (random_chance(random, 40)) {
        o->bins = 2 + (int)random_below(random, 300);
        o->bin_sigma = 4 * random_double(random);
        o->whole = random_double(random);
        o->far_quantile = random_double(random);
        o->far_mm = c->number % 5 == 0 ? 0 : 6 * random_double(random);
        o->shape_mm = 3 * random_double(random);
        o->shape_slope = random_double(random);
    }
    if (random_chance(random, 15)) o->far = o->shape = 0;
    if (c->number % 3 == 0) o->partial_volume = (double)(c->number % 11) / 10;
    if (c->number % 2 == 0) o->blocks = 1 + (int64_t)(c->number * 7919 % 499);
    o->values = c->number % 4 == 1;
    make_local(c);
    c->in.outline = random_chance(random, 50) ? c->outline : NULL;
    c->refine = lob_refine_defaults(c->image[0].dims, c->image[0].geometry.spacing_mm);
    if (random_chance(random, 30)) c->refine.smooth_mm = 0;
    if (random_chance(random, 60)) c->refine.edge = random_chance(random, 30) ? 0 : 0.5;
    if (random_chance(random, 20)) c->refine.edge_smooth_mm = 0;
    c->refine.keep = c->number % 5 < 3;
    c->refine.fade = c->number % 3 == 0;
    c->refine.fade_axis = (int)(c->number / 3 % 3);
}

/* Not larger than the views' grid, and sometimes not parallel to it. */
static void make_grid(appearance_case *c)
{
    uint64_t random = c->number * 104729 + 7;
    double mm[3];
    c->grid = lob_volume_empty();
    c->grid.dims = c->image[0].dims;
    c->grid.geometry = c->image[0].geometry;
    for (int a = 0; a < 3; a++)
        mm[a] = c->grid.geometry.spacing_mm[a] * (1 + 4 * random_double(&random));
    if (random_chance(&random, 30)) mm[random_below(&random, 3)] = 0;
    lob_resample_respace(&c->grid.geometry, &c->grid.dims, mm);
    if (random_chance(&random, 15)) c->grid.geometry.affine[0][1] += 0.3;
    if (random_chance(&random, 15)) c->grid.geometry.affine[2][3] += 2.1;
}

void appearance_case_make(appearance_case *c, uint64_t number, int64_t max_voxels)
{
    uint64_t random = number * 7919 + 31;
    lob_dims d;
    *c = (appearance_case){.number = number};
    d.nx = side(&random, max_voxels);
    d.ny = side(&random, max_voxels / d.nx);
    d.nz = side(&random, max_voxels / (d.nx * d.ny));
    if (lob_dims_voxels(d) < 8) d.nx += 8;
    c->n = lob_dims_voxels(d);
    c->in.labels = random_chance(&random, 60) ? 2 : 2 + (int32_t)random_below(&random, 5);
    if (number % 16 == 6 && c->n >= 20) c->in.labels = 10 + (int32_t)(number / 16 % 11);
    make_views(c, d, &random);
    make_grid(c);
    make_labels(c, d, &random);
    make_wall(c);
    make_options(c, &random);
    c->refine_in = (lob_refine_input){
        .image = &c->image[0],
        .labels = c->outline,
        .labels_type = c->in.outline_type,
        .seeds = c->seeds,
        .seeds_type = c->in.seed_type,
        .label_count = c->in.labels,
        .background = c->in.background,
        .walls = c->walls,
        .wall_count = c->walls[0] > 0,
    };
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld, %d views, %s x%d, %d labels, %s outline",
             (unsigned long long)number, (long long)d.nx, (long long)d.ny, (long long)d.nz,
             c->in.view_count, lob_type_of(c->image[0].type)->name, c->image[0].channels,
             c->in.labels, c->in.outline ? "with" : "without");
}

void appearance_case_free(appearance_case *c)
{
    for (int v = 0; v < 2; v++) lob_volume_free(&c->image[v]);
    free(c->seeds);
    free(c->outline);
}
