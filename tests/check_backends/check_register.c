/* Checks of registration and warping: random pairs on the GPU against the CPU, byte by byte. */
#include "kernels/register/register.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 24, LARGE = 16, LARGE_SIDE = 80 };

typedef struct {
    lob_volume fixed, moving;
    uint8_t *mask;
    lob_register_options options;
    char shape[256];
} register_case;

/* A scan of smooth blobs and noise, some of it NaN; moved by some voxels. */
static void fill(lob_volume *v, uint64_t seed, double shift, uint64_t *state)
{
    double blob[6][4];
    uint64_t own = seed;
    float *const to = v->data;
    for (int b = 0; b < 6; b++) {
        for (int a = 0; a < 3; a++)
            blob[b][a] = random_double(&own) * (double)lob_side(v->dims, a) + shift;
        blob[b][3] = 500.0 * random_double(&own) + 50.0;
    }
    for (int64_t i = 0; i < lob_voxels(v); i++) {
        const double at[3] = {(double)(i % v->dims.nx), (double)(i / v->dims.nx % v->dims.ny),
                              (double)(i / v->dims.nx / v->dims.ny)};
        double value = 40.0 * random_double(state);
        for (int b = 0; b < 6; b++) {
            double square = 0.0;
            for (int a = 0; a < 3; a++) square += (at[a] - blob[b][a]) * (at[a] - blob[b][a]);
            value += blob[b][3] / (1.0 + square / 30.0);
        }
        to[i] = random_chance(state, 1) ? NAN : (float)value;
    }
}

static lob_volume make_scan(uint64_t *state, int64_t side, int flat, double spacing_mm)
{
    lob_volume v, like = lob_volume_empty();
    const double spacing[3] = {spacing_mm * (.7 + random_double(state)),
                               spacing_mm * (.7 + random_double(state)),
                               spacing_mm * (.5 + 3.0 * random_double(state))};
    like.dims = (lob_dims){8 + random_below(state, side), 8 + random_below(state, side),
                           8 + random_below(state, side)};
    if (flat) like.dims.nz = flat;
    like.geometry = lob_geometry_of_spacing(spacing);
    if (lob_volume_like(&v, &like, LOB_F32, 1) != LOB_OK) exit(75);
    return v;
}

static const char *make(void *of, uint64_t number)
{
    register_case *const c = of;
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    uint64_t state = number * 2654435761u + 29;
    const uint64_t seed = random_next(&state);
    const int flat = random_chance(&state, 30) ? 1 + (int)random_below(&state, 3) : 0;
    const double spacing = 1.0 + 4.0 * random_double(&state);
    *c = (register_case){.options = lob_register_defaults()};
    c->fixed = make_scan(&state, side, flat, spacing);
    c->moving = make_scan(&state, side, flat, spacing);
    fill(&c->fixed, seed, 0.0, &state);
    fill(&c->moving, seed, 3.0 * random_double(&state), &state);
    if (random_chance(&state, 50)) c->options.smooth = .05 + 3.0 * random_double(&state);
    c->options.affine_only = random_chance(&state, 20);
    if (random_chance(&state, 20)) c->options.spacing_mm = spacing * (.8 + random_double(&state));
    if (random_chance(&state, 30)) {
        c->mask = malloc((size_t)lob_voxels(&c->fixed));
        if (!c->mask) exit(75);
        for (int64_t i = 0; i < lob_voxels(&c->fixed); i++) c->mask[i] = random_chance(&state, 80);
    }
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lld x %lld x %lld from %lld x %lld x %lld, smooth %g%s%s",
             (unsigned long long)number, (long long)c->fixed.dims.nx, (long long)c->fixed.dims.ny,
             (long long)c->fixed.dims.nz, (long long)c->moving.dims.nx,
             (long long)c->moving.dims.ny, (long long)c->moving.dims.nz, c->options.smooth,
             c->options.affine_only ? ", affine" : "", c->mask ? ", mask" : "");
    return c->shape;
}

static void free_case(void *of)
{
    register_case *const c = of;
    lob_volume_free(&c->fixed);
    lob_volume_free(&c->moving);
    free(c->mask);
}

typedef struct {
    lob_status status;
    lob_field field;
    lob_register_stats stats;
    lob_error error;
} result;

static result run(const register_case *c, const lob_context *context)
{
    const lob_register_input in = {&c->fixed, &c->moving, c->mask};
    result r = {.error = {.text = ""}};
    r.status = lob_register(&r.field, &r.stats, &in, &c->options, context, &r.error);
    return r;
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *registered)
{
    const register_case *const c = of;
    result want = run(c, ON_CPU(context)), got = run(c, context);
    const char *what = NULL;
    (void)backend;
    *registered = want.status == LOB_OK;
    got.stats.working_bytes = want.stats.working_bytes;
    if (want.status != got.status) {
        what = "status";
        printf("register: %s: CPU: %d %s; GPU: %d %s\n", c->shape, (int)want.status,
               want.error.text, (int)got.status, got.error.text);
    } else if (want.status == LOB_OK) {
        const size_t bytes = 3 * (size_t)lob_dims_voxels(want.field.dims) * sizeof(float);
        if (memcmp(want.field.affine, got.field.affine, sizeof got.field.affine) != 0)
            what = "affines";
        else if (memcmp(want.field.mm, got.field.mm, bytes) != 0)
            what = "fields";
        else if (memcmp(&want.stats.cost_before, &got.stats.cost_before, 5 * sizeof(double)) != 0 ||
                 want.stats.centres != got.stats.centres)
            what = "measures";
    }
    lob_field_free(&want.field);
    lob_field_free(&got.field);
    return what;
}

const check_random check_register = {sizeof(register_case), make,        differs, free_case,
                                     .repeated = 48,        .slow = true};
