/* Passes over the voxels of a carry's volumes on a GPU. */
#include "kernels/carry/carry_voxel.h"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"

namespace lob::carry
{

struct pass_params {
    lob_carry_pass pass;
    int64_t *sums; /* LOB_CARRY_SUMS, 0 before */
};

static __global__ void pass_kernel(pass_params s)
{
    __shared__ int64_t sums[LOB_CARRY_SUMS];
    for (int k = (int)threadIdx.x; k < LOB_CARRY_SUMS; k += (int)blockDim.x) sums[k] = 0;
    __syncthreads();
    for (int64_t i = grid_first(); i < s.pass.voxels; i += grid_step())
        lob_carry_voxel(&s.pass, i, sums);
    __syncthreads();
    for (int k = (int)threadIdx.x; k < LOB_CARRY_SUMS; k += (int)blockDim.x)
        if (sums[k] != 0) lob_fuse_add(&s.sums[k], sums[k]);
}

} /* namespace lob::carry */

using namespace lob::carry;

lob_status lob_carry_each_cuda(const lob_carry_pass *pass, int64_t *sums, lob_device *device,
                               lob_error *error)
{
    const int64_t bytes = LOB_CARRY_SUMS * (int64_t)sizeof *sums;
    pass_params s = {*pass, nullptr};
    lob_device_begin(device);
    lob_status st = lob_device_alloc(device, (void **)&s.sums, bytes, error);
    if (st == LOB_OK) st = lob_device_fill(device, s.sums, 0, bytes, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, pass_kernel, "carrying", pass->voxels, 256, s, error);
    if (st == LOB_OK && sums) st = lob_device_download(device, sums, s.sums, bytes, error);
    lob_device_free(device, s.sums);
    lob_device_end(device);
    return st;
}
