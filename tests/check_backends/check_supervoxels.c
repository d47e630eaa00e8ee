/* Checks of the supervoxels slot: random cases against the CPU byte by byte, and repeats. A GPU
 * runs each a second time on the paths that otherwise only large volumes and many pieces take. */
#include "tests/check_backends/check.h"

#include "tests/reference/supervoxels_team.h"

#ifdef LOB_WITH_CUDA
#include "kernels/supervoxels/supervoxels_tuning.h"
#include "tests/check_backends/bench.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fixed cases of more voxels than LARGE are large ones: see CHECK_MANY. */
enum { MAX_SIDE = 41, REPEATED_VOXELS = 8000, LARGE = 40000 };

/* One run. */
typedef struct {
    lob_status status;
    lob_error error;
    lob_supervoxels_stats stats;
    int32_t *labels;
} outcome;

static outcome run(const lob_backend *backend, const supervoxels_case *c,
                   const lob_context *context)
{
    outcome o = {.labels = malloc((size_t)c->n * sizeof *o.labels)};
    if (!o.labels) exit(75);
    memset(o.labels, 0xa5, (size_t)c->n * sizeof *o.labels);
    o.status = backend->supervoxels(o.labels, &o.stats, &c->in, &c->options, context, &o.error);
    return o;
}

/* What differs between two outcomes, or NULL. */
static const char *differ(const supervoxels_case *c, const outcome *a, const outcome *b)
{
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    if (!supervoxels_stats_equal(&a->stats, &b->stats)) return "statistics";
    return memcmp(a->labels, b->labels, (size_t)c->n * sizeof *a->labels) ? "labels" : NULL;
}

#ifdef LOB_WITH_CUDA
/*
 * The paths of large volumes (culled warp tiles) and of many pieces (no list of contacts, or one
 * that is too short), with labels whose address is not that of an allocation.
 */
static outcome run_as_large(const supervoxels_case *c, const lob_context *context)
{
    const lob_supervoxels_tuning tuning = {.culled = c->options.method == LOB_SLIC,
                                           .max_contacts = c->n % 2 ? -1 : 1};
    const lob_volume *image = c->in.image;
    const size_t labels = (size_t)c->n * sizeof(int32_t),
                 moved = c->n / 2 % 2 ? sizeof(int32_t) : 0;
    const size_t stored = (size_t)c->n * (size_t)image->channels * lob_type_of(image->type)->bytes;
    void *device_image = bench_to_device(image->data, stored);
    void *device_labels = bench_to_device(NULL, labels + moved);
    uint8_t *device_mask = c->in.mask ? bench_to_device(c->in.mask, (size_t)c->n) : NULL;
    outcome o = {.labels = malloc(labels)};
    if (!o.labels) exit(75);
    int32_t *const at = (int32_t *)((unsigned char *)device_labels + moved);
    const lob_volume there = bench_there(context, image, device_image);
    const lob_supervoxels_input in = {&there, device_mask, there.place};
    o.status = lob_supervoxels_cuda_tuned(at, &o.stats, &in, &c->options, c->image.dims.nz, NULL,
                                          &tuning, context, &o.error);
    if (o.status == LOB_OK) bench_download(o.labels, at, labels);
    cudaFree(device_image);
    cudaFree(device_mask);
    cudaFree(device_labels);
    return o;
}
#endif

static void print_outcome(const char *who, const outcome *o)
{
    const lob_supervoxels_stats *s = &o->stats;
    printf("  %s: %s %s; %lld supervoxels of %lld pieces, %lld data voxels, %lld not finite, %d "
           "iterations\n",
           who, lob_status_text(o->status), o->error.text, (long long)s->supervoxels,
           (long long)s->fragments, (long long)s->data_voxels, (long long)s->not_finite,
           s->iterations);
}

/* Compares a run, and frees its labels. */
static int compare(const supervoxels_case *c, const outcome *want, outcome *got, const char *who)
{
    const char *what = differ(c, want, got);
    if (what) {
        printf("supervoxels: %s: %s differ\n", c->shape, what);
        print_outcome(lob_backends[0]->name, want);
        print_outcome(who, got);
    }
    free(got->labels);
    return what != NULL;
}

/* As much memory as a run took is enough; with half of it the run is refused, or is the same. */
static int check_limited(const lob_backend *backend, const lob_context *context,
                         const supervoxels_case *c, const outcome *want, int64_t needed)
{
    lob_context limited = *context;
    int failures = 0;
    const int64_t limits[] = {needed, needed / 2 + 1}; /* 0 would be no limit */
    for (int i = 0; i < 2; i++) {
        limited.max_memory = limits[i];
        outcome got = run(backend, c, &limited);
        const bool refused = i > 0 && got.status == LOB_ENOMEM;
        const bool over = !refused && got.stats.working_bytes > limits[i];
        if (over)
            printf("supervoxels: %s: given %lld bytes it took %lld\n", c->shape,
                   (long long)limits[i], (long long)got.stats.working_bytes);
        if (refused && !strstr(got.error.text, "working memory")) {
            printf("supervoxels: %s: %s names no memory\n", c->shape, got.error.text);
            failures++;
        }
        failures += over;
        if (refused)
            free(got.labels);
        else
            failures += compare(c, want, &got, "short of memory");
    }
    return failures;
}

static int check_case(const lob_backend *backend, const lob_context *context, supervoxels_case *c,
                      int *worked)
{
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const int64_t needed = got.status == LOB_OK ? got.stats.working_bytes : 0;
    int failures = compare(c, &want, &got, backend->name);
    if (needed > 0 && c->n % 3 == 0) failures += check_limited(backend, context, c, &want, needed);
    *worked += want.status == LOB_OK;
#ifdef LOB_WITH_CUDA
    if (context->device) {
        got = run_as_large(c, context);
        failures += compare(c, &want, &got, "as large");
    }
#endif
    free(want.labels);
    supervoxels_case_free(c);
    return failures;
}

/* ---- ranks ---- */

enum { RANKS = 3 };

#ifdef LOB_WITH_CUDA
/* The same for ranks. */
static lob_status cut_as_large(int32_t *labels, lob_supervoxels_stats *stats,
                               const lob_supervoxels_input *in,
                               const lob_supervoxels_options *options, int64_t planes,
                               lob_team *team, const lob_context *context, lob_error *error)
{
    const lob_supervoxels_tuning tuning = {.culled = options->method == LOB_SLIC,
                                           .max_contacts = planes % 2 ? -1 : 1};
    return lob_team_agree(team,
                          lob_supervoxels_cuda_tuned(labels, stats, in, options, planes, team,
                                                     &tuning, context, error),
                          error);
}
#endif

/* What differs between a case in one piece and the same by so many ranks, or NULL. */
static const char *ranks_differ(supervoxels_team *team, const supervoxels_case *c, int ranks,
                                const outcome *want)
{
    team->c = c;
    const char *what =
        lob_team_threads(ranks, supervoxels_team_work, team) == LOB_OK ? NULL : "memory";
    for (int r = 0; r < ranks && !what; r++) {
        const outcome got = {team->status[r], team->error[r], team->stats[r], team->labels};
        what = differ(c, want, &got);
    }
    return what;
}

/* For the progress of one rank: how many calls are left until it asks to stop. */
static int stop(void *calls, double done)
{
    (void)done;
    return --*(int *)calls < 0;
}

/* One rank has too little memory, or is asked to stop: all end alike, or have the case's result. */
static int check_ends(supervoxels_team *team, const supervoxels_case *c, int ranks,
                      const outcome *want, uint64_t number, int *ended)
{
    enum { ENDS = 4 };
    lob_context *const of = &team->context[number % (uint64_t)ranks];
    const lob_context kept = *of;
    const int64_t needed = team->stats[0].working_bytes;
    int failures = 0;
    for (int end = 0; end < ENDS; end++) {
        int calls = end == 0 ? 0 : (int)(number % 13);
        if (end < 2)
            of->progress = stop, of->user = &calls;
        else
            of->max_memory = needed * (end - 1) / ENDS + 1;
        const char *what = ranks_differ(team, c, ranks, want);
        const lob_status st = team->status[0], due = end < 2 ? LOB_ECANCEL : LOB_ENOMEM;
        if (st == due) {
            what = end >= 2 && !strstr(team->error[0].text, "memory") ? "message" : NULL;
            for (int r = 1; r < ranks && !what; r++)
                if (team->status[r] != st || strcmp(team->error[r].text, team->error[0].text) != 0)
                    what = "ends";
        } else if (end == 0)
            what = "end";
        *ended += st == due;
        failures += what != NULL;
        if (what)
            printf("supervoxels: %s: %s differ by %d ranks, one %s: %s %s\n", c->shape, what, ranks,
                   end < 2 ? "asked to stop" : "short of memory", lob_status_text(st),
                   team->error[0].text);
        *of = kept;
    }
    return failures;
}

/* The same cases by ranks that each have a device. */
static int check_ranks(const lob_backend *backend, const lob_context *context, uint64_t first,
                       uint64_t n)
{
    static supervoxels_team team;
    lob_error error = {.text = ""};
    int failures = 0, runs = 0, worked = 0, ended = 0;
    team = (supervoxels_team){.labels = NULL};
    if (!check_open_ranks(team.context, RANKS, context, &error)) {
        printf("supervoxels by ranks: %s\n", error.text);
        failures++;
    }
    for (uint64_t i = first; i < first + n && failures == 0; i++) {
        supervoxels_case c;
        supervoxels_case_make(&c, i, MAX_SIDE);
        const int ranks = 2 + (int)(i % (RANKS - 1));
        if (c.image.dims.nz >= ranks) {
            outcome want = run(lob_backends[0], &c, ON_CPU(context));
            team.labels = malloc((size_t)c.n * sizeof *team.labels);
            team.cut = backend->supervoxels_slabs;
#ifdef LOB_WITH_CUDA
            if (i % 4 > 1) team.cut = cut_as_large;
#endif
            const char *const what = ranks_differ(&team, &c, ranks, &want);
            if (what) {
                const outcome got = {team.status[0], team.error[0], team.stats[0], NULL};
                printf("supervoxels: %s: %s differ by %d ranks\n", c.shape, what, ranks);
                print_outcome(lob_backends[0]->name, &want);
                print_outcome("ranks", &got);
            }
            failures += what != NULL;
            worked += want.status == LOB_OK;
            runs++;
            if (i % 3 == 0 && !what && want.status == LOB_OK)
                failures += check_ends(&team, &c, ranks, &want, i, &ended);
            free(want.labels);
            free(team.labels);
        }
        supervoxels_case_free(&c);
    }
    check_close_ranks(team.context, RANKS);
    printf(
        "supervoxels by 2 and 3 ranks: %d cases, %d of them with data, and %d that one rank ends; "
        "%d differ\n",
        runs, worked, ended, failures);
    return failures;
}

/* ---- all ---- */

int check_supervoxels_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                            uint64_t n)
{
    supervoxels_case c;
    int failures = 0, worked = 0, fixed = 0;
    for (int i = 0; first == 0 && supervoxels_case_fixed(&c, i); i++) {
        if (c.n > LARGE && n < CHECK_MANY) {
            supervoxels_case_free(&c);
            continue;
        }
        failures += check_case(backend, context, &c, &worked);
        fixed++;
    }
    for (uint64_t i = first; i < first + n; i++) {
        supervoxels_case_make(&c, i, MAX_SIDE);
        failures += check_case(backend, context, &c, &worked);
    }
    printf("supervoxels: %llu cases and %d fixed ones, %d of them with data, %d differ\n",
           (unsigned long long)n, fixed, worked, failures);
    return failures + check_ranks(backend, context, first, n);
}

int check_supervoxels_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    supervoxels_case c;
    outcome want;
    int failures = 0;
    uint64_t n = 1000; /* the first case of some size that has small pieces to join */
    for (;; n++) {
        supervoxels_case_make(&c, n, MAX_SIDE);
        want = run(lob_backends[0], &c, ON_CPU(context));
        if (want.status == LOB_OK && want.stats.data_voxels > REPEATED_VOXELS &&
            want.stats.supervoxels > 8 && want.stats.fragments > want.stats.supervoxels)
            break;
        free(want.labels);
        supervoxels_case_free(&c);
    }
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        free(got.labels);
    }
    printf("supervoxels: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    free(want.labels);
    supervoxels_case_free(&c);
    return failures;
}
