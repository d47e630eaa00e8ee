/* Checks of the resample slot: random volumes onto random grids against the CPU, byte by byte. */
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 40, LARGE = 16, LARGE_SIDE = 80 };

typedef struct {
    lob_volume volume;
    lob_resample_input in;
    lob_resample_options options;
    int64_t bytes; /* of the result */
    char shape[256];
} resample_case;

static lob_dims random_dims(uint64_t *state, int64_t side)
{
    return (lob_dims){1 + random_below(state, side), 1 + random_below(state, side),
                      1 + random_below(state, side)};
}

/* Any bits for whole numbers; real ones are moderate, some NaN or infinite. */
static void fill_voxels(lob_volume *v, uint64_t *state, bool labels)
{
    const int64_t n = lob_voxels(v) * v->channels;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = random_next(state);
        double value = 4000.0 * random_double(state) - 1000.0;
        if (bits % 16 == 0) value = bits % 32 ? (double)NAN : (double)INFINITY;
        if (v->type == LOB_F32)
            ((float *)v->data)[i] = (float)value;
        else if (v->type == LOB_F64)
            ((double *)v->data)[i] = value;
        else if (labels)
            memset((char *)v->data + i * (int64_t)lob_type_of(v->type)->bytes, 0,
                   lob_type_of(v->type)->bytes);
        else
            memcpy((char *)v->data + i * (int64_t)lob_type_of(v->type)->bytes, &bits,
                   lob_type_of(v->type)->bytes);
        if (labels) ((uint8_t *)v->data)[i * (int64_t)lob_type_of(v->type)->bytes] = bits % 5;
    }
}

/* A grid near another: the same axes, exchanged and flipped ones, other spacings, or any affine. */
static lob_geometry random_grid(const lob_geometry *near, lob_dims dims, uint64_t *state)
{
    const int kind = (int)random_below(state, 4);
    double affine[3][4];
    lob_geometry out = *near;
    memcpy(affine, near->affine, sizeof affine);
    if (kind == 1 && random_chance(state, 50))
        for (int row = 0; row < 3; row++) {
            const double x = affine[row][0];
            affine[row][0] = affine[row][2];
            affine[row][2] = x;
        }
    for (int a = 0; a < 3; a++) {
        const double step = kind == 1   ? (random_chance(state, 50) ? -1.0 : 1.0)
                            : kind == 0 ? 1.0
                                        : .3 + 3.5 * random_double(state);
        const double from = (double)random_below(state, lob_side(dims, a));
        for (int row = 0; row < 3; row++) {
            affine[row][3] += affine[row][a] * (kind < 2 ? floor(from) : from * .7);
            affine[row][a] *= step;
        }
    }
    if (kind == 3)
        for (int row = 0; row < 3; row++)
            for (int a = 0; a < 3; a++) affine[row][a] += .2 * (random_double(state) - .5);
    lob_geometry_of_affine(&out, affine); /* else the grid itself */
    return out;
}

static const char *make(void *of, uint64_t number)
{
    resample_case *const c = of;
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    static const lob_type label_types[] = {LOB_U8, LOB_I16, LOB_I32};
    uint64_t state = number * 2654435761u + 17;
    const lob_resample_method method = (lob_resample_method)random_below(&state, 4);
    const bool labels = method >= LOB_RESAMPLE_MAJORITY;
    const double spacing[3] = {.5 + random_double(&state), .5 + random_double(&state),
                               .5 + 3.0 * random_double(&state)};
    lob_volume like = lob_volume_empty();
    like.dims = random_dims(&state, side);
    like.geometry = lob_geometry_of_spacing(spacing);
    const lob_type type =
        labels ? label_types[random_below(&state, 3)] : (lob_type)random_below(&state, LOB_TYPES);
    const int channels = labels ? 1 : 1 + (int)random_below(&state, 3);
    if (lob_volume_like(&c->volume, &like, type, channels) != LOB_OK) exit(75);
    fill_voxels(&c->volume, &state, labels);
    c->in = (lob_resample_input){.volume = &c->volume, .dims = random_dims(&state, side)};
    c->in.geometry = random_grid(&like.geometry, like.dims, &state);
    c->options = lob_resample_defaults();
    c->options.method = method;
    c->options.fill = (double)random_below(&state, 100);
    if (!lob_type_of(type)->is_integer && random_chance(&state, 30)) c->options.fill = (double)NAN;
    c->bytes = lob_dims_voxels(c->in.dims) * channels * (int64_t)lob_type_of(type)->bytes;
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lld x %lld x %lld of %s in %d, method %d, onto %lld x %lld x %lld",
             (unsigned long long)number, (long long)like.dims.nx, (long long)like.dims.ny,
             (long long)like.dims.nz, lob_type_of(type)->name, channels, (int)method,
             (long long)c->in.dims.nx, (long long)c->in.dims.ny, (long long)c->in.dims.nz);
    return c->shape;
}

static void free_case(void *of)
{
    lob_volume_free(&((resample_case *)of)->volume);
}

static void *run(const lob_backend *backend, const resample_case *c, const lob_context *context)
{
    lob_error error = {.text = ""};
    void *out = malloc((size_t)c->bytes);
    if (!out) exit(75);
    memset(out, 0x5a, (size_t)c->bytes);
    if (backend->resample(out, &c->in, &c->options, context, &error) == LOB_OK) return out;
    printf("resample: %s: %s: %s\n", c->shape, backend->name, error.text);
    free(out);
    return NULL;
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *done)
{
    const resample_case *const c = of;
    void *const want = run(lob_backends[0], c, ON_CPU(context)), *const got =
                                                                     run(backend, c, context);
    const bool same = want && got && memcmp(want, got, (size_t)c->bytes) == 0;
    *done = want != NULL;
    free(want);
    free(got);
    return same ? NULL : "voxels";
}

const check_random check_resample = {sizeof(resample_case), make, differs, free_case,
                                     .repeated = 48};
