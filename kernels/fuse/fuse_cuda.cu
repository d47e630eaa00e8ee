/* The loops of a fusion on a GPU: a thread takes a voxel. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/histogram/histogram_cuda.cuh"

namespace lob::fuse
{

enum { THREADS = 256 };

/* ---- levels ---- */

struct fill_params {
    lob_fuse_votes votes;
    lob_fuse_filling filling;
    u64 *has;
};

static __global__ void fill_kernel(fill_params s)
{
    u64 has = 0;
    for (int64_t i = grid_first(); i < s.votes.frame.count; i += grid_step())
        has |= lob_fuse_fill(&s.votes, &s.filling, i);
    if (has & ~*(volatile u64 *)s.has) atomicOr(s.has, has);
}

/* work: of percentiles, after *has. */
static lob_status fill_in(uint64_t *has, lob_device *device, fill_params s, const lob_volume *image,
                          const lob_volume *labels, void *work, lob_error *error)
{
    const int64_t voxels = s.votes.voxels;
    const lob_device_array travels[] = {lob_device_volume(&s.filling.values, image),
                                        lob_device_volume(&s.filling.labels, labels)};
    LOB_TRY(lob_device_send(device, travels, 2, voxels, error));
    LOB_TRY(lob_device_fill(device, s.has, 0, sizeof *has, error));
    if (image) {
        const histogram::device_values from = {s.filling.values, image->type, voxels, 1, NULL,
                                               image->slope,     image->inter};
        double value[LOB_FUSE_PERCENTILES];
        LOB_TRY(histogram::percentiles(value, lob_fuse_percentiles, LOB_FUSE_PERCENTILES, NULL,
                                       &from, device, work, error));
        s.filling.scale = lob_fuse_scale_of(value);
    }
    const int64_t n = s.votes.frame.count;
    LOB_TRY(lob_launch_over(device, fill_kernel, "levels", n, THREADS, s, error));
    return lob_device_download(device, has, s.has, sizeof *has, error);
}

static lob_status fill(uint64_t *has, lob_fuse_job *j, lob_fuse_filling *filling,
                       const lob_volume *image, const lob_volume *labels, lob_error *error)
{
    enum { ALIGNED = 256 };
    unsigned char *memory;
    lob_device *const device = j->context->device;
    const int64_t bytes = ALIGNED + lob::histogram::work_bytes();
    LOB_TRY(lob_budget_alloc_at(&j->budget, device, &memory, bytes, error));
    const fill_params s = {j->votes, *filling, (u64 *)memory};
    const lob_status st = fill_in(has, device, s, image, labels, memory + ALIGNED, error);
    lob_budget_free_at(&j->budget, device, memory, bytes);
    return st;
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

static lob_status vote_in(int64_t *count, lob_fuse_job *j, votes_params s, lob_error *error)
{
    lob_device *const device = j->context->device;
    const lob_fuse_output *const out = j->out;
    const lob_place place = out->labels.place;
    const int64_t bytes = LOB_FUSE_COUNTS * (int64_t)sizeof *count, voxels = s.votes.voxels;
    const lob_device_array travels[] = {
        lob_device_output(&s.votes.labels, out->labels.data, lob_device_bytes_of(&out->labels),
                          place),
        lob_device_output(&s.votes.shares, out->shares,
                          voxels * s.votes.count * (int64_t)sizeof *out->shares, place)};
    void (*const kernels[])(votes_params) = {votes_kernel<0>, votes_kernel<1>, votes_kernel<2>};
    LOB_TRY(lob_device_send(device, travels, 2, voxels, error));
    LOB_TRY(lob_device_fill(device, s.count, 0, bytes, error));
    LOB_TRY(lob_launch_over(device, kernels[s.votes.patch], "votes", voxels, THREADS, s, error));
    LOB_TRY(lob_device_receive(device, travels, 2, error));
    LOB_TRY(lob_device_download(device, count, s.count, bytes, error));
    const lob_context *const c = j->context;
    return c->progress && c->progress(c->user, 1) ? LOB_ECANCEL : LOB_OK;
}

static lob_status vote(int64_t count[LOB_FUSE_COUNTS], lob_fuse_job *j, lob_error *error)
{
    const int64_t bytes = LOB_FUSE_COUNTS * (int64_t)sizeof *count;
    votes_params s = {j->votes, NULL};
    LOB_TRY(lob_budget_alloc_at(&j->budget, j->context->device, &s.count, bytes, error));
    const lob_status st = vote_in(count, j, s, error);
    lob_budget_free_at(&j->budget, j->context->device, s.count, bytes);
    return st;
}

} /* namespace lob::fuse */

using namespace lob::fuse;

extern "C" const lob_fuse_loops lob_fuse_on_cuda = {fill, vote};
