/*
 * Times of label steps on a device. Every result is compared with the CPU's; times are CUDA events
 * around the whole call with arrays on the device, medians after two runs that are not counted.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/phantom/phantom_random.h"
#include "volumes/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A label volume in host and device memory, and space for the result. */
typedef struct {
    const lob_context *context;
    const bench_options *options;
    lob_dims dims;
    int64_t n;
    int32_t count;
    lob_type type;
    void *labels, *got, *device_labels;
    int32_t *values;
} bench;

/* ---- volumes ---- */

/* The nearest of one point in each cell of a grid; points are jittered. far: how much nearer. */
static int32_t nearest_point(const bench *b, const int64_t at[3], const int64_t cells[3],
                             double *apart)
{
    double least = 1e30;
    int64_t label = 0, cell[3];
    for (int a = 0; a < 3; a++) cell[a] = at[a] * cells[a] / lob_side(b->dims, a);
    for (int64_t z = cell[2] - 1; z <= cell[2] + 1; z++)
        for (int64_t y = cell[1] - 1; y <= cell[1] + 1; y++)
            for (int64_t x = cell[0] - 1; x <= cell[0] + 1; x++) {
                const int64_t c[3] = {x, y, z};
                double squared = 0;
                bool inside = true;
                for (int a = 0; a < 3; a++) inside = inside && c[a] >= 0 && c[a] < cells[a];
                if (!inside) continue;
                const int64_t number = (z * cells[1] + y) * cells[0] + x;
                for (int a = 0; a < 3; a++) {
                    const double side = (double)lob_side(b->dims, a) / (double)cells[a];
                    const double jitter =
                        (double)(random_bits(31 + (uint64_t)a, (uint64_t)number) >> 40) / (1 << 24);
                    const double d = (double)at[a] - ((double)c[a] + 0.2 + 0.6 * jitter) * side;
                    squared += d * d;
                }
                if (squared < least) {
                    least = squared;
                    label = number + 1;
                }
            }
    *apart = least;
    return (int32_t)label;
}

/* Regions that fill the volume, with a rough surface. */
static int32_t regions(const bench *b, const int64_t at[3], int64_t i)
{
    const int64_t cells[3] = {3, 3, 2};
    int64_t rough[3];
    double apart;
    for (int a = 0; a < 3; a++) {
        const int64_t bits = (int64_t)(random_bits(7 + (uint64_t)a, (uint64_t)i) >> 40);
        rough[a] = at[a] + bits % 5 - 2;
        if (rough[a] < 0) rough[a] = 0;
        if (rough[a] >= lob_side(b->dims, a)) rough[a] = lob_side(b->dims, a) - 1;
    }
    return nearest_point(b, rough, cells, &apart);
}

/* Balls in background. */
static int32_t organs(const bench *b, const int64_t at[3], int64_t i)
{
    const int64_t cells[3] = {3, 3, 2};
    double apart;
    (void)i;
    const int32_t label = nearest_point(b, at, cells, &apart);
    const double radius = (double)b->dims.nx / 8;
    return apart < radius * radius ? label : 0;
}

/* Thousands of small cells, apart from each other: 9216 or 5000. */
static int32_t cells(const bench *b, const int64_t at[3], int64_t i)
{
    static const int64_t grids[2][3] = {
        {24, 24, 16},
        {20, 25, 10}
    };
    const int64_t *grid = grids[b->count == 5000];
    double apart;
    (void)i;
    const int32_t label = nearest_point(b, at, grid, &apart);
    const double radius = (double)b->dims.nx / 60;
    return apart < radius * radius ? label : 0;
}

/* Vessels of one voxel among rough organs: all of these are thin. */
static int32_t vessels(const bench *b, const int64_t at[3], int64_t i)
{
    if (at[0] % 19 == 0 && at[1] % 23 == 0) return 18;
    return organs(b, at, i);
}

static const struct {
    const char *name;
    int32_t count;
    int32_t (*label)(const bench *b, const int64_t at[3], int64_t i);
} volumes[] = {
    {"regions", 18,   regions},
    {"organs",  18,   organs },
    {"vessels", 18,   vessels},
    {"cells",   5000, cells  },
    {"cells",   9216, cells  },
};

static void fill(bench *b, int v)
{
    b->count = volumes[v].count;
    b->type = lob_label_type(b->count);
    for (int32_t i = 0; i < b->count; i++) b->values[i] = i + 1;
#pragma omp parallel for
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t at[3] = {i % b->dims.nx, i / b->dims.nx % b->dims.ny,
                               i / b->dims.nx / b->dims.ny};
        lob_label_put(b->labels, b->type, i, volumes[v].label(b, at, i));
    }
    bench_upload(b->device_labels, b->labels, (size_t)b->n * lob_type_of(b->type)->bytes);
}

/* ---- timing ---- */

static const struct {
    const char *name;
    int count;
    lob_labels_step steps[3];
} rows[] = {
    {"smooth 1",   1, {{.kind = LOB_LABELS_SMOOTH, .length = 1}}},
    {"smooth 2",   1, {{.kind = LOB_LABELS_SMOOTH, .length = 2}}},
    {"smooth 4",   1, {{.kind = LOB_LABELS_SMOOTH, .length = 4}}},
    {"median 1",   1, {{.kind = LOB_LABELS_MEDIAN, .length = 1}}},
    {"median 3",   1, {{.kind = LOB_LABELS_MEDIAN, .length = 3}}},
    {"largest 1",  1, {{.kind = LOB_LABELS_LARGEST, .count = 1}}},
    {"split",      1, {{.kind = LOB_LABELS_SPLIT}}              },
    {"fill holes", 1, {{.kind = LOB_LABELS_FILL_HOLES}}         },
    {"boundary",   1, {{.kind = LOB_LABELS_BOUNDARY}}           },
    {"sequential", 1, {{.kind = LOB_LABELS_SEQUENTIAL}}         },
    {"chain",
     3,               {{.kind = LOB_LABELS_LARGEST, .count = 1},
      {.kind = LOB_LABELS_FILL_HOLES},
      {.kind = LOB_LABELS_SMOOTH, .length = 2}}          },
};

static int bench_row(const bench *b, int volume, int row)
{
    const lob_labels_input in = {
        .labels = b->labels,
        .type = b->type,
        .count = b->count,
        .values = b->values,
        .dims = b->dims,
        .spacing_mm = {1, 1, 1},
        .steps = rows[row].steps,
        .step_count = rows[row].count,
    };
    const lob_labels_options options = lob_labels_defaults();
    lob_labels_input in_there = in;
    lob_labels_output got = {.count = 0}, want;
    lob_error error = {.text = ""};
    float ms[BENCH_MAX_TIMES];
    in_there.labels = b->device_labels;
    in_there.place = lob_context_place(b->context);
    for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
        lob_labels_output_free(&got);
        bench_clock clock = bench_start(b->context);
        const lob_status st = lob_labels_cuda(&got, &in_there, &options, b->context, &error);
        const float t = bench_stop_ms(&clock);
        if (st != LOB_OK) {
            printf("labels: %s: %s: %s\n", volumes[volume].name, rows[row].name, error.text);
            return 1;
        }
        if (i >= 0) ms[i] = t;
    }
    if (lob_labels_cpu(&want, &in, &options, ON_CPU(b->context), &error) != LOB_OK) return 1;
    bench_download(b->got, got.labels, (size_t)b->n * lob_type_of(got.type)->bytes);
    const bool same = got.type == want.type && got.count == want.count &&
                      memcmp(b->got, want.labels, (size_t)b->n * lob_type_of(got.type)->bytes) == 0;
    const float median = bench_median(ms, b->options->times);
    printf("%-10s %-12s %8.3f %8.2f %8.2f%s\n", volumes[volume].name, rows[row].name,
           (double)median, (double)b->n * 1e-6 / (double)median,
           (double)got.working_bytes / (double)b->n, same ? "" : " DIFFERS");
    lob_labels_output_free(&got);
    lob_labels_output_free(&want);
    return !same;
}

int bench_labels(const lob_context *context, const bench_options *options)
{
    bench b = {.context = context, .options = options, .dims = options->dims};
    int failures = 0;
    if (!options->volumes) return 0;
    b.n = lob_dims_voxels(b.dims);
    const size_t bytes = (size_t)b.n * sizeof(int32_t);
    b.labels = malloc(bytes);
    b.got = malloc(bytes);
    b.values = malloc(10000 * sizeof *b.values);
    if (!b.labels || !b.got || !b.values) exit(75);
    b.device_labels = bench_to_device(NULL, bytes);
    printf("label steps on %lld x %lld x %lld voxels\n%-10s %-12s %8s %8s %8s\n",
           (long long)b.dims.nx, (long long)b.dims.ny, (long long)b.dims.nz, "volume", "step", "ms",
           "vox/ns", "bytes/vox");
    for (int v = 0; v < (int)(sizeof volumes / sizeof *volumes); v++) {
        if (options->volume && !strstr(volumes[v].name, options->volume)) continue;
        fill(&b, v);
        for (int r = 0; r < (int)(sizeof rows / sizeof *rows); r++) failures += bench_row(&b, v, r);
    }
    cudaFree(b.device_labels);
    free(b.labels);
    free(b.got);
    free(b.values);
    return failures;
}
