/* Items at places of an array: their places travel, a thread writes or reads each. */
#include "kernels/device/device_put.h"

#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"

namespace lob::put
{

enum { THREADS = 256 };

struct put_params {
    uint8_t *to;
    const uint64_t *items;
    int64_t n;
};

static __global__ void __launch_bounds__(THREADS) put_kernel(put_params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        p.to[p.items[i] >> 8] = (uint8_t)p.items[i];
}

struct get_params {
    void *to;
    const void *from;
    int64_t voxels; /* of a channel of `from` */
    const uint64_t *items;
    int64_t n, all; /* of a channel; of all */
};

template <typename T> static __global__ void __launch_bounds__(THREADS) get_kernel(get_params p)
{
    for (int64_t i = grid_first(); i < p.all; i += grid_step())
        ((T *)p.to)[i] = ((const T *)p.from)[i / p.n * p.voxels + (int64_t)(p.items[i % p.n] >> 8)];
}

struct planes_params {
    uint8_t *held;
    const void *from;
    int64_t words, n; /* of a plane; planes */
};

static __device__ inline bool is_zero(uint8_t word)
{
    return word == 0;
}

static __device__ inline bool is_zero(const uint4 &word)
{
    return (word.x | word.y | word.z | word.w) == 0;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) planes_kernel(planes_params p)
{
    for (int64_t i = grid_first(); i < p.words * p.n; i += grid_step())
        if (!is_zero(((const T *)p.from)[i])) p.held[i / p.words] = 1;
}

} /* namespace lob::put */

using namespace lob::put;

lob_status lob_device_put(lob_device *device, void *to, const uint64_t *items, int64_t n,
                          lob_error *error)
{
    const int64_t bytes = n * (int64_t)sizeof *items;
    void *there = NULL;
    if (n == 0) return LOB_OK;
    LOB_TRY(lob_device_alloc(device, &there, bytes, error));
    lob_status st = lob_device_upload(device, there, items, bytes, error);
    const put_params p = {(uint8_t *)to, (const uint64_t *)there, n};
    if (st == LOB_OK)
        st = lob_launch_over(device, put_kernel, "single bytes", n, THREADS, p, error);
    lob_device_free(device, there);
    return st;
}

lob_status lob_device_get(lob_device *device, void *to, const void *from, int bytes, int channels,
                          int64_t voxels, const uint64_t *items, int64_t n, lob_error *error)
{
    const int64_t all = channels * n;
    void *there = NULL;
    if (n == 0) return LOB_OK;
    LOB_TRY(lob_device_alloc(device, &there, all * bytes + n * (int64_t)sizeof *items, error));
    uint64_t *const places = (uint64_t *)there;
    const get_params p = {places + n, from, voxels, places, n, all};
    void (*const kernel)(get_params) = bytes == 1   ? get_kernel<uint8_t>
                                       : bytes == 2 ? get_kernel<uint16_t>
                                       : bytes == 4 ? get_kernel<uint32_t>
                                                    : get_kernel<uint64_t>;
    lob_status st = lob_device_upload(device, there, items, n * (int64_t)sizeof *items, error);
    if (st == LOB_OK) st = lob_launch_over(device, kernel, "single values", all, THREADS, p, error);
    if (st == LOB_OK) st = lob_device_download(device, to, p.to, all * bytes, error);
    lob_device_free(device, there);
    return st;
}

lob_status lob_device_planes(lob_device *device, uint8_t *held, const void *from, int64_t bytes,
                             int64_t n, lob_error *error)
{
    const bool wide = ((uintptr_t)from | (uintptr_t)bytes) % sizeof(uint4) == 0;
    void *there = NULL;
    if (n == 0 || bytes == 0) return LOB_OK;
    LOB_TRY(lob_device_alloc(device, &there, n, error));
    const planes_params p = {(uint8_t *)there, from, wide ? bytes / (int64_t)sizeof(uint4) : bytes,
                             n};
    lob_status st = lob_device_fill(device, there, 0, n, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, wide ? planes_kernel<uint4> : planes_kernel<uint8_t>,
                             "planes that hold something", p.words * n, THREADS, p, error);
    if (st == LOB_OK) st = lob_device_download(device, held, there, n, error);
    lob_device_free(device, there);
    return st;
}
