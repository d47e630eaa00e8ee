/*
 * Checks of maxima and of joining basins: random volumes against the CPU, byte by byte, from
 * ordinary memory and from a device's.
 */
#include "kernels/arrays.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40, LARGE = 16, LARGE_SIDE = 90 };

typedef struct {
    lob_volume image, labels; /* labels: a mask, or basins */
    int64_t count, voxels;    /* count: of basins */
    lob_maxima_options maxima;
    lob_basins_options basins;
    bool masked, of_basins, there; /* there: on the device */
    char shape[80];
} maxima_case;

/* Few levels make plateaus, blocks of voxels summits; some real voxels are no data. */
static void fill_image(maxima_case *c, uint64_t *state)
{
    const int64_t levels = 1 + random_below(state, random_chance(state, 50) ? 9 : 5000);
    const int64_t block = 1 + random_below(state, 6);
    const lob_dims d = c->image.dims;
    const uint64_t salt = random_next(state);
    for (int64_t i = 0; i < c->voxels; i++) {
        const int64_t x = i % d.nx / block, y = i / d.nx % d.ny / block,
                      z = i / d.nx / d.ny / block;
        uint64_t of_block = salt + (uint64_t)((z * d.ny + y) * d.nx + x);
        const int64_t value = random_below(&of_block, levels) - levels / 2;
        if (c->image.type == LOB_U8)
            ((uint8_t *)c->image.data)[i] = (uint8_t)value;
        else if (c->image.type == LOB_I16)
            ((int16_t *)c->image.data)[i] = (int16_t)value;
        else
            ((float *)c->image.data)[i] = random_chance(state, 2) ? (float)NAN : (float)value / 8;
    }
}

static void fill_labels(maxima_case *c, uint64_t *state)
{
    const int64_t block = random_chance(state, 20) ? 1 : 2 + random_below(state, 12);
    const uint64_t salt = random_next(state);
    const lob_dims d = c->image.dims;
    c->count = 1 + random_below(state, random_chance(state, 30) ? 3000 : 40);
    c->labels.type = lob_label_type((int32_t)c->count);
    for (int64_t i = 0; i < c->voxels; i++) {
        const int64_t x = i % d.nx / block, y = i / d.nx % d.ny / block,
                      z = i / d.nx / d.ny / block;
        uint64_t of_block = salt + (uint64_t)((z * d.ny + y) * d.nx + x);
        lob_label_put(c->labels.data, c->labels.type, i,
                      (int32_t)random_below(&of_block, c->count + 1));
    }
}

static const char *make(maxima_case *c, uint64_t number, bool basins)
{
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_F32};
    uint64_t state = number + 5;
    *c = (maxima_case){.image = lob_volume_empty(), .maxima = lob_maxima_defaults()};
    c->of_basins = basins;
    c->there = number % 2 == 0;
    c->image.dims = (lob_dims){1 + random_below(&state, side), 1 + random_below(&state, side),
                               random_chance(&state, 20) ? 1 : 1 + random_below(&state, side)};
    c->image.type = types[random_below(&state, 3)];
    c->image.slope = random_chance(&state, 50) ? 1 : -0.5;
    c->voxels = lob_voxels(&c->image);
    c->labels = c->image;
    c->labels.slope = 1;
    c->image.data = malloc((size_t)c->voxels * sizeof(float));
    c->labels.data = malloc((size_t)c->voxels * sizeof(int32_t));
    if (!c->image.data || !c->labels.data) exit(75);
    fill_image(c, &state);
    fill_labels(c, &state);
    c->masked = !basins && random_chance(&state, 40);
    if (c->masked) {
        c->labels.type = LOB_U8;
        for (int64_t i = 0; i < c->voxels; i++)
            ((uint8_t *)c->labels.data)[i] = random_chance(&state, 80);
    }
    lob_maxima_options *const o = &c->maxima;
    o->slice_axis = (int)random_below(&state, 5) - 2;
    if (o->slice_axis < 0) o->slice_axis = -1;
    o->neighbours = o->slice_axis < 0 ? (int[]){6, 18, 26}[random_below(&state, 3)]
                                      : (int[]){4, 8}[random_below(&state, 2)];
    if (random_chance(&state, 40)) o->apart = (double)random_below(&state, 90) / 10;
    if (random_chance(&state, 30)) o->height = (double)random_below(&state, 40) / 8;
    if (random_chance(&state, 30)) o->above = (double)random_below(&state, 9) / 4;
    c->basins.height = (double)random_below(&state, 20) / 8;
    c->basins.share = (double)random_below(&state, 5) / 8;
    c->basins.level = 2;
    snprintf(c->shape, sizeof c->shape, "case %llu, %lldx%lldx%lld, %s", (unsigned long long)number,
             (long long)c->image.dims.nx, (long long)c->image.dims.ny, (long long)c->image.dims.nz,
             lob_type_of(c->image.type)->name);
    return c->shape;
}

static const char *make_maxima(void *c, uint64_t number)
{
    return make(c, number, false);
}

static const char *make_basins(void *c, uint64_t number)
{
    return make(c, number, true);
}

static void free_case(void *of)
{
    maxima_case *const c = of;
    lob_volume_free(&c->image);
    lob_volume_free(&c->labels);
}

/* Where the result of one of the two is to lie, and what it is given. */
typedef struct {
    const lob_backend *backend;
    const lob_context *context;
    lob_volume image, labels;
    lob_error error;
} side;

static bool begin(side *s, const maxima_case *c, const lob_backend *backend,
                  const lob_context *context, lob_place place)
{
    *s = (side){.backend = backend, .context = context, .error = {.text = ""}};
    return lob_volume_move(&s->image, &c->image, place, context, &s->error) == LOB_OK &&
           lob_volume_move(&s->labels, &c->labels, place, context, &s->error) == LOB_OK;
}

static void end(side *s)
{
    lob_volume_free(&s->image);
    lob_volume_free(&s->labels);
}

static const char *maxima_differ(const maxima_case *c, side s[2])
{
    lob_maxima_output out[2];
    lob_status st[2];
    const char *what = NULL;
    lob_volume labels = lob_volume_empty();
    for (int k = 0; k < 2; k++) {
        const lob_maxima_input in = {&s[k].image, c->masked ? s[k].labels.data : NULL};
        st[k] = s[k].backend->maxima(&out[k], &in, &c->maxima, s[k].context, &s[k].error);
    }
    if (st[1] == LOB_OK) {
        lob_volume there = s[1].image;
        there.data = out[1].labels;
        there.type = LOB_I32;
        if (lob_volume_move(&labels, &there, (lob_place){0}, s[1].context, NULL) != LOB_OK)
            exit(75);
    }
    if (st[0] != st[1])
        what = "status";
    else if (st[0] == LOB_OK && (out[0].count != out[1].count || out[0].found != out[1].found))
        what = "counts";
    else if (st[0] == LOB_OK && memcmp(out[0].maxima, out[1].maxima,
                                       (size_t)out[0].count * sizeof *out[0].maxima) != 0)
        what = "maxima";
    else if (st[0] == LOB_OK &&
             memcmp(out[0].labels, labels.data, (size_t)c->voxels * sizeof *out[0].labels) != 0)
        what = "labels";
    lob_volume_free(&labels);
    for (int k = 0; k < 2; k++) lob_maxima_output_free(&out[k]);
    return what;
}

static const char *basins_differ(const maxima_case *c, side s[2])
{
    int32_t *to[2];
    lob_basins_stats stats[2];
    lob_status st[2];
    const char *what = NULL;
    for (int k = 0; k < 2; k++) {
        const lob_label_grid grid = {s[k].labels.data, c->labels.type, c->count, c->labels.dims};
        to[k] = malloc(((size_t)c->count + 1) * sizeof *to[k]);
        if (!to[k]) exit(75);
        st[k] = s[k].backend->basins(to[k], &stats[k], &grid, &s[k].image, &c->basins, s[k].context,
                                     &s[k].error);
    }
    if (st[0] != st[1])
        what = "status";
    else if (st[0] == LOB_OK &&
             (stats[0].basins != stats[1].basins || stats[0].left != stats[1].left ||
              stats[0].contacts != stats[1].contacts))
        what = "counts";
    else if (st[0] == LOB_OK && memcmp(to[0], to[1], ((size_t)c->count + 1) * sizeof **to) != 0)
        what = "labels";
    for (int k = 0; k < 2; k++) free(to[k]);
    return what;
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *done)
{
    const maxima_case *const c = of;
    const lob_place place = c->there ? lob_context_place(context) : (lob_place){0};
    side s[2];
    const char *what = "memory";
    const bool begun[] = {begin(&s[0], c, lob_backends[0], ON_CPU(context), (lob_place){0}),
                          begin(&s[1], c, backend, context, place)};
    if (begun[0] && begun[1]) what = (c->of_basins ? basins_differ : maxima_differ)(c, s);
    *done = !s[0].error.text[0];
    if (what) printf("CPU: %s; %s: %s\n", s[0].error.text, backend->name, s[1].error.text);
    for (int k = 0; k < 2; k++) end(&s[k]);
    return what;
}

const check_random check_maxima = {sizeof(maxima_case), make_maxima, differs, free_case,
                                   .repeated = 48};
const check_random check_basins = {sizeof(maxima_case), make_basins, differs, free_case,
                                   .repeated = 48};
