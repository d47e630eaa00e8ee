/* Bytes at places of an array: items travel, a thread writes each. */
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
