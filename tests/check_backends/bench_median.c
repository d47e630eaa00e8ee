/* Times of median and box, as single steps on images in device memory. */
#include "tests/check_backends/bench.h"

#include "tests/check_backends/neighbourhood_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds no data: nothing, what a mask leaves out, or voxels that are NaN. */
typedef enum { NO_GAPS, MASKED, NANS } gaps;

static const struct {
    lob_filter_kind kind;
    lob_type type;
    double along[3];
    lob_edge edge;
    gaps gaps;
} rows[] = {
    {LOB_FILTER_MEDIAN, LOB_I16, {1, 1, 1},    LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_I16, {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_U8,  {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 1},    LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F64, {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_I16, {1, 1, 0},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 0},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, NANS   },
    {LOB_FILTER_MEDIAN, LOB_F32, {1, 1, 0},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_MEDIAN, LOB_I16, {1, 1, 1},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_MEDIAN, LOB_U8,  {1, 1, 1},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_MEDIAN, LOB_I16, {2, 2, 2},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {2, 2, 2},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {2, 2, 2},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_MEDIAN, LOB_F32, {3, 3, 3},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_F32, {2, 2, 0},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_MEDIAN, LOB_I16, {3, 3, 3},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {3, 3, 3},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {10, 10, 10}, LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {30, 30, 30}, LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {50, 50, 50}, LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {1, 1, 0},    LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {0, 0, 1},    LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {50, 0, 0},   LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {0, 50, 0},   LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {0, 0, 50},   LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {0, 0, 10},   LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {10, 10, 0},  LOB_EDGE_REFLECT,     NO_GAPS},
    {LOB_FILTER_BOX,    LOB_I16, {1, 1, 1},    LOB_EDGE_RENORMALISE, NO_GAPS},
    {LOB_FILTER_BOX,    LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_BOX,    LOB_F32, {10, 10, 10}, LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_BOX,    LOB_F32, {1, 1, 1},    LOB_EDGE_RENORMALISE, NANS   },
    {LOB_FILTER_BOX,    LOB_F32, {10, 10, 10}, LOB_EDGE_RENORMALISE, NANS   },
    {LOB_FILTER_BOX,    LOB_F32, {3, 3, 3},    LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_BOX,    LOB_F32, {30, 30, 30}, LOB_EDGE_RENORMALISE, MASKED },
    {LOB_FILTER_BOX,    LOB_F32, {50, 50, 50}, LOB_EDGE_REFLECT,     MASKED },
    {LOB_FILTER_BOX,    LOB_I16, {1, 1, 1},    LOB_EDGE_RENORMALISE, MASKED },
};

enum { ROWS = sizeof rows / sizeof *rows };

typedef struct {
    const lob_context *context;
    const bench_options *options;
    double copy; /* bytes per second */
    lob_filter_image in, out, device_in, device_out;
    uint8_t *mask, *device_mask;
    void *work;
    int64_t n;
} bench;

#define FROM_NOISE(type, ctype, name, integer, lowest, highest)               \
    case type:                                                                \
        for (int64_t i = 0; i < n; i++)                                       \
            ((ctype *)b->in.data)[i] =                                        \
                (ctype)(sizeof(ctype) == 1 ? noise[i] >> 4 & 127 : noise[i]); \
        break;

/* Fill the image with 12-bit numbers in the row's type, with NaN for a 97th of them if it may. */
static void fill(bench *b, const int16_t *noise, lob_type type, bool nans)
{
    const int64_t n = b->n;
    b->in.type = type;
    LOB_TYPE_SWITCH(type, FROM_NOISE)
    for (int64_t i = 0; nans && i < n; i += 97) ((float *)b->in.data)[i] = NAN;
    bench_upload(b->device_in.data, b->in.data, (size_t)n * lob_type_of(type)->bytes);
    b->device_in.type = type;
}

static int bench_row(bench *b, int row)
{
    const lob_filter_step step = {
        .kind = rows[row].kind,
        .along = {rows[row].along[0], rows[row].along[1], rows[row].along[2]}
    };
    const lob_filter_options options = {.edge = rows[row].edge};
    const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};
    lob_filter_call call = {.step = &step,
                            .options = &options,
                            .mask = rows[row].gaps == MASKED ? b->mask : NULL,
                            .finite = rows[row].gaps != NANS,
                            .before = identity,
                            .after = identity};
    lob_error error = {.text = ""};
    float ms[BENCH_MAX_TIMES];
    static const char *const names[] = {"", " mask", " NaN"};
    const bool median = step.kind == LOB_FILTER_MEDIAN;
    b->out.type = b->device_out.type = median ? rows[row].type : LOB_F32;
    const size_t bytes = (size_t)b->n * lob_type_of(b->out.type)->bytes;
    lob_status st = neighbourhood_step_cpu(&b->out, &b->in, &call, b->context->threads, &error);
    if (call.mask) call.mask = b->device_mask;
    for (int i = -BENCH_WARM_UP; st == LOB_OK && i < b->options->times; i++) {
        bench_clock clock = bench_start(b->context);
        st = neighbourhood_step(b->context->device, &b->device_out, &b->device_in, &call, b->work,
                                &error);
        const float took = bench_stop_ms(&clock);
        if (i >= 0) ms[i] = took;
    }
    void *const got = malloc(bytes);
    if (!got) exit(75);
    bench_download(got, b->device_out.data, bytes);
    const bool same = st == LOB_OK && memcmp(got, b->out.data, bytes) == 0;
    free(got);
    const double took = st == LOB_OK ? (double)bench_median(ms, b->options->times) : NAN;
    const double moved = (double)bytes + (double)b->n * (double)lob_type_of(b->in.type)->bytes;
    printf("%-6s %-7s %2g,%2g,%2g edge %d%-6s %8.3f ms %6.0f GB/s %5.1f %%%s%s\n",
           median ? "median" : "box", lob_type_of(rows[row].type)->name, step.along[0],
           step.along[1], step.along[2], (int)rows[row].edge, names[rows[row].gaps], took,
           moved / took / 1e6, 100 * moved / (took * 1e-3) / b->copy, same ? "" : "  DIFFERS ",
           error.text);
    return !same;
}

int bench_median_steps(const lob_context *context, const bench_options *options)
{
    bench b = {.context = context, .options = options};
    lob_volume noise;
    int failures = 0;
    if (!options->volumes) return 0;
    if (!bench_abdomen(&noise, NULL, NULL, options->dims, BENCH_NOISE_PERCENT, 1, context->threads))
        return 1;
    b.copy = bench_copy_bandwidth(context);
    b.n = lob_dims_voxels(options->dims);
    b.in.dims = b.out.dims = options->dims;
    b.in.channels = b.out.channels = 1;
    b.in.data = malloc((size_t)b.n * 8);
    b.out.data = malloc((size_t)b.n * 8);
    b.mask = malloc((size_t)b.n);
    if (!b.in.data || !b.out.data || !b.mask) exit(75);
    for (int64_t i = 0; i < b.n; i++) b.mask[i] = ((const int16_t *)noise.data)[i] > 100;
    b.device_in = b.in;
    b.device_out = b.out;
    b.device_in.data = bench_to_device(NULL, (size_t)b.n * 8);
    b.device_out.data = bench_to_device(NULL, (size_t)b.n * 8);
    b.device_mask = bench_to_device(b.mask, (size_t)b.n);
    b.work = bench_to_device(NULL, (size_t)b.n * 8 + 4096);
    printf("%lld x %lld x %lld; rate of reading the image and writing the result once\n",
           (long long)options->dims.nx, (long long)options->dims.ny, (long long)options->dims.nz);
    for (int row = 0; row < ROWS; row++) {
        const bool nans = rows[row].gaps == NANS;
        if (row == 0 || rows[row].type != rows[row - 1].type ||
            nans != (rows[row - 1].gaps == NANS))
            fill(&b, noise.data, rows[row].type, nans);
        const char *const name = rows[row].kind == LOB_FILTER_MEDIAN ? "median" : "box";
        if (options->volume && !strstr(name, options->volume)) continue;
        failures += bench_row(&b, row);
    }
    lob_volume_free(&noise);
    free(b.in.data);
    free(b.out.data);
    free(b.mask);
    cudaFree(b.device_in.data);
    cudaFree(b.device_out.data);
    cudaFree(b.device_mask);
    cudaFree(b.work);
    return failures;
}
