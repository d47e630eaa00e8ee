/*
 * Joining basins on the GPU: bottoms of labels, and saddles in a table of label pairs, which
 * becomes larger until all pairs find a slot; the host joins.
 */
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/merge/basins_parts.h"
#include "volumes/labels.h"

#include <stdlib.h>

namespace lob::basins
{

enum { THREADS = 256, PROBES = 64, SLOTS_OF_LABEL = 16, FEWEST_SLOTS = 1 << 12 };

/* A pair of labels, a above b in its 64 bits; 0: a free slot. */
struct slot {
    u64 pair, saddle; /* saddle: an ordered key */
};

struct params {
    lob_device_image image;
    const void *labels;
    lob_type type;
    lob_dims dims;
    int64_t voxels;
    u64 *bottom; /* ordered keys; ~0: a label that was not met */
    slot *slots; /* `mask` + 1, a power of two */
    u64 mask;
    uint32_t *full; /* 1: a pair found no slot */
};

/* Most voxels change nothing: they only look. */
static __device__ inline void lower(u64 *to, u64 key)
{
    if (key < *(volatile u64 *)to) atomicMin(to, key);
}

/* The saddle of a pair, which is given a slot where it has none; NULL: the table is full. */
static __device__ u64 *saddle_of(const params &s, u64 pair)
{
    const u64 mixed = pair * 0x9E3779B97F4A7C15ull;
    u64 at = (mixed ^ mixed >> 29) & s.mask;
    for (int i = 0; i < PROBES; i++, at = (at + 1) & s.mask) {
        u64 there = *(volatile u64 *)&s.slots[at].pair;
        if (there == 0) there = atomicCAS(&s.slots[at].pair, 0ull, pair);
        if (there == 0 || there == pair) return &s.slots[at].saddle;
    }
    return nullptr;
}

static __device__ inline double value_of(const params &s, int64_t i)
{
    return s.image.slope * lob_stored_value(&s.image, i) + s.image.inter;
}

/* The face between a voxel and the next along an axis. */
static __device__ void see_face(const params &s, int32_t p, double value, int64_t next)
{
    const int32_t q = lob_label_at(s.labels, s.type, next);
    if (p == q || q == 0) return;
    const u64 a = (u64)(p < q ? p : q), b = (u64)(p < q ? q : p);
    u64 *const saddle = saddle_of(s, a << 32 | b);
    const double other = value_of(s, next);
    if (!saddle)
        *s.full = 1;
    else if (isfinite(value) && isfinite(other))
        lower(saddle, lob_ordered_key_double(value > other ? value : other));
}

static __global__ void __launch_bounds__(THREADS) see_kernel(params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(s.labels, s.type, i);
        if (label == 0) continue;
        const double value = value_of(s, i);
        const int64_t row = i / s.dims.nx;
        lower(&s.bottom[label], lob_ordered_key_double(isfinite(value) ? value : (double)INFINITY));
        if (i % s.dims.nx + 1 < s.dims.nx) see_face(s, label, value, i + 1);
        if (row % s.dims.ny + 1 < s.dims.ny) see_face(s, label, value, i + s.dims.nx);
        if (row + s.dims.ny < s.dims.ny * s.dims.nz)
            see_face(s, label, value, i + s.dims.nx * s.dims.ny);
    }
}

static __global__ void __launch_bounds__(THREADS) clear_kernel(params s)
{
    for (int64_t i = grid_first(); i <= (int64_t)s.mask; i += grid_step())
        s.slots[i] = {0, lob_ordered_key_double((double)INFINITY)};
}

/* A call. */
struct job {
    lob_device *device;
    lob_device_budget budget;
    lob_error *error;
    params s;
    int64_t labels;
    double *bottom; /* in ordinary memory: labels + 1 */
    slot *slots;    /* likewise */
};

static int64_t lay_out(job *j, void *block)
{
    arena memory(block);
    j->s.full = memory.take<uint32_t>(1);
    j->s.bottom = memory.take<u64>(j->labels + 1);
    j->s.slots = memory.take<slot>((int64_t)j->s.mask + 1);
    return memory.used;
}

/* Look at all voxels with a table of so many slots; full: they are too few. */
static lob_status see(job *j, uint32_t *full)
{
    const int64_t bytes = (j->labels + 1) * (int64_t)sizeof(u64);
    void *block = NULL;
    LOB_TRY(
        lob_device_budget_take(&j->budget, LOB_DEVICE_WORK, lay_out(j, NULL), &block, j->error));
    lay_out(j, block);
    LOB_TRY(lob_device_fill(j->device, j->s.full, 0, sizeof *full, j->error));
    LOB_TRY(lob_device_fill(j->device, j->s.bottom, 0xff, bytes, j->error));
    LOB_TRY(lob_launch_over(j->device, clear_kernel, "clearing saddles", (int64_t)j->s.mask + 1,
                            THREADS, j->s, j->error));
    LOB_TRY(
        lob_launch_over(j->device, see_kernel, "saddles", j->s.voxels, THREADS, j->s, j->error));
    return lob_device_download(j->device, full, j->s.full, sizeof *full, j->error);
}

/* Bottoms and saddles in ordinary memory, in the places of their keys. */
static lob_status fetch(job *j, int64_t *count)
{
    const int64_t slots = (int64_t)j->s.mask + 1, bottoms = j->labels + 1;
    j->bottom = (double *)malloc((size_t)bottoms * sizeof *j->bottom);
    j->slots = (slot *)malloc((size_t)slots * sizeof *j->slots);
    if (!j->bottom || !j->slots) return lob_fail(j->error, LOB_ENOMEM, "no memory for basins");
    LOB_TRY(lob_device_download(j->device, j->bottom, j->s.bottom,
                                bottoms * (int64_t)sizeof *j->bottom, j->error));
    LOB_TRY(lob_device_download(j->device, j->slots, j->s.slots, slots * (int64_t)sizeof *j->slots,
                                j->error));
    for (int64_t i = 0; i < bottoms; i++) {
        u64 key;
        memcpy(&key, &j->bottom[i], sizeof key);
        j->bottom[i] = lob_value_of_key_double(key);
    }
    static_assert(sizeof(slot) == sizeof(lob_saddle), "one takes the place of the other");
    *count = 0;
    for (int64_t i = 0; i < slots; i++) {
        const slot at = j->slots[i];
        if (at.pair == 0) continue;
        const lob_saddle found = {lob_value_of_key_double(at.saddle), (int32_t)(at.pair >> 32),
                                  (int32_t)(uint32_t)at.pair};
        memcpy(&j->slots[(*count)++], &found, sizeof found);
    }
    return LOB_OK;
}

static lob_status find(job *j, int64_t *count)
{
    uint32_t full = 0;
    u64 slots = FEWEST_SLOTS;
    while (slots < (u64)j->labels * SLOTS_OF_LABEL) slots *= 2;
    do {
        j->s.mask = slots - 1;
        LOB_TRY(see(j, &full));
        slots *= 4;
    } while (full);
    return fetch(j, count);
}

} /* namespace lob::basins */

using namespace lob::basins;

lob_status lob_basins_cuda(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                           const lob_volume *image, const lob_basins_options *options,
                           const lob_context *context, lob_error *error)
{
    const int64_t voxels = lob_voxels(image);
    const int64_t label_bytes = (int64_t)lob_type_of(grid->type)->bytes;
    lob_volume there = *image;
    lob_basins_stats s = {};
    int64_t count = 0;
    job j = {};
    LOB_TRY(lob_basins_check(grid, image, options, error));
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_device_enter(context->device, error));
    const lob_device_array travels[] = {
        lob_device_input(&j.s.labels, grid->labels, lob_product(voxels, label_bytes, 1, 1),
                         image->place),
        lob_device_volume(&there.data, image),
    };
    j.device = context->device;
    j.budget = lob_device_budget_of(context, "basins", voxels);
    j.error = error;
    j.labels = grid->count;
    LOB_TRY(lob_device_send(j.device, travels, 2, voxels, error));
    j.s.image = lob_device_image_of(image, there.data, NULL, NULL);
    j.s.type = grid->type;
    j.s.dims = grid->dims;
    j.s.voxels = voxels;
    lob_status st = find(&j, &count);
    if (st == LOB_OK) {
        lob_basins_finish(to, &s, j.bottom, j.labels, (lob_saddle *)j.slots, count, options);
        s.working_bytes = lob_device_budget_held(&j.budget);
        if (stats) *stats = s;
        if (context->progress && context->progress(context->user, 1.0)) st = LOB_ECANCEL;
    }
    free(j.slots);
    free(j.bottom);
    return st;
}
