/*
 * Checks of the components and regions slots: random and adversarial volumes against the CPU, byte
 * by byte, and repeats.
 */
#include "tests/check_backends/check_components.h"

#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LIMITED-th case is also run with too little memory. */
enum { MOST_VOXELS = 150000, MOST_CHANNELS = 3, LIMITED = 4, CROWDED_SIDE = 256 };

typedef struct {
    lob_volume image, other; /* other: intensities */
    uint8_t *mask;
    lob_components_input in;
    lob_components_options options;
    int64_t n;
    char shape[256];
} components_case;

/* ---- patterns: values 0..255 that become foreground, classes or grey levels ---- */

typedef struct {
    lob_dims d;
    uint64_t *random;
    int percent, classes;
} pattern_args;

static void fill_constant(uint8_t *v, const pattern_args *a)
{
    const int64_t n = lob_dims_voxels(a->d);
    memset(v, (int)random_below(a->random, 2) * 7, (size_t)n);
}

static void fill_noise(uint8_t *v, const pattern_args *a)
{
    const int64_t n = lob_dims_voxels(a->d);
    for (int64_t i = 0; i < n; i++)
        v[i] = random_chance(a->random, a->percent)
                   ? (uint8_t)(1 + random_below(a->random, a->classes))
                   : 0;
}

static void fill_checkerboard(uint8_t *v, const pattern_args *a)
{
    int64_t i = 0;
    const int64_t z0 = random_below(a->random, 2);
    for (int64_t z = 0; z < a->d.nz; z++)
        for (int64_t y = 0; y < a->d.ny; y++)
            for (int64_t x = 0; x < a->d.nx; x++)
                v[i++] = (uint8_t)(1 + (x + y + z + z0) % 2 * (a->classes > 1 ? 1 : -1));
}

/* Corridors that turn at every end, in every plane, and lead from plane to plane. */
static void fill_snake(uint8_t *v, const pattern_args *a)
{
    int64_t i = 0;
    for (int64_t z = 0; z < a->d.nz; z++)
        for (int64_t y = 0; y < a->d.ny; y++)
            for (int64_t x = 0; x < a->d.nx; x++) {
                const bool row = y % 2 == 0 && z % 2 == 0;
                const bool turn = z % 2 == 0 && x == (y / 2 % 2 ? 0 : a->d.nx - 1);
                const bool stair = y == (z / 2 % 2 ? 0 : a->d.ny - 1) && x == 0;
                v[i++] = row || turn || (stair && z % 2) ? 1 : 0;
            }
}

/* Nested shells: holes in holes. */
static void fill_shells(uint8_t *v, const pattern_args *a)
{
    int64_t i = 0;
    const double wide = 2 + (double)random_below(a->random, 4);
    for (int64_t z = 0; z < a->d.nz; z++)
        for (int64_t y = 0; y < a->d.ny; y++)
            for (int64_t x = 0; x < a->d.nx; x++) {
                const double dx = (double)(x % 23) - 11, dy = (double)(y % 19) - 9,
                             dz = a->d.nz > 1 ? (double)(z % 17) - 8 : 0;
                const int ring = (int)(sqrt(dx * dx + dy * dy + dz * dz) / wide);
                v[i++] = ring % 2 ? (uint8_t)(1 + ring % a->classes) : 0;
            }
}

/* Noise that a box has smoothed along x, y and z, above its middle. */
static void fill_blobs(uint8_t *v, const pattern_args *a)
{
    const int64_t n = lob_dims_voxels(a->d), side[3] = {a->d.nx, a->d.ny, a->d.nz};
    const int64_t stride[3] = {1, a->d.nx, a->d.nx * a->d.ny};
    float *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)n * sizeof *to);
    if (!from || !to) exit(75);
    for (int64_t i = 0; i < n; i++) from[i] = (float)random_double(a->random) - 0.5f;
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = i / stride[axis] % side[axis];
            to[i] = 0;
            for (int64_t k = at > 2 ? -2 : -at; k <= 2 && at + k < side[axis]; k++)
                to[i] += from[i + k * stride[axis]];
        }
        float *swap = from;
        from = to;
        to = swap;
    }
    for (int64_t i = 0; i < n; i++)
        v[i] = from[i] > 0 ? (uint8_t)(1 + (int)(from[i] * 3) % a->classes) : 0;
    free(from);
    free(to);
}

static const struct {
    const char *name;
    void (*fill)(uint8_t *v, const pattern_args *a);
} patterns[] = {
    {"noise",        fill_noise       },
    {"noise",        fill_noise       },
    {"blobs",        fill_blobs       },
    {"shells",       fill_shells      },
    {"snake",        fill_snake       },
    {"checkerboard", fill_checkerboard},
    {"constant",     fill_constant    },
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* ---- cases ---- */

static lob_dims random_dims(uint64_t *random)
{
    static const int64_t sides[] = {1,  1,  2,  3,  5,  7,  11, 13, 17, 23,
                                    31, 32, 33, 37, 63, 64, 65, 97, 129};
    const int64_t count = sizeof sides / sizeof *sides;
    lob_dims d;
    do {
        d = (lob_dims){sides[random_below(random, count)], sides[random_below(random, count)],
                       sides[random_below(random, count)]};
    } while (lob_dims_voxels(d) > MOST_VOXELS);
    return d;
}

/* Store a pattern's value, sometimes scaled, shifted or replaced by what is not finite. */
#define STORE_VALUE(type_, ctype, name, integer, lowest, highest)                \
    case type_:                                                                  \
        ((ctype *)volume->data)[i] = (ctype)value;                               \
        if (!integer && odd == 1) ((ctype *)volume->data)[i] = (ctype)NAN;       \
        if (!integer && odd == 2) ((ctype *)volume->data)[i] = (ctype)-INFINITY; \
        if (!integer && odd == 3) ((ctype *)volume->data)[i] = (ctype)-0.0;      \
        break;

static void store(lob_volume *volume, int64_t i, int value, int64_t odd)
{
    switch (volume->type) {
        LOB_TYPE_LIST(STORE_VALUE)
    case LOB_TYPES:
        break;
    }
}

static void make_volume(lob_volume *volume, lob_dims d, int channels, const uint8_t *pattern,
                        uint64_t *random)
{
    const int64_t n = lob_dims_voxels(d);
    const bool odd = random_chance(random, 30), deep = random_chance(random, 20);
    *volume = lob_volume_empty();
    volume->type = (lob_type)random_below(random, LOB_TYPES);
    volume->dims = d;
    volume->channels = channels;
    if (random_chance(random, 20)) volume->slope = 0.37, volume->inter = -1;
    volume->data = calloc((size_t)(n * channels), lob_type_of(volume->type)->bytes);
    if (!volume->data) exit(75);
    for (int64_t i = 0; i < n * channels; i++) {
        int value = pattern[i % n];
        if (i >= n && value) value = 1 + (int)random_below(random, 2);
        if (deep && value) value = (int)random_below(random, 120);
        store(volume, i, value, odd ? random_below(random, 60) : 9);
    }
}

static lob_components_options random_options(uint64_t *random, int channels)
{
    static const int around[] = {6, 18, 26}, flat[] = {4, 8};
    static const lob_type types[] = {LOB_TYPES, LOB_TYPES, LOB_TYPES, LOB_U8, LOB_I16, LOB_I32};
    lob_components_options o = lob_components_defaults();
    o.join = (lob_join)random_below(random, 3);
    o.tolerance = (double)random_below(random, 4) * 0.5;
    o.slice_axis = random_chance(random, 35) ? (int)random_below(random, 3) : -1;
    o.neighbours =
        o.slice_axis < 0 ? around[random_below(random, 3)] : flat[random_below(random, 2)];
    o.ranged = random_chance(random, 25);
    o.range[0] = (double)random_below(random, 3);
    o.range[1] = o.range[0] + (double)random_below(random, 4);
    o.order = random_chance(random, 25) ? LOB_ORDER_SIZE : LOB_ORDER_RASTER;
    if (random_chance(random, 25)) o.min_voxels = random_below(random, 20);
    if (random_chance(random, 15)) o.max_voxels = o.min_voxels + random_below(random, 200);
    if (random_chance(random, 20)) o.largest = random_below(random, 12);
    o.fill_holes = random_chance(random, 30);
    o.keep_values = o.join == LOB_JOIN_EQUAL && channels == 1 && random_chance(random, 30);
    o.regions = random_chance(random, 60);
    o.type = types[random_below(random, 6)];
    return o;
}

static void case_make(components_case *c, uint64_t number)
{
    uint64_t random = number * UINT64_C(0x9E3779B97F4A7C15);
    const lob_dims d = random_dims(&random);
    const int channels = random_chance(&random, 25) ? 2 + (int)random_below(&random, 2) : 1;
    const int chosen = (int)random_below(&random, PATTERNS);
    const pattern_args args = {.d = d,
                               .random = &random,
                               .percent = 1 + (int)random_below(&random, 99),
                               .classes = 1 + (int)random_below(&random, 3)};
    *c = (components_case){.n = lob_dims_voxels(d)};
    uint8_t *pattern = malloc((size_t)c->n);
    if (!pattern) exit(75);
    patterns[chosen].fill(pattern, &args);
    make_volume(&c->image, d, channels, pattern, &random);
    make_volume(&c->other, d, 1, pattern, &random);
    c->options = random_options(&random, channels);
    if (random_chance(&random, 25)) {
        c->mask = malloc((size_t)c->n);
        if (!c->mask) exit(75);
        for (int64_t i = 0; i < c->n; i++) c->mask[i] = random_chance(&random, 90) ? 255 : 0;
    }
    free(pattern);
    c->in = (lob_components_input){.image = &c->image, .mask = c->mask};
    if (random_chance(&random, 50))
        c->in.intensities = channels == 1 && random_chance(&random, 50) ? &c->image : &c->other;
    const lob_components_options *o = &c->options;
    snprintf(c->shape, sizeof c->shape,
             "case %llu: %lldx%lldx%lld %s %d%%, %s, %d channels%s, join %d, %d neighbours, axis "
             "%d%s%s%s%s%s",
             (unsigned long long)number, (long long)d.nx, (long long)d.ny, (long long)d.nz,
             patterns[chosen].name, args.percent, lob_type_of(c->image.type)->name, channels,
             c->mask ? ", mask" : "", o->join, o->neighbours, o->slice_axis,
             o->ranged ? ", range" : "", o->order == LOB_ORDER_SIZE ? ", by size" : "",
             o->fill_holes ? ", holes" : "", o->keep_values ? ", values" : "",
             o->regions ? ", regions" : "");
}

/* Noise of so many pieces that they do not fit the tables of a GPU's blocks at once; each volume
 * comes without intensities and with them. */
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

static void store_bytes(lob_volume *volume, lob_dims d, const pattern_args *args)
{
    *volume = lob_volume_empty();
    volume->type = LOB_U8;
    volume->dims = d;
    volume->data = malloc((size_t)lob_dims_voxels(d));
    if (!volume->data) exit(75);
    fill_noise(volume->data, args);
}

static void crowded_make(components_case *c, int number)
{
    const int row = number / 2;
    const bool values = number % 2;
    const lob_dims d = {CROWDED_SIDE, CROWDED_SIDE, CROWDED_SIDE};
    uint64_t random = (uint64_t)number + 1;
    const pattern_args of_image = {d, &random, crowded[row].percent, crowded[row].classes},
                       of_other = {d, &random, 90, 200};
    *c = (components_case){.n = lob_dims_voxels(d), .options = lob_components_defaults()};
    store_bytes(&c->image, d, &of_image);
    if (values) store_bytes(&c->other, d, &of_other);
    c->in = (lob_components_input){.image = &c->image, .intensities = values ? &c->other : NULL};
    c->options.join = crowded[row].join;
    c->options.neighbours = crowded[row].neighbours;
    c->options.regions = true;
    snprintf(c->shape, sizeof c->shape,
             "crowded volume %d: noise %d%%, %d classes, %d neighbours%s", number,
             crowded[row].percent, crowded[row].classes, crowded[row].neighbours,
             values ? ", intensities" : "");
}

static void case_free(components_case *c)
{
    lob_volume_free(&c->image);
    lob_volume_free(&c->other);
    free(c->mask);
}

/* ---- comparing ---- */

/* The first field in which two tables differ, or NULL. */
static const char *regions_differ(const lob_region *a, const lob_region *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const char *field = a[i].voxels != b[i].voxels                     ? "voxels"
                            : a[i].first != b[i].first                     ? "first voxels"
                            : memcmp(a[i].low, b[i].low, sizeof a->low)    ? "low corners"
                            : memcmp(a[i].high, b[i].high, sizeof a->high) ? "high corners"
                            : memcmp(a[i].sum, b[i].sum, sizeof a->sum)    ? "sums of places"
                                                                           : NULL;
        if (field) return field;
    }
    return NULL;
}

static const char *values_differ(const lob_region_values *a, const lob_region_values *b,
                                 int64_t count)
{
    if (!a != !b) return "whether there are values";
    for (int64_t i = 0; a && i < count; i++) {
        const char *field = a[i].data != b[i].data                               ? "data voxels"
                            : memcmp(&a[i].lowest, &b[i].lowest, sizeof(double)) ? "lowest values"
                            : memcmp(&a[i].highest, &b[i].highest, sizeof(double))
                                ? "highest values"
                            : a[i].fine != b[i].fine                             ? "sums of values"
                            : memcmp(a[i].square, b[i].square, sizeof a->square) ? "sums of squares"
                                                                                 : NULL;
        if (field) return field;
    }
    return NULL;
}

static bool levels_differ(const lob_fine_levels *a, const lob_fine_levels *b)
{
    return a->exact != b->exact || a->low_bits != b->low_bits ||
           memcmp(&a->low, &b->low, sizeof a->low) != 0 ||
           memcmp(&a->per_unit, &b->per_unit, sizeof a->per_unit) != 0;
}

typedef struct {
    lob_status status;
    lob_error error;
    lob_components_output result;
} outcome;

static outcome run(const lob_backend *backend, const components_case *c, const lob_context *context)
{
    outcome o = {.error = {""}};
    o.status = backend->components(&o.result, &c->in, &c->options, context, &o.error);
    return o;
}

static const char *differ(const components_case *c, const outcome *a, const outcome *b)
{
    const lob_components_output *r = &a->result, *s = &b->result;
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return NULL;
    if (r->type != s->type) return "types";
    if (r->count != s->count) return "counts";
    if (r->found != s->found) return "components found";
    if (r->foreground != s->foreground) return "foreground voxels";
    if (r->not_finite != s->not_finite) return "voxels that are not finite";
    if (memcmp(r->labels, s->labels, (size_t)c->n * lob_type_of(r->type)->bytes) != 0)
        return "labels";
    if (!c->options.regions) return NULL;
    if (levels_differ(&r->fine, &s->fine)) return "fine levels";
    if (!r->member != !s->member) return "whether there are members";
    if (r->member && memcmp(r->member, s->member, (size_t)r->count * sizeof *r->member) != 0)
        return "members";
    const char *const what = regions_differ(r->regions, s->regions, r->count);
    return what ? what : values_differ(r->values, s->values, r->count);
}

/* How many cases were joined, and what came of those that were given less memory. */
typedef struct {
    int joined, refused, measured;
} tally;

/*
 * With the memory that it took a volume comes out the same again. With less, it is refused by a
 * line that names what would fit and what to do; where what is short are lists for the regions,
 * these are measured in another way, and come out the same.
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
        outcome got = run(backend, c, &limited);
        const bool refused = got.status == LOB_ENOMEM;
        const char *text = got.error.text, *wrong = NULL;
        if (refused && i == 0)
            wrong = "it is refused";
        else if (refused && !(strstr(text, "million") && strstr(text, "--device cpu")))
            wrong = "the message names no size and no way out";
        else if (!refused && i > 0 && !c->options.regions)
            wrong = "it is not refused";
        else if (!refused && got.result.working_bytes > limited.max_memory)
            wrong = "it took more";
        else if (!refused)
            wrong = differ(c, free, &got);
        sum->refused += refused;
        sum->measured += !refused && i > 0;
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
static int check_case(const lob_backend *backend, const lob_context *context, components_case *c,
                      bool limited, tally *sum)
{
    const lob_context cpu = {.threads = context->threads};
    outcome want = run(lob_backends[0], c, &cpu), got = run(backend, c, context);
    const char *what = differ(c, &want, &got);
    sum->joined += want.status == LOB_OK;
    if (what)
        printf("components: %s: %s differ (cpu: %s %s; %s: %s %s)\n", c->shape, what,
               lob_status_text(want.status), want.error.text, backend->name,
               lob_status_text(got.status), got.error.text);
    int failures = what != NULL;
    if (limited && got.status == LOB_OK) failures += check_limited(backend, c, &got, context, sum);
    lob_components_output_free(&want.result);
    lob_components_output_free(&got.result);
    case_free(c);
    return failures;
}

static int check_joined_cases(const lob_backend *backend, const lob_context *context,
                              uint64_t first, uint64_t n)
{
    components_case c;
    tally sum = {0};
    const int fixed = first == 0 && n >= CHECK_MANY ? CROWDED : 0;
    int failures = 0;
    for (int i = 0; i < fixed; i++) {
        crowded_make(&c, i);
        failures += check_case(backend, context, &c, false, &sum);
    }
    for (uint64_t i = first; i < first + n; i++) {
        case_make(&c, i);
        failures += check_case(backend, context, &c, i % LIMITED == 0, &sum);
    }
    printf("components: %llu cases and %d crowded volumes, %d of them joined; short of memory %d "
           "were refused, %d measured otherwise; %d differ\n",
           (unsigned long long)n, fixed, sum.joined, sum.refused, sum.measured, failures);
    return failures;
}

/* The first case of some size from a number on that comes to many components. */
static outcome find_large(components_case *c, const lob_context *cpu, uint64_t n)
{
    for (;; n++) {
        case_make(c, n);
        c->options.type = LOB_TYPES;
        outcome o = run(lob_backends[0], c, cpu);
        if (o.status == LOB_OK && c->n > MOST_VOXELS / 2 && o.result.count > 300) return o;
        lob_components_output_free(&o.result);
        case_free(c);
    }
}

static int repeat_components(const lob_backend *backend, const lob_context *context, int repeats)
{
    components_case c;
    const lob_context cpu = {.threads = context->threads};
    int failures = 0;
    outcome want = find_large(&c, &cpu, 1000);
    for (int i = 0; i < repeats; i++) {
        outcome got = run(backend, &c, context);
        failures += differ(&c, &want, &got) != NULL;
        lob_components_output_free(&got.result);
    }
    printf("components: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    lob_components_output_free(&want.result);
    case_free(&c);
    return failures;
}

/* ---- regions ---- */

typedef struct {
    lob_status status;
    lob_error error;
    lob_region *regions;
    lob_region_values *values;
    lob_fine_levels fine;
} measured;

static void measured_free(measured *m)
{
    free(m->regions);
    free(m->values);
}

static measured measure(const lob_backend *backend, const lob_regions_input *in,
                        const lob_context *context)
{
    measured m = {.error = {""}};
    m.regions = calloc((size_t)in->count + 1, sizeof *m.regions);
    if (in->image) m.values = calloc((size_t)in->count + 1, sizeof *m.values);
    if (!m.regions || (in->image && !m.values)) exit(75);
    m.status = backend->regions(m.regions, m.values, &m.fine, in, context, &m.error);
    return m;
}

static const char *measured_differ(const measured *a, const measured *b, int64_t count)
{
    if (a->status != b->status) return "status";
    if (a->status != LOB_OK) return strcmp(a->error.text, b->error.text) ? "messages" : NULL;
    if (levels_differ(&a->fine, &b->fine)) return "fine levels";
    const char *const what = regions_differ(a->regions, b->regions, count);
    return what ? what : values_differ(a->values, b->values, count);
}

/* Labels to measure: those of components, with gaps, or some that are out of range. */
static lob_regions_input labels_of(const components_case *c, outcome *o, uint64_t n)
{
    uint64_t random = n;
    lob_regions_input in = {.labels = o->result.labels,
                            .type = o->result.type,
                            .count = o->result.count,
                            .dims = c->image.dims,
                            .image = c->in.intensities};
    if (random_chance(&random, 30)) in.count += random_below(&random, 5);
    if (random_chance(&random, 5) && in.count > 0) in.count--;
    return in;
}

static int check_regions_case(const lob_backend *backend, const lob_context *context, uint64_t n,
                              int *worked)
{
    components_case c;
    const lob_context cpu = {.threads = context->threads};
    case_make(&c, n);
    c.options.keep_values = c.options.regions = false;
    outcome o = run(lob_backends[0], &c, &cpu);
    const char *what = NULL;
    if (o.status == LOB_OK) {
        const lob_regions_input in = labels_of(&c, &o, n);
        measured want = measure(lob_backends[0], &in, &cpu), got = measure(backend, &in, context);
        what = measured_differ(&want, &got, in.count);
        *worked += want.status == LOB_OK;
        if (what)
            printf("regions: %s: %s differ (cpu: %s; %s: %s)\n", c.shape, what, want.error.text,
                   backend->name, got.error.text);
        measured_free(&want);
        measured_free(&got);
    }
    lob_components_output_free(&o.result);
    case_free(&c);
    return what != NULL;
}

static int check_regions_cases(const lob_backend *backend, const lob_context *context,
                               uint64_t first, uint64_t n)
{
    int failures = 0, worked = 0;
    for (uint64_t i = first; i < first + n; i++)
        failures += check_regions_case(backend, context, i, &worked);
    printf("regions: %llu cases, %d of them measured, %d differ\n", (unsigned long long)n, worked,
           failures);
    return failures;
}

static int repeat_regions(const lob_backend *backend, const lob_context *context, int repeats)
{
    components_case c;
    const lob_context cpu = {.threads = context->threads};
    int failures = 0;
    outcome o = find_large(&c, &cpu, 2000);
    const lob_regions_input in = {.labels = o.result.labels,
                                  .type = o.result.type,
                                  .count = o.result.count,
                                  .dims = c.image.dims,
                                  .image = &c.other};
    measured want = measure(lob_backends[0], &in, &cpu);
    for (int i = 0; i < repeats; i++) {
        measured got = measure(backend, &in, context);
        failures += measured_differ(&want, &got, in.count) != NULL;
        measured_free(&got);
    }
    printf("regions: %d repeats of %s: %d differ\n", repeats, c.shape, failures);
    measured_free(&want);
    lob_components_output_free(&o.result);
    case_free(&c);
    return failures;
}

/* ---- both ---- */

int check_components_cases(const lob_backend *backend, const lob_context *context, uint64_t first,
                           uint64_t n)
{
    return check_joined_cases(backend, context, first, n) +
           check_components_slabs(backend, context, first, n / 4) +
           check_regions_cases(backend, context, first, n / 2);
}

int check_components_repeats(const lob_backend *backend, const lob_context *context, int repeats)
{
    return repeat_components(backend, context, repeats) + repeat_regions(backend, context, repeats);
}
