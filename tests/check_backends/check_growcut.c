/* Checks of the growcut slot: random cases against the CPU byte by byte, and repeats. */
#include "tests/check_backends/check_growcut.h"

#include "tests/check_backends/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t label_bytes(const growcut_case *c)
{
    return (size_t)lob_voxels(&c->image) * lob_type_of(c->seeds.type)->bytes;
}

static void run(growcut_outcome *to, const lob_backend *backend, const growcut_case *c,
                const lob_context *context)
{
    const size_t voxels = (size_t)lob_voxels(&c->image);
    memset(to, 0, sizeof *to);
    to->labels = malloc(label_bytes(c));
    to->strength = c->wants_strength ? malloc(voxels * sizeof(float)) : NULL;
    to->tie = c->wants_tie ? malloc(voxels) : NULL;
    if (!to->labels || (c->wants_strength && !to->strength) || (c->wants_tie && !to->tie)) abort();
    memset(to->labels, 0xa5, label_bytes(c)); /* an array left unwritten must show */
    if (to->strength) memset(to->strength, 0xa5, voxels * sizeof(float));
    if (to->tie) memset(to->tie, 0xa5, voxels);
    const lob_growcut_input in = {.image = &c->image,
                                  .seeds = &c->seeds,
                                  .labels = c->labels,
                                  .mask = c->mask,
                                  .seed_strength = c->strength};
    const lob_growcut_output out = {to->labels, to->strength, to->tie};
    to->status = backend->growcut(&out, &to->stats, &in, &c->options, context, &to->error);
}

static void outcome_free(growcut_outcome *o)
{
    free(o->labels);
    free(o->strength);
    free(o->tie);
}

static const char *stats_differ(const lob_growcut_stats *a, const lob_growcut_stats *b)
{
    return a->data_voxels != b->data_voxels       ? "data voxels"
           : a->not_finite != b->not_finite       ? "voxels that are not finite"
           : a->seeds != b->seeds                 ? "seeds"
           : a->seeds_outside != b->seeds_outside ? "seeds outside"
           : a->reached != b->reached             ? "voxels reached"
           : a->ties != b->ties                   ? "ties"
           : memcmp(&a->largest_cost, &b->largest_cost, sizeof a->largest_cost) ? "largest cost"
           : memcmp(&a->level_step, &b->level_step, sizeof a->level_step)       ? "level step"
                                                                                : NULL;
}

/* What differs between two outcomes, or NULL. */
static const char *differ(const growcut_case *c, const growcut_outcome *a, const growcut_outcome *b)
{
    const size_t voxels = (size_t)lob_voxels(&c->image);
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    if (memcmp(a->labels, b->labels, label_bytes(c)) != 0) return "labels";
    if (a->strength && memcmp(a->strength, b->strength, voxels * sizeof(float)) != 0)
        return "strength";
    if (a->tie && memcmp(a->tie, b->tie, voxels) != 0) return "tie zone";
    return stats_differ(&a->stats, &b->stats);
}

static int check_case(const lob_backend *backend, const lob_context *context, uint64_t n,
                      int *worked)
{
    growcut_case c;
    growcut_outcome want, got;
    const lob_context cpu = {.threads = context->threads};
    if (!growcut_case_make(&c, n)) abort();
    run(&want, lob_backends[0], &c, &cpu);
    run(&got, backend, &c, context);
    /* The CPU may call a key too narrow that a stale border makes look so: the bytes decide. */
    if (c.options.key_bits == 32 && want.status == LOB_EARG && got.status == LOB_OK) {
        c.options.key_bits = 0;
        outcome_free(&want);
        run(&want, lob_backends[0], &c, &cpu);
    }
    const char *what = differ(&c, &want, &got);
    *worked += want.status == LOB_OK;
    if (what)
        printf("growcut: %s: %s differ (cpu: %s %s; %s: %s %s)\n", c.what, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    outcome_free(&want);
    outcome_free(&got);
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
    growcut_outcome want, got;
    const lob_context cpu = {.threads = context->threads};
    int failures = 0;
    uint64_t n = 1000; /* the first case of some size that grows over most of its voxels */
    for (;; n++) {
        if (!growcut_case_make(&c, n)) abort();
        run(&want, lob_backends[0], &c, &cpu);
        const int64_t voxels = lob_voxels(&c.image);
        if (want.status == LOB_OK && voxels > 8000 && want.stats.reached > voxels / 2) break;
        outcome_free(&want);
        growcut_case_free(&c);
    }
    for (int i = 0; i < repeats; i++) {
        run(&got, backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        outcome_free(&got);
    }
    printf("growcut: %d repeats of %s: %d differ\n", repeats, c.what, failures);
    outcome_free(&want);
    growcut_case_free(&c);
    return failures;
}
