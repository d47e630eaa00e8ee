/*
 * Times of supervoxels on a device. Connected results are compared with the CPU's before their time
 * counts; times are CUDA events around the whole call with arrays on the device: levels, bricks,
 * iterations, connectivity, and the host's part between them. Medians after two runs that are not
 * counted. The figures of the papers that a suite repeats stand beside it.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/phantom/phantom_random.h"
#include "kernels/supervoxels/supervoxels_tuning.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An image in host and device memory, and space for its labels. */
typedef struct {
    const lob_context *context;
    const bench_options *options;
    lob_volume image;
    void *device_image, *device_labels;
    int32_t *want, *got; /* labels: the CPU's, the device's */
    double copy;         /* bytes a second */
} bench;

/* A timed call. */
typedef struct {
    float ms;
    lob_supervoxels_stats stats;
    lob_status status;
    lob_error error;
} timing;

static const char *const method_name[] = {"slic", "slico", "lsc"};

/* ---- images ---- */

/* Bytes of red, green and blue from a slice of 12 bits: tints that follow the tissue, with noise.
 */
static void colour(lob_volume *image)
{
    const int64_t n = lob_voxels(image);
    const int16_t *grey = image->data;
    uint8_t *rgb = malloc((size_t)n * 3);
    if (!rgb) exit(75);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        const double level = grey[i] / 16.0;
        const double tint[3] = {level, 0.7 * level + 30, 220 - 0.6 * level};
        for (int c = 0; c < 3; c++) {
            const double v = tint[c] + 3 * random_normal(31 + (uint64_t)c, (uint64_t)i);
            rgb[c * n + i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
    }
    free(image->data);
    image->data = rgb;
    image->type = LOB_U8;
    image->channels = 3;
}

/* Several channels of 12 bits, each with a share of the first's contrast. */
static void several(lob_volume *image, int channels)
{
    const int64_t n = lob_voxels(image);
    const int16_t *grey = image->data;
    int16_t *all = malloc((size_t)n * (size_t)channels * sizeof *all);
    if (!all) exit(75);
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < channels; c++) all[c * n + i] = (int16_t)(grey[i] / (c + 1));
    free(image->data);
    image->data = all;
    image->channels = channels;
}

static size_t image_bytes(const lob_volume *image)
{
    return (size_t)lob_voxels(image) * (size_t)image->channels * lob_type_of(image->type)->bytes;
}

typedef enum { GREY = 1, COLOURS = 3, FIVE = 5 } bench_channels;

static bool bench_make(bench *b, lob_dims dims, bench_channels channels)
{
    if (!bench_abdomen(&b->image, NULL, NULL, dims, BENCH_NOISE_PERCENT, 1, b->context->threads))
        return false;
    if (channels == COLOURS) colour(&b->image);
    if (channels == FIVE) several(&b->image, FIVE);
    for (int a = 0; a < 3; a++) b->image.geometry.spacing_mm[a] = 1; /* sizes are in voxels */
    const size_t labels = (size_t)lob_voxels(&b->image) * sizeof *b->want;
    b->want = malloc(labels);
    b->got = malloc(labels);
    if (!b->want || !b->got) exit(75);
    b->device_image = bench_to_device(b->image.data, image_bytes(&b->image));
    b->device_labels = bench_to_device(NULL, labels);
    return true;
}

static void bench_free(bench *b)
{
    lob_volume_free(&b->image);
    free(b->want);
    free(b->got);
    cudaFree(b->device_image);
    cudaFree(b->device_labels);
}

/* ---- running ---- */

/* Of arrays on the device or, with transfers, from host memory and back to it. */
static timing measure(const bench *b, const lob_supervoxels_options *o,
                      const lob_supervoxels_tuning *tuning, bool transfers)
{
    const lob_volume there = bench_there(b->context, &b->image, b->device_image);
    const lob_supervoxels_input in = {.image = &b->image};
    const lob_supervoxels_input in_there = {.image = &there, .place = there.place};
    const int times = b->options->times;
    float ms[BENCH_MAX_TIMES];
    timing t = {.error = {.text = ""}};
    for (int i = -BENCH_WARM_UP; i < times && t.status == LOB_OK; i++) {
        bench_clock clock = bench_start(b->context);
        if (transfers)
            t.status = lob_supervoxels_cuda(b->got, &t.stats, &in, o, b->context, &t.error);
        else
            t.status =
                lob_supervoxels_cuda_tuned(b->device_labels, &t.stats, &in_there, o,
                                           b->image.dims.nz, NULL, tuning, b->context, &t.error);
        const float took = bench_stop_ms(&clock);
        if (i >= 0) ms[i] = took;
    }
    if (t.status == LOB_OK) t.ms = bench_median(ms, times);
    return t;
}

static bool on_cpu(const bench *b, lob_supervoxels_stats *stats, const lob_supervoxels_options *o)
{
    const lob_supervoxels_input in = {.image = &b->image};
    lob_error error = {.text = ""};
    const lob_status st = lob_supervoxels_cpu(b->want, stats, &in, o, ON_CPU(b->context), &error);
    if (st != LOB_OK) printf("on the CPU: %s\n", error.text);
    return st == LOB_OK;
}

static int64_t count_wrong(const bench *b)
{
    const int64_t n = lob_voxels(&b->image);
    int64_t wrong = 0;
    bench_download(b->got, b->device_labels, (size_t)n * sizeof *b->got);
    for (int64_t i = 0; i < n; i++) wrong += b->got[i] != b->want[i];
    return wrong;
}

/* A method with and without connectivity; both are of one table of times. */
typedef struct {
    timing whole, iterated;
    lob_supervoxels_stats on_cpu;
    bool same; /* as the CPU's */
} pair;

static pair measure_pair(const bench *b, const lob_supervoxels_options *o)
{
    const lob_supervoxels_tuning disconnected = {.disconnected = true};
    pair p = {0};
    if (!on_cpu(b, &p.on_cpu, o)) return p;
    p.iterated = measure(b, o, &disconnected, false);
    p.whole = measure(b, o, NULL, false);
    p.same = p.whole.status == LOB_OK && p.iterated.status == LOB_OK && count_wrong(b) == 0;
    return p;
}

static const char *verdict(const pair *p)
{
    return p->same ? "same" : p->whole.status != LOB_OK ? p->whole.error.text : "DIFFERS";
}

/* ---- volumes ---- */

/* Bytes that must be moved: levels once per iteration and once before, labels three times. */
static double min_bytes(const bench *b, const lob_supervoxels_options *o)
{
    const double n = (double)lob_voxels(&b->image);
    return n * b->image.channels * 2.0 * (o->iterations + 1) + 3 * 4.0 * n;
}

static int volume_row(const bench *b, lob_supervoxels_method method, const char *name)
{
    lob_supervoxels_options o = lob_supervoxels_defaults();
    o.method = method;
    o.size_mm = 8;
    const pair p = measure_pair(b, &o);
    const double n = (double)lob_voxels(&b->image);
    const double rate = min_bytes(b, &o) / (p.whole.ms * 1e-3);
    printf("%-6s %-5s %9.3f %9.3f %9.3f %7.0f %5.1f %6.2f %9lld %9lld  %s %016llx\n", name,
           method_name[method], (double)p.whole.ms, (double)p.iterated.ms,
           (double)(p.whole.ms - p.iterated.ms), rate / 1e9, 100 * rate / b->copy,
           (double)p.whole.stats.working_bytes / n, (long long)p.whole.stats.fragments,
           (long long)p.whole.stats.supervoxels, verdict(&p),
           (unsigned long long)bench_hash(b->got, lob_voxels(&b->image) * 4));
    return !p.same;
}

/* The voxelwise pass gives the same labels; its time shows what warp tiles save. */
static int voxelwise_row(const bench *b)
{
    const lob_supervoxels_tuning plain = {.voxelwise = true};
    lob_supervoxels_options o = lob_supervoxels_defaults();
    o.size_mm = 8;
    if (!on_cpu(b, NULL, &o)) return 1;
    const timing t = measure(b, &o, &plain, false);
    const bool same = t.status == LOB_OK && count_wrong(b) == 0;
    printf("voxel by voxel, slic: %.3f ms, %s\n", (double)t.ms, same ? "same" : "DIFFERS");
    return !same;
}

static int bench_volumes(const lob_context *context, const bench_options *options, double copy)
{
    static const int64_t sides[] = {128, 256, 512, 1024};
    int failures = 0;
    printf(
        "\nabdomen of 12 bits with noise, cells of 8 voxels, 10 iterations; rate of what must be "
        "moved\n%-6s %-5s %9s %9s %9s %7s %5s %6s %9s %9s  labels as the CPU's, their hash\n",
        "side", "", "ms", "iterated", "connected", "GB/s", "% cp", "B/vox", "pieces", "labels");
    for (int i = 0; i < 4; i++) {
        bench b = {.context = context, .options = options, .copy = copy};
        const lob_dims dims = {sides[i], sides[i], sides[i]};
        char name[32];
        if (sides[i] == 1024 ? !options->huge : !options->volumes) continue;
        snprintf(name, sizeof name, "%lld", (long long)sides[i]);
        if (options->volume && !strstr(name, options->volume)) continue;
        if (!bench_make(&b, dims, GREY)) return failures + 1;
        for (int m = LOB_SLIC; m <= LOB_LSC; m++)
            failures += volume_row(&b, (lob_supervoxels_method)m, name);
        if (sides[i] == 128) failures += voxelwise_row(&b);
        bench_free(&b);
    }
    return failures;
}

/* ---- papers ---- */

/* SLIC of a large colour image: 0.512 ms of sums and 0.716 ms of assignment per iteration on a GTX
 * 980, and 71.8 ms for all. */
static int bench_large(const lob_context *context, const bench_options *options, double copy)
{
    bench b = {.context = context, .options = options, .copy = copy};
    lob_supervoxels_options o = lob_supervoxels_defaults();
    o.lab = true;
    o.size_mm = 128;
    o.compactness = 0.1;
    if (!bench_make(&b, (lob_dims){4096, 2048, 1}, COLOURS)) return 1;
    const pair p = measure_pair(&b, &o);
    const timing moved = measure(&b, &o, NULL, true);
    printf("\n4096 x 2048 colours, slic in CIELAB, cells of 128, 10 iterations: %.3f ms, %.3f "
           "without connectivity, %.3f with transfers: %s\n"
           "  a GTX 980, whose every iteration takes 1.228 ms: 71.8 ms\n",
           (double)p.whole.ms, (double)p.iterated.ms, (double)moved.ms, verdict(&p));
    bench_free(&b);
    return !p.same;
}

/* LSC of frames. */
static int bench_frames(const lob_context *context, const bench_options *options, double copy)
{
    static const struct {
        lob_dims dims;
        double paper_ms, paper_frames; /* of a GTX TITAN X: with transfers; and with connectivity */
    } frames[] = {
        {{480, 320, 1},   4.60, 137.0},
        {{640, 480, 1},   6.10, 90.9 },
        {{1280, 720, 1},  10.1, 41.5 },
        {{1920, 1080, 1}, 20.5, 17.9 },
    };
    int failures = 0;
    printf("\nlsc of colour frames in CIELAB, cells of 16, ratio 0.1; GTX TITAN X: transfers "
           "counted, connectivity on the CPU\n%-12s %3s %8s %9s %8s %9s %9s %9s\n",
           "frame", "it", "ms", "frames/s", "iterated", "frames/s", "TITAN X", "connected");
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        for (int iterations = 5; iterations <= 10; iterations += 5) {
            bench b = {.context = context, .options = options, .copy = copy};
            lob_supervoxels_options o = lob_supervoxels_defaults();
            o.method = LOB_LSC;
            o.lab = true;
            o.size_mm = 16;
            o.ratio = 0.1;
            o.iterations = iterations;
            if (!bench_make(&b, frames[i].dims, COLOURS)) return failures + 1;
            const pair p = measure_pair(&b, &o);
            printf("%5lld x %-4lld %3d %8.3f %9.0f %8.3f %9.0f %9.0f %9.1f  %s\n",
                   (long long)frames[i].dims.nx, (long long)frames[i].dims.ny, iterations,
                   (double)p.whole.ms, 1e3 / (double)p.whole.ms, (double)p.iterated.ms,
                   1e3 / (double)p.iterated.ms, 1e3 / frames[i].paper_ms, frames[i].paper_frames,
                   verdict(&p));
            failures += !p.same;
            bench_free(&b);
        }
    return failures;
}

/* ---- memory ---- */

/* Bytes per voxel; more is allowed where the tables of pieces take most of them. */
static const double MAX_BYTES = 4, MAX_PIECE_BYTES = 3.5;

/* Working memory beyond input and output. */
static int bench_memory(const lob_context *context, const bench_options *options)
{
    static const struct {
        const char *name;
        lob_dims dims;
        bench_channels channels;
        double size, compactness;
    } rows[] = {
        {"grey",       {256, 256, 256}, GREY,    8,  0.05 },
        {"grey",       {256, 256, 256}, GREY,    5,  0.05 },
        {"grey",       {256, 256, 256}, GREY,    4,  0.05 },
        {"noise",      {256, 256, 256}, GREY,    8,  0.01 },
        {"noise",      {256, 256, 256}, GREY,    8,  0.001},
        {"few slices", {320, 320, 20},  GREY,    8,  0.05 },
        {"odd sides",  {100, 100, 100}, GREY,    5,  0.05 },
        {"colours",    {1600, 1200, 1}, COLOURS, 16, 0.05 },
        {"colours",    {961, 641, 1},   COLOURS, 16, 0.05 },
        {"colours",    {128, 128, 128}, COLOURS, 8,  0.05 },
        {"colours",    {128, 128, 128}, COLOURS, 6,  0.1  },
        {"5 channels", {128, 128, 128}, FIVE,    8,  0.05 },
    };
    int failures = 0;
    printf("\nworking memory, bytes a voxel\n%-10s %-16s %4s %6s %-5s %6s %6s %9s %8s\n", "", "",
           "size", "comp.", "", "GPU", "CPU", "pieces", "ms");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = {.context = context, .options = options};
        if (!bench_make(&b, rows[i].dims, rows[i].channels)) return failures + 1;
        const double n = (double)lob_voxels(&b.image);
        for (int m = LOB_SLIC; m <= LOB_LSC; m++) {
            lob_supervoxels_options o = lob_supervoxels_defaults();
            o.method = (lob_supervoxels_method)m;
            o.size_mm = rows[i].size;
            o.compactness = rows[i].compactness;
            o.lab = rows[i].channels == COLOURS;
            if (m == LOB_LSC && o.compactness < 0.05) continue;
            const pair p = measure_pair(&b, &o);
            const double gpu = (double)p.whole.stats.working_bytes / n,
                         cpu = (double)p.on_cpu.working_bytes / n,
                         pieces = (double)p.on_cpu.fragments / n;
            const bool over = fmax(gpu, cpu) > MAX_BYTES &&
                              pieces * (8 + 6 * b.image.channels) <= MAX_PIECE_BYTES;
            printf("%-10s %4lld x%5lld x%4lld %4g %6g %-5s %6.2f %6.2f %9.3f %8.3f  %s%s\n",
                   rows[i].name, (long long)rows[i].dims.nx, (long long)rows[i].dims.ny,
                   (long long)rows[i].dims.nz, rows[i].size, rows[i].compactness, method_name[m],
                   gpu, cpu, pieces, (double)p.whole.ms, verdict(&p), over ? ", TOO MUCH" : "");
            failures += !p.same || over;
        }
        bench_free(&b);
    }
    return failures;
}

int bench_supervoxels(const lob_context *context, const bench_options *options)
{
    int failures = 0;
    const double copy = bench_copy_bandwidth(context);
    if (options->volumes || options->huge) failures += bench_volumes(context, options, copy);
    if (options->flat) {
        failures += bench_large(context, options, copy);
        failures += bench_frames(context, options, copy);
        failures += bench_memory(context, options);
    }
    return failures;
}
