/* What the benchmarks of all algorithms share: volumes, CUDA's clock, medians, hashes. */
#ifndef LOB_BENCH_H
#define LOB_BENCH_H

#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "tests/check_backends/check.h"

#include <cuda_runtime_api.h>

/* Runs before those that are timed. */
enum { BENCH_WARM_UP = 2 };

/* Noise of the phantom in per cent of its range: a standard deviation of 20 of 12 bits. */
#define BENCH_NOISE_PERCENT (100.0 * 20 / 4096)

/* End the program, naming the call, when CUDA fails. */
void must(cudaError_t result, const char *what);

/* Bytes per second that a copy inside the device reads and writes, which are printed too. */
double bench_copy_bandwidth(const lob_context *context);

/* Sorts the n >= 1 numbers. */
float bench_median(float *ms, int n);

/* Times what is put into the device's queue between start and stop, which waits for it. */
typedef struct {
    cudaStream_t queue;
    cudaEvent_t before, after;
} bench_clock;

bench_clock bench_start(const lob_context *context);
float bench_stop_ms(bench_clock *clock);

/* Copy n bytes to the device and wait until they are there: see lob_device_stream. */
void bench_upload(void *to, const void *bytes, size_t n);

/* Space on the device, and there a copy of host bytes unless these are NULL; free it with cudaFree.
 */
void *bench_to_device(const void *bytes, size_t n);

/* Copy n bytes from the device. */
void bench_download(void *bytes, const void *from, size_t n);

/* The same volume with its voxels at this address of the device; it is not freed. */
static inline lob_volume bench_there(const lob_context *context, const lob_volume *like, void *data)
{
    lob_volume there = *like;
    there.data = data;
    there.place = lob_context_place(context);
    return there;
}

/* FNV-1a, to see at a glance whether two runs gave the same. */
uint64_t bench_hash(const void *bytes, int64_t n);

/*
 * An int16 abdomen of 12 bits; noise in per cent of its range.
 *
 *   truth, seeds  out  as lob_phantom; may be NULL
 *
 * Returns false, having printed why, when there is no memory for it.
 */
bool bench_abdomen(lob_volume *image, lob_volume *truth, lob_volume *seeds, lob_dims dims,
                   double noise, uint64_t random_seed, int threads);

/* Replace an int16 image by 12-bit noise. */
void bench_make_noise(lob_volume *image);

/* Print times of components and of label propagation with far links (GTC 2013) on flat images of
 * the sizes of its slides; returns how many results differed. */
int bench_far_links(const lob_context *context, int times);

#endif
