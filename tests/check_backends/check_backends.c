/*
 * Backends against the CPU: every function of the table over random and adversarial inputs, byte by
 * byte; with --bench also what was checked is timed. Ends with 77, which CTest counts as skipped,
 * where there is no GPU.
 */
#include "kernels/device/device.h"
#include "tests/check_backends/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77 };

#ifdef LOB_WITH_CUDA
#define BENCH(function) function
#else
#define BENCH(function) NULL
#endif

static const check_algorithm algorithms[] = {
    {"appearance",  NULL,                       NULL,                         BENCH(bench_appearance),   &check_appearance},
    {"basins",      NULL,                       NULL,                         NULL,                      &check_basins    },
    {"carry",       NULL,                       NULL,                         NULL,                      &check_carry     },
    {"cells",       NULL,                       NULL,                         NULL,                      &check_cells     },
    {"components",  check_components_cases,     check_components_repeats,     BENCH(bench_components),   NULL             },
    {"distance",    NULL,                       NULL,                         BENCH(bench_distance),     &check_distance  },
    {"filters",     BENCH(check_filters_cases), BENCH(check_filters_repeats), BENCH(bench_filters),
     NULL                                                                                                                 },
    {"fuse",        NULL,                       NULL,                         NULL,                      &check_fuse      },
    {"gaussian",    check_gaussian_cases,       check_gaussian_repeats,       BENCH(bench_gaussian),     NULL             },
    {"growcut",     check_growcut_cases,        check_growcut_repeats,        BENCH(bench_growcut),      NULL             },
    {"labels",      NULL,                       NULL,                         BENCH(bench_labels),       &check_labels    },
    {"letters",     check_letters_cases,        NULL,                         NULL,                      NULL             },
    {"maxima",      NULL,                       NULL,                         NULL,                      &check_maxima    },
    {"median",      BENCH(check_median_cases),  BENCH(check_median_repeats),  BENCH(bench_median_steps),
     NULL                                                                                                                 },
    {"outvote",     NULL,                       NULL,                         NULL,                      &check_outvote   },
    {"register",    NULL,                       NULL,                         BENCH(bench_register),     &check_register  },
    {"resample",    NULL,                       NULL,                         NULL,                      &check_resample  },
    {"segment",     NULL,                       NULL,                         NULL,                      &check_segment   },
    {"supervoxels", check_supervoxels_cases,    check_supervoxels_repeats,    BENCH(bench_supervoxels),
     NULL                                                                                                                 },
    {"threshold",   check_threshold_cases,      check_threshold_repeats,      BENCH(bench_threshold),    NULL             },
};

enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

typedef struct {
    const char *device;
    uint64_t first, cases;
    int repeats, threads;
    bool left_out[ALGORITHMS];
    bench_options bench;
    bool benches;
} choices;

static int usage(void)
{
    fputs("usage: check_backends [--only NAME,NAME] [--device cuda:N] [--cases N] [--first N]\n"
          "                      [--repeats N] [--threads N] [--bench] [--flat] [--flood]\n"
          "                      [--size NX NY NZ] [--times N] [--huge] [--keep FOLDER] [--volume "
          "TEXT]\n"
          "                      [--ranks N,N]\n"
          "  --bench   time the volumes after checking them\n"
          "  --flat    2D images: of 1 to 64 megapixels for growcut, of papers for supervoxels\n"
          "  --flood   growcut: the watershed of a smooth field, 6 and 26 neighbours\n"
          "  --huge    more than 2^31 voxels   --keep  write the volumes and times of --bench\n"
          "  --volume  only those volumes of --bench whose names hold the text\n"
          "  --ranks   only times of a volume that ranks on these GPUs share, all or --only these\n"
          "algorithms, all of them without --only:",
          stderr);
    for (int i = 0; i < ALGORITHMS; i++) fprintf(stderr, " %s", algorithms[i].name);
    fputc('\n', stderr);
    return 64;
}

/* Leave out what a list of names, separated by commas, does not have; false for unknown names. */
static bool choose_only(choices *c, const char *names)
{
    for (int i = 0; i < ALGORITHMS; i++) c->left_out[i] = true;
    while (*names) {
        const size_t n = strcspn(names, ",");
        int i = 0;
        while (i < ALGORITHMS &&
               (strlen(algorithms[i].name) != n || strncmp(algorithms[i].name, names, n) != 0))
            i++;
        if (i == ALGORITHMS) return false;
        c->left_out[i] = false;
        names += n + (names[n] == ',');
    }
    return true;
}

static bool parse(choices *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        const int left = argc - i - 1;
        if (strcmp(name, "--bench") == 0)
            c->benches = c->bench.volumes = true;
        else if (strcmp(name, "--flat") == 0)
            c->benches = c->bench.flat = true;
        else if (strcmp(name, "--flood") == 0)
            c->benches = c->bench.flood = true;
        else if (strcmp(name, "--huge") == 0)
            c->benches = c->bench.huge = true;
        else if (strcmp(name, "--volume") == 0 && left >= 1)
            c->bench.volume = argv[++i];
        else if (strcmp(name, "--keep") == 0 && left >= 1)
            c->bench.keep = argv[++i];
        else if (strcmp(name, "--only") == 0 && left >= 1) {
            c->bench.only = argv[++i];
            if (!choose_only(c, c->bench.only)) return false;
        } else if (strcmp(name, "--device") == 0 && left >= 1)
            c->device = argv[++i];
        else if (strcmp(name, "--ranks") == 0 && left >= 1)
            c->bench.ranks = argv[++i];
        else if (strcmp(name, "--cases") == 0 && left >= 1)
            c->cases = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--first") == 0 && left >= 1)
            c->first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--repeats") == 0 && left >= 1)
            c->repeats = atoi(argv[++i]);
        else if (strcmp(name, "--threads") == 0 && left >= 1)
            c->threads = atoi(argv[++i]);
        else if (strcmp(name, "--times") == 0 && left >= 1)
            c->bench.times = atoi(argv[++i]);
        else if (strcmp(name, "--size") == 0 && left >= 3) {
            c->bench.dims.nx = atoll(argv[++i]);
            c->bench.dims.ny = atoll(argv[++i]);
            c->bench.dims.nz = atoll(argv[++i]);
        } else
            return false;
    }
    return c->threads > 0 && c->bench.times > 0 && c->bench.times <= BENCH_MAX_TIMES &&
           lob_dims_voxels(c->bench.dims) > 0;
}

/* A case, so many times; returns how many times it differs. done: adds how often the CPU had a
 * result. */
static int run_case(const check_algorithm *a, const lob_backend *backend,
                    const lob_context *context, uint64_t number, int times, int *done)
{
    const check_random *const r = a->random;
    void *const c = malloc(r->bytes);
    int failures = 0;
    if (!c) exit(75);
    const char *const shape = r->make(c, number);
    for (int i = 0; i < times; i++) {
        bool had = false;
        const char *const what = r->differs(c, backend, context, &had);
        if (what) printf("%s: %s: %s of %s differ\n", a->name, shape, what, backend->name);
        failures += what != NULL;
        *done += had;
    }
    if (times > 1) printf("%s: %d repeats of %s: %d differ\n", a->name, times, shape, failures);
    r->free(c);
    free(c);
    return failures;
}

static int run_cases(const check_algorithm *a, const lob_backend *backend,
                     const lob_context *context, const choices *c)
{
    int failures = 0, done = 0;
    for (uint64_t i = 0; i < c->cases; i++)
        failures += run_case(a, backend, context, c->first + i, 1, &done);
    printf("%s: %llu cases, of which %d had a result, %d differ\n", a->name,
           (unsigned long long)c->cases, done, failures);
    const int repeats = a->random->slow ? c->repeats / 5 + 1 : c->repeats;
    return c->repeats > 0
               ? failures + run_case(a, backend, context, a->random->repeated, repeats, &done)
               : failures;
}

bool check_open_ranks(lob_context *ranks, int count, const lob_context *context, lob_error *error)
{
    for (int r = 0; r < count; r++) ranks[r] = *context;
    for (int r = 1; r < count; r++) ranks[r].device = NULL;
    for (int r = 1; r < count && context->device; r++) {
        char choice[32];
        const int number = lob_device_number(context->device) + r;
        snprintf(choice, sizeof choice, "cuda:%d", number % lob_device_count());
        if (lob_device_open(&ranks[r].device, choice, error) != LOB_OK) return false;
    }
    return true;
}

void check_close_ranks(lob_context *ranks, int count)
{
    for (int r = 1; r < count; r++) lob_device_close(ranks[r].device);
}

/* What was wrong with one algorithm; it is timed only when nothing was. */
static int check(const check_algorithm *algorithm, const lob_context *context, const choices *c)
{
    int failures = 0;
    for (const lob_backend *const *b = lob_backends + 1; *b; b++) {
        if (algorithm->random) {
            failures += run_cases(algorithm, *b, context, c);
            continue;
        }
        failures += algorithm->cases(*b, context, c->first, c->cases);
        if (c->repeats > 0 && algorithm->repeats)
            failures += algorithm->repeats(*b, context, c->repeats);
    }
    if (failures == 0 && c->benches && algorithm->bench)
        failures += algorithm->bench(context, &c->bench);
    return failures;
}

int main(int argc, char **argv)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    choices c = {
        .device = "auto",
        .cases = 500,
        .repeats = 100,
        .threads = cores > 0 ? (int)cores : 1,
        .bench = {.times = 9, .dims = {512, 512, 300}}
    };
    lob_error error = {.text = ""};
    if (!parse(&c, argc, argv)) return usage();
#ifdef LOB_WITH_CUDA
    if (c.bench.ranks) return bench_ranks(&c.bench, c.threads) != 0;
#endif
    lob_context context = {.threads = c.threads};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (lob_device_open(&context.device, c.device, &error) != LOB_OK) {
        printf("skipped: %s\n", error.text);
        return SKIPPED;
    }
    printf("device: %s, %.1f GiB free\n", lob_device_name(context.device),
           (double)lob_device_free_bytes(context.device) / (1 << 30));
    int failures = 0;
    for (int i = 0; i < ALGORITHMS; i++)
        if (!c.left_out[i]) failures += check(&algorithms[i], &context, &c);
    lob_device_close(context.device);
    return failures != 0;
}
