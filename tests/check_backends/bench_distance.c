/*
 * Times of distances on a device, between arrays there: CUDA events around the whole call, medians
 * after two runs that are not counted. Every result is compared with the CPU's before.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/phantom/phantom_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const lob_context *context;
    const bench_options *options;
    int64_t n;
    lob_dims dims;
    uint8_t *labels, *got_labels;
    float *want, *got;
    void *device_labels, *device_distance, *device_feature;
} bench;

/* ---- volumes ---- */

static double ball(const bench *b, int64_t i, double cells)
{
    const int64_t position[3] = {i % b->dims.nx, i / b->dims.nx % b->dims.ny,
                                 i / b->dims.nx / b->dims.ny};
    double squared = 0;
    for (int a = 0; a < 3; a++) {
        const double side = (double)lob_side(b->dims, a) / cells;
        const double at = fmod((double)position[a], side) / side - 0.5;
        squared += at * at;
    }
    return sqrt(squared);
}

static uint8_t organ(const bench *b, int64_t i)
{
    return ball(b, i, 1) < 0.3;
}

static uint8_t room(const bench *b, int64_t i)
{
    return ball(b, i, 1) > 0.45;
}

static uint8_t cells(const bench *b, int64_t i)
{
    return ball(b, i, 16) < 0.42 ? (uint8_t)(1 + (i >> 5) % 200) : 0;
}

static uint8_t cell_bodies(const bench *b, int64_t i)
{
    return ball(b, i, 16) < 0.42 ? (uint8_t)(1 + (i / 7 % 2)) : 0;
}

static uint8_t points(const bench *b, int64_t i)
{
    (void)b;
    return random_bits(3, (uint64_t)i) >> 40 < 168; /* one in a hundred thousand */
}

static uint8_t noise(const bench *b, int64_t i)
{
    (void)b;
    return random_bits(4, (uint64_t)i) >> 40 < 838861;
}

static uint8_t one(const bench *b, int64_t i)
{
    return i == b->dims.nx / 7;
}

static uint8_t none(const bench *b, int64_t i)
{
    (void)b, (void)i;
    return 0;
}

static const struct {
    const char *name;
    uint8_t (*label)(const bench *b, int64_t i);
} volumes[] = {
    {"organ",     organ      },
    {"room",      room       },
    {"cells",     cells      },
    {"striped",   cell_bodies},
    {"points",    points     },
    {"noise",     noise      },
    {"one voxel", one        },
    {"empty",     none       },
};

/* ---- timing ---- */

static const struct {
    const char *name;
    double spacing[3], max;
    lob_distance_kind kind;
    bool feature;
} rows[] = {
    {"to set",           {1, 1, 1},        INFINITY, LOB_DISTANCE_TO_SET,   false},
    {"to set .7 mm",     {.7, .7, .7},     INFINITY, LOB_DISTANCE_TO_SET,   false},
    {"to set .7 .7 5",   {.7, .7, 5.0},    INFINITY, LOB_DISTANCE_TO_SET,   false},
    {"to set in slices", {1, 1, INFINITY}, INFINITY, LOB_DISTANCE_TO_SET,   false},
    {"to set to 5",      {1, 1, 1},        5,        LOB_DISTANCE_TO_SET,   false},
    {"nearest label",    {1, 1, 1},        INFINITY, LOB_DISTANCE_TO_SET,   true },
    {"nearest .7 .7 5",  {.7, .7, 5.0},    INFINITY, LOB_DISTANCE_TO_SET,   true },
    {"signed",           {1, 1, 1},        INFINITY, LOB_DISTANCE_SIGNED,   false},
    {"signed .7 .7 5",   {.7, .7, 5.0},    INFINITY, LOB_DISTANCE_SIGNED,   false},
    {"to other",         {1, 1, 1},        INFINITY, LOB_DISTANCE_TO_OTHER, false},
    {"to other to 5",    {1, 1, 1},        5,        LOB_DISTANCE_TO_OTHER, false},
};

static float time_of(const bench *b, const lob_distance_output *out, const lob_distance_input *in,
                     const lob_distance_options *options)
{
    lob_distance_input in_there = *in;
    float ms[BENCH_MAX_TIMES];
    in_there.labels = b->device_labels;
    in_there.place = lob_context_place(b->context);
    for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
        lob_error error = {.text = ""};
        bench_clock clock = bench_start(b->context);
        const lob_status st = lob_distance_cuda(out, &in_there, options, b->context, &error);
        const float t = bench_stop_ms(&clock);
        if (st != LOB_OK) printf("%s\n", error.text);
        if (i >= 0) ms[i] = t;
    }
    return bench_median(ms, b->options->times);
}

static int bench_row(const bench *b, const char *volume, int row)
{
    lob_distance_input in = {.labels = b->labels, .type = LOB_U8, .dims = b->dims};
    lob_distance_options options = lob_distance_defaults();
    const size_t n = (size_t)b->n;
    memcpy(in.spacing, rows[row].spacing, sizeof in.spacing);
    options.kind = rows[row].kind;
    options.max = rows[row].max;
    const lob_distance_output out = {b->device_distance,
                                     rows[row].feature ? b->device_feature : NULL};
    const float ms = time_of(b, &out, &in, &options);
    uint8_t *const want_labels = rows[row].feature ? malloc(n) : NULL;
    const lob_distance_output on_cpu = {b->want, want_labels};
    if (lob_distance_cpu(&on_cpu, &in, &options, ON_CPU(b->context), NULL) != LOB_OK) return 1;
    bench_download(b->got, b->device_distance, n * sizeof *b->got);
    bool same = memcmp(b->want, b->got, n * sizeof *b->got) == 0;
    if (want_labels) {
        bench_download(b->got_labels, b->device_feature, n);
        same = same && memcmp(want_labels, b->got_labels, n) == 0;
    }
    free(want_labels);
    printf("%-10s %-16s %8.3f %6.2f%s\n", volume, rows[row].name, (double)ms,
           (double)n * 1e-6 / (double)ms, same ? "" : " DIFFERS");
    return !same;
}

static int bench_morphology(const bench *b, const char *volume)
{
    static const char *const names[] = {"dilate 5", "erode 5", "open 5", "close 5"};
    const lob_morphology_input in = {
        .labels = b->device_labels,
        .type = LOB_U8,
        .dims = b->dims,
        .spacing = {1, 1, 1},
        .place = lob_context_place(b->context),
    };
    for (int how = 0; how <= LOB_MORPHOLOGY_CLOSE; how++) {
        float ms[BENCH_MAX_TIMES];
        for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
            bench_clock clock = bench_start(b->context);
            const lob_status st = lob_morphology_cuda(b->device_feature, &in, (lob_morphology)how,
                                                      5, b->context, NULL);
            const float t = bench_stop_ms(&clock);
            if (st != LOB_OK) return 1;
            if (i >= 0) ms[i] = t;
        }
        printf("%-10s %-16s %8.3f\n", volume, names[how],
               (double)bench_median(ms, b->options->times));
    }
    return 0;
}

int bench_distance(const lob_context *context, const bench_options *options)
{
    bench b = {.context = context, .options = options, .dims = options->dims};
    int failures = 0;
    if (!options->volumes) return 0;
    b.n = lob_dims_voxels(b.dims);
    b.labels = malloc((size_t)b.n);
    b.got_labels = malloc((size_t)b.n);
    b.want = malloc((size_t)b.n * sizeof *b.want);
    b.got = malloc((size_t)b.n * sizeof *b.got);
    if (!b.labels || !b.got_labels || !b.want || !b.got) return 1;
    b.device_labels = bench_to_device(NULL, (size_t)b.n);
    b.device_feature = bench_to_device(NULL, (size_t)b.n);
    b.device_distance = bench_to_device(NULL, (size_t)b.n * sizeof *b.got);
    printf("distances of %lld x %lld x %lld uint8\n%-10s %-16s %8s %6s\n", (long long)b.dims.nx,
           (long long)b.dims.ny, (long long)b.dims.nz, "volume", "what", "ms", "vox/ns");
    for (size_t v = 0; v < sizeof volumes / sizeof *volumes; v++) {
        if (options->volume && !strstr(volumes[v].name, options->volume)) continue;
#pragma omp parallel for
        for (int64_t i = 0; i < b.n; i++) b.labels[i] = volumes[v].label(&b, i);
        bench_upload(b.device_labels, b.labels, (size_t)b.n);
        for (int r = 0; r < (int)(sizeof rows / sizeof *rows); r++)
            failures += bench_row(&b, volumes[v].name, r);
        failures += bench_morphology(&b, volumes[v].name);
    }
    cudaFree(b.device_labels);
    cudaFree(b.device_feature);
    cudaFree(b.device_distance);
    free(b.labels);
    free(b.got_labels);
    free(b.want);
    free(b.got);
    return failures;
}
