/*
 * Times of Otsu's method, percentiles and denoising on arrays in device memory, after their results
 * have been compared with the CPU's. --size gives the dims.
 */
#include "tests/check_backends/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One volume, on the host and on the device. */
typedef struct {
    lob_volume image;
    void *device;
    void *out; /* a byte a voxel */
} bench_volume;

static bool make(bench_volume *v, lob_type type, lob_dims dims, int threads)
{
    lob_volume abdomen;
    if (!bench_abdomen(&abdomen, NULL, NULL, dims, BENCH_NOISE_PERCENT, 3, threads)) return false;
    const int64_t n = lob_voxels(&abdomen);
    v->image = abdomen;
    if (type != LOB_I16) {
        const size_t bytes = lob_type_of(type)->bytes;
        void *data = malloc((size_t)n * bytes);
        if (!data) exit(75);
        const int16_t *from = abdomen.data;
        for (int64_t i = 0; i < n; i++) {
            if (type == LOB_F32)
                ((float *)data)[i] = (float)from[i] * 0.37f;
            else
                ((uint8_t *)data)[i] = (uint8_t)(from[i] / 16);
        }
        free(v->image.data);
        v->image.data = data;
        v->image.type = type;
    }
    v->device = bench_to_device(v->image.data, (size_t)n * lob_type_of(type)->bytes);
    v->out = bench_to_device(NULL, (size_t)n);
    return true;
}

static void release(bench_volume *v)
{
    cudaFree(v->device);
    cudaFree(v->out);
    lob_volume_free(&v->image);
}

static void print_row(const char *what, const lob_volume *image, float *ms, int times)
{
    const int64_t n = lob_voxels(image);
    const float median = bench_median(ms, times);
    printf("%s,%s,%lldx%lldx%lld,%.4f ms,%.1f Gvoxel/s\n", what, lob_type_of(image->type)->name,
           (long long)image->dims.nx, (long long)image->dims.ny, (long long)image->dims.nz,
           (double)median, (double)n / (double)median * 1e-6);
}

static int bench_kind(const bench_volume *v, const char *what, lob_threshold_options options,
                      const lob_context *context, int times)
{
    const size_t n = (size_t)lob_voxels(&v->image);
    const lob_volume there = bench_there(context, &v->image, v->device);
    const lob_threshold_input in = {.image = &v->image};
    const lob_threshold_input in_there = {.image = &there, .place = there.place};
    lob_threshold_stats stats;
    lob_error error = {.text = ""};
    float ms[BENCH_MAX_TIMES];
    uint8_t *want = malloc(n), *got = malloc(n);
    if (!want || !got) exit(75);
    lob_status st = lob_threshold_cpu(want, &stats, &in, &options, ON_CPU(context), &error);
    for (int i = -BENCH_WARM_UP; i < times && st == LOB_OK; i++) {
        bench_clock clock = bench_start(context);
        st = lob_threshold_cuda(v->out, &stats, &in_there, &options, context, &error);
        ms[i < 0 ? 0 : i] = bench_stop_ms(&clock);
    }
    if (st == LOB_OK) bench_download(got, v->out, n);
    const bool same = st == LOB_OK && memcmp(want, got, n) == 0;
    if (same)
        print_row(what, &v->image, ms, times);
    else
        printf("%s: differs: %s\n", what, error.text);
    free(want);
    free(got);
    return !same;
}

/* The CPU computes for seconds at 512^3, so a part is compared. */
static int bench_denoise(const bench_volume *v, const char *what, lob_filter_step step,
                         const lob_context *context, int times, bool compare)
{
    const size_t n = (size_t)lob_voxels(&v->image) * sizeof(float);
    const lob_volume there = bench_there(context, &v->image, v->device);
    const lob_filter_input in = {.image = &v->image, .steps = &step, .step_count = 1};
    const lob_filter_input in_there = {&there, NULL, &step, 1, there.place};
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_output out = {0}, want = {0};
    lob_error error = {.text = ""};
    float ms[BENCH_MAX_TIMES];
    lob_status st = LOB_OK;
    for (int i = -BENCH_WARM_UP; i < times && st == LOB_OK; i++) {
        lob_filter_output_free(&out);
        bench_clock clock = bench_start(context);
        st = lob_filter_cuda(&out, &in_there, &options, context, &error);
        ms[i < 0 ? 0 : i] = bench_stop_ms(&clock);
    }
    bool same = st == LOB_OK;
    if (same && compare) {
        void *got = malloc(n);
        if (!got) exit(75);
        bench_download(got, out.data, n);
        same = lob_filter_cpu(&want, &in, &options, ON_CPU(context), &error) == LOB_OK &&
               memcmp(want.data, got, n) == 0;
        lob_filter_output_free(&want);
        free(got);
    }
    lob_filter_output_free(&out);
    if (same)
        print_row(what, &v->image, ms, times);
    else
        printf("%s: differs: %s\n", what, error.text);
    return !same;
}

int bench_threshold(const lob_context *context, const bench_options *options)
{
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_F32};
    const lob_threshold_options otsu = lob_threshold_defaults();
    const lob_threshold_options four = {.kind = LOB_THRESHOLD_OTSU, .classes = 4};
    const lob_threshold_options median = {.kind = LOB_THRESHOLD_PERCENTILE, .percent = 50};
    const lob_threshold_options above = {.kind = LOB_THRESHOLD_ABOVE, .above = 500};
    const lob_filter_step known = {
        .kind = LOB_FILTER_DENOISE, .along = {1, 1, 1},
             .noise = 20
    };
    const lob_filter_step estimated = {
        .kind = LOB_FILTER_DENOISE, .along = {1, 1, 1}
    };
    const lob_filter_step slices = {
        .kind = LOB_FILTER_DENOISE, .along = {1, 1, 0},
             .noise = 20
    };
    int failures = 0;
    if (!options->volumes) return 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bench_volume v;
        if (!make(&v, types[t], options->dims, context->threads)) return failures + 1;
        const int times = options->times;
        failures += bench_kind(&v, "otsu", otsu, context, times);
        failures += bench_kind(&v, "otsu of 4 classes", four, context, times);
        failures += bench_kind(&v, "above the median", median, context, times);
        failures += bench_kind(&v, "above", above, context, times);
        if (types[t] != LOB_U8) {
            failures += bench_denoise(&v, "denoise", known, context, times, true);
            failures +=
                bench_denoise(&v, "denoise, noise estimated", estimated, context, times, false);
            failures += bench_denoise(&v, "denoise slices", slices, context, times, false);
        }
        release(&v);
    }
    return failures;
}
