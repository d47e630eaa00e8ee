/*
 * Checks of the components and regions slots: random and adversarial volumes against the CPU, byte
 * by byte, and repeats.
 */
#include "tests/check_backends/check.h"

#include "tests/reference/components_case.h"
#include "tests/reference/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LIMITED-th case is also run with too little memory. */
enum { MAX_VOXELS = 150000, LIMITED = 4, CROWDED_SIDE = 256 };

/* ---- cases ---- */

/* Half of the cases without intensities measure the image itself. */
static void case_make(components_case *c, uint64_t number)
{
    components_case_make(c, number, MAX_VOXELS);
    if (!c->in.intensities && c->image.channels == 1 && number % 2) c->in.intensities = &c->image;
}

/* Noise with more components than the tables of a GPU's blocks hold at once; each volume comes
 * without intensities and with them. */
static const struct {
    int percent, classes;
    lob_join join;
    int neighbours;
} crowded[] = {
    {100, 3, LOB_JOIN_EQUAL, 6 },
    {31,  1, LOB_JOIN_ANY,   6 },
    {60,  3, LOB_JOIN_EQUAL, 18},
    {10,  1, LOB_JOIN_ANY,   26},
};

enum { CROWDED = 2 * sizeof crowded / sizeof *crowded };

static void fill_noise(lob_volume *v, int percent, int classes, uint64_t *random)
{
    *v = lob_volume_empty();
    v->type = LOB_U8;
    v->dims = (lob_dims){CROWDED_SIDE, CROWDED_SIDE, CROWDED_SIDE};
    uint8_t *bytes = v->data = malloc((size_t)lob_voxels(v));
    if (!bytes) exit(75);
    for (int64_t i = 0; i < lob_voxels(v); i++)
        bytes[i] =
            random_chance(random, percent) ? (uint8_t)(1 + random_below(random, classes)) : 0;
}

static void crowded_make(components_case *c, int number)
{
    const int row = number / 2;
    uint64_t random = (uint64_t)number + 1;
    *c = (components_case){.options = lob_components_defaults(), .intensities = lob_volume_empty()};
    fill_noise(&c->image, crowded[row].percent, crowded[row].classes, &random);
    if (number % 2) fill_noise(&c->intensities, 90, 200, &random);
    c->in.image = &c->image;
    if (number % 2) c->in.intensities = &c->intensities;
    c->n = lob_voxels(&c->image);
    c->options.join = crowded[row].join;
    c->options.neighbours = crowded[row].neighbours;
    c->options.regions = true;
    snprintf(c->shape, sizeof c->shape,
             "crowded volume %d: noise %d%%, %d classes, %d neighbours%s", number,
             crowded[row].percent, crowded[row].classes, crowded[row].neighbours,
             number % 2 ? ", intensities" : "");
}

/* ---- running and comparing ---- */

/* result: of regions, labels are NULL. */
typedef struct {
    lob_status status;
    lob_error error;
    lob_components_output result;
} outcome;

typedef outcome run_function(const lob_backend *backend, const components_case *c,
                             const lob_context *context);

static outcome run_components(const lob_backend *backend, const components_case *c,
                              const lob_context *context)
{
    outcome o = {.error = {.text = ""}};
    o.status = backend->components(&o.result, &c->in, &c->options, context, &o.error);
    return o;
}

/* Measure the components that the CPU finds; labels may have gaps, or be out of range. */
static outcome run_regions(const lob_backend *backend, const components_case *c,
                           const lob_context *context)
{
    lob_components_options options = c->options;
    lob_components_output found;
    outcome o = {.error = {.text = ""}};
    uint64_t random = c->number;
    options.keep_values = options.regions = false;
    o.status = lob_components_cpu(&found, &c->in, &options, ON_CPU(context), &o.error);
    if (o.status != LOB_OK) return o;
    lob_regions_input in = {found.labels, found.type, found.count, c->image.dims,
                            c->in.intensities};
    if (random_chance(&random, 30)) in.count += random_below(&random, 5);
    if (random_chance(&random, 5) && in.count > 0) in.count--;
    lob_components_output *r = &o.result;
    r->count = in.count;
    r->regions = calloc((size_t)in.count + 1, sizeof *r->regions);
    if (in.image) r->values = calloc((size_t)in.count + 1, sizeof *r->values);
    if (!r->regions || (in.image && !r->values)) exit(75);
    o.status = backend->regions(r->regions, r->values, &r->fine, &in, context, &o.error);
    lob_components_output_free(&found);
    return o;
}

static const char *differ(const components_case *c, const outcome *a, const outcome *b)
{
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    return components_result_differs(&a->result, &b->result, a->result.labels ? c->n : 0);
}

/* How many cases were computed, and what happened to those that were given less memory. */
typedef struct {
    int computed, refused;
} tally;

/*
 * With the memory that it took a volume gives the same again. With less, it is refused by a line
 * that names the size that would fit, with a hint.
 */
static int check_limited(const lob_backend *backend, const components_case *c, const outcome *free,
                         const lob_context *context, tally *sum)
{
    const int64_t needed = free->result.working_bytes;
    lob_context limited = *context;
    int failures = 0;
    const int64_t limits[] = {needed, needed - 1, needed / 2 + 1}; /* 0 would be no limit */
    for (int i = 0; i < 3; i++) {
        limited.max_memory = limits[i];
        outcome got = run_components(backend, c, &limited);
        const bool refused = got.status == LOB_ENOMEM;
        const char *text = got.error.text, *wrong = NULL;
        if (refused && i == 0)
            wrong = "it is refused";
        else if (refused && (!strstr(text, "million") || got.error.hint == LOB_HINT_NONE))
            wrong = "the message names no size, or has no hint";
        else if (refused && strncmp(text, "components: ", 12) != 0)
            wrong = "the message is of a part of the work";
        else if (!refused && i > 0)
            wrong = "it is not refused";
        else if (!refused && got.result.working_bytes > limited.max_memory)
            wrong = "it took more";
        else if (!refused)
            wrong = differ(c, free, &got);
        sum->refused += refused;
        if (wrong)
            printf("components: %s: given %lld bytes of %lld: %s: %s %s\n", c->shape,
                   (long long)limited.max_memory, (long long)needed, wrong,
                   lob_status_text(got.status), text);
        failures += wrong != NULL;
        lob_components_output_free(&got.result);
    }
    return failures;
}

/* Frees the case. */
static int check_case(run_function *run, const lob_backend *backend, const lob_context *context,
                      components_case *c, bool limited, tally *sum)
{
    outcome want = run(lob_backends[0], c, ON_CPU(context)), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    if (!what && run == run_regions && strcmp(want.error.text, got.error.text) != 0)
        what = "messages";
    sum->computed += want.status == LOB_OK;
    if (what)
        printf("%s: %s: %s differ (cpu: %s %s; %s: %s %s)\n",
               run == run_regions ? "regions" : "components", c->shape, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    int failures = what != NULL;
    if (limited && got.status == LOB_OK) failures += check_limited(backend, c, &got, context, sum);
    lob_components_output_free(&want.result);
    lob_components_output_free(&got.result);
    components_case_free(c);
    return failures;
}

int check_components_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n)
{
    components_case c;
    tally sum = {0}, regions = {0};
    const int fixed = first == 0 && n >= CHECK_MANY ? CROWDED : 0;
    int failures = 0, regions_failures = 0;
    for (int i = 0; i < fixed; i++) {
        crowded_make(&c, i);
        failures += check_case(run_components, backend, context, &c, false, &sum);
    }
    for (uint64_t i = first; i < first + n; i++) {
        case_make(&c, i);
        failures += check_case(run_components, backend, context, &c, i % LIMITED == 0, &sum);
    }
    printf("components: %llu cases and %d crowded volumes, %d of them joined; short of memory %d "
           "were refused; %d differ\n",
           (unsigned long long)n, fixed, sum.computed, sum.refused, failures);
    failures += check_components_slabs(backend, context, first, n / 4);
    for (uint64_t i = first; i < first + n / 2; i++) {
        case_make(&c, i);
        regions_failures += check_case(run_regions, backend, context, &c, false, &regions);
    }
    printf("regions: %llu cases, %d of them measured, %d differ\n", (unsigned long long)n / 2,
           regions.computed, regions_failures);
    return failures + regions_failures;
}

/* Run the first case from number n on that is large, with the values of many components. */
static int repeat(run_function *run, const lob_backend *backend, const lob_context *context,
                  int repeats, uint64_t n)
{
    components_case c;
    outcome want;
    int failures = 0;
    for (;; n++) {
        case_make(&c, n);
        c.options.type = LOB_TYPES;
        want = run(lob_backends[0], &c, ON_CPU(context));
        if (want.status == LOB_OK && c.n > MAX_VOXELS / 2 && want.result.count > 300 &&
            want.result.values)
            break;
        lob_components_output_free(&want.result);
        components_case_free(&c);
    }
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        lob_components_output_free(&got.result);
    }
    printf("%s: %d repeats of %s: %d differ\n", run == run_regions ? "regions" : "components",
           repeats, c.shape, failures);
    lob_components_output_free(&want.result);
    components_case_free(&c);
    return failures;
}

int check_components_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    return repeat(run_components, backend, context, repeats, 1000) +
           repeat(run_regions, backend, context, repeats, 2000);
}
