/*
 * Times of Gaussian steps on float32 volumes in device memory. A result is compared with the CPU's
 * before its time counts. The step alone, and the whole call, which also looks for values that are
 * no data. Bytes are those of reading the input and writing the output once.
 */
#include "tests/check_backends/bench.h"
#include "tests/check_backends/check.h"

#include "tests/reference/gaussian_step_cuda.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds no data: nothing, what a mask leaves out, or voxels that are NaN. */
typedef enum { NO_GAPS, MASKED, NANS } gaps;

typedef struct {
    const lob_context *context;
    const bench_options *options;
    lob_volume image; /* float32 */
    uint8_t *mask, *device_mask;
    float *result;           /* of the device, here */
    void *in, *out;          /* on the device, of the step alone */
    lob_filter_output found; /* of the call */
    double copy;             /* bytes a second */
} bench;

static const struct {
    const char *name;
    lob_filter_kind kind;
    double sigma;
    bool exact;
    gaps gaps;
} rows[] = {
    {"gaussian 1",        LOB_FILTER_GAUSSIAN,  1,  false, NO_GAPS},
    {"gaussian 2",        LOB_FILTER_GAUSSIAN,  2,  false, NO_GAPS},
    {"gaussian 4",        LOB_FILTER_GAUSSIAN,  4,  false, NO_GAPS},
    {"gaussian 8",        LOB_FILTER_GAUSSIAN,  8,  false, NO_GAPS},
    {"gaussian 20",       LOB_FILTER_GAUSSIAN,  20, false, NO_GAPS},
    {"gaussian 6, exact", LOB_FILTER_GAUSSIAN,  6,  true,  NO_GAPS},
    {"gradient 1",        LOB_FILTER_GRADIENT,  1,  false, NO_GAPS},
    {"gradient 2",        LOB_FILTER_GRADIENT,  2,  false, NO_GAPS},
    {"laplacian 2",       LOB_FILTER_LAPLACIAN, 2,  false, NO_GAPS},
    {"gaussian 1, mask",  LOB_FILTER_GAUSSIAN,  1,  false, MASKED },
    {"gaussian 2, mask",  LOB_FILTER_GAUSSIAN,  2,  false, MASKED },
    {"gaussian 4, mask",  LOB_FILTER_GAUSSIAN,  4,  false, MASKED },
    {"gaussian 8, mask",  LOB_FILTER_GAUSSIAN,  8,  false, MASKED },
    {"gaussian 1, NaN",   LOB_FILTER_GAUSSIAN,  1,  false, NANS   },
    {"gaussian 2, NaN",   LOB_FILTER_GAUSSIAN,  2,  false, NANS   },
    {"gaussian 4, NaN",   LOB_FILTER_GAUSSIAN,  4,  false, NANS   },
};

static float *floats_of(const lob_volume *v)
{
    const int64_t n = lob_voxels(v);
    float *const to = malloc((size_t)n * sizeof *to);
    for (int64_t i = 0; to && i < n; i++) to[i] = ((const int16_t *)v->data)[i];
    return to;
}

/* Whether a row's bytes on the device are the CPU's. */
static bool is_right(bench *b, const lob_filter_input *in, const lob_filter_options *options)
{
    const size_t bytes = (size_t)lob_voxels(&b->image) * sizeof(float);
    lob_filter_output want = {0};
    lob_error error = {.text = ""};
    if (lob_filter_cpu(&want, in, options, ON_CPU(b->context), &error) != LOB_OK) return false;
    bench_download(b->result, b->found.data, bytes);
    const bool same = memcmp(want.data, b->result, bytes) == 0;
    lob_filter_output_free(&want);
    return same;
}

static lob_status run_call(bench *b, const lob_filter_input *in, const lob_filter_options *options)
{
    const lob_volume there = bench_there(b->context, &b->image, b->in);
    const lob_filter_input in_there = {&there, in->mask ? b->device_mask : NULL, in->steps,
                                       in->step_count, there.place};
    lob_error error = {.text = ""};
    lob_filter_output_free(&b->found);
    return lob_filter_cuda(&b->found, &in_there, options, b->context, &error);
}

static float time_step(bench *b, const lob_filter_step *step, const lob_filter_options *options,
                       gaps holes)
{
    static const lob_filter_map same = {1, 0, -INFINITY, INFINITY, true};
    const lob_filter_call call = {
        .step = step,
        .options = options,
        .spacing_mm = {1, 1, 1},
        .mask = holes == MASKED ? b->device_mask : NULL,
        .finite = holes != NANS,
        .before = same,
        .after = same
    };
    const lob_filter_image in = {b->in, LOB_F32, b->image.dims, 1};
    const lob_filter_image out = {b->out, LOB_F32, b->image.dims, 1};
    float ms[BENCH_MAX_TIMES];
    void *work = NULL;
    lob_error error;
    must(cudaMalloc(&work, (size_t)gaussian_step_bytes(&in, &call)), "cudaMalloc");
    for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
        bench_clock clock = bench_start(b->context);
        if (gaussian_step_cuda(b->context->device, &out, &in, &call, work, &error) != LOB_OK)
            exit(70);
        const float took = bench_stop_ms(&clock);
        if (i >= 0) ms[i] = took;
    }
    must(cudaFree(work), "cudaFree");
    return bench_median(ms, b->options->times);
}

/* Make every 97th voxel NaN. */
static void make_nans(bench *b)
{
    const int64_t n = lob_voxels(&b->image);
    for (int64_t i = 0; i < n; i += 97) ((float *)b->image.data)[i] = NAN;
    bench_upload(b->in, b->image.data, (size_t)n * sizeof(float));
}

static int bench_row(bench *b, size_t row)
{
    const lob_filter_step step = {
        .kind = rows[row].kind, .along = {rows[row].sigma, rows[row].sigma, rows[row].sigma}
    };
    lob_filter_options options = lob_filter_defaults();
    options.exact = rows[row].exact;
    const bool masked = rows[row].gaps == MASKED;
    const lob_filter_input in = {&b->image, masked ? b->mask : NULL, &step, 1};
    if (rows[row].gaps == NANS && rows[row - 1].gaps != NANS) make_nans(b);
    if (b->options->volume && !strstr(rows[row].name, b->options->volume)) return 0;
    if (run_call(b, &in, &options) != LOB_OK || !is_right(b, &in, &options)) {
        printf("gaussian: %s: not the CPU's bytes\n", rows[row].name);
        return 1;
    }
    float ms[BENCH_MAX_TIMES];
    for (int i = -BENCH_WARM_UP; i < b->options->times; i++) {
        bench_clock clock = bench_start(b->context);
        if (run_call(b, &in, &options) != LOB_OK) return 1;
        const float took = bench_stop_ms(&clock);
        if (i >= 0) ms[i] = took;
    }
    const float call = bench_median(ms, b->options->times);
    const float alone = time_step(b, &step, &options, rows[row].gaps);
    const double bytes = 8.0 * (double)lob_voxels(&b->image);
    printf("%-20s %lldx%lldx%lld float32: step %7.3f ms, %4.0f %% of copying; call %7.3f ms\n",
           rows[row].name, (long long)b->image.dims.nx, (long long)b->image.dims.ny,
           (long long)b->image.dims.nz, (double)alone,
           100 * bytes / (1e-3 * (double)alone) / b->copy, (double)call);
    return 0;
}

int bench_gaussian(const lob_context *context, const bench_options *options)
{
    if (!options->volumes) return 0;
    bench b = {.context = context, .options = options};
    lob_volume abdomen;
    int failures = 0;
    if (!bench_abdomen(&abdomen, NULL, NULL, options->dims, BENCH_NOISE_PERCENT, 1,
                       context->threads))
        return 1;
    b.image = lob_volume_empty();
    b.image.dims = options->dims;
    b.image.type = LOB_F32;
    b.image.geometry = lob_geometry_of_spacing((const double[3]){1, 1, 1});
    b.image.data = floats_of(&abdomen);
    lob_volume_free(&abdomen);
    const int64_t n = lob_voxels(&b.image);
    const size_t bytes = (size_t)n * sizeof(float);
    b.result = malloc(bytes);
    b.mask = malloc((size_t)n);
    if (!b.result || !b.image.data || !b.mask) exit(75);
    for (int64_t i = 0; i < n; i++) b.mask[i] = ((const float *)b.image.data)[i] > 100;
    b.device_mask = bench_to_device(b.mask, (size_t)n);
    b.in = bench_to_device(b.image.data, bytes);
    b.out = bench_to_device(NULL, bytes);
    b.copy = bench_copy_bandwidth(context);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) failures += bench_row(&b, i);
    lob_filter_output_free(&b.found);
    must(cudaFree(b.in), "cudaFree");
    must(cudaFree(b.out), "cudaFree");
    must(cudaFree(b.device_mask), "cudaFree");
    free(b.result);
    free(b.mask);
    lob_volume_free(&b.image);
    return failures;
}
