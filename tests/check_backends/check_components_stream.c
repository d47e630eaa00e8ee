/* Components slab by slab on a backend against the CPU on the volume in one piece. */
#include "tests/check_backends/check.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_slabs.h"

#include <stdio.h>

/* Returns what differs, or NULL. */
static const char *slabs_differ(const components_case *c, const lob_backend *backend,
                                const lob_context *context, int64_t planes,
                                const lob_components_output *want, lob_status expected,
                                lob_error *error)
{
    components_slabs t = components_slabs_of(c);
    lob_components_output got;
    const lob_status st =
        components_slabs_run(&got, &t, planes, backend->components, context, error);
    const char *what = st != expected ? "status" : NULL;
    if (st == LOB_OK && !what) {
        got.labels = t.labels;
        what = components_result_differs(&got, want, c->n);
        got.labels = NULL;
    }
    lob_components_output_free(&got);
    components_slabs_free(&t);
    return what;
}

int check_components_slabs(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n)
{
    enum { MAX_VOXELS = 20000 };
    int failures = 0, runs = 0;
    for (uint64_t i = first; i < first + n; i++) {
        components_case c;
        components_case_make(&c, i, MAX_VOXELS);
        c.options.fill_holes = false; /* needs the whole volume */
        lob_components_output want;
        lob_error error = {.text = ""};
        const lob_status st = lob_components_cpu(&want, &c.in, &c.options, ON_CPU(context), &error);
        const int64_t nz = c.image.dims.nz, some[] = {1, nz / 3 + 1, nz};
        for (size_t k = 0; k < sizeof some / sizeof *some; k++, runs++) {
            const char *what = slabs_differ(&c, backend, context, some[k], &want, st, &error);
            if (what)
                printf("components in slabs of %lld planes: %s: %s differ (cpu: %s; %s)\n",
                       (long long)some[k], c.shape, what, lob_status_text(st), error.text);
            failures += what != NULL;
        }
        lob_components_output_free(&want);
        components_case_free(&c);
    }
    printf("components in slabs: %llu cases, %d runs, %d differ\n", (unsigned long long)n, runs,
           failures);
    return failures;
}
