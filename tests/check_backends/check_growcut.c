/* Checks of the growcut slot: random cases against the CPU byte by byte, and repeats. */
#include "tests/check_backends/check_growcut.h"

#include "tests/reference/growcut_case.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SIDE = 41 };

/* What one run came to. */
typedef struct {
    lob_status status;
    lob_error error;
    lob_growcut_output out;
    lob_growcut_stats stats;
} outcome;

static outcome run(const lob_backend *backend, const growcut_case *c, const lob_context *context)
{
    outcome o = {.out = growcut_output_make(c)};
    o.status = backend->growcut(&o.out, &o.stats, &c->in, &c->options, context, &o.error);
    return o;
}

static const char *stats_differ(const lob_growcut_stats *a, const lob_growcut_stats *b)
{
    return a->data_voxels != b->data_voxels       ? "data voxels"
           : a->not_finite != b->not_finite       ? "voxels that are not finite"
           : a->seeds != b->seeds                 ? "seeds"
           : a->seeds_outside != b->seeds_outside ? "seeds outside"
           : a->reached != b->reached             ? "voxels reached"
           : a->ties != b->ties                   ? "ties"
           : a->key_bits != b->key_bits           ? "key bits"
           : memcmp(&a->largest_cost, &b->largest_cost, sizeof a->largest_cost) ? "largest cost"
           : memcmp(&a->level_step, &b->level_step, sizeof a->level_step)       ? "level step"
                                                                                : NULL;
}

/* What differs between two outcomes, or NULL. */
static const char *differ(const growcut_case *c, const outcome *a, const outcome *b)
{
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    const char *array = growcut_output_differs(c, &a->out, &b->out);
    return array ? array : stats_differ(&a->stats, &b->stats);
}

static int check_case(const lob_backend *backend, const lob_context *context, uint64_t n,
                      int *worked)
{
    growcut_case c;
    const lob_context cpu = {.threads = context->threads};
    growcut_case_make(&c, n, GROWCUT_ANY_CALL, MOST_SIDE);
    outcome want = run(lob_backends[0], &c, &cpu), got = run(backend, &c, context);
    const char *what = differ(&c, &want, &got);
    *worked += want.status == LOB_OK;
    if (what)
        printf("growcut: %s: %s differ (cpu: %s %s; %s: %s %s)\n", c.shape, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    growcut_output_free(&want.out);
    growcut_output_free(&got.out);
    growcut_case_free(&c);
    return what != NULL;
}

int check_growcut_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n)
{
    int failures = 0, worked = 0;
    for (uint64_t i = first; i < first + n; i++)
        failures += check_case(backend, context, i, &worked);
    printf("growcut: %llu cases, %d of them grown, %d differ\n", (unsigned long long)n, worked,
           failures);
    return failures;
}

int check_growcut_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    growcut_case c;
    outcome want;
    const lob_context cpu = {.threads = context->threads};
    int failures = 0;
    uint64_t n = 1000; /* the first case of some size that grows over most of its voxels */
    for (;; n++) {
        growcut_case_make(&c, n, GROWCUT_ANY_CALL, MOST_SIDE);
        want = run(lob_backends[0], &c, &cpu);
        if (want.status == LOB_OK && c.n > 8000 && want.stats.reached > c.n / 2) break;
        growcut_output_free(&want.out);
        growcut_case_free(&c);
    }
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        growcut_output_free(&got.out);
    }
    printf("growcut: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    growcut_output_free(&want.out);
    growcut_case_free(&c);
    return failures;
}
