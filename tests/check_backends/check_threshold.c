/*
 * Checks of the threshold slot, and of percentiles and denoising: random volumes against the CPU,
 * byte by byte, and repeats.
 */
#include "tests/check_backends/check.h"

#include "tests/reference/threshold_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LARGE-th case has more voxels than the others, so that blocks have several items. */
enum { MAX_VOXELS = 20000, LARGE = 16, LARGE_VOXELS = 400000 };

typedef struct {
    lob_status status;
    lob_error error;
    uint8_t *labels;
    lob_threshold_stats stats;
} outcome;

static outcome run(const lob_backend *backend, const threshold_case *c, const lob_context *context)
{
    const lob_threshold_input in = {&c->image, c->mask};
    outcome o = {.error = {.text = ""}, .labels = calloc((size_t)c->n, 1)};
    if (!o.labels) exit(75);
    o.status = backend->threshold(o.labels, &o.stats, &in, &c->options, context, &o.error);
    return o;
}

static const char *differ(const threshold_case *c, const outcome *a, const outcome *b)
{
    const size_t n = (size_t)a->stats.thresholds * sizeof *a->stats.threshold;
    if (a->status != b->status) return "status";
    if (strcmp(a->error.text, b->error.text) != 0) return "messages";
    if (a->status != LOB_OK) return NULL;
    if (a->stats.thresholds != b->stats.thresholds) return "numbers of thresholds";
    if (memcmp(a->stats.threshold, b->stats.threshold, n) != 0) return "thresholds";
    if (memcmp(&a->stats.separability, &b->stats.separability, sizeof(double)) != 0)
        return "separabilities";
    return memcmp(a->labels, b->labels, (size_t)c->n) != 0 ? "labels" : NULL;
}

static int check_threshold(const lob_backend *backend, const lob_context *context,
                           const threshold_case *c, int *computed)
{
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    *computed += want.status == LOB_OK;
    if (what)
        printf("threshold: %s: %s differ (cpu: %s %s; %s: %s %s)\n", c->shape, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    free(want.labels);
    free(got.labels);
    return what != NULL;
}

static int check_denoise(const lob_backend *backend, const lob_context *context,
                         const threshold_case *c)
{
    const lob_filter_input in = {&c->image, c->mask, &c->denoise, 1};
    lob_filter_output want, got;
    lob_error error = {.text = ""};
    const char *what = NULL;
    if (lob_backends[0]->filter(&want, &in, &c->filter, ON_CPU(context), &error) != LOB_OK) {
        printf("denoise: %s: on the CPU: %s\n", c->shape, error.text);
        return 1;
    }
    const lob_status st = backend->filter(&got, &in, &c->filter, context, &error);
    if (st != LOB_OK)
        what = error.text;
    else if (memcmp(&want.noise[0], &got.noise[0], sizeof(double)) != 0)
        what = "noises differ";
    else if (memcmp(want.data, got.data, (size_t)c->n * sizeof(float)) != 0)
        what = "voxels differ";
    if (what) printf("denoise: %s: %s\n", c->shape, what);
    if (st == LOB_OK) lob_filter_output_free(&got);
    lob_filter_output_free(&want);
    return what != NULL;
}

int check_threshold_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                          uint64_t n)
{
    int failures = 0, denoise_failures = 0, computed = 0;
    uint64_t denoised = 0;
    for (uint64_t i = first; i < first + n; i++) {
        threshold_case c;
        threshold_case_make(&c, i, i % LARGE ? MAX_VOXELS : LARGE_VOXELS);
        failures += check_threshold(backend, context, &c, &computed);
        if (i % 2 == 0 || i % LARGE == 1) {
            denoise_failures += check_denoise(backend, context, &c);
            denoised++;
        }
        threshold_case_free(&c);
    }
    printf("threshold: %llu cases, %d of them labelled, %d differ\n", (unsigned long long)n,
           computed, failures);
    printf("denoise: %llu cases, %d differ\n", (unsigned long long)denoised, denoise_failures);
    return failures + denoise_failures;
}

int check_threshold_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    threshold_case c;
    int failures = 0;
    threshold_case_make(&c, 1600, LARGE_VOXELS);
    c.options.kind = LOB_THRESHOLD_OTSU;
    c.options.classes = 3;
    outcome want = run(lob_backends[0], &c, ON_CPU(context));
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        free(got.labels);
    }
    printf("threshold: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    free(want.labels);
    threshold_case_free(&c);
    return failures;
}
