/* Components slab by slab on a backend, and by two ranks that share its GPU, against the CPU on the
 * volume in one piece. */
#include "kernels/device/device.h"
#include "kernels/team/team.h"
#include "tests/check_backends/check.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_slabs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- two ranks ---- */

enum { RANKS = 2 };

typedef struct {
    const components_case *c;
    const lob_backend *backend;
    const lob_context *context; /* of each rank, with a lob_device of its own */
    int64_t planes;             /* of a slab */
    uint8_t *labels;            /* of the whole volume */
    lob_components_output out;  /* of rank 0 */
    lob_status status;
    lob_error error;
} shared_case;

static void work(lob_team *team, void *user)
{
    shared_case *const w = user;
    components_slabs t = components_slabs_of(w->c);
    lob_components_output got;
    lob_error error = {.text = ""};
    int64_t first, end;
    t.team = team;
    lob_status st = components_slabs_run(&got, &t, w->planes, w->backend->components,
                                         &w->context[team->rank], &error);
    st = lob_team_agree(team, st, &error);
    lob_team_planes(&first, &end, team, team->rank, w->c->image.dims.nz);
    const lob_dims dims = w->c->image.dims;
    const size_t plane = (size_t)(dims.nx * dims.ny) * lob_type_of(t.type)->bytes;
    if (st == LOB_OK)
        memcpy(w->labels + (size_t)first * plane, t.labels + (size_t)first * plane,
               (size_t)(end - first) * plane);
    if (team->rank == 0) {
        w->out = got;
        w->status = st;
        w->error = error;
    } else {
        lob_components_output_free(&got);
    }
    components_slabs_free(&t);
}

/* Returns what differs, or NULL. */
static const char *ranks_differ(const components_case *c, const lob_backend *backend,
                                const lob_context *context, int64_t planes,
                                const lob_components_output *want, lob_status expected,
                                lob_error *error)
{
    shared_case w = {.c = c, .backend = backend, .context = context, .planes = planes};
    w.labels = malloc((size_t)c->n * sizeof(int32_t));
    const char *what = w.labels && lob_team_threads(RANKS, work, &w) == LOB_OK ? NULL : "memory";
    if (!what && w.status != expected) what = "status";
    if (!what && w.status == LOB_OK) {
        w.out.labels = w.labels;
        what = components_result_differs(&w.out, want, c->n);
        w.out.labels = NULL;
    }
    *error = w.error;
    lob_components_output_free(&w.out);
    free(w.labels);
    return what;
}

/* A context for each rank, of which the first has the GPU as it is. */
static lob_status open_again(lob_context *of, const lob_context *context, lob_error *error)
{
    char choice[32];
    of[0] = of[1] = *context;
    if (!context->device) return LOB_OK;
    snprintf(choice, sizeof choice, "cuda:%d", lob_device_number(context->device));
    return lob_device_open(&of[1].device, choice, error);
}

/* ---- cases ---- */

static void tell(const char *how, int64_t planes, const components_case *c, const char *what,
                 lob_status expected, const lob_error *error)
{
    printf("components %s, slabs of %lld planes: %s: %s differ (cpu: %s; %s)\n", how,
           (long long)planes, c->shape, what, lob_status_text(expected), error->text);
}

int check_components_slabs(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n)
{
    enum { MAX_VOXELS = 20000 };
    int failures = 0, runs = 0, shared = 0;
    lob_context of[RANKS];
    lob_error error = {.text = ""};
    if (open_again(of, context, &error) != LOB_OK) {
        printf("components by two ranks: %s\n", error.text);
        return 1;
    }
    for (uint64_t i = first; i < first + n; i++) {
        components_case c;
        components_case_make(&c, i, MAX_VOXELS);
        c.options.fill_holes = false; /* needs the whole volume */
        lob_components_output want;
        const lob_status st = lob_components_cpu(&want, &c.in, &c.options, ON_CPU(context), &error);
        const int64_t nz = c.image.dims.nz, some[] = {1, nz / 3 + 1, nz};
        for (size_t k = 0; k < sizeof some / sizeof *some; k++, runs++) {
            const char *what = slabs_differ(&c, backend, context, some[k], &want, st, &error);
            if (what) tell("by one", some[k], &c, what, st, &error);
            failures += what != NULL;
            if (nz < RANKS) continue;
            what = ranks_differ(&c, backend, of, some[k], &want, st, &error);
            if (what) tell("by two", some[k], &c, what, st, &error);
            failures += what != NULL;
            shared++;
        }
        lob_components_output_free(&want);
        components_case_free(&c);
    }
    if (of[1].device != context->device) lob_device_close(of[1].device);
    printf("components in slabs: %llu cases, %d runs, %d more by two ranks, %d differ\n",
           (unsigned long long)n, runs, shared, failures);
    return failures;
}
