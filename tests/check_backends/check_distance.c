/* Checks of the distance and morphology slots: random labels against the CPU, byte by byte. */
#include "tests/check_backends/check.h"

#include "tests/reference/distance_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VOXELS = 200000, HOWS = LOB_MORPHOLOGY_CLOSE + 1 };

/* What a backend gave. */
typedef struct {
    lob_status status;
    lob_error error;
    float *distance;
    void *feature;
} outcome;

static outcome run(const lob_backend *backend, const distance_case *c, const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    const size_t n = (size_t)c->n;
    if (c->distance) o.distance = calloc(n, sizeof *o.distance);
    if (c->feature) o.feature = calloc(n, lob_type_of(c->in.type)->bytes);
    if ((c->distance && !o.distance) || (c->feature && !o.feature)) exit(75);
    const lob_distance_output out = {o.distance, o.feature};
    o.status = backend->distance(&out, &c->in, &c->options, context, &o.error);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->distance);
    free(o->feature);
}

static const char *differ(const distance_case *c, const outcome *a, const outcome *b)
{
    const size_t n = (size_t)c->n;
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    if (c->distance && memcmp(a->distance, b->distance, n * sizeof(float)) != 0) return "distances";
    if (c->feature && memcmp(a->feature, b->feature, n * lob_type_of(c->in.type)->bytes) != 0)
        return "nearest labels";
    return NULL;
}

/* Also with the output over the input. */
static bool same_morphology(const lob_backend *backend, const lob_context *context,
                            const distance_case *c)
{
    const size_t bytes = (size_t)c->n * lob_type_of(c->in.type)->bytes;
    const lob_morphology how = (lob_morphology)(c->number % HOWS);
    const double radius = isfinite(c->options.max) ? c->options.max : 3;
    lob_error error = {.text = ""};
    void *const want = malloc(bytes), *const got = malloc(bytes);
    if (!want || !got) exit(75);
    lob_morphology_input in = {.labels = c->labels, .type = c->in.type, .dims = c->in.dims};
    memcpy(in.spacing, c->in.spacing, sizeof in.spacing);
    lob_status st = lob_morphology_cpu(want, &in, how, radius, ON_CPU(context), &error);
    const lob_status first = st;
    memcpy(got, c->labels, bytes);
    in.labels = got;
    if (st == LOB_OK) st = backend->morphology(got, &in, how, radius, context, &error);
    const bool same = st == first && (st != LOB_OK || memcmp(want, got, bytes) == 0);
    if (!same) printf("morphology: how %d: %s\n", (int)how, error.text);
    free(want);
    free(got);
    return same;
}

static const char *make(void *of, uint64_t number)
{
    distance_case *const c = of;
    distance_case_make(c, number, MAX_VOXELS);
    return c->shape;
}

static void free_case(void *of)
{
    distance_case_free(of);
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *done)
{
    const distance_case *const c = of;
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    *done = want.status == LOB_OK;
    if (what) printf("distance: %s\n", got.error.text);
    if (!what && !same_morphology(backend, context, c)) what = "labels of morphology";
    outcome_free(&want);
    outcome_free(&got);
    return what;
}

/* The case is large, and asks for nearest labels. */
const check_random check_distance = {sizeof(distance_case), make, differs, free_case,
                                     .repeated = 5004};
