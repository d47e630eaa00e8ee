/* Random scans with strokes. */
#include "tests/reference/segment_case.h"

#include "tests/reference/random.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 4 };

/* Balls whose radii are shares of the sides, so that they are ellipsoids. */
typedef struct {
    double centre[3], radius;
    int32_t label;
    double value;
} body;

/* The square of how far a voxel is from the middle of a body, in its radii. */
static double away(const body *b, lob_dims dims, const int64_t at[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double side = (double)lob_side(dims, a);
        const double d = ((double)at[a] + 0.5) / side - b->centre[a];
        if (side > 1) sum += d * d / (b->radius * b->radius);
    }
    return sum;
}

static void put_value(lob_volume *v, int64_t i, double value)
{
    if (v->type == LOB_F32)
        ((float *)v->data)[i] = (float)value;
    else if (v->type == LOB_U8)
        ((uint8_t *)v->data)[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    else
        ((int16_t *)v->data)[i] = (int16_t)value;
}

/* Values, and strokes on every step-th slice: the middle of a body, or, painted out, all of it, and
 * what is just outside of all. */
static void fill(segment_case *c, const body *bodies, int count, int32_t background, int64_t step,
                 bool painted_out, uint64_t *state)
{
    const lob_dims d = c->image.dims;
    const int64_t n = lob_voxels(&c->image);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
        double value = 60, nearest = INFINITY;
        int32_t stroke = 0;
        for (int k = 0; k < count; k++) {
            const double r = away(&bodies[k], d, at);
            if (r < 1) value = bodies[k].value;
            if (r < (painted_out ? 1 : 0.1)) stroke = bodies[k].label;
            nearest = fmin(nearest, r);
        }
        if (nearest > 1.6 && nearest < 3 && random_chance(state, 60)) stroke = background;
        if (d.nz > 1 && at[2] % step != step / 2) stroke = 0;
        lob_label_put(c->strokes.data, c->strokes.type, i, stroke);
        for (int ch = 0; ch < c->image.channels; ch++) {
            const double shown = ch ? 250 - value : value;
            const double noise = 40 * (random_double(state) - 0.5);
            put_value(&c->image, ch * n + i, shown + noise);
        }
        if (c->image.type == LOB_F32 && random_chance(state, 1))
            put_value(&c->image, i, random_chance(state, 50) ? (double)NAN : (double)INFINITY);
    }
}

/* One voxel of each label at least, wherever it is. */
static void put_missing(segment_case *c, const body *bodies, int count, int32_t background)
{
    const int64_t n = lob_voxels(&c->strokes);
    for (int k = 0; k <= count; k++) {
        const int32_t label = k < count ? bodies[k].label : background;
        lob_label_put(c->strokes.data, c->strokes.type, k * (n - 1) / (count + 1), label);
    }
}

static lob_segment_options random_options(uint64_t *state)
{
    lob_segment_options o = lob_segment_defaults();
    if (random_chance(state, 50)) o.margin = 1 + (double)random_below(state, 8);
    o.margin_voxels = random_chance(state, 50);
    if (random_chance(state, 30)) o.share = random_double(state);
    o.median = random_chance(state, 70);
    if (random_chance(state, 30)) o.blur = 2 * random_double(state);
    if (random_chance(state, 30)) o.smooth = 2 * random_double(state);
    if (random_chance(state, 30)) o.edge = random_double(state);
    if (random_chance(state, 30)) o.far = 4 * random_double(state);
    if (random_chance(state, 30)) o.shape = 4 * random_double(state);
    o.passes = (int)random_below(state, 3);
    if (random_chance(state, 60)) o.coarse = 200 + random_below(state, 4000);
    return o;
}

void segment_case_make(segment_case *c, uint64_t number, int64_t side)
{
    static const lob_type types[] = {LOB_I16, LOB_U8, LOB_F32};
    uint64_t state = number * UINT64_C(0x9E3779B9) + 5;
    const bool flat = random_chance(&state, 15);
    const double spacing[3] = {0.5 + random_double(&state), 0.5 + random_double(&state),
                               0.5 + 3 * random_double(&state)};
    /* Now and then rows are longer than the pieces that strokes are looked for in. */
    const bool wide = number % 16 == 2;
    const int64_t most = wide ? 4 : side - 5;
    const lob_dims dims = {6 + random_below(&state, side - 5) + (wide ? 256 : 0),
                           6 + random_below(&state, most),
                           flat ? 1 : 4 + random_below(&state, most)};
    const int channels = 1 + (int)random_below(&state, 2), count = 1 + (int)random_below(&state, 4);
    const int32_t first = 1 + (int32_t)(random_chance(&state, 20) ? random_below(&state, 300) : 0);
    const int32_t background = first + (int32_t)random_below(&state, count + 1);
    const lob_type type = types[random_below(&state, 3)];
    body bodies[BODIES];
    lob_volume like = lob_volume_empty();
    like.dims = dims;
    like.geometry = lob_geometry_of_spacing(spacing);
    *c = (segment_case){.options = random_options(&state)};
    if (lob_volume_like(&c->image, &like, type, channels) != LOB_OK ||
        lob_volume_like(&c->strokes, &like, first > 200 ? LOB_I16 : LOB_U8, 1) != LOB_OK)
        exit(75);
    for (int k = 0; k < count; k++) {
        bodies[k] = (body){.radius = 0.1 + 0.15 * random_double(&state), .label = first + k};
        bodies[k].label += bodies[k].label >= background;
        bodies[k].value = 100 + 30.0 * k;
        for (int a = 0; a < 3; a++) bodies[k].centre[a] = 0.2 + 0.6 * random_double(&state);
    }
    if (random_chance(&state, 50)) c->options.background = background;
    const int64_t step = 2 + random_below(&state, 4);
    const bool painted_out = random_chance(&state, 20);
    fill(c, bodies, count, background, step, painted_out, &state);
    put_missing(c, bodies, count, background);
    c->in = (lob_segment_input){
        .image = &c->image,
        .strokes = &c->strokes,
        .strength = random_chance(&state, 40),
        .uncertain = random_chance(&state, 30),
        .suggest = random_chance(&state, 30) && !flat ? 3 : 0,
    };
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lld x %lld x %lld of %s in %d, %d labels, passes %d, coarse %lld%s%s%s%s",
             (unsigned long long)number, (long long)dims.nx, (long long)dims.ny, (long long)dims.nz,
             lob_type_of(type)->name, channels, count + 1, c->options.passes,
             (long long)c->options.coarse, painted_out ? ", painted out" : "",
             c->in.strength ? ", strength" : "", c->in.uncertain ? ", uncertain" : "",
             c->in.suggest ? ", suggested slices" : "");
}

void segment_case_free(segment_case *c)
{
    lob_volume_free(&c->image);
    lob_volume_free(&c->strokes);
}

static bool same_volumes(const lob_volume *a, const lob_volume *b)
{
    if (!a->data || !b->data) return !a->data && !b->data;
    const size_t bytes = lob_type_of(a->type)->bytes;
    return a->type == b->type && lob_voxels(a) == lob_voxels(b) &&
           memcmp(a->data, b->data, (size_t)lob_voxels(a) * bytes) == 0;
}

const char *segment_case_differs(const lob_segment_output *a, const lob_segment_output *b)
{
    if (!same_volumes(&a->labels, &b->labels)) return "labels";
    if (!same_volumes(&a->strength, &b->strength)) return "strength";
    if (!same_volumes(&a->uncertain, &b->uncertain)) return "uncertain voxels";
    if (a->slice_count != b->slice_count ||
        memcmp(a->slices, b->slices, (size_t)a->slice_count * sizeof *a->slices) != 0)
        return "suggested slices";
    return NULL;
}

lob_status segment_case_run(lob_segment_output *out, lob_segment_plan *plan, const segment_case *c,
                            const lob_backend *backend, const lob_context *context,
                            lob_error *error)
{
    lob_segment_input in = c->in;
    LOB_TRY(lob_segment_choose(plan, &c->image, &c->strokes, &c->options, context, error));
    if (plan->flat || plan->axis < 0) in.suggest = 0;
    return lob_segment(out, &in, plan, backend, context, error);
}
