/* The loops of a fusion on a GPU: a thread takes a voxel. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/fuse/fuse_voxel.h"

namespace lob::fuse
{

enum { THREADS = 256 };

/* ---- levels ---- */

struct fill_params {
    lob_fuse_votes votes;
    lob_fuse_filling filling;
};

static __global__ void fill_kernel(fill_params s)
{
    for (int64_t i = grid_first(); i < s.votes.frame.count; i += grid_step())
        lob_fuse_fill(&s.votes, &s.filling, i);
}

static lob_status fill(lob_fuse_job *j, lob_fuse_filling *filling, const lob_volume *image,
                       const lob_volume *labels, lob_error *error)
{
    lob_device *const device = j->context->device;
    const lob_device_array travels[] = {lob_device_volume(&filling->values, image),
                                        lob_device_volume(&filling->labels, labels)};
    LOB_TRY(lob_device_send(device, travels, 2, j->votes.voxels, error));
    LOB_TRY(lob_fuse_scale(filling, j, image, error));
    const fill_params s = {j->votes, *filling};
    return lob_launch_over(device, fill_kernel, "levels", j->votes.frame.count, THREADS, s, error);
}

/* ---- votes ---- */

struct votes_params {
    lob_fuse_votes votes;
    int64_t *count;
};

template <int PATCH> static __global__ void votes_kernel(votes_params s)
{
    __shared__ int64_t count[LOB_FUSE_COUNTS];
    __shared__ uint16_t weight[LOB_FUSE_STEPS];
    for (int k = (int)threadIdx.x; k < LOB_FUSE_COUNTS; k += (int)blockDim.x) count[k] = 0;
    for (int k = (int)threadIdx.x; k < LOB_FUSE_STEPS; k += (int)blockDim.x)
        weight[k] = s.votes.weight[k];
    __syncthreads();
    for (int64_t i = grid_first(); i < s.votes.voxels; i += grid_step())
        lob_fuse_vote(&s.votes, weight, i, 1, PATCH, count);
    __syncthreads();
    for (int k = (int)threadIdx.x; k < LOB_FUSE_COUNTS; k += (int)blockDim.x)
        if (count[k] > 0) lob_fuse_add(&s.count[k], count[k]);
}

static lob_status vote(int64_t count[LOB_FUSE_COUNTS], lob_fuse_job *j, lob_error *error)
{
    lob_device *const device = j->context->device;
    const lob_context *const c = j->context;
    const lob_volume *const labels = &j->out->labels;
    const int64_t bytes = LOB_FUSE_COUNTS * (int64_t)sizeof *count, voxels = j->votes.voxels;
    votes_params s = {j->votes, NULL};
    const lob_device_array travels[] = {
        lob_device_output(&s.votes.labels, labels->data, lob_device_bytes_of(labels),
                          labels->place),
        lob_device_output(&s.votes.shares, j->out->shares,
                          voxels * s.votes.count * (int64_t)sizeof(uint16_t), labels->place)};
    void (*const kernels[])(votes_params) = {votes_kernel<0>, votes_kernel<1>, votes_kernel<2>};
    void (*const kernel)(votes_params) = kernels[s.votes.patch];
    LOB_TRY(lob_budget_alloc_at(&j->budget, device, &s.count, bytes, error));
    lob_status st = lob_device_send(device, travels, 2, voxels, error);
    if (st == LOB_OK) st = lob_device_fill(device, s.count, 0, bytes, error);
    if (st == LOB_OK) st = lob_launch_over(device, kernel, "votes", voxels, THREADS, s, error);
    if (st == LOB_OK) st = lob_device_receive(device, travels, 2, error);
    if (st == LOB_OK) st = lob_device_download(device, count, s.count, bytes, error);
    lob_budget_free_at(&j->budget, device, s.count, bytes);
    return st == LOB_OK && c->progress && c->progress(c->user, 1) ? LOB_ECANCEL : st;
}

} /* namespace lob::fuse */

using namespace lob::fuse;

extern "C" const lob_fuse_loops lob_fuse_on_cuda = {fill, vote};
