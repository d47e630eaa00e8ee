/*
 * Times of chains of filters: blur and desaturation of colour images beside a report's figures
 * (tests/reference/blur_steps_cuda.h), and images of ordinary memory through the device with
 * overlapping slabs and without. What is timed is compared with the CPU's bytes first.
 */
#include "tests/check_backends/bench.h"

#include "kernels/filters/filter_stages.h"
#include "kernels/phantom/phantom_random.h"
#include "tests/reference/blur_steps_cuda.h"
#include "volumes/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blur of a radius, half desaturated, bytes again. */
enum { BLUR_CHAIN = 3 };

static const double AMOUNT = .5;

static void make_chain(lob_filter_step steps[BLUR_CHAIN], int radius)
{
    steps[0] = (lob_filter_step){
        .kind = LOB_FILTER_BOX, .along = {radius, radius, 0}
    };
    steps[1] = (lob_filter_step){.kind = LOB_FILTER_DESATURATE, .amount = AMOUNT};
    steps[2] = (lob_filter_step){.kind = LOB_FILTER_CAST, .type = LOB_U8};
}

static lob_volume make_colour(int64_t nx, int64_t ny)
{
    lob_volume v = lob_volume_empty();
    v.type = LOB_U8;
    v.channels = 3;
    v.dims = (lob_dims){nx, ny, 1};
    v.geometry = lob_geometry_of_spacing((const double[3]){1, 1, 1});
    v.data = malloc((size_t)(3 * nx * ny));
    for (int64_t i = 0; v.data && i < 3 * nx * ny; i++)
        ((uint8_t *)v.data)[i] =
            (uint8_t)((i % nx * 3 + i / nx * 5 + (int64_t)random_bits(7, (uint64_t)i) % 64) & 255);
    return v;
}

/* Does a chain give on the device what it gives on the CPU? The CPU's result stays in want. */
static int check(const char *name, const lob_filter_input *in, lob_filter_output *want,
                 const lob_context *context)
{
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output got = {0};
    lob_error error = {.text = ""};
    lob_status st = lob_filter_cpu(want, in, &options, ON_CPU(context), &error);
    if (st == LOB_OK) st = lob_filter_cuda(&got, in, &options, context, &error);
    const size_t bytes =
        (size_t)lob_voxels(in->image) * (size_t)want->channels * lob_type_of(want->type)->bytes;
    const bool wrong = st != LOB_OK || memcmp(want->data, got.data, bytes) != 0;
    if (wrong) printf("filters: %s: wrong: %s\n", name, error.text);
    lob_filter_output_free(&got);
    return wrong;
}

/* ---- the report's steps ---- */

/* Its figures, ms: the whole program and the shaders, at its own radius and at 10. */
static const struct {
    const char *name;
    double whole, shaders;
} reported[] = {
    {"V01 first port", 40.95, 9.56},
    {"V02 bounds",     37.98, 5.63},
    {"V03 packed",     15.07, 3.45},
    {"V04 fused",      14.27, 2.70},
    {"V05 separable",  14.13, 2.86},
    {"V06 streams",    13.19, 2.79},
};

static void report_line(const char *name, int radius, float shaders, float whole, int reported_step)
{
    printf("%-16s radius %2d: kernels %8.3f ms, with copies %8.3f ms", name, radius, shaders,
           whole);
    if (radius == 1)
        printf("; the report, its radius: %.2f, %.2f", reported[reported_step].shaders,
               reported[reported_step].whole);
    if (radius == 10 && reported_step == 3) printf("; the report: 93.64, 105.88");
    if (radius == 10 && reported_step == 4) printf("; the report: 14.46, 24.86");
    putchar('\n');
}

/* The largest difference between a step's image and planar bytes. */
static int largest_difference(const void *pixels, int step, const uint8_t *planar, int64_t n)
{
    int most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            const int a = step < BLUR_PACKED ? ((const int *)pixels)[3 * i + c]
                                             : ((const uint8_t *)pixels)[4 * i + c];
            const int d = abs(a - planar[c * n + i]);
            if (d > most) most = d;
        }
    return most;
}

static void *interleave(const lob_volume *image, int step)
{
    const int64_t n = lob_voxels(image);
    const uint8_t *planar = image->data;
    unsigned char *pixels = calloc((size_t)n, (size_t)blur_pixel_bytes(step));
    for (int64_t i = 0; pixels && i < n; i++)
        for (int c = 0; c < 3; c++)
            if (step < BLUR_PACKED)
                ((int *)(void *)pixels)[3 * i + c] = planar[c * n + i];
            else
                pixels[4 * i + c] = planar[c * n + i];
    return pixels;
}

/* One step of the report's: its kernels, and with plain copies there and back. */
static int bench_step(const lob_volume *image, const lob_filter_output *want, int step, int radius,
                      const lob_context *context, int times)
{
    const int64_t n = lob_voxels(image);
    const size_t bytes = (size_t)n * (size_t)blur_pixel_bytes(step);
    void *pixels = interleave(image, step), *result = malloc(bytes);
    float shaders[BENCH_MAX_TIMES], whole[BENCH_MAX_TIMES];
    if (!pixels || !result) exit(75);
    const blur_image b = {bench_to_device(NULL, bytes),
                          bench_to_device(NULL, bytes),
                          bench_to_device(NULL, bytes),
                          (int)image->dims.nx,
                          (int)image->dims.ny,
                          radius,
                          (float)AMOUNT};
    for (int i = -BENCH_WARM_UP; i < times; i++) {
        const double start_s = lob_clock_s();
        bench_upload(b.in, pixels, bytes);
        bench_clock clock = bench_start(context);
        blur_step(&b, step, clock.queue);
        const float ms = bench_stop_ms(&clock);
        bench_download(result, b.out, bytes);
        if (i < 0) continue;
        shaders[i] = ms;
        whole[i] = (float)(1e3 * (lob_clock_s() - start_s));
    }
    /* It cuts fractions off, up to three times. */
    const int most = largest_difference(result, step, want->data, n);
    if (most > 3) printf("filters: %s differs by %d levels\n", reported[step].name, most);
    report_line(reported[step].name, radius, bench_median(shaders, times),
                bench_median(whole, times), step);
    cudaFree(b.in);
    cudaFree(b.between);
    cudaFree(b.out);
    free(pixels);
    free(result);
    return most > 3;
}

/* The library's chain on arrays of the device, and on arrays of ordinary memory. */
static int bench_chain(const lob_filter_input *in, const lob_filter_output *want, int radius,
                       const lob_context *context, int times)
{
    const lob_filter_options options = lob_filter_defaults();
    const size_t bytes = (size_t)lob_voxels(in->image) * 3;
    void *const pixels = bench_to_device(in->image->data, bytes);
    const lob_volume there = bench_there(context, in->image, pixels);
    lob_filter_input in_there = *in;
    float device[BENCH_MAX_TIMES], whole[BENCH_MAX_TIMES];
    lob_filter_output out, found = {0};
    lob_error error = {.text = ""};
    uint8_t *result = malloc(bytes);
    if (!result) exit(75);
    in_there.image = &there;
    in_there.place = there.place;
    for (int i = -BENCH_WARM_UP; i < times; i++) {
        lob_filter_output_free(&found);
        bench_clock clock = bench_start(context);
        if (lob_filter_cuda(&found, &in_there, &options, context, &error) != LOB_OK)
            printf("filters: %s\n", error.text);
        const float ms = bench_stop_ms(&clock);
        const double start_s = lob_clock_s();
        if (lob_filter_cuda(&out, in, &options, context, &error) != LOB_OK)
            printf("filters: %s\n", error.text);
        const double end_s = lob_clock_s();
        lob_filter_output_free(&out);
        if (i < 0) continue;
        device[i] = ms;
        whole[i] = (float)(1e3 * (end_s - start_s));
    }
    bench_download(result, found.data, bytes);
    lob_filter_output_free(&found);
    const bool wrong = memcmp(result, want->data, bytes) != 0;
    if (wrong) printf("filters: the chain on arrays of the device differs\n");
    report_line("lobule", radius, bench_median(device, times), bench_median(whole, times), 5);
    cudaFree(pixels);
    free(result);
    return wrong;
}

static int bench_report(const lob_context *context, int times)
{
    static const int radii[] = {1, 3, 10, 30};
    lob_volume image = make_colour(1920, 1364);
    int failures = 0;
    puts("blur and desaturate, RGB 1920 x 1364, steps of papers beside their figures");
    for (size_t r = 0; r < sizeof radii / sizeof *radii; r++) {
        lob_filter_step steps[BLUR_CHAIN];
        lob_filter_output want = {0};
        make_chain(steps, radii[r]);
        const lob_filter_input in = {&image, NULL, steps, BLUR_CHAIN};
        if (check("blur", &in, &want, context)) return failures + 1;
        for (int step = 0; step < BLUR_STEPS; step++)
            failures += bench_step(&image, &want, step, radii[r], context, times);
        failures += bench_chain(&in, &want, radii[r], context, times);
        lob_filter_output_free(&want);
    }
    lob_volume_free(&image);
    return failures;
}

/* ---- slabs that overlap ---- */

/* End to end with streams and without, and the copies' time alone. */
static int bench_stream(const char *name, const lob_filter_input *in, const lob_context *context,
                        int times)
{
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output want = {0};
    lob_filter_stream stream = {0};
    if (check(name, in, &want, context)) return 1;
    float ms[2][BENCH_MAX_TIMES];
    for (int k = 0; k < 2; k++)
        for (int i = -BENCH_WARM_UP; i < times; i++) {
            const lob_filter_tuning tuning = {.slab = k == 0 ? 0 : -1};
            lob_filter_output out;
            lob_error error = {.text = ""};
            const double start_s = lob_clock_s();
            if (lob_filter_cuda_tuned(&out, in, &options, &tuning, context, &error) != LOB_OK)
                printf("filters: %s\n", error.text);
            if (i >= 0) ms[k][i] = (float)(1e3 * (lob_clock_s() - start_s));
            if (k == 0) stream = out.stream;
            lob_filter_output_free(&out);
        }
    printf("%-40s with streams %8.2f ms, without %8.2f; %lld slabs: upload %.2f + compute %.2f + "
           "download %.2f = %.2f, copies %.2f\n",
           name, bench_median(ms[0], times), bench_median(ms[1], times), (long long)stream.slabs,
           1e3 * stream.upload_s, 1e3 * stream.compute_s, 1e3 * stream.download_s,
           1e3 * (stream.upload_s + stream.compute_s + stream.download_s),
           1e3 * (stream.upload_s + stream.download_s));
    lob_filter_output_free(&want);
    return 0;
}

static int bench_streams(const lob_context *context, const bench_options *options)
{
    lob_filter_step steps[BLUR_CHAIN];
    int failures = 0;
    lob_volume image = make_colour(4096, 4096);
    make_chain(steps, 10);
    const lob_filter_input blur = {&image, NULL, steps, BLUR_CHAIN};
    failures +=
        bench_stream("blur 10, desaturate, RGB 4096 x 4096", &blur, context, options->times);
    lob_volume_free(&image);
    if (!bench_abdomen(&image, NULL, NULL, options->dims, BENCH_NOISE_PERCENT, 1, context->threads))
        return failures + 1;
    const lob_filter_step smooth[] = {
        {.kind = LOB_FILTER_MEDIAN,   .along = {1, 1, 1}},
        {.kind = LOB_FILTER_GAUSSIAN, .along = {2, 2, 2}},
    };
    const lob_filter_input volume = {&image, NULL, smooth, 2};
    failures +=
        bench_stream("median 1, Gaussian 2, int16 abdomen", &volume, context, options->times);
    lob_volume_free(&image);
    return failures;
}

int bench_filters(const lob_context *context, const bench_options *options)
{
    int failures = 0;
    if (options->flat) failures += bench_report(context, options->times);
    if (options->volumes) failures += bench_streams(context, options);
    return failures;
}
