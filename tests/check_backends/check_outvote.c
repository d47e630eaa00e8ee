/* Checks of outvoting (kernels/refine/outvote.h), on a context's device: random growths against the
 * CPU, byte by byte. */
#include "tests/check_backends/check.h"

#include "kernels/arrays.h"
#include "kernels/refine/outvote.h"
#include "tests/reference/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40, LABELS = 9 };

typedef struct {
    char shape[96];
    lob_volume labels, first, plain; /* uint8 */
    int step[3];
    int32_t count, background;
} growths;

/* Blocks of labels, with noise. */
static lob_volume random_labels(const growths *c, uint64_t seed, uint64_t noise)
{
    lob_volume v = lob_volume_empty();
    uint64_t state = seed;
    if (lob_volume_like(&v, &c->labels, LOB_U8, 1) != LOB_OK) exit(75);
    const int64_t n = lob_voxels(&v), block = n / (c->count + 1) + 1;
    for (int64_t i = 0; i < n; i++) {
        const bool noisy = random_below(&state, noise) == 0;
        const uint64_t any = random_below(&state, (uint64_t)c->count + 1);
        ((uint8_t *)v.data)[i] = (uint8_t)(noisy ? any : (uint64_t)(i / block));
    }
    return v;
}

static const char *make(void *of, uint64_t number)
{
    growths *const c = of;
    uint64_t state = number + 1;
    *c = (growths){.labels = lob_volume_empty()};
    c->labels.dims =
        (lob_dims){1 + (int64_t)random_below(&state, SIDE), 1 + (int64_t)random_below(&state, SIDE),
                   1 + (int64_t)random_below(&state, SIDE)};
    c->count = 2 + (int32_t)random_below(&state, LABELS - 1);
    c->background = 1 + (int32_t)random_below(&state, (uint64_t)c->count);
    for (int a = 0; a < 3; a++) c->step[a] = 1 + (int)random_below(&state, 4);
    const uint64_t noise = 4 + random_below(&state, 100);
    c->first = random_labels(c, 3 * number + 1, noise);
    c->plain = random_labels(c, 3 * number + 2, noise);
    c->labels = random_labels(c, 3 * number + 3, 2 + noise / 4);
    snprintf(c->shape, sizeof c->shape, "%dx%dx%d, %d labels", (int)c->labels.dims.nx,
             (int)c->labels.dims.ny, (int)c->labels.dims.nz, c->count);
    return c->shape;
}

static void free_case(void *of)
{
    growths *const c = of;
    lob_volume_free(&c->labels);
    lob_volume_free(&c->first);
    lob_volume_free(&c->plain);
}

/* Outvote a copy of the case's labels, on the context's device. */
static lob_status run(lob_volume *got, lob_outvote_count *total, const growths *c,
                      const lob_context *context, lob_error *error)
{
    lob_volume own[3] = {lob_volume_empty(), lob_volume_empty(), lob_volume_empty()};
    const lob_volume *const from[3] = {&c->labels, &c->first, &c->plain};
    const int64_t n = lob_voxels(&c->labels);
    lob_status st = LOB_OK;
    for (int k = 0; k < 3 && st == LOB_OK; k++)
        st = lob_volume_move(&own[k], from[k], lob_context_place(context), context, error);
    const lob_outvote_input in = {
        own[0].data,
        own[1].data,
        own[2].data,
        c->labels.dims,
        {c->step[0], c->step[1], c->step[2]}
    };
#ifdef LOB_WITH_CUDA
    if (st == LOB_OK && context->device)
        st = lob_outvote_look_cuda(context->device, total, &in, error);
#endif
    if (st == LOB_OK && !context->device) lob_outvote_look(total, &in, context->threads);
    if (st == LOB_OK) {
        const lob_outvote_verdict verdict = lob_outvote_judge(total, c->count, c->background);
#ifdef LOB_WITH_CUDA
        if (context->device)
            st = lob_outvote_cuda(context->device, own[0].data, in.first, in.plain, n, &verdict,
                                  error);
#endif
        if (!context->device)
            lob_outvote(own[0].data, in.first, in.plain, n, &verdict, context->threads);
    }
    if (st == LOB_OK) st = lob_volume_move(got, &own[0], (lob_place){0}, context, error);
    for (int k = 0; k < 3; k++) lob_volume_free(&own[k]);
    return st;
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *done)
{
    const growths *const c = of;
    lob_outvote_count want_total[LOB_OUTVOTE_LABELS], got_total[LOB_OUTVOTE_LABELS];
    lob_volume want = lob_volume_empty(), got = lob_volume_empty();
    lob_error error = {.text = ""};
    const char *what = NULL;
    *done = run(&want, want_total, c, ON_CPU(context), &error) == LOB_OK;
    if (!*done || run(&got, got_total, c, context, &error) != LOB_OK)
        what = "status";
    else if (memcmp(want_total, got_total, sizeof want_total) != 0)
        what = "counts";
    else if (memcmp(want.data, got.data, (size_t)lob_voxels(&want)) != 0)
        what = "labels";
    if (what) printf("outvote: %s: %s: %s\n", c->shape, backend->name, error.text);
    lob_volume_free(&want);
    lob_volume_free(&got);
    return what;
}

const check_random check_outvote = {sizeof(growths), make, differs, free_case, .repeated = 7};
