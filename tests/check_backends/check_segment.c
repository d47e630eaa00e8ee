/* Checks of segmenting from strokes: random scans against the CPU, byte by byte. */
#include "tests/check_backends/check.h"
#include "tests/reference/segment_case.h"

#include <stdio.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 24, LARGE = 16, LARGE_SIDE = 64 };

static const char *make(void *of, uint64_t number)
{
    segment_case *const c = of;
    segment_case_make(c, number, number % LARGE ? SIDE : LARGE_SIDE);
    return c->shape;
}

static void free_case(void *of)
{
    segment_case_free(of);
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *segmented)
{
    const segment_case *const c = of;
    lob_context limited = *context; /* with a limit refining gives up what it can */
    if (c->image.dims.nx % 2) limited.max_memory = (int64_t)1 << 40;
    lob_segment_output want = {.slice_count = 0}, got = {.slice_count = 0};
    lob_segment_plan plan;
    lob_error want_error = {.text = ""}, got_error = {.text = ""};
    const lob_status a =
        segment_case_run(&want, &plan, c, lob_backends[0], ON_CPU(context), &want_error);
    const lob_status b = segment_case_run(&got, &plan, c, backend, &limited, &got_error);
    const char *what = NULL;
    *segmented = a == LOB_OK;
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

const check_random check_segment = {sizeof(segment_case), make, differs, free_case, .repeated = 48};
