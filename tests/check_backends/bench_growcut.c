/*
 * Times of GrowCut on a device. Every result is compared with the CPU's before its time counts;
 * times are CUDA events around the whole call with arrays on the device: levels, rules, growing,
 * labels, and the host's part between them. Medians after two runs that are not counted.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "kernels/backend_cuda.h"
#include "kernels/device/device.h"
#include "kernels/filters/filters.h"
#include "kernels/phantom/phantom_random.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A volume in host and device memory, and the CPU's labels of it. */
typedef struct {
    const lob_context *context;
    const char *name;
    lob_volume image, seeds, truth;
    uint8_t *want, *got; /* labels: the CPU's, the device's */
    void *device_image, *device_seeds, *device_labels;
    double copy; /* bytes a second */
} bench;

/* A timed call. */
typedef struct {
    float ms;
    lob_growcut_stats stats;
    int64_t wrong; /* voxels that differ from the CPU's */
    lob_status status;
    lob_error error;
} timing;

/* ---- volumes ---- */

static bool phantom(bench *b, lob_dims dims, double noise, uint64_t seed)
{
    return bench_abdomen(&b->image, &b->truth, &b->seeds, dims, noise, seed, b->context->threads);
}

/*
 * Seeds for every slice, where the phantom's strokes lie in a few: a voxel of each 8x8 whose label
 * reaches 3 voxels around it.
 */
static void seed_slices(bench *b)
{
    enum { APART = 8, REACH = 3 };
    const lob_dims d = b->truth.dims;
    const uint8_t *truth = b->truth.data;
    uint8_t *seeds = b->seeds.data;
    memset(seeds, 0, (size_t)lob_voxels(&b->seeds));
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = APART / 2; y + REACH < d.ny; y += APART)
            for (int64_t x = APART / 2; x + REACH < d.nx; x += APART) {
                const int64_t i = x + d.nx * (y + d.ny * z);
                bool inside = true;
                for (int64_t k = -REACH; k <= REACH; k++)
                    inside = inside && truth[i + k] == truth[i] && truth[i + k * d.nx] == truth[i];
                if (inside) seeds[i] = truth[i];
            }
}

/* Corridors one voxel wide between walls that cannot be crossed; half of the doors are shut. */
static void make_maze(lob_volume *image)
{
    const lob_dims d = image->dims;
    int64_t i = 0;
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++, i++) {
                const int odd = (int)(x & 1) + (int)(y & 1) + (int)(z & 1);
                const bool wall = odd >= 2 || (odd == 1 && random_bits(12, (uint64_t)i) & 1);
                ((int16_t *)image->data)[i] =
                    wall ? 4095 : (int16_t)(random_bits(13, (uint64_t)i) & 31);
            }
}

/* Three channels of a slice: the image, and two of other brightness and noise. */
static bool make_colours(bench *b)
{
    const int64_t n = lob_voxels(&b->image);
    int16_t *colours = malloc((size_t)n * 3 * sizeof *colours);
    if (!colours) return false;
    const int16_t *grey = b->image.data;
    for (int64_t i = 0; i < n; i++) {
        const double other = 20 * random_normal(14, (uint64_t)i),
                     third = 20 * random_normal(15, (uint64_t)i);
        colours[i] = grey[i];
        colours[n + i] = (int16_t)(0.7 * grey[i] + 200 + other);
        colours[2 * n + i] = (int16_t)(3000 - 0.5 * grey[i] + third);
    }
    free(b->image.data);
    b->image.data = colours;
    b->image.channels = 3;
    return true;
}

/* A smooth field of 12 bits: noise after a Gaussian, spread over the range. */
static bool make_field(bench *b)
{
    enum { SIGMA = 3, LARGEST = 4095 };
    const int64_t n = lob_voxels(&b->image);
    const lob_filter_step step = {
        .kind = LOB_FILTER_GAUSSIAN, .along = {SIGMA, SIGMA, SIGMA}
    };
    const lob_filter_input in = {.image = &b->image, .steps = &step, .step_count = 1};
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output smooth = {0};
    bench_make_noise(&b->image);
    if (lob_filter_cpu(&smooth, &in, &options, ON_CPU(b->context), NULL) != LOB_OK) return false;
    const float *const value = smooth.data;
    float low = value[0], high = value[0];
    for (int64_t i = 0; i < n; i++) {
        if (value[i] < low) low = value[i];
        if (value[i] > high) high = value[i];
    }
    for (int64_t i = 0; i < n; i++)
        ((int16_t *)b->image.data)[i] =
            (int16_t)(LARGEST * (double)(value[i] - low) / (double)(high - low) + 0.5);
    free(smooth.data);
    return true;
}

/* So many voxels anywhere, of 255 labels. */
static void seed_anywhere(bench *b, int count)
{
    const int64_t n = lob_voxels(&b->seeds);
    uint8_t *const seeds = b->seeds.data;
    memset(seeds, 0, (size_t)n);
    for (int i = 0; i < count; i++)
        seeds[random_bits(16, (uint64_t)i) % (uint64_t)n] = (uint8_t)(i % 255 + 1);
}

static void send(bench *b)
{
    const size_t voxels = (size_t)lob_voxels(&b->image);
    const size_t bytes = voxels * (size_t)b->image.channels * sizeof(int16_t);
    b->want = malloc(voxels);
    b->got = malloc(voxels);
    if (!b->want || !b->got) exit(75);
    b->device_image = bench_to_device(b->image.data, bytes);
    b->device_seeds = bench_to_device(b->seeds.data, voxels);
    b->device_labels = bench_to_device(NULL, voxels);
}

static void bench_free(bench *b)
{
    lob_volume_free(&b->image);
    lob_volume_free(&b->seeds);
    lob_volume_free(&b->truth);
    free(b->want);
    free(b->got);
    cudaFree(b->device_image);
    cudaFree(b->device_seeds);
    cudaFree(b->device_labels);
}

/* ---- running ---- */

static int32_t labels_of(const bench *b)
{
    const int64_t n = lob_voxels(&b->seeds);
    int32_t max = 0;
    for (int64_t i = 0; i < n; i++)
        if (((uint8_t *)b->seeds.data)[i] > max) max = ((uint8_t *)b->seeds.data)[i];
    return max;
}

static bool on_cpu(bench *b, const lob_growcut_options *options)
{
    const lob_growcut_input in = {.image = &b->image, .seeds = &b->seeds, .labels = labels_of(b)};
    const lob_growcut_output out = {b->want, NULL, NULL};
    lob_error error = {.text = ""};
    const lob_status st = lob_growcut_cpu(&out, NULL, &in, options, ON_CPU(b->context), &error);
    if (st != LOB_OK) printf("%s on the CPU: %s\n", b->name, error.text);
    return st == LOB_OK;
}

static float timed_call(bench *b, timing *t, const lob_growcut_input *in,
                        const lob_growcut_options *options)
{
    cudaStream_t queue = lob_device_stream(b->context->device);
    must(cudaMemsetAsync(b->device_labels, 0xa5, (size_t)lob_voxels(&b->image), queue), "memset");
    const lob_growcut_output out = {.labels = b->device_labels};
    bench_clock clock = bench_start(b->context);
    t->status = lob_growcut_cuda(&out, &t->stats, in, options, b->context, &t->error);
    return bench_stop_ms(&clock);
}

/* Run `times` times; the labels of the last run are compared with b->want. */
static timing measure(bench *b, const lob_growcut_options *options, int times)
{
    const int64_t voxels = lob_voxels(&b->image);
    const lob_volume image = bench_there(b->context, &b->image, b->device_image);
    const lob_volume seeds = bench_there(b->context, &b->seeds, b->device_seeds);
    const lob_growcut_input in = {
        .image = &image, .seeds = &seeds, .labels = labels_of(b), .place = image.place};
    timing t = {0};
    float ms[BENCH_MAX_TIMES];
    for (int i = -BENCH_WARM_UP; i < times; i++) {
        const float one = timed_call(b, &t, &in, options);
        if (t.status != LOB_OK) {
            printf("%s: %s\n", b->name, t.error.text);
            return t;
        }
        if (i >= 0) ms[i] = one;
    }
    t.ms = bench_median(ms, times);
    bench_download(b->got, b->device_labels, (size_t)voxels);
    for (int64_t i = 0; i < voxels; i++) t.wrong += b->got[i] != b->want[i];
    return t;
}

static void print_row(const bench *b, const char *rule, const timing *t)
{
    const double voxels = (double)lob_voxels(&b->image);
    const double bytes =
        voxels * (2.0 * b->image.channels + 2.0); /* image, seeds and labels once */
    const double rate = bytes / (t->ms * 1e-3);
    printf("%-16s %-9s %9.2f %8.1f %6.2f %6.2f  %s %016llx\n", b->name, rule, t->ms, rate / 1e9,
           100 * rate / b->copy, (double)t->stats.working_bytes / voxels,
           t->wrong ? "DIFFERS" : "same",
           (unsigned long long)bench_hash(b->got, lob_voxels(&b->image)));
}

static void print_head(const char *title)
{
    printf("\n%s\n%-16s %-9s %9s %8s %6s %6s  labels as the CPU's, their hash\n", title, "volume",
           "rule", "ms", "GB/s", "% copy", "B/vox");
}

static const char *const rule_name[] = {"strength", "distance", "flood"};

/* Three rules over a volume; returns how many differ. */
static int three_rules(bench *b, int slice_axis, int times)
{
    int failures = 0;
    for (int rule = LOB_RULE_STRENGTH; rule <= LOB_RULE_FLOOD; rule++) {
        lob_growcut_options o = lob_growcut_defaults();
        o.rule = (lob_growcut_kind)rule;
        o.slice_axis = slice_axis;
        o.neighbours = slice_axis < 0 ? 26 : 8;
        if (!on_cpu(b, &o)) return 1;
        const timing t = measure(b, &o, times);
        if (t.status == LOB_OK) print_row(b, rule_name[rule], &t);
        failures += t.status != LOB_OK || t.wrong != 0;
    }
    return failures;
}

/* ---- suites ---- */

static int bench_volumes(const lob_context *context, const bench_options *o, double copy)
{
    static const struct {
        const char *name;
        double noise;
        int slice_axis;
        void (*change)(lob_volume *);
    } rows[] = {
        {"abdomen",        BENCH_NOISE_PERCENT, -1, NULL            },
        {"abdomen slices", BENCH_NOISE_PERCENT, 2,  NULL            },
        {"abdomen smooth", 0,                   -1, NULL            },
        {"noise alone",    0,                   -1, bench_make_noise},
        {"maze",           0,                   -1, make_maze       }
    };
    int failures = 0;
    char title[96];
    snprintf(title, sizeof title, "%lldx%lldx%lld, 12 bits, 26 neighbours, slices 8",
             (long long)o->dims.nx, (long long)o->dims.ny, (long long)o->dims.nz);
    print_head(title);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = {.context = context, .name = rows[i].name, .copy = copy};
        if (!phantom(&b, o->dims, rows[i].noise, 1)) return failures + 1;
        if (rows[i].slice_axis >= 0) seed_slices(&b);
        if (rows[i].change) rows[i].change(&b.image);
        send(&b);
        failures += three_rules(&b, rows[i].slice_axis, o->times);
        bench_free(&b);
    }
    return failures;
}

/* Watershed by flooding from many seeds. */
static int bench_flood(const lob_context *context, const bench_options *o, double copy)
{
    enum { SEEDS = 5000 };
    int failures = 0;
    bench b = {.context = context, .name = "smooth field", .copy = copy};
    if (!phantom(&b, o->dims, 0, 1) || !make_field(&b)) return 1;
    seed_anywhere(&b, SEEDS);
    send(&b);
    print_head("flood of a smooth field of 12 bits from 5000 seeds, by neighbours");
    for (int neighbours = 6; neighbours <= 26; neighbours += 20) {
        lob_growcut_options options = lob_growcut_defaults();
        options.rule = LOB_RULE_FLOOD;
        options.neighbours = neighbours;
        if (!on_cpu(&b, &options)) return failures + 1;
        const timing t = measure(&b, &options, o->times);
        if (t.status == LOB_OK) print_row(&b, neighbours == 6 ? "6" : "26", &t);
        failures += t.status != LOB_OK || t.wrong != 0;
    }
    bench_free(&b);
    return failures;
}

/*
 * Colour images by megapixels: exact, and with two approximations and how wrong they are: the
 * estimated norm, and the automaton stopped after some rounds.
 */
static int bench_flat(const lob_context *context, const bench_options *o)
{
    static const int rounds[] = {128, 512, 2048};
    enum { STOPS = sizeof rounds / sizeof *rounds, FEW = 3 };
    int failures = 0;
    printf(
        "\n2D, 3 channels of 12 bits, 8 neighbours, strength rule; errors in per cent of pixels\n"
        "%6s %10s %10s %8s",
        "MP", "exact ms", "alphamax", "error");
    for (int i = 0; i < STOPS; i++) printf("   --rounds %5d    error", rounds[i]);
    printf("\n");
    for (int mp = 1; mp <= 64; mp *= 2) {
        const int64_t side = (int64_t)sqrt(mp * 1e6);
        const double percent = 100.0 / (double)(side * side);
        bench b = {.context = context, .name = "image"};
        const lob_dims dims = {side, side, 1};
        if (!phantom(&b, dims, BENCH_NOISE_PERCENT, 3) || !make_colours(&b)) return failures + 1;
        send(&b);
        lob_growcut_options options = lob_growcut_defaults();
        options.slice_axis = 2;
        options.neighbours = 8;
        if (!on_cpu(&b, &options)) return failures + 1;
        const timing exact = measure(&b, &options, o->times);
        failures += exact.status != LOB_OK || exact.wrong != 0;
        options.norm = LOB_NORM_ALPHAMAX;
        const timing norm = measure(&b, &options, o->times);
        options.norm = LOB_NORM_L2;
        failures += norm.status != LOB_OK;
        printf("%6d %10.3f %10.3f %8.3f", mp, exact.ms, norm.ms, percent * (double)norm.wrong);
        for (int i = 0; i < STOPS; i++) {
            options.rounds = rounds[i];
            const timing stopped = measure(&b, &options, o->times < FEW ? o->times : FEW);
            printf("   %14.3f %8.3f%s", stopped.ms, percent * (double)stopped.wrong,
                   stopped.stats.fixed_point ? "*" : " ");
            /* At the fixed point there is nothing left to be wrong about. */
            failures += stopped.status != LOB_OK || (stopped.stats.fixed_point && stopped.wrong);
        }
        printf("\n");
        bench_free(&b);
    }
    printf("* the fixed point was reached\n");
    return failures;
}

int bench_growcut(const lob_context *context, const bench_options *options)
{
    int failures = 0;
    const double copy = bench_copy_bandwidth(context);
    if (options->volumes) failures += bench_volumes(context, options, copy);
    if (options->flood) failures += bench_flood(context, options, copy);
    if (options->flat) failures += bench_flat(context, options);
    return failures;
}
