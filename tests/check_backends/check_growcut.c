/* Checks of the growcut slot: random cases against the CPU byte by byte, and repeats. */
#include "tests/check_backends/check.h"

#include "kernels/device/device.h"
#include "tests/reference/growcut_team.h"

#include <stdio.h>
#include <string.h>

/* Every LIMITED-th case is also run with too little memory. MANY cases hold every rule. */
enum { MAX_SIDE = 41, LIMITED = 4, MANY = 200 };

static const char *const rules[] = {
    [LOB_RULE_STRENGTH] = "strength", [LOB_RULE_DISTANCE] = "distance", [LOB_RULE_FLOOD] = "flood",
    [LOB_RULE_VALUE] = "value",       [LOB_RULE_SQUARE] = "square",
};
enum { RULES = sizeof rules / sizeof *rules };

/* One run. */
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
           : a->rounds != b->rounds               ? "rounds"
           : a->fixed_point != b->fixed_point     ? "whether the fixed point was reached"
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

/* How many cases were grown, and what happened to those that were given too little memory. */
typedef struct {
    int grown, refused, in_parts, by_rule[RULES]; /* the last of those grown */
} tally;

/*
 * With half of the memory that it took, a volume is refused by a line that names the size that
 * would fit, with a hint; slices may also be grown in parts, with the same result.
 */
static int check_limited(const lob_backend *backend, const growcut_case *c, const outcome *free,
                         const lob_context *context, tally *sum)
{
    lob_context limited = *context;
    limited.max_memory = free->stats.working_bytes / 2 + 1; /* 0 would be no limit */
    outcome got = run(backend, c, &limited);
    const bool refused = got.status == LOB_ENOMEM;
    const char *text = got.error.text, *wrong = NULL;
    if (refused && (!strstr(text, "million") || got.error.hint == LOB_HINT_NONE))
        wrong = "the message names no size, or has no hint";
    else if (!refused && c->options.slice_axis < 0)
        wrong = "it is not refused";
    else if (!refused && got.stats.working_bytes > limited.max_memory)
        wrong = "it took more";
    else if (!refused)
        wrong = differ(c, free, &got);
    sum->refused += refused;
    sum->in_parts += !refused;
    if (wrong)
        printf("growcut: %s: given %lld bytes: %s: %s %s\n", c->shape,
               (long long)limited.max_memory, wrong, lob_status_text(got.status), text);
    growcut_output_free(&got.out);
    return wrong != NULL;
}

static int check_case(const lob_backend *backend, const lob_context *context, uint64_t n,
                      tally *sum)
{
    growcut_case c;
    growcut_case_make(&c, n, GROWCUT_ANY_CALL, MAX_SIDE);
    outcome want = run(lob_backends[0], &c, ON_CPU(context)), got = run(backend, &c, context);
    const char *what = differ(&c, &want, &got);
    sum->grown += want.status == LOB_OK;
    sum->by_rule[c.options.rule] += want.status == LOB_OK;
    if (what)
        printf("growcut: %s: %s differ (cpu: %s %s; %s: %s %s)\n", c.shape, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    int failures = what != NULL;
    if (n % LIMITED == 0 && got.status == LOB_OK)
        failures += check_limited(backend, &c, &got, context, sum);
    growcut_output_free(&want.out);
    growcut_output_free(&got.out);
    growcut_case_free(&c);
    return failures;
}

/* ---- ranks ---- */

enum { RANKS = 3 };

/* What differs between a case in one piece and the same by so many ranks, or NULL. */
static const char *ranks_differ(growcut_team *team, const growcut_case *c, int ranks,
                                const outcome *want)
{
    team->c = c;
    team->out = growcut_output_make(c);
    const char *what = lob_team_threads(ranks, growcut_team_work, team) == LOB_OK ? NULL : "memory";
    for (int r = 0; r < ranks && !what; r++) {
        const outcome got = {team->status[r], team->error[r], team->out, team->stats[r]};
        what = differ(c, want, &got);
    }
    growcut_output_free(&team->out);
    return what;
}

/* Cases without rounds and floods, which are the CPU's, by ranks that each have a device. */
static int check_ranks(const lob_backend *backend, const lob_context *context, uint64_t first,
                       uint64_t n)
{
    static growcut_team team;
    lob_error error = {.text = ""};
    int failures = 0, runs = 0, grown = 0;
    team = (growcut_team){.grow = backend->growcut_slabs};
    if (!check_open_ranks(team.context, RANKS, context, &error)) {
        printf("growcut by ranks: %s\n", error.text);
        failures++;
    }
    for (uint64_t i = first; i < first + n && failures == 0; i++) {
        growcut_case c;
        growcut_case_make(&c, i, GROWCUT_ANY_CALL, MAX_SIDE);
        const int ranks = 2 + (int)(i % (RANKS - 1));
        const bool fits = c.options.rule != LOB_RULE_FLOOD && c.options.rounds == 0;
        outcome want = {.status = LOB_OK};
        if (fits && c.image.dims.nz >= ranks) {
            want = run(lob_backends[0], &c, ON_CPU(context));
            const char *const what = ranks_differ(&team, &c, ranks, &want);
            if (what)
                printf("growcut: %s: %s differ by %d ranks (cpu: %s %s; here: %s %s)\n", c.shape,
                       what, ranks, lob_status_text(want.status), want.error.text,
                       lob_status_text(team.status[0]), team.error[0].text);
            failures += what != NULL;
            grown += want.status == LOB_OK;
            runs++;
            growcut_output_free(&want.out);
        }
        growcut_case_free(&c);
    }
    check_close_ranks(team.context, RANKS);
    printf("growcut by 2 and 3 ranks: %d cases, %d of them grown; %d differ\n", runs, grown,
           failures);
    return failures;
}

/* Say how many cases each rule had. Returns the number of rules that were left out of many. */
static int check_rules(const tally *sum, uint64_t cases)
{
    int left_out = 0;
    printf("growcut: grown by rule:");
    for (int i = 0; i < RULES; i++) {
        printf(" %s %d%s", rules[i], sum->by_rule[i], i + 1 < RULES ? "," : "\n");
        left_out += cases >= MANY && sum->by_rule[i] == 0;
    }
    if (left_out) printf("growcut: %d rules had no case\n", left_out);
    return left_out;
}

int check_growcut_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                        uint64_t n)
{
    int failures = 0;
    tally sum = {0};
    for (uint64_t i = first; i < first + n; i++) failures += check_case(backend, context, i, &sum);
    printf("growcut: %llu cases, %d of them grown; with half the memory %d refused and %d grown in "
           "parts; %d failed\n",
           (unsigned long long)n, sum.grown, sum.refused, sum.in_parts, failures);
    return failures + check_rules(&sum, n) + check_ranks(backend, context, first, n);
}

int check_growcut_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    growcut_case c;
    outcome want;
    int failures = 0;
    uint64_t n = 1000; /* the first case of some size that grows over most of its voxels */
    for (;; n++) {
        growcut_case_make(&c, n, GROWCUT_ANY_CALL, MAX_SIDE);
        want = run(lob_backends[0], &c, ON_CPU(context));
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
