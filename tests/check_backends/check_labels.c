/* Label steps of every backend against the CPU: random chains, repeats, less memory. */
#include "tests/check_backends/check.h"
#include "tests/reference/labels_case.h"
#include "tests/reference/labels_reference.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VOXELS = 60000, LIMITED = 5 }; /* every so many cases are run with less memory too */

typedef struct {
    lob_status status;
    lob_error error;
    lob_labels_output result;
} outcome;

static outcome run(const lob_backend *backend, const labels_case *c, const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    o.status = backend->labels(&o.result, &c->in, &c->options, context, &o.error);
    return o;
}

static const char *differ(const labels_case *c, const outcome *a, const outcome *b)
{
    if (a->status != b->status) return "status";
    return a->status == LOB_OK ? labels_result_differs(&a->result, &b->result, &c->in) : NULL;
}

/* What balls take is not reported. */
static bool has_balls(const labels_case *c)
{
    for (int i = 0; i < c->in.step_count; i++)
        if (c->in.steps[i].kind >= LOB_LABELS_ERODE) return true;
    return false;
}

/* With what it took a case gives the same; with less, the same or a refusal. Returns what is wrong.
 */
static const char *check_limited(const lob_backend *backend, const labels_case *c,
                                 const outcome *want, const lob_context *context, int *refused)
{
    lob_context limited = *context;
    const char *wrong = NULL;
    for (int i = has_balls(c); i < 2 && !wrong; i++) {
        limited.max_memory = i == 0 ? want->result.working_bytes : c->n / 2 + 1;
        outcome got = run(backend, c, &limited);
        const bool no = got.status == LOB_ENOMEM;
        *refused += no;
        if (no && i == 0)
            wrong = "it is refused what it took";
        else if (no && !got.error.text[0])
            wrong = "it is refused without a word";
        else if (!no)
            wrong = differ(c, want, &got);
        lob_labels_output_free(&got.result);
    }
    return wrong;
}

int check_labels_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                       uint64_t n)
{
    int failures = 0, computed = 0, refused = 0;
    for (uint64_t i = first; i < first + n; i++) {
        labels_case c;
        labels_case_make(&c, i, i % 10 ? MAX_VOXELS / 10 : MAX_VOXELS);
        outcome want = run(lob_backends[0], &c, ON_CPU(context)), got = run(backend, &c, context);
        const char *what = differ(&c, &want, &got);
        if (!what && i % LIMITED == 0 && got.status == LOB_OK)
            what = check_limited(backend, &c, &got, context, &refused);
        if (what)
            printf("labels: %s: %s (cpu: %s %s; %s: %s %s)\n", c.shape, what,
                   lob_status_text(want.status), want.error.text, backend->name,
                   lob_status_text(got.status), got.error.text);
        computed += want.status == LOB_OK;
        failures += what != NULL;
        lob_labels_output_free(&want.result);
        lob_labels_output_free(&got.result);
        labels_case_free(&c);
    }
    printf("labels: %llu cases, %d of them computed; short of memory %d were refused; %d differ\n",
           (unsigned long long)n, computed, refused, failures);
    return failures;
}

int check_labels_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    labels_case c;
    outcome want;
    int failures = 0;
    for (uint64_t n = 1000;; n++) { /* the first case of some size in which labels stay */
        labels_case_make(&c, n, MAX_VOXELS);
        want = run(lob_backends[0], &c, ON_CPU(context));
        if (want.status == LOB_OK && c.n > MAX_VOXELS / 2 && want.result.count > 2 &&
            c.in.step_count == LABELS_CASE_STEPS)
            break;
        lob_labels_output_free(&want.result);
        labels_case_free(&c);
    }
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        lob_labels_output_free(&got.result);
    }
    printf("labels: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    lob_labels_output_free(&want.result);
    labels_case_free(&c);
    return failures;
}
