/* Outvoting on the GPU: threads count runs of voxels that are alike, the host judges. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/refine/outvote.h"

namespace lob::outvote
{

enum { THREADS = 256, RUN = 16, LABELS = LOB_OUTVOTE_LABELS, EACH = 5 };
static_assert(sizeof(lob_outvote_count) == EACH * sizeof(u64), "counts are added one by one");

struct params {
    uint8_t *labels;
    const uint8_t *first, *plain;
    int64_t n;
    u64 *total;
    lob_outvote_verdict verdict;
};

/* The numbers of lob_outvote_count. */
static __device__ inline void count_run(uint32_t *own, int a, int b, int c, uint32_t run)
{
    atomicAdd(&own[EACH * a], run);
    atomicAdd(&own[EACH * b + 1], run);
    atomicAdd(&own[EACH * c + 2], run);
    if (a == b) atomicAdd(&own[EACH * b + 3], run);
    if (c == b) atomicAdd(&own[EACH * b + 4], run);
}

static __global__ void __launch_bounds__(THREADS) count_kernel(params p)
{
    __shared__ uint32_t own[LABELS * EACH];
    for (int k = (int)threadIdx.x; k < LABELS * EACH; k += THREADS) own[k] = 0;
    __syncthreads();
    for (int64_t from = grid_first() * RUN; from < p.n; from += grid_step() * RUN) {
        const int64_t end = p.n - from < RUN ? p.n : from + RUN;
        for (int64_t i = from; i < end;) {
            const uint8_t a = p.labels[i], b = p.first[i], c = p.plain[i];
            uint32_t run = 0;
            do run++, i++;
            while (i < end && p.labels[i] == a && p.first[i] == b && p.plain[i] == c);
            count_run(own, a, b, c, run);
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < LABELS * EACH; k += THREADS)
        if (own[k]) atomicAdd(&p.total[k], (u64)own[k]);
}

static __global__ void __launch_bounds__(THREADS) change_kernel(params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        lob_outvote_at(p.labels, p.first, p.plain, i, &p.verdict);
}

} /* namespace lob::outvote */

using namespace lob::outvote;

lob_status lob_outvote_cuda(lob_device *device, uint8_t *labels, const uint8_t *first,
                            const uint8_t *plain, int64_t n, int32_t background, lob_error *error)
{
    lob_outvote_count total[LABELS];
    void *there = NULL;
    LOB_TRY(lob_device_alloc(device, &there, sizeof total, error));
    params p = {labels, first, plain, n, (lob::u64 *)there, {}};
    lob_status st = lob_device_fill(device, there, 0, sizeof total, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, count_kernel, "where growths agree", (n + RUN - 1) / RUN,
                             THREADS, p, error);
    if (st == LOB_OK) st = lob_device_download(device, total, there, sizeof total, error);
    lob_device_free(device, there);
    LOB_TRY(st);
    p.verdict = lob_outvote_judge(total, background);
    return lob_launch_over(device, change_kernel, "outvoting", n, THREADS, p, error);
}
