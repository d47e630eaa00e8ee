/* The loops of a fusion on a GPU: a thread takes a voxel. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/device/hash_table.cuh"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/histogram/histogram_cuda.cuh"

namespace lob::fuse
{

enum { THREADS = 256, LABEL_BITS = 10, LABEL_SLOTS = 1 << LABEL_BITS };

/* ---- labels ---- */

/* Labels in any order, 0 where there is none; then whether there are more than are looked for. */
enum { MANY = LABEL_SLOTS, FOUND };

struct labels_params {
    const void *labels;
    lob_type type;
    int64_t voxels;
    uint32_t *found;
};

static __global__ void labels_kernel(labels_params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(s.labels, s.type, i);
        if (label <= 0 || (i > 0 && label == lob_label_at(s.labels, s.type, i - 1))) continue;
        if (hash_slot<LABEL_BITS, 2 * LOB_FUSE_MAX_LABELS>(s.found, (uint32_t)label) < 0)
            s.found[MANY] = 1;
    }
}

static lob_status labels(lob_fuse_job *j, const lob_volume *labels, lob_error *error)
{
    uint32_t found[FOUND];
    labels_params s = {NULL, labels->type, lob_voxels(labels), NULL};
    lob_device *const device = j->context->device;
    const lob_device_array travels = lob_device_volume(&s.labels, labels);
    LOB_TRY(lob_budget_alloc_at(&j->budget, device, &s.found, sizeof found, error));
    lob_status st = lob_device_send(device, &travels, 1, s.voxels, error);
    if (st == LOB_OK) st = lob_device_fill(device, s.found, 0, sizeof found, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, labels_kernel, "labels", s.voxels, THREADS, s, error);
    if (st == LOB_OK) st = lob_device_download(device, found, s.found, sizeof found, error);
    lob_budget_free_at(&j->budget, device, s.found, sizeof found);
    for (int i = 0; i < LABEL_SLOTS && st == LOB_OK; i++)
        lob_fuse_add_label(&j->out->set, (int32_t)found[i]);
    if (st == LOB_OK && found[MANY]) j->out->set.count = LOB_FUSE_MAX_LABELS + 1;
    return st;
}

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

static lob_status fill(uint64_t *has, lob_fuse_job *j, lob_fuse_filling *filling,
                       const lob_volume *image, const lob_volume *labels, lob_error *error)
{
    enum { ALIGNED = 256 };
    unsigned char *memory; /* *has, then of percentiles */
    lob_device *const device = j->context->device;
    const int64_t bytes = ALIGNED + lob::histogram::work_bytes(), voxels = j->votes.voxels;
    const lob_device_array travels[] = {lob_device_volume(&filling->values, image),
                                        lob_device_volume(&filling->labels, labels)};
    double value[LOB_FUSE_PERCENTILES];
    LOB_TRY(lob_budget_alloc_at(&j->budget, device, &memory, bytes, error));
    lob_status st = lob_device_send(device, travels, 2, voxels, error);
    if (st == LOB_OK) st = lob_device_fill(device, memory, 0, sizeof *has, error);
    if (st == LOB_OK && image) {
        const histogram::device_values from = {filling->values, image->type, voxels, 1, NULL,
                                               image->slope,    image->inter};
        st = histogram::percentiles(value, lob_fuse_percentiles, LOB_FUSE_PERCENTILES, NULL, &from,
                                    device, memory + ALIGNED, error);
        if (st == LOB_OK) lob_fuse_scale(filling, value);
    }
    const fill_params s = {j->votes, *filling, (u64 *)memory};
    const int64_t n = j->votes.frame.count;
    if (st == LOB_OK) st = lob_launch_over(device, fill_kernel, "levels", n, THREADS, s, error);
    if (st == LOB_OK) st = lob_device_download(device, has, s.has, sizeof *has, error);
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

extern "C" const lob_fuse_loops lob_fuse_on_cuda = {labels, fill, vote};
