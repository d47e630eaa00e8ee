/* Label steps of every backend against the CPU: random chains, repeats, less memory. */
#include "tests/check_backends/check.h"
#include "tests/reference/labels_case.h"

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
                                 const outcome *want, const lob_context *context)
{
    lob_context limited = *context;
    const char *wrong = NULL;
    for (int i = has_balls(c); i < 2 && !wrong; i++) {
        limited.max_memory = i == 0 ? want->result.working_bytes : c->n / 2 + 1;
        outcome got = run(backend, c, &limited);
        const bool no = got.status == LOB_ENOMEM;
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

static const char *make(void *of, uint64_t number)
{
    labels_case *const c = of;
    labels_case_make(c, number, number % 10 ? MAX_VOXELS / 10 : MAX_VOXELS);
    return c->shape;
}

static void free_case(void *of)
{
    labels_case_free(of);
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *computed)
{
    const labels_case *const c = of;
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    *computed = want.status == LOB_OK;
    if (!what && c->number % LIMITED == 0 && got.status == LOB_OK)
        what = check_limited(backend, c, &got, context);
    if (what)
        printf("labels: cpu: %s %s; %s: %s %s\n", lob_status_text(want.status), want.error.text,
               backend->name, lob_status_text(got.status), got.error.text);
    lob_labels_output_free(&want.result);
    lob_labels_output_free(&got.result);
    return what;
}

/* The case is large, has all steps, and labels stay. */
const check_random check_labels = {sizeof(labels_case), make, differs, free_case, .repeated = 1090};
