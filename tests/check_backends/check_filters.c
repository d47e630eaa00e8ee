/* Checks of the slot filter: random chains against the CPU byte by byte, whole, in slabs, unfused,
 * on arrays of the device, with little memory; and repeats. */
#include "tests/check_backends/check.h"

#include "kernels/filters/filter_stages.h"
#include "tests/reference/filters_case.h"

#include <stdio.h>
#include <string.h>

/* Every LIMITED-th case is also run with too little memory. */
enum { MAX_VOXELS = 30000, LIMITED = 4, BLOCKS = 5 };

typedef struct {
    lob_status status;
    lob_error error;
    lob_filter_output out;
} outcome;

static const struct {
    const char *what;
    lob_filter_tuning tuning;
} ways[] = {
    {"slabs as they come",               {.slab = 0}                      },
    {"all in one",                       {.slab = -1}                     },
    {"slabs of one position",            {.slab = 1}                      },
    {"slabs of five, every step a pass", {.slab = BLOCKS, .no_fuse = true}},
};

enum { WAYS = sizeof ways / sizeof *ways };

typedef struct {
    int ran, refused, in_slabs;
} tally;

static outcome run(const filters_case *c, const lob_filter_tuning *tuning,
                   const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    o.status = (context->device ? lob_filter_cuda_tuned : lob_filter_cpu_tuned)(
        &o.out, &c->in, &c->options, tuning, context, &o.error);
    return o;
}

static int compare(const filters_case *c, const char *way, const outcome *want, const outcome *got)
{
    const char *what = filters_case_differs(c, want->status, &want->out, got->status, &got->out);
    if (what)
        printf("filters: %s: with %s the %s differ (cpu: %s %s; device: %s %s)\n", c->shape, way,
               what, lob_status_text(want->status), want->error.text, lob_status_text(got->status),
               got->error.text);
    return what != NULL;
}

/* With half of the memory the same comes out of smaller slabs, or a line that names a size. */
static int check_limited(const filters_case *c, const outcome *want, int64_t bytes,
                         const lob_context *context, tally *sum)
{
    const lob_filter_tuning usual = {0};
    lob_context limited = *context;
    limited.max_memory = bytes / 2 + 1;
    outcome got = run(c, &usual, &limited);
    const bool refused = got.status == LOB_ENOMEM;
    int failures = refused ? strstr(got.error.text, "memory") == NULL
                           : compare(c, "half the memory", want, &got);
    if (!refused && got.out.working_bytes > limited.max_memory) failures++;
    if (failures) printf("filters: %s: with half the memory: %s\n", c->shape, got.error.text);
    sum->refused += refused;
    sum->in_slabs += !refused;
    lob_filter_output_free(&got.out);
    return failures;
}

static int check_case(const lob_context *context, uint64_t n, tally *sum)
{
    filters_case c;
    int failures = 0;
    int64_t bytes = 0;
    const lob_filter_tuning usual = {0};
    filters_case_make(&c, n, MAX_VOXELS);
    outcome want = run(&c, &usual, ON_CPU(context));
    sum->ran += want.status == LOB_OK;
    for (int k = 0; k < WAYS; k++) {
        outcome got = run(&c, &ways[k].tuning, context);
        failures += compare(&c, ways[k].what, &want, &got);
        if (k == 0) bytes = got.out.working_bytes;
        lob_filter_output_free(&got.out);
    }
    if (n % LIMITED == 0 && want.status == LOB_OK && failures == 0)
        failures += check_limited(&c, &want, bytes, context, sum);
    lob_filter_output_free(&want.out);
    filters_case_free(&c);
    return failures;
}

int check_filters_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n)
{
    int failures = 0;
    tally sum = {0};
    (void)backend;
    for (uint64_t i = first; i < first + n; i++) failures += check_case(context, i, &sum);
    printf("filters: %llu chains, %d of them ran, each in %d ways; with half the memory %d refused "
           "and %d in smaller slabs; %d failed\n",
           (unsigned long long)n, sum.ran, WAYS, sum.refused, sum.in_slabs, failures);
    return failures;
}

int check_filters_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    filters_case c;
    const lob_filter_tuning usual = {0};
    outcome want;
    int failures = 0;
    uint64_t n = 5000; /* the first case of some size */
    for (;; n++) {
        filters_case_make(&c, n, MAX_VOXELS);
        want = run(&c, &usual, ON_CPU(context));
        if (want.status == LOB_OK && lob_voxels(&c.image) > MAX_VOXELS / 2) break;
        lob_filter_output_free(&want.out);
        filters_case_free(&c);
    }
    (void)backend;
    for (int i = 0; i < repeats; i++) {
        const lob_filter_tuning tuning = {.slab = i % 3 ? 0 : BLOCKS};
        outcome got = run(&c, &tuning, context);
        failures += filters_case_differs(&c, want.status, &want.out, got.status, &got.out) != NULL;
        lob_filter_output_free(&got.out);
    }
    printf("filters: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    lob_filter_output_free(&want.out);
    filters_case_free(&c);
    return failures;
}
