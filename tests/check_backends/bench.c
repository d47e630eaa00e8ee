/* What the benchmarks of all algorithms share. */
#include "tests/check_backends/bench.h"

#include "kernels/device/device.h"
#include "kernels/phantom/phantom.h"
#include "kernels/phantom/phantom_random.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>

void must(cudaError_t result, const char *what)
{
    if (result == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(result));
    exit(70);
}

float bench_median(float *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, lob_by_float);
    return ms[n / 2];
}

bench_clock bench_start(const lob_context *context)
{
    bench_clock clock = {.queue = lob_device_stream(context->device)};
    must(cudaEventCreate(&clock.before), "cudaEventCreate");
    must(cudaEventCreate(&clock.after), "cudaEventCreate");
    must(cudaEventRecord(clock.before, clock.queue), "cudaEventRecord");
    return clock;
}

float bench_stop_ms(bench_clock *clock)
{
    float ms = 0;
    must(cudaEventRecord(clock->after, clock->queue), "cudaEventRecord");
    must(cudaEventSynchronize(clock->after), "what was timed");
    must(cudaEventElapsedTime(&ms, clock->before, clock->after), "cudaEventElapsedTime");
    cudaEventDestroy(clock->before);
    cudaEventDestroy(clock->after);
    return ms;
}

double bench_copy_bandwidth(const lob_context *context)
{
    enum { TIMES = 11 };
    const size_t bytes = (size_t)1 << 30;
    void *const from = bench_to_device(NULL, bytes), *const to = bench_to_device(NULL, bytes);
    float ms[TIMES];
    must(cudaMemset(from, 0x5a, bytes), "cudaMemset");
    for (int i = 0; i < TIMES; i++) {
        bench_clock clock = bench_start(context);
        must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, clock.queue), "copy");
        ms[i] = bench_stop_ms(&clock);
    }
    cudaFree(from);
    cudaFree(to);
    const double rate = 2.0 * (double)bytes / (bench_median(ms, TIMES) * 1e-3);
    printf("device-to-device copy: %.0f GB/s read and written\n", rate / 1e9);
    return rate;
}

void bench_upload(void *to, const void *bytes, size_t n)
{
    must(cudaMemcpy(to, bytes, n, cudaMemcpyHostToDevice), "upload");
    must(cudaDeviceSynchronize(), "upload");
}

void *bench_to_device(const void *bytes, size_t n)
{
    void *copy;
    must(cudaMalloc(&copy, n), "cudaMalloc");
    if (bytes) bench_upload(copy, bytes, n);
    return copy;
}

void bench_download(void *bytes, const void *from, size_t n)
{
    must(cudaMemcpy(bytes, from, n, cudaMemcpyDeviceToHost), "download");
}

uint64_t bench_hash(const void *bytes, int64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return h;
}

bool bench_abdomen(lob_volume *image, lob_volume *truth, lob_volume *seeds, lob_dims dims,
                   double noise, uint64_t random_seed, int threads)
{
    lob_phantom_options o = lob_phantom_defaults(LOB_PHANTOM_ABDOMEN);
    lob_error error = {.text = ""};
    o.dims = dims;
    o.noise = noise;
    o.random_seed = random_seed;
    const lob_context cpu = {.threads = threads};
    const lob_status st = lob_phantom(image, truth, seeds, &o, &cpu, &error);
    if (st != LOB_OK) printf("phantom: %s\n", error.text);
    return st == LOB_OK;
}

void bench_make_noise(lob_volume *image)
{
    const int64_t n = lob_voxels(image);
    for (int64_t i = 0; i < n; i++)
        ((int16_t *)image->data)[i] = (int16_t)(random_bits(11, (uint64_t)i) & 4095);
}
