/* Outvoting on the GPU: threads count runs of voxels that are alike, the host judges. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/refine/outvote.h"

namespace lob::outvote
{

enum { THREADS = 256, RUN = 16, LABELS = LOB_OUTVOTE_LABELS, EACH = 6 };
static_assert(sizeof(lob_outvote_count) == EACH * sizeof(u64), "counts are added one by one");

struct look_params {
    lob_outvote_input in;
    int64_t n;
    u64 *total;
};

/* The numbers of lob_outvote_count, of voxels from..end that are alike. */
static __device__ inline void count_run(uint32_t *own, const lob_outvote_input &in, int64_t from,
                                        int64_t end)
{
    const int a = in.labels[from], b = in.first[from], c = in.plain[from];
    const uint32_t run = (uint32_t)(end - from);
    atomicAdd(&own[EACH * a], run);
    atomicAdd(&own[EACH * b + 1], run);
    atomicAdd(&own[EACH * c + 2], run);
    if (a == b) atomicAdd(&own[EACH * b + 3], run);
    if (c == b) {
        atomicAdd(&own[EACH * b + 4], run);
        return;
    }
    uint32_t beside = 0;
    for (; from < end; from++) beside += lob_outvote_is_beside(&in, from, (uint8_t)c);
    if (beside) atomicAdd(&own[EACH * c + 5], beside);
}

static __global__ void __launch_bounds__(THREADS) look_kernel(look_params p)
{
    __shared__ uint32_t own[LABELS * EACH];
    const lob_outvote_input &in = p.in;
    for (int k = (int)threadIdx.x; k < LABELS * EACH; k += THREADS) own[k] = 0;
    __syncthreads();
    for (int64_t from = grid_first() * RUN; from < p.n; from += grid_step() * RUN) {
        const int64_t end = p.n - from < RUN ? p.n : from + RUN;
        for (int64_t first = from, i = from + 1; first < end; i++) {
            if (i < end && in.labels[i] == in.labels[first] && in.first[i] == in.first[first] &&
                in.plain[i] == in.plain[first])
                continue;
            count_run(own, in, first, i);
            first = i;
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < LABELS * EACH; k += THREADS)
        if (own[k]) atomicAdd(&p.total[k], (u64)own[k]);
}

struct params {
    uint8_t *labels;
    const uint8_t *first, *plain;
    int64_t n;
    lob_outvote_verdict verdict;
};

static __global__ void __launch_bounds__(THREADS) change_kernel(params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        lob_outvote_at(p.labels, p.first, p.plain, i, &p.verdict);
}

} /* namespace lob::outvote */

using namespace lob::outvote;

lob_status lob_outvote_look_cuda(lob_device *device, lob_outvote_count total[LABELS],
                                 const lob_outvote_input *in, lob_error *error)
{
    const int64_t bytes = LABELS * (int64_t)sizeof *total;
    void *there = NULL;
    LOB_TRY(lob_device_alloc(device, &there, bytes, error));
    const look_params p = {*in, lob_dims_voxels(in->dims), (lob::u64 *)there};
    lob_status st = lob_device_fill(device, there, 0, bytes, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, look_kernel, "where growths agree", (p.n + RUN - 1) / RUN,
                             THREADS, p, error);
    if (st == LOB_OK) st = lob_device_download(device, total, there, bytes, error);
    lob_device_free(device, there);
    return st;
}

lob_status lob_outvote_cuda(lob_device *device, uint8_t *labels, const uint8_t *first,
                            const uint8_t *plain, int64_t n, const lob_outvote_verdict *verdict,
                            lob_error *error)
{
    const params p = {labels, first, plain, n, *verdict};
    return lob_launch_over(device, change_kernel, "outvoting", n, THREADS, p, error);
}
