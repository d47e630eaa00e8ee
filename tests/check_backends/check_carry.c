/* Checks of a whole carry: random scans and atlases on the GPU against the CPU, byte by byte. */
#include "kernels/carry/carry.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 16, LARGE = 16, LARGE_SIDE = 48, BALLS = 5, MOST = 3 };

typedef struct {
    lob_volume scan, truth, image[MOST], labels[MOST], strokes;
    lob_carry_input in;
    lob_carry_options options;
    char shape[160];
} carry_case;

/* Balls of random grey values on noise, moved a little; of some, labels. */
static void draw(lob_volume *image, lob_volume *labels, uint64_t seed, double away, uint64_t *state)
{
    const lob_dims d = image->dims;
    int16_t *const grey = image->data;
    uint8_t *const label = labels->data;
    double ball[BALLS][5];
    for (int b = 0; b < BALLS; b++) {
        for (int a = 0; a < 3; a++) ball[b][a] = random_double(&seed) * (double)lob_side(d, a);
        ball[b][3] = 2 + random_double(&seed) * (double)d.nx / 4;
        ball[b][4] = 80 + 300 * random_double(&seed);
    }
    for (int64_t i = 0; i < lob_voxels(image); i++) {
        const double at[3] = {(double)(i % d.nx) - away, (double)(i / d.nx % d.ny),
                              (double)(i / d.nx / d.ny)};
        grey[i] = (int16_t)(100 + random_below(state, 20));
        for (int b = 0; b < BALLS; b++) {
            double square = 0;
            for (int a = 0; a < 3; a++) square += (at[a] - ball[b][a]) * (at[a] - ball[b][a]);
            if (square > ball[b][3] * ball[b][3]) continue;
            grey[i] = (int16_t)(grey[i] + (int)ball[b][4]);
            label[i] = (uint8_t)(b < 3 ? 2 * b + 1 : 0);
        }
    }
}

static lob_volume empty_on(const lob_volume *grid, lob_type type)
{
    lob_volume v;
    if (lob_volume_like(&v, grid, type, 1) != LOB_OK) exit(75);
    return v;
}

static lob_status read_atlas(void *user, int atlas, lob_volume *image, lob_volume *labels,
                             lob_error *error)
{
    const carry_case *const c = user;
    (void)error;
    *image = c->image[atlas];
    image->borrowed = true;
    *labels = empty_on(&c->labels[atlas], LOB_U8);
    memcpy(labels->data, c->labels[atlas].data, (size_t)lob_voxels(labels));
    return LOB_OK;
}

static const char *make(void *of, uint64_t number)
{
    carry_case *const c = of;
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    uint64_t state = number * 2654435761u + 53;
    const uint64_t seed = random_next(&state);
    const double step = 1 + 3 * random_double(&state);
    const double mm[3] = {step, step, step * (.6 + 2 * random_double(&state))};
    lob_volume grid = lob_volume_empty();
    *c = (carry_case){.options = lob_carry_defaults(), .strokes = lob_volume_empty()};
    grid.geometry = lob_geometry_of_spacing(mm);
    grid.dims = (lob_dims){12 + random_below(&state, side), 12 + random_below(&state, side),
                           random_chance(&state, 20) ? 1 : 4 + random_below(&state, side)};
    c->scan = empty_on(&grid, LOB_I16);
    c->truth = empty_on(&grid, LOB_U8);
    draw(&c->scan, &c->truth, seed, 0, &state);
    c->in.count = 1 + (int)random_below(&state, MOST);
    for (int a = 0; a < c->in.count; a++) {
        c->image[a] = empty_on(&grid, LOB_I16);
        c->labels[a] = empty_on(&grid, LOB_U8);
        draw(&c->image[a], &c->labels[a], seed, 3 * random_double(&state) - 1, &state);
    }
    if (random_chance(&state, 30)) {
        c->strokes = empty_on(&grid, LOB_U8);
        for (int k = 0; k < 6; k++) {
            const int64_t i = random_below(&state, lob_voxels(&grid));
            ((uint8_t *)c->strokes.data)[i] = ((const uint8_t *)c->truth.data)[i] + (k == 0);
        }
        c->in.strokes = &c->strokes;
    }
    c->in.scan = &c->scan;
    c->in.read = read_atlas;
    c->in.user = c;
    c->in.shares = random_chance(&state, 50);
    c->in.doubt = random_chance(&state, 70);
    if (random_chance(&state, 30)) c->options.use = 1 + (int)random_below(&state, 2);
    if (random_chance(&state, 30)) c->options.claimed = 1 - .8 * random_double(&state);
    if (random_chance(&state, 30)) c->options.reach_mm = 5;
    snprintf(c->shape, sizeof c->shape, "case %llu: %lld x %lld x %lld, %d atlases%s",
             (unsigned long long)number, (long long)grid.dims.nx, (long long)grid.dims.ny,
             (long long)grid.dims.nz, c->in.count, c->in.strokes ? ", strokes" : "");
    return c->shape;
}

static void free_case(void *of)
{
    carry_case *const c = of;
    lob_volume_free(&c->scan);
    lob_volume_free(&c->truth);
    lob_volume_free(&c->strokes);
    for (int a = 0; a < c->in.count; a++) {
        lob_volume_free(&c->image[a]);
        lob_volume_free(&c->labels[a]);
    }
}

static bool same_voxels(const lob_volume *want, const lob_volume *got)
{
    if (!want->data || !got->data) return !want->data && !got->data;
    return want->type == got->type && want->channels == got->channels &&
           memcmp(want->data, got->data,
                  (size_t)lob_voxels(want) * (size_t)want->channels *
                      lob_type_of(want->type)->bytes) == 0;
}

static bool same_real(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool same_labels(const lob_carry_output *a, const lob_carry_output *b)
{
    bool same =
        a->label_count == b->label_count && a->reopened_background == b->reopened_background;
    for (int32_t l = 0; same && l < a->label_count; l++) {
        const lob_carry_label *const x = &a->label[l], *const y = &b->label[l];
        same = x->label == y->label && x->atlases == y->atlases && x->seeds == y->seeds &&
               x->reopened == y->reopened && x->voxels == y->voxels &&
               same_real(x->share, y->share) && same_real(x->agreement, y->agreement);
    }
    return same;
}

/* carried: could the CPU carry, and did something come out? */
static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *carried)
{
    carry_case *const c = of;
    lob_carry_output want, got;
    lob_error error[2] = {{.text = ""}, {.text = ""}};
    const lob_status st = lob_carry(&want, &c->in, &c->options, ON_CPU(context), &error[0]);
    const lob_status found = lob_carry(&got, &c->in, &c->options, context, &error[1]);
    const char *what = NULL;
    (void)backend;
    if (st != found || strcmp(error[0].text, error[1].text) != 0) {
        what = "status";
        printf("carry: CPU: %d %s; GPU: %d %s\n", (int)st, error[0].text, (int)found,
               error[1].text);
    } else if (st == LOB_OK) {
        for (int32_t l = 0; l < want.label_count; l++) *carried |= want.label[l].voxels > 0;
        for (int a = 0; a < c->in.count; a++)
            if (want.atlas[a].fate != got.atlas[a].fate ||
                !same_real(want.atlas[a].cost, got.atlas[a].cost))
                what = "atlases";
        if (!same_labels(&want, &got)) what = "figures of labels";
        if (!same_voxels(&want.doubt, &got.doubt)) what = "doubts";
        if (!same_voxels(&want.shares, &got.shares)) what = "shares";
        if (!same_voxels(&want.labels, &got.labels)) what = "labels";
    }
    lob_carry_output_free(&want);
    lob_carry_output_free(&got);
    return what;
}

const check_random check_carry = {sizeof(carry_case), make,           differs,
                                  free_case,          .repeated = 48, .slow = true};
