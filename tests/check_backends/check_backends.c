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
    {"appearance",  check_appearance_cases,     check_appearance_repeats,     BENCH(bench_appearance)  },
    {"basins",      check_basins_cases,         check_basins_repeats,         NULL                     },
    {"carry",       check_carry_cases,          check_carry_repeats,          NULL                     },
    {"cells",       check_cells_cases,          check_cells_repeats,          NULL                     },
    {"components",  check_components_cases,     check_components_repeats,     BENCH(bench_components)  },
    {"distance",    check_distance_cases,       check_distance_repeats,       BENCH(bench_distance)    },
    {"filters",     BENCH(check_filters_cases), BENCH(check_filters_repeats), BENCH(bench_filters)     },
    {"fuse",        check_fuse_cases,           check_fuse_repeats,           NULL                     },
    {"gaussian",    check_gaussian_cases,       check_gaussian_repeats,       BENCH(bench_gaussian)    },
    {"growcut",     check_growcut_cases,        check_growcut_repeats,        BENCH(bench_growcut)     },
    {"labels",      check_labels_cases,         check_labels_repeats,         BENCH(bench_labels)      },
    {"maxima",      check_maxima_cases,         check_maxima_repeats,         NULL                     },
    {"median",      BENCH(check_median_cases),  BENCH(check_median_repeats),  BENCH(bench_median_steps)},
    {"register",    check_register_cases,       check_register_repeats,       BENCH(bench_register)    },
    {"resample",    check_resample_cases,       check_resample_repeats,       NULL                     },
    {"segment",     check_segment_cases,        check_segment_repeats,        NULL                     },
    {"supervoxels", check_supervoxels_cases,    check_supervoxels_repeats,    BENCH(bench_supervoxels) },
    {"threshold",   check_threshold_cases,      check_threshold_repeats,      BENCH(bench_threshold)   },
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
    fputs(
        "usage: check_backends [--only NAME,NAME] [--device cuda:N] [--cases N] [--first N]\n"
        "                      [--repeats N] [--threads N] [--bench] [--sweep] [--flat] [--flood]\n"
        "                      [--size NX NY NZ] [--times N] [--huge] [--keep FOLDER] [--volume "
        "TEXT]\n"
        "  --bench   time the volumes after checking them   --sweep  try windows, caps, warps\n"
        "  --flat    2D images: of 1 to 64 megapixels for growcut, of papers for supervoxels\n"
        "  --flood   growcut: the watershed of a smooth field, 6 and 26 neighbours;\n"
        "            with --sweep also by schedules\n"
        "  --huge    more than 2^31 voxels   --keep  write the volumes and times of --bench\n"
        "  --volume  only those volumes of --bench whose names hold the text\n"
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
        else if (strcmp(name, "--sweep") == 0)
            c->benches = c->bench.sweep = true;
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
            if (!choose_only(c, argv[++i])) return false;
        } else if (strcmp(name, "--device") == 0 && left >= 1)
            c->device = argv[++i];
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

/* What was wrong with one algorithm; it is timed only when nothing was. */
static int check(const check_algorithm *algorithm, const lob_context *context, const choices *c)
{
    int failures = 0;
    for (const lob_backend *const *b = lob_backends + 1; *b; b++) {
        failures += algorithm->cases(*b, context, c->first, c->cases);
        if (c->repeats > 0) failures += algorithm->repeats(*b, context, c->repeats);
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
