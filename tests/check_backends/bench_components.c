/*
 * Times of components on a device. Every result is compared with the CPU's before its time counts;
 * times are CUDA events around the whole call with arrays on the device: bits, joining, numbering,
 * labels, and the host's part between them. Medians after two runs that are not counted.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/phantom/phantom_random.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A volume in host and device memory, and space for its labels. */
typedef struct {
    const lob_context *context;
    const bench_options *options;
    const char *name;
    lob_volume image;
    void *device_image;
    int32_t *labels;
    double copy; /* bytes a second */
    FILE *table; /* of times, for comparing; NULL: none */
} bench;

/* ---- volumes ---- */

/* A box filter of 2 * reach + 1 values over adjacent lines of n values, stride apart. */
static void smooth_lines(float *to, const float *from, int64_t n, int64_t stride, int64_t lines,
                         int64_t reach)
{
    float *sum = calloc((size_t)lines, sizeof *sum);
    if (!sum) exit(75);
    for (int64_t i = -reach; i < n; i++) {
        const float *in = i + reach < n ? from + (i + reach) * stride : NULL;
        const float *gone = i - reach - 1 >= 0 ? from + (i - reach - 1) * stride : NULL;
        for (int64_t k = 0; in && k < lines; k++) sum[k] += in[k];
        for (int64_t k = 0; gone && k < lines; k++) sum[k] -= gone[k];
        if (i >= 0) memcpy(to + i * stride, sum, (size_t)lines * sizeof *sum);
    }
    free(sum);
}

static void smooth_row(float *to, const float *from, int64_t n, int64_t reach)
{
    float sum = 0;
    for (int64_t i = -reach; i < n; i++) {
        if (i + reach < n) sum += from[i + reach];
        if (i - reach - 1 >= 0) sum -= from[i - reach - 1];
        if (i >= 0) to[i] = sum;
    }
}

/* Normal noise that three boxes along each axis have smoothed, nearly as a Gaussian does. */
static float *smooth_noise(lob_dims d, const int64_t reach[3])
{
    const int64_t n = lob_dims_voxels(d), plane = d.nx * d.ny;
    float *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    if (!a || !b) exit(75);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        a[i] = (float)(random_bits(21, (uint64_t)i) >> 40) / (float)(1 << 23) - 1.0f;
    for (int pass = 0; pass < 3; pass++) {
#pragma omp parallel for
        for (int64_t row = 0; row < d.ny * d.nz; row++)
            smooth_row(b + row * d.nx, a + row * d.nx, d.nx, reach[pass]);
#pragma omp parallel for
        for (int64_t z = 0; z < d.nz; z++)
            smooth_lines(a + z * plane, b + z * plane, d.ny, d.nx, d.nx, reach[pass]);
#pragma omp parallel for
        for (int64_t y = 0; y < d.ny; y++)
            smooth_lines(b + y * d.nx, a + y * d.nx, d.nz, plane, d.nx, reach[pass]);
        memcpy(a, b, (size_t)n * sizeof *a);
    }
    free(b);
    return a;
}

/* The standard deviation of values around 0. */
static double spread_of(const float *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += 7) sum += (double)values[i] * (double)values[i];
    return sqrt(sum / ((double)n / 7));
}

static void fill_smooth(lob_volume *v, double levels, double width)
{
    static const int64_t coarse[3] = {3, 4, 4}, fine[3] = {1, 1, 2};
    const int64_t n = lob_voxels(v);
    float *smooth = smooth_noise(v->dims, width > 2 ? coarse : fine);
    const double spread = spread_of(smooth, n);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        const double level =
            levels == 1 ? (double)(smooth[i] > 0)
                        : fmin(fmax(levels / 2 * (1 + smooth[i] / spread / 2), 0), levels - 1);
        ((uint8_t *)v->data)[i] = (uint8_t)level;
    }
    free(smooth);
}

static void fill_coarse(lob_volume *v, double levels)
{
    fill_smooth(v, levels, 4);
}

static void fill_fine(lob_volume *v, double levels)
{
    fill_smooth(v, levels, 1.5);
}

static void fill_noise(lob_volume *v, double p)
{
    const int64_t n = lob_voxels(v);
    const uint64_t max = (uint64_t)(p * 16777216.0);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)v->data)[i] = random_bits(22, (uint64_t)i) >> 40 < max;
}

static void fill_checkerboard(lob_volume *v, double unused)
{
    const lob_dims d = v->dims;
    (void)unused;
#pragma omp parallel for
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t i = z * d.nx * d.ny, y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++, i++)
                ((uint8_t *)v->data)[i] = (uint8_t)((x + y + z) & 1);
}

/* One path through the volume: a spiral in every second plane, inwards and outwards in turn. */
static void fill_spiral(lob_volume *v, double unused)
{
    const lob_dims d = v->dims;
    (void)unused;
#pragma omp parallel for
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t i = z * d.nx * d.ny, y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++, i++) {
                /* rings two apart, each open above its left corner, where the next begins */
                const int64_t to_x = x < d.nx - 1 - x ? x : d.nx - 1 - x;
                const int64_t to_y = y < d.ny - 1 - y ? y : d.ny - 1 - y;
                const int64_t ring = to_x < to_y ? to_x : to_y;
                const bool gap = x == ring && y == ring + 1;
                const bool step = ring % 2 == 1 && x == ring && y == ring + 1;
                const bool in_plane = (ring % 2 == 0 && !gap) || step;
                const bool inner = ring >= (d.nx < d.ny ? d.nx : d.ny) / 2 - 2;
                const bool stair = z / 2 % 2 ? x == 0 && y == 0 : inner && ring % 2 == 0 && !gap;
                ((uint8_t *)v->data)[i] = (uint8_t)(z % 2 == 0 ? in_plane : stair);
            }
}

static const struct {
    const char *name;
    void (*fill)(lob_volume *v, double value);
    double value;
    lob_join join;
    double tolerance;
} volumes[] = {
    {"blobs",        fill_coarse,       1,      LOB_JOIN_ANY,       0},
    {"fine blobs",   fill_fine,         1,      LOB_JOIN_ANY,       0},
    {"noise .05",    fill_noise,        0.05,   LOB_JOIN_ANY,       0},
    {"noise .1",     fill_noise,        0.1,    LOB_JOIN_ANY,       0},
    {"noise .3116",  fill_noise,        0.3116, LOB_JOIN_ANY,       0},
    {"noise .5",     fill_noise,        0.5,    LOB_JOIN_ANY,       0},
    {"noise .9",     fill_noise,        0.9,    LOB_JOIN_ANY,       0},
    {"checkerboard", fill_checkerboard, 0,      LOB_JOIN_ANY,       0},
    {"giant",        fill_noise,        1,      LOB_JOIN_ANY,       0},
    {"spiral",       fill_spiral,       0,      LOB_JOIN_ANY,       0},
    {"8 classes",    fill_coarse,       8,      LOB_JOIN_EQUAL,     0},
    {"64 levels",    fill_coarse,       64,     LOB_JOIN_TOLERANCE, 1},
};

enum { VOLUMES = sizeof volumes / sizeof *volumes };

/* ---- running ---- */

typedef struct {
    float ms;
    lob_components_output result;
    lob_status status;
    lob_error error;
} timing;

/* The result of the last run has to be freed. */
static timing measure(const bench *b, const lob_components_options *o)
{
    const lob_volume there = bench_there(b->context, &b->image, b->device_image);
    const lob_components_input in = {.image = &there, .place = there.place};
    float ms[BENCH_MAX_TIMES];
    timing t = {.error = {.text = ""}};
    for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
        lob_components_output_free(&t.result);
        bench_clock clock = bench_start(b->context);
        t.status = lob_components_cuda(&t.result, &in, o, b->context, &t.error);
        const float took = bench_stop_ms(&clock);
        if (t.status != LOB_OK) return t;
        if (i >= 0) ms[i] = took;
    }
    t.ms = bench_median(ms, b->options->times);
    return t;
}

/* Whether labels on the device and regions are the CPU's. */
static bool same_as_cpu(const bench *b, const timing *t, const lob_components_output *want)
{
    const size_t bytes = (size_t)lob_voxels(&b->image) * sizeof *b->labels;
    const size_t rows = (size_t)want->count * sizeof(lob_region);
    if (t->result.count != want->count || t->result.found != want->found) return false;
    bench_download(b->labels, t->result.labels, bytes);
    return memcmp(b->labels, want->labels, bytes) == 0 &&
           memcmp(t->result.regions, want->regions, rows) == 0;
}

static int bench_row(const bench *b, lob_join join, double tolerance, int neighbours)
{
    lob_components_options o = lob_components_defaults();
    lob_components_output want;
    lob_error error = {.text = ""};
    const lob_components_input in = {.image = &b->image};
    const double n = (double)lob_voxels(&b->image);
    o.join = join;
    o.tolerance = tolerance;
    o.neighbours = neighbours;
    o.type = LOB_I32;
    o.regions = true;
    if (lob_components_cpu(&want, &in, &o, ON_CPU(b->context), &error) != LOB_OK) {
        printf("%-13s %3d: %s\n", b->name, neighbours, error.text);
        return 1;
    }
    timing with = measure(b, &o);
    const bool same = with.status == LOB_OK && same_as_cpu(b, &with, &want);
    lob_components_output_free(&with.result);
    o.regions = false;
    timing t = measure(b, &o);
    const double rate = 5 * n / (t.ms * 1e-3);
    printf("%-13s %3d %10lld %8.3f %8.3f %6.2f %7.0f %5.1f %6.2f%s%s\n", b->name, neighbours,
           (long long)want.count, (double)t.ms, (double)with.ms, (double)(with.ms / t.ms),
           rate / 1e9, 100 * rate / b->copy, (double)t.result.working_bytes / n,
           same ? "" : " DIFFERS ", t.error.text);
    if (b->table)
        fprintf(b->table, "%s\t%d\t%lld\t%.4f\n", b->name, neighbours, (long long)want.count,
                (double)t.ms);
    lob_components_output_free(&t.result);
    lob_components_output_free(&want);
    return !same;
}

static void keep_volume(const bench *b)
{
    char path[1024];
    if (!b->options->keep) return;
    snprintf(path, sizeof path, "%s/%s.u8", b->options->keep, b->name);
    FILE *f = fopen(path, "wb");
    if (f) fwrite(b->image.data, 1, (size_t)lob_voxels(&b->image), f);
    if (!f || fclose(f) != 0) printf("%s could not be written\n", path);
}

static bool bench_alloc(bench *b, lob_dims dims)
{
    const size_t n = (size_t)lob_dims_voxels(dims);
    b->image = lob_volume_empty();
    b->image.dims = dims;
    b->image.data = malloc(n);
    b->labels = malloc(n * sizeof *b->labels);
    if (!b->image.data || !b->labels) return false;
    b->device_image = bench_to_device(NULL, n);
    return true;
}

static void bench_free(bench *b)
{
    lob_volume_free(&b->image);
    free(b->labels);
    cudaFree(b->device_image);
}

static int bench_volumes(bench *b)
{
    static const int around[] = {26, 18, 6};
    const size_t n = (size_t)lob_voxels(&b->image);
    int failures = 0;
    printf("%lld x %lld x %lld uint8 to int32; rate of the 5 bytes a voxel that must be moved\n"
           "%-13s %3s %10s %8s %8s %6s %7s %5s %6s\n",
           (long long)b->image.dims.nx, (long long)b->image.dims.ny, (long long)b->image.dims.nz,
           "volume", "nb", "components", "ms", "regions", "ratio", "GB/s", "% cp", "B/vox");
    for (int v = 0; v < VOLUMES; v++) {
        b->name = volumes[v].name;
        if (b->options->volume && !strstr(b->name, b->options->volume)) continue;
        volumes[v].fill(&b->image, volumes[v].value);
        keep_volume(b);
        bench_upload(b->device_image, b->image.data, n);
        for (int k = 0; k < 3; k++)
            failures += bench_row(b, volumes[v].join, volumes[v].tolerance, around[k]);
    }
    return failures;
}

/* Cubes of 3 voxels on a lattice of 4: as many components as lattice cells, past 2^31 voxels. */
static int bench_huge(const lob_context *context, const bench_options *options)
{
    const lob_dims dims = {2048, 1408, 1024};
    bench b = {.context = context, .options = options, .name = "lattice"};
    const int64_t want = dims.nx / 4 * (dims.ny / 4) * (dims.nz / 4);
    int failures = 0;
    b.image = lob_volume_empty();
    b.image.dims = dims;
    b.image.data = malloc((size_t)lob_dims_voxels(dims));
    if (!b.image.data) return 1;
#pragma omp parallel for
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t i = z * dims.nx * dims.ny, y = 0; y < dims.ny; y++)
            for (int64_t x = 0; x < dims.nx; x++, i++)
                ((uint8_t *)b.image.data)[i] = x % 4 < 3 && y % 4 < 3 && z % 4 < 3;
    b.device_image = bench_to_device(b.image.data, (size_t)lob_dims_voxels(dims));
    for (int k = 0; k < 2; k++) {
        lob_components_options o = lob_components_defaults();
        o.neighbours = k ? 6 : 26;
        o.type = LOB_I32;
        o.regions = true;
        timing t = measure(&b, &o);
        const bool found = t.status == LOB_OK && t.result.count == want;
        const lob_region last = found ? t.result.regions[want - 1] : (lob_region){0};
        const bool right =
            found && last.voxels == 27 && last.high[2] == dims.nz - 2 && last.low[0] == dims.nx - 4;
        printf("%lld voxels, %d neighbours: %lld components, %.1f ms: %s%s\n",
               (long long)lob_dims_voxels(dims), o.neighbours, (long long)t.result.count,
               (double)t.ms, right ? "right" : "WRONG ", t.error.text);
        failures += !right;
        lob_components_output_free(&t.result);
    }
    bench_free(&b);
    return failures;
}

int bench_components(const lob_context *context, const bench_options *options)
{
    bench b = {.context = context, .options = options};
    int failures = 0;
    b.copy = bench_copy_bandwidth(context);
    if (options->volumes) {
        char path[1024] = "";
        if (options->keep) {
            snprintf(path, sizeof path, "%s/components.tsv", options->keep);
            b.table = fopen(path, "w");
        }
        if (!bench_alloc(&b, options->dims)) return 1;
        failures += bench_volumes(&b);
        bench_free(&b);
        if (b.table) fclose(b.table);
    }
    if (options->flat) failures += bench_far_links(context, options->times);
    if (options->huge) failures += bench_huge(context, options);
    return failures;
}
