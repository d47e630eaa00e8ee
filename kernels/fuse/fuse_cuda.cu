/* Votes on a GPU: images become levels in the job's frame, then a thread takes a voxel. */
#include "kernels/arrays.h"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/device/hash_table.cuh"
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/histogram/histogram_cuda.cuh"

#include <stdlib.h>

namespace lob::fuse
{

enum { THREADS = 256, LABEL_BITS = 10, LABEL_SLOTS = 1 << LABEL_BITS };

/* What the kernels read and write beside frames; in device memory. */
typedef struct {
    uint32_t found[LABEL_SLOTS];            /* labels of atlases, in any order; 0: none */
    uint32_t many;                          /* there are more than slots to look at */
    int32_t value[LOB_FUSE_MAX_LABELS + 1]; /* by dense label, from 1 */
    bool has[LOB_FUSE_MAX_ATLASES][LOB_FUSE_MAX_LABELS + 1];
    uint16_t weight[LOB_FUSE_STEPS];
    u64 count[LOB_FUSE_MAX_LABELS + 2]; /* voxels of each winner; then those without a candidate */
} tables;

/* ---- labels ---- */

struct labels_params {
    const void *labels;
    lob_type type;
    int64_t voxels;
    tables *t;
};

static __global__ void labels_kernel(labels_params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(s.labels, s.type, i);
        if (label == 0 || (i > 0 && label == lob_label_at(s.labels, s.type, i - 1))) continue;
        if (hash_slot<LABEL_BITS, 2 * LOB_FUSE_MAX_LABELS>(s.t->found, (uint32_t)label) < 0)
            s.t->many = 1;
    }
}

/* ---- levels ---- */

struct frame_params {
    lob_fuse_filling filling;
    bool *has; /* by dense label */
};

static __global__ void frame_kernel(frame_params s)
{
    for (int64_t i = grid_first(); i < s.filling.frame.count; i += grid_step())
        s.has[lob_fuse_fill(&s.filling, i)] = true;
}

/* ---- votes ---- */

struct votes_params {
    lob_fuse_levels scan, atlas[LOB_FUSE_MAX_ATLASES];
    lob_fuse_frame frame;
    lob_dims dims;
    tables *t;
    void *out;
    lob_type type;
    uint16_t *shares;
    int64_t voxels;
    int atlases, labels, search;
    float floor;
    bool majority;
};

/* The distance of two patches of 2 R + 1. */
template <int R>
static __device__ inline uint32_t distance(const uint8_t *a, const uint8_t *b,
                                           const lob_fuse_frame &f)
{
    const int side = 2 * R + 1;
    int squares = 0, apart = 0;
#pragma unroll
    for (int z = -R; z <= R; z++)
#pragma unroll
        for (int y = -R; y <= R; y++)
#pragma unroll
            for (int x = -R; x <= R; x++) {
                const int64_t at = z * f.plane + y * f.row + x;
                const int d = (int)a[at] - (int)b[at];
                squares += d * d;
                apart += d;
            }
    return (uint32_t)(side * side * side) * (uint32_t)squares - (uint32_t)(apart * apart);
}

/* Call `take` with atlas, label and distance of each candidate of the voxel at a place. */
template <int R, typename F>
static __device__ inline void each_candidate(const votes_params &s, int64_t at, F take)
{
    const int r = s.search;
    for (int a = 0; a < s.atlases; a++)
        for (int z = -r; z <= r; z++)
            for (int y = -r; y <= r; y++)
                for (int x = -r; x <= r; x++) {
                    const int64_t there = at + z * s.frame.plane + y * s.frame.row + x;
                    const int label = s.atlas[a].label[there];
                    if (label == LOB_FUSE_NO_LABEL) continue;
                    take(a, label,
                         s.majority
                             ? 0u
                             : distance<R>(s.scan.level + at, s.atlas[a].level + there, s.frame));
                }
}

template <int R> static __global__ void votes_kernel(votes_params s)
{
    __shared__ uint32_t count[LOB_FUSE_MAX_LABELS + 2];
    for (int l = (int)threadIdx.x; l < LOB_FUSE_MAX_LABELS + 2; l += (int)blockDim.x) count[l] = 0;
    __syncthreads();
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        uint32_t votes[LOB_FUSE_MAX_LABELS + 1], of_atlas[LOB_FUSE_MAX_ATLASES];
        uint32_t share[LOB_FUSE_MAX_LABELS + 1], least = s.majority ? 0 : UINT32_MAX;
        const int64_t x = i % s.dims.nx, y = i / s.dims.nx % s.dims.ny;
        const int64_t at =
            s.frame.first + i / s.dims.nx / s.dims.ny * s.frame.plane + y * s.frame.row + x;
        for (int l = 0; l <= s.labels; l++) votes[l] = 0;
        for (int a = 0; a < s.atlases; a++) of_atlas[a] = 0;
        if (!s.majority)
            each_candidate<R>(s, at, [&](int, int, uint32_t d) { least = d < least ? d : least; });
        const float per_step = s.majority ? 0.0f : lob_fuse_per_step(least, s.floor);
        each_candidate<R>(s, at, [&](int a, int label, uint32_t d) {
            const uint32_t w = s.t->weight[lob_fuse_step(d, per_step)];
            votes[label] += w;
            of_atlas[a] += w;
        });
        const int best = lob_fuse_shares(share, votes, of_atlas, 1, s.labels, s.atlases,
                                         (const bool(*)[LOB_FUSE_MAX_LABELS + 1]) s.t->has);
        for (int l = 1; l <= s.labels; l++) s.shares[(l - 1) * s.voxels + i] = (uint16_t)share[l];
        lob_label_put(s.out, s.type, i, best > 0 ? s.t->value[best] : 0);
        if (best > 0) atomicAdd(&count[best], 1u);
        if (least == UINT32_MAX) atomicAdd(&count[LOB_FUSE_MAX_LABELS + 1], 1u);
    }
    __syncthreads();
    for (int l = (int)threadIdx.x; l < LOB_FUSE_MAX_LABELS + 2; l += (int)blockDim.x)
        if (count[l] > 0) atomicAdd(&s.t->count[l], (u64)count[l]);
}

/* ---- the host's side ---- */

typedef struct {
    lob_fuse_job *j;
    lob_device *device;
    tables *t;      /* on the device */
    void *work;     /* of percentiles; likewise */
    tables *mirror; /* in ordinary memory */
    lob_error *error;
} call;

/* Find all labels, and hold what comes out. */
static lob_status find_labels(call *c)
{
    lob_fuse_job *const j = c->j;
    for (int a = 0; a < j->in->count; a++) {
        const lob_volume *const labels = j->in->atlases[a].labels;
        labels_params s = {NULL, labels->type, lob_voxels(labels), c->t};
        const lob_device_array travels = lob_device_volume(&s.labels, labels);
        LOB_TRY(lob_device_send(c->device, &travels, 1, s.voxels, c->error));
        LOB_TRY(
            lob_launch_over(c->device, labels_kernel, "labels", s.voxels, THREADS, s, c->error));
    }
    LOB_TRY(lob_device_download(c->device, c->mirror, c->t, sizeof *c->t, c->error));
    for (int i = 0; i < LABEL_SLOTS; i++) lob_fuse_add_label(j, (int32_t)c->mirror->found[i]);
    if (c->mirror->many) j->set->count = LOB_FUSE_MAX_LABELS + 1;
    LOB_TRY(lob_fuse_hold_output(j, c->error));
    memcpy(c->mirror->value + 1, j->set->values, (size_t)j->set->count * sizeof(int32_t));
    memcpy(c->mirror->weight, j->weight, sizeof j->weight);
    return lob_device_upload(c->device, c->t, c->mirror, sizeof *c->t, c->error);
}

/* A frame's levels and labels. atlas: its number, from 1; 0: the scan, which has no labels. */
static lob_status make_frame(call *c, lob_fuse_levels *to, const lob_volume *image,
                             const lob_volume *labels, int atlas)
{
    lob_fuse_job *const j = c->j;
    const int64_t voxels = lob_voxels(j->in->scan);
    lob_fuse_scale scale = {0, 0};
    if (!image && !labels) return LOB_OK;
    if (image)
        LOB_TRY(lob_budget_alloc_at(&j->budget, c->device, &to->level, j->frame.count, c->error));
    if (labels)
        LOB_TRY(lob_budget_alloc_at(&j->budget, c->device, &to->label, j->frame.count, c->error));
    frame_params s = {lob_fuse_filling_of(j, to, image, labels, c->t->value + 1, scale),
                      c->t->has[atlas > 0 ? atlas - 1 : 0]};
    const lob_device_array travels[] = {lob_device_volume(&s.filling.values, image),
                                        lob_device_volume(&s.filling.labels, labels)};
    LOB_TRY(lob_device_send(c->device, travels, 2, voxels, c->error));
    if (image) {
        const histogram::device_values from = {s.filling.values, image->type, voxels, 1, NULL,
                                               image->slope,     image->inter};
        double value[LOB_FUSE_PERCENTILES];
        const lob_status st =
            histogram::percentiles(value, lob_fuse_percentiles, LOB_FUSE_PERCENTILES, NULL, &from,
                                   c->device, c->work, c->error);
        if (st != LOB_OK) return lob_fuse_no_value(st, atlas, c->error);
        s.filling.scale = lob_fuse_scale_of(value);
    }
    return lob_launch_over(c->device, frame_kernel, "levels", j->frame.count, THREADS, s, c->error);
}

/* Shares and labels where the scan is. */
static lob_status vote(call *c)
{
    lob_fuse_job *const j = c->j;
    lob_fuse_output *const out = j->out;
    const lob_place place = j->in->scan->place;
    const int64_t voxels = lob_voxels(j->in->scan);
    const int64_t bytes = j->set->count * voxels * (int64_t)sizeof *out->shares;
    const int side = 2 * j->options->patch + 1;
    void *room = NULL;
    votes_params s = {};
    s.scan = j->scan;
    memcpy(s.atlas, j->atlas, sizeof s.atlas);
    s.frame = j->frame;
    s.dims = j->dims;
    s.t = c->t;
    s.type = out->labels.type;
    s.voxels = voxels;
    s.atlases = j->in->count;
    s.labels = j->set->count;
    s.search = j->options->majority ? 0 : j->options->search;
    s.floor =
        (float)(j->options->floor * ((double)side * side * side) * ((double)side * side * side));
    s.majority = j->options->majority;
    LOB_TRY(lob_device_result_room(c->device, &room, bytes, place, c->error));
    if (room) out->device = c->device;
    out->shares = (uint16_t *)room;
    const lob_device_array travels[] = {
        lob_device_output(&s.out, out->labels.data, lob_device_bytes_of(&out->labels), place),
        lob_device_output(&s.shares, room, bytes, place),
    };
    LOB_TRY(lob_device_send(c->device, travels, 2, voxels, c->error));
    void (*const kernels[])(votes_params) = {votes_kernel<0>, votes_kernel<1>, votes_kernel<2>};
    LOB_TRY(lob_launch_over(c->device, kernels[j->options->majority ? 0 : j->options->patch],
                            "votes", voxels, THREADS, s, c->error));
    LOB_TRY(lob_device_receive(c->device, travels, 1, c->error));
    if (!room)
        LOB_TRY(
            lob_device_result(c->device, (void **)&out->shares, s.shares, bytes, place, c->error));
    LOB_TRY(lob_device_download(c->device, c->mirror, c->t, sizeof *c->t, c->error));
    for (int l = 1; l <= s.labels; l++) j->set->voxels[l - 1] = (int64_t)c->mirror->count[l];
    out->unseen = (int64_t)c->mirror->count[LOB_FUSE_MAX_LABELS + 1];
    return LOB_OK;
}

static lob_status run(call *c)
{
    lob_fuse_job *const j = c->j;
    const bool patches = !j->options->majority;
    const lob_label_set *const set = j->set;
    lob_context there = *j->context;
    if (j->in->scan->place.kind == LOB_PLACE_MEMORY) there.device = NULL;
    LOB_TRY(lob_device_fill(c->device, c->t, 0, sizeof *c->t, c->error));
    LOB_TRY(find_labels(c));
    LOB_TRY(lob_fuse_frame_make(j, c->error));
    LOB_TRY(lob_volume_at(&j->out->labels, j->in->scan, lob_label_type(set->values[set->count - 1]),
                          1, &there, c->error));
    lob_label_names_free(&j->out->labels.names);
    LOB_TRY(make_frame(c, &j->scan, patches ? j->in->scan : NULL, NULL, 0));
    for (int a = 0; a < j->in->count; a++) {
        const lob_fuse_atlas *const atlas = &j->in->atlases[a];
        LOB_TRY(make_frame(c, &j->atlas[a], patches ? atlas->image : NULL, atlas->labels, a + 1));
        if (j->context->progress &&
            j->context->progress(j->context->user, 0.2 * (a + 1) / j->in->count))
            return LOB_ECANCEL;
    }
    LOB_TRY(vote(c));
    return j->context->progress && j->context->progress(j->context->user, 1) ? LOB_ECANCEL : LOB_OK;
}

} /* namespace lob::fuse */

using namespace lob::fuse;

lob_status lob_fuse_on_cuda(lob_fuse_job *j, lob_error *error)
{
    lob_device *const device = j->context->device;
    call c = {j, device, NULL, NULL, (tables *)calloc(1, sizeof(tables)), error};
    const int64_t work = lob::histogram::work_bytes();
    if (!c.mirror) return lob_fail(error, LOB_ENOMEM, "no memory left for votes");
    lob_device_begin(device);
    lob_status st = lob_budget_alloc_at(&j->budget, device, &c.t, sizeof *c.t, error);
    if (st == LOB_OK) st = lob_budget_alloc_at(&j->budget, device, &c.work, work, error);
    if (st == LOB_OK) st = run(&c);
    lob_fuse_levels_free(j);
    lob_budget_free_at(&j->budget, device, c.work, work);
    lob_budget_free_at(&j->budget, device, c.t, sizeof *c.t);
    lob_device_end(device);
    free(c.mirror);
    return st;
}
