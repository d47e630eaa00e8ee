/* Checks of segmenting from strokes: random scans against the CPU, byte by byte. */
#include "tests/check_backends/check.h"
#include "tests/reference/segment_case.h"

#include <stdio.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 24, LARGE = 16, LARGE_SIDE = 64 };

/* What differs between a backend's result and the CPU's, or NULL. */
static const char *differs(const segment_case *c, const lob_backend *backend,
                           const lob_context *context)
{
    lob_segment_output want = {.slice_count = 0}, got = {.slice_count = 0};
    lob_segment_plan plan;
    lob_error want_error = {.text = ""}, got_error = {.text = ""};
    const lob_status a =
        segment_case_run(&want, &plan, c, lob_backends[0], ON_CPU(context), &want_error);
    const lob_status b = segment_case_run(&got, &plan, c, backend, context, &got_error);
    const char *what = NULL;
    if (a != b) {
        what = "status";
        printf("segment: %s: CPU: %d %s; %s: %d %s\n", c->shape, (int)a, want_error.text,
               backend->name, (int)b, got_error.text);
    } else if (a == LOB_OK) {
        what = segment_case_differs(&want, &got);
    }
    lob_segment_output_free(&want);
    lob_segment_output_free(&got);
    return what;
}

int check_segment_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n)
{
    int failures = 0;
    for (uint64_t i = first; i < first + n; i++) {
        segment_case c;
        segment_case_make(&c, i, i % LARGE ? SIDE : LARGE_SIDE);
        const char *const what = differs(&c, backend, context);
        if (what) {
            failures++;
            printf("segment: %s: %s differ\n", c.shape, what);
        }
        segment_case_free(&c);
    }
    printf("segment: %llu cases, %d differ\n", (unsigned long long)n, failures);
    return failures;
}

int check_segment_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    segment_case c;
    int failures = 0;
    segment_case_make(&c, 48, LARGE_SIDE);
    for (int i = 0; i < repeats; i++) failures += differs(&c, backend, context) != NULL;
    printf("segment: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    segment_case_free(&c);
    return failures;
}
