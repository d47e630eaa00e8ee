/* Checks of the Gaussian steps of the slot filter: random images against the CPU byte by byte. */
#include "tests/check_backends/check.h"

#include "tests/reference/gaussian_case.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VOXELS = 150000 };

typedef struct {
    lob_status status;
    lob_error error;
    lob_filter_output out;
} outcome;

static outcome run(const lob_backend *backend, const gaussian_case *c, const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    o.status = backend->filter(&o.out, &c->in, &c->options, context, &o.error);
    return o;
}

/* Run the case so many times on the device, once on the CPU; returns how many runs differ. */
static int compare(const lob_backend *backend, const gaussian_case *c, int times,
                   const lob_context *context)
{
    int failures = 0;
    const size_t bytes = (size_t)(lob_voxels(&c->image) * c->image.channels) * sizeof(float);
    outcome want = run(lob_backends[0], c, ON_CPU(context));
    for (int i = 0; i < times; i++) {
        outcome got = run(backend, c, context);
        const bool same =
            want.status == got.status &&
            (want.status != LOB_OK || (want.out.not_data == got.out.not_data &&
                                       memcmp(want.out.data, got.out.data, bytes) == 0));
        if (!same)
            printf("gaussian: %s: differs (cpu: %s %s; device: %s %s)\n", c->shape,
                   lob_status_text(want.status), want.error.text, lob_status_text(got.status),
                   got.error.text);
        failures += !same;
        lob_filter_output_free(&got.out);
    }
    lob_filter_output_free(&want.out);
    return failures;
}

int check_gaussian_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                         uint64_t n)
{
    int failures = 0;
    for (uint64_t k = first; k < first + n; k++) {
        gaussian_case c;
        gaussian_case_make(&c, k, MAX_VOXELS, k % 2);
        failures += compare(backend, &c, 1, context);
        gaussian_case_free(&c);
    }
    printf("gaussian: %s: %llu cases, %d differ\n", backend->name, (unsigned long long)n, failures);
    return failures;
}

int check_gaussian_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    static const uint64_t numbers[] = {3, 11, 24};
    int failures = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        gaussian_case c;
        gaussian_case_make(&c, numbers[i], MAX_VOXELS, true);
        failures += compare(backend, &c, repeats, context);
        gaussian_case_free(&c);
    }
    printf("gaussian: %s: %d repeats, %d differ\n", backend->name, repeats, failures);
    return failures;
}
