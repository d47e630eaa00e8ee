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

static int check_case(const lob_backend *backend, const lob_context *context,
                      const appearance_case *c, int *computed)
{
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    *computed += want.status == LOB_OK && want.refined == LOB_OK;
    if (what)
        printf("appearance: %s: %s differ (cpu: %s; %s: %s)\n", c->shape, what, want.error.text,
               backend->name, got.error.text);
    outcome_free(&want);
    outcome_free(&got);
    return what != NULL;
}

int check_appearance_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n)
{
    int failures = 0, computed = 0;
    for (uint64_t i = first; i < first + n; i++) {
        appearance_case c;
        appearance_case_make(&c, i, MAX_VOXELS);
        failures += check_case(backend, context, &c, &computed);
        appearance_case_free(&c);
    }
    printf("appearance: %llu cases, %d of them computed, %d differ\n", (unsigned long long)n,
           computed, failures);
    return failures;
}

int check_appearance_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    appearance_case c;
    int failures = 0;
    appearance_case_make(&c, 5, MAX_VOXELS);
    outcome want = run(lob_backends[0], &c, ON_CPU(context));
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        outcome_free(&got);
    }
    printf("appearance: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    outcome_free(&want);
    appearance_case_free(&c);
    return failures;
}
