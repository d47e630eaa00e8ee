/* Checks of the appearance slot, and of the refine slot: random strokes against the
 * CPU, byte by byte. */
#include "tests/check_backends/check.h"

#include "tests/reference/appearance_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VOXELS = 60000 };

typedef struct {
    lob_status status, onto, refined;
    lob_error error;
    float *shares, *coarse; /* coarse: on the case's grid */
    uint8_t *levels;
    int32_t *labels; /* of the label type */
    lob_appearance_stats stats;
    lob_refine_stats counts;
} outcome;

static int channels_of(const appearance_case *c)
{
    return lob_appearance_channels(&c->in, &c->options);
}

static outcome run(const lob_backend *backend, const appearance_case *c, const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    lob_appearance_input onto = c->in;
    lob_appearance_stats stats;
    lob_appearance_options smoothed = c->options;
    onto.grid = &c->grid;
    smoothed.levels = true;
    smoothed.blur_mm = 0.3 * (double)(c->number % 4);
    o.coarse = calloc((size_t)(lob_voxels(&c->grid) * channels_of(c)), sizeof *o.coarse);
    o.levels = calloc((size_t)(c->n * channels_of(c)), 1);
    o.shares = calloc((size_t)(c->n * channels_of(c)), sizeof *o.shares);
    o.labels = calloc((size_t)c->n, sizeof *o.labels);
    if (!o.shares || !o.coarse || !o.levels || !o.labels) exit(75);
    o.status = backend->appearance(o.shares, &o.stats, &c->in, &c->options, context, &o.error);
    o.onto = backend->appearance(o.coarse, &stats, &onto, &c->options, context, &o.error);
    if (o.onto == LOB_OK)
        o.onto = backend->appearance(o.levels, &stats, &c->in, &smoothed, context, &o.error);
    o.refined = backend->refine(o.labels, &o.counts, &c->refine_in, &c->refine, context, &o.error);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->shares);
    free(o->coarse);
    free(o->levels);
    free(o->labels);
}

static const char *differ(const appearance_case *c, const outcome *a, const outcome *b)
{
    const size_t n = (size_t)c->n;
    const size_t coarse = (size_t)(lob_voxels(&c->grid) * channels_of(c)) * sizeof(float);
    if (a->status != b->status || a->onto != b->onto || a->refined != b->refined) return "status";
    if (a->status != LOB_OK || a->onto != LOB_OK || a->refined != LOB_OK) return NULL;
    if (a->stats.slices != b->stats.slices || a->stats.axis != b->stats.axis) return "outlines";
    if (memcmp(a->shares, b->shares, n * (size_t)channels_of(c) * sizeof(float)) != 0)
        return "shares";
    if (memcmp(a->coarse, b->coarse, coarse) != 0) return "shares on another grid";
    if (memcmp(a->levels, b->levels, n * (size_t)channels_of(c)) != 0) return "levels";
    if (a->counts.pieces != b->counts.pieces || a->counts.changed != b->counts.changed)
        return "counts";
    return memcmp(a->labels, b->labels, n * sizeof *a->labels) != 0 ? "refined labels" : NULL;
}

static const char *make(void *of, uint64_t number)
{
    appearance_case *const c = of;
    appearance_case_make(c, number, MAX_VOXELS);
    return c->shape;
}

static void free_case(void *of)
{
    appearance_case_free(of);
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *computed)
{
    const appearance_case *const c = of;
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    *computed = want.status == LOB_OK && want.refined == LOB_OK;
    if (what)
        printf("appearance: cpu: %s; %s: %s\n", want.error.text, backend->name, got.error.text);
    outcome_free(&want);
    outcome_free(&got);
    return what;
}

const check_random check_appearance = {sizeof(appearance_case), make, differs, free_case,
                                       .repeated = 5};
