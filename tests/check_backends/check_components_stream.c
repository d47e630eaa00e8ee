/* Components slab by slab on a backend, and by three ranks that share its GPU, against the CPU on
 * the volume in one piece. */
#include "kernels/device/device.h"
#include "kernels/phantom/phantom_random.h"
#include "kernels/team/team.h"
#include "tests/check_backends/check.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_slabs.h"
#include "volumes/clock.h"

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

/* ---- three ranks ---- */

enum { RANKS = 3 };

/* A rank's letters, and the seconds in which it sends, waits for and takes them. */
typedef struct {
    lob_post *post;
    void *user;
    double seconds;
} timed_post;

static lob_status post_timed(void *user, const lob_letter *letters, int count, lob_error *error)
{
    timed_post *const t = user;
    const double start = lob_clock_s();
    const lob_status st = t->post(t->user, letters, count, error);
    t->seconds += lob_clock_s() - start;
    return st;
}

typedef struct {
    const components_case *c;
    const lob_backend *backend;
    const lob_context *context; /* of each rank, with a lob_device of its own */
    int64_t planes;             /* of a slab */
    uint8_t *labels;            /* of the whole volume */
    lob_components_output out;  /* of rank 0 */
    lob_status status;
    lob_error error;
    timed_post posts[RANKS];
    int64_t sent[RANKS]; /* bytes */
} shared_case;

static void work(lob_team *team, void *user)
{
    shared_case *const w = user;
    components_slabs t = components_slabs_of(w->c);
    lob_components_output got;
    lob_error error = {.text = ""};
    int64_t first, end;
    timed_post *const post = &w->posts[team->rank];
    *post = (timed_post){.post = team->post, .user = team->user};
    team->post = post_timed;
    team->user = post;
    t.team = team;
    lob_status st = components_slabs_run(&got, &t, w->planes, w->backend->components,
                                         &w->context[team->rank], &error);
    st = lob_team_agree(team, st, &error);
    w->sent[team->rank] = team->sent;
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

/*
 * What letters cost: one fixed volume of noise, whose components cross seams in many places, by
 * one rank and by all. A rank that waits for the other, as both share one GPU, counts that too.
 */
static void tell_costs(const lob_backend *backend, const lob_context *context)
{
    enum { SIDE = 384, SLAB = 64, TIMES = 5 };
    components_case c = {.image = lob_volume_empty(), .intensities = lob_volume_empty()};
    c.n = (int64_t)SIDE * SIDE * SIDE;
    c.image.dims = (lob_dims){SIDE, SIDE, SIDE};
    c.image.data = malloc((size_t)c.n);
    c.options = lob_components_defaults();
    c.options.regions = true;
    for (int64_t i = 0; c.image.data && i < c.n; i++)
        ((uint8_t *)c.image.data)[i] =
            random_bits(23, (uint64_t)i) >> 40 < (uint64_t)(0.3116 * (1 << 24));
    c.in.image = &c.image;
    for (int ranks = 1; c.image.data && ranks <= RANKS; ranks += RANKS - 1) {
        double least = 0, shares[RANKS] = {0};
        shared_case w = {.c = &c, .backend = backend, .context = context, .planes = SLAB};
        w.labels = malloc((size_t)c.n * sizeof(int32_t));
        for (int i = 0; w.labels && i < TIMES; i++) {
            const double start = lob_clock_s();
            if (lob_team_threads(ranks, work, &w) != LOB_OK || w.status != LOB_OK) break;
            const double took = lob_clock_s() - start;
            lob_components_output_free(&w.out);
            if (i > 0 && took >= least) continue;
            least = took;
            for (int r = 0; r < ranks; r++) shares[r] = 100 * w.posts[r].seconds / took;
        }
        printf("components of %d^3, noise, ranks: %d: %.1f ms; in letters %.1f and %.1f %%; sent "
               "%lld and %lld bytes\n",
               SIDE, ranks, 1e3 * least, shares[0], shares[RANKS - 1], (long long)w.sent[0],
               (long long)w.sent[RANKS - 1]);
        free(w.labels);
    }
    components_case_free(&c);
}

/* A context for each rank, of which the first has the GPU as it is. */
static lob_status open_again(lob_context *of, const lob_context *context, lob_error *error)
{
    char choice[32];
    for (int r = 0; r < RANKS; r++) of[r] = *context;
    if (!context->device) return LOB_OK;
    snprintf(choice, sizeof choice, "cuda:%d", lob_device_number(context->device));
    for (int r = 1; r < RANKS; r++) LOB_TRY(lob_device_open(&of[r].device, choice, error));
    return LOB_OK;
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
        printf("components by ranks: %s\n", error.text);
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
            if (what) tell("by ranks", some[k], &c, what, st, &error);
            failures += what != NULL;
            shared++;
        }
        lob_components_output_free(&want);
        components_case_free(&c);
    }
    if (n >= CHECK_MANY / 4) tell_costs(backend, of);
    for (int r = 1; r < RANKS; r++)
        if (of[r].device != context->device) lob_device_close(of[r].device);
    printf("components in slabs: %llu cases, %d runs, %d more by ranks, %d differ\n",
           (unsigned long long)n, runs, shared, failures);
    return failures;
}
