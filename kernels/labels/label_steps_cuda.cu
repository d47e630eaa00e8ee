/* The operations of label_chain.h on the GPU, and the call. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/labels/label_chain.h"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

namespace lob::labels
{

enum { VOXEL_THREADS = 256, STRIP = 16 }; /* voxels that a thread counts before it adds */

/* What the operations need beside the chain, whose input is on the device. */
typedef struct {
    lob_device *device;
    lob_device_budget budget;
    lob_place place; /* of the result */
    int64_t peak;    /* bytes of working memory */
} gpu_labels;

static gpu_labels *gpu_of(const lob_label_chain *c)
{
    return (gpu_labels *)c->backend;
}

/* ---- memory ---- */

/* Blocks are taken again by the algorithms below, arrays are not. */
static int64_t count(lob_label_chain *c, int64_t bytes)
{
    gpu_labels *gpu = gpu_of(c);
    const int64_t own = lob_device_budget_held(&gpu->budget), both = gpu->budget.arrays + bytes;
    if (own > gpu->peak) gpu->peak = own;
    if (both > gpu->peak) gpu->peak = both;
    return gpu->budget.arrays;
}

static lob_status take(lob_label_chain *c, void **data, int64_t bytes)
{
    LOB_TRY(lob_device_budget_alloc(&gpu_of(c)->budget, data, bytes, c->error));
    count(c, 0);
    return LOB_OK;
}

static void give_back(lob_label_chain *c, void *data, int64_t bytes)
{
    lob_device_budget_free(&gpu_of(c)->budget, data, bytes);
}

static lob_status hold(lob_label_chain *c, int64_t bytes)
{
    return lob_device_budget_count(&gpu_of(c)->budget, bytes, c->error);
}

/* Room for a step's tables; an earlier step's are forgotten. */
static lob_status take_block(lob_label_chain *c, lob_device_block block, void **memory,
                             int64_t bytes)
{
    gpu_labels *gpu = gpu_of(c);
    gpu->budget.held[block] = 0;
    LOB_TRY(lob_device_budget_take(&gpu->budget, block, bytes, memory, c->error));
    count(c, 0);
    return LOB_OK;
}

/* ---- voxel by voxel ---- */

typedef struct {
    lob_labels_array to, from;
    const int32_t *table;
    int64_t voxels;
} put_params;

static __global__ void __launch_bounds__(VOXEL_THREADS) put_kernel(put_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        lob_label_put(p.to.data, p.to.type, i, p.table[lob_label_at(p.from.data, p.from.type, i)]);
}

static lob_status put(lob_label_chain *c, lob_labels_array to, lob_labels_array from,
                      const int32_t *table, int64_t entries)
{
    lob_device *device = gpu_of(c)->device;
    const int64_t bytes = entries * (int64_t)sizeof *table;
    void *there = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, bytes));
    LOB_TRY(lob_device_upload(device, there, table, bytes, c->error));
    const put_params p = {to, from, (const int32_t *)there, c->voxels};
    return lob_launch_over(device, put_kernel, "exchanging labels", p.voxels, VOXEL_THREADS, p,
                           c->error);
}

typedef struct {
    lob_labels_array now;
    uint8_t *seen;
    int64_t voxels;
} look_params;

static __global__ void __launch_bounds__(VOXEL_THREADS) look_kernel(look_params p)
{
    int32_t last = -1;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(p.now.data, p.now.type, i);
        if (label != last && !p.seen[label]) p.seen[label] = 1;
        last = label;
    }
}

static lob_status look(lob_label_chain *c, uint8_t *seen)
{
    const gpu_labels *gpu = gpu_of(c);
    const int64_t bytes = (int64_t)c->count + 1;
    void *there = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, bytes));
    LOB_TRY(lob_device_fill(gpu->device, there, 0, bytes, c->error));
    const look_params p = {c->now, (uint8_t *)there, c->voxels};
    LOB_TRY(lob_launch_over(gpu->device, look_kernel, "looking for labels", p.voxels, VOXEL_THREADS,
                            p, c->error));
    return lob_device_download(gpu->device, seen, there, bytes, c->error);
}

/* ---- pieces ---- */

typedef struct {
    lob_labels_array now, next;
    u64 *pieces_voxels;
    int32_t *owner;
    int64_t voxels;
} count_params;

static __device__ void count_run(const count_params &p, int32_t piece, int64_t first, u64 voxels)
{
    if (piece == 0) return;
    atomicAdd(&p.pieces_voxels[piece - 1], voxels);
    p.owner[piece - 1] = lob_label_at(p.now.data, p.now.type, first);
}

static __global__ void __launch_bounds__(VOXEL_THREADS) count_kernel(count_params p)
{
    const int64_t strips = (p.voxels + STRIP - 1) / STRIP;
    for (int64_t s = grid_first(); s < strips; s += grid_step()) {
        const int64_t end = s * STRIP + STRIP < p.voxels ? s * STRIP + STRIP : p.voxels;
        int64_t first = s * STRIP;
        int32_t piece = lob_label_at(p.next.data, p.next.type, first);
        for (int64_t i = first + 1; i < end; i++) {
            const int32_t here = lob_label_at(p.next.data, p.next.type, i);
            if (here == piece) continue;
            count_run(p, piece, first, (u64)(i - first));
            piece = here;
            first = i;
        }
        count_run(p, piece, first, (u64)(end - first));
    }
}

static lob_status count_pieces(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner)
{
    const gpu_labels *gpu = gpu_of(c);
    const int64_t each = sizeof(u64) + sizeof *owner;
    void *there = NULL;
    if (found == 0) return LOB_OK;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, found * each));
    LOB_TRY(lob_device_fill(gpu->device, there, 0, found * each, c->error));
    count_params p = {};
    p.now = c->now;
    p.next = c->next;
    p.pieces_voxels = (u64 *)there;
    p.owner = (int32_t *)(p.pieces_voxels + found);
    p.voxels = c->voxels;
    LOB_TRY(lob_launch_over(gpu->device, count_kernel, "counting pieces",
                            (p.voxels + STRIP - 1) / STRIP, VOXEL_THREADS, p, c->error));
    LOB_TRY(lob_device_download(gpu->device, voxels, p.pieces_voxels,
                                found * (int64_t)sizeof *voxels, c->error));
    return lob_device_download(gpu->device, owner, p.owner, found * (int64_t)sizeof *owner,
                               c->error);
}

/* ---- neighbourhoods ---- */

typedef struct {
    lob_labels_array to, from;
    int64_t nx, ny, nz;
    int axis; /* across slices, which are not looked across; -1: none */
} boundary_params;

/* A warp takes a row. */
static __global__ void __launch_bounds__(VOXEL_THREADS) boundary_kernel(boundary_params p)
{
    for (int64_t row = grid_first() / WARP; row < p.ny * p.nz; row += grid_step() / WARP) {
        const int64_t y = row % p.ny, z = row / p.ny;
        for (int64_t x = threadIdx.x % WARP; x < p.nx; x += WARP) {
            const int64_t i = row * p.nx + x;
            const int32_t own = lob_label_at(p.from.data, p.from.type, i);
            const auto differs = [&](bool there, int64_t other) {
                return there && lob_label_at(p.from.data, p.from.type, other) != own;
            };
            const bool edge = own != 0 && (differs(p.axis != 0 && x > 0, i - 1) ||
                                           differs(p.axis != 0 && x + 1 < p.nx, i + 1) ||
                                           differs(p.axis != 1 && y > 0, i - p.nx) ||
                                           differs(p.axis != 1 && y + 1 < p.ny, i + p.nx) ||
                                           differs(p.axis != 2 && z > 0, i - p.nx * p.ny) ||
                                           differs(p.axis != 2 && z + 1 < p.nz, i + p.nx * p.ny));
            lob_label_put(p.to.data, p.to.type, i, edge ? own : 0);
        }
    }
}

static lob_status boundary(lob_label_chain *c)
{
    const lob_dims d = c->in->dims;
    const boundary_params p = {c->next, c->now, d.nx, d.ny, d.nz, c->options->slice_axis};
    return lob_launch_over(gpu_of(c)->device, boundary_kernel, "finding boundaries",
                           d.ny * d.nz * WARP, VOXEL_THREADS, p, c->error);
}

static lob_status run_majority(lob_label_chain *c, const lob_majority *m)
{
    void *work = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_WORK, &work, majority_bytes(c->in->dims, m)));
    return majority(gpu_of(c)->device, c->next.data, c->now.data, c->now.type, c->in->dims, m, work,
                    c->error);
}

/* ---- the result ---- */

typedef struct {
    lob_labels_array out, now, came;
    const uint8_t *mask;
    const int32_t *values, *came_values; /* of numbers from 1 */
    int64_t voxels;
} finish_params;

static __global__ void __launch_bounds__(VOXEL_THREADS) finish_kernel(finish_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const bool inside = !p.mask || p.mask[i];
        const int32_t number = inside ? lob_label_at(p.now.data, p.now.type, i)
                                      : lob_label_at(p.came.data, p.came.type, i);
        const int32_t *values = inside ? p.values : p.came_values;
        lob_label_put(p.out.data, p.out.type, i, number ? values[number - 1] : 0);
    }
}

/* Write the result to an array of the device, and hand it over where it is wanted. */
static lob_status write_result(lob_label_chain *c, finish_params p, int64_t bytes)
{
    gpu_labels *gpu = gpu_of(c);
    void *const written = p.out.data;
    LOB_TRY(lob_launch_over(gpu->device, finish_kernel, "writing labels", p.voxels, VOXEL_THREADS,
                            p, c->error));
    LOB_TRY(lob_device_wait(gpu->device, c->error));
    return lob_device_result(gpu->device, &c->out->labels, written, bytes, gpu->place, c->error);
}

static lob_status finish(lob_label_chain *c, lob_type type)
{
    gpu_labels *gpu = gpu_of(c);
    const int64_t size = sizeof *c->values, n = c->count, came = c->in->count;
    const int64_t bytes = c->voxels * (int64_t)lob_type_of(type)->bytes;
    void *there = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, (n + came + 1) * size));
    finish_params p = {};
    p.values = (const int32_t *)there;
    p.came_values = p.values + n;
    LOB_TRY(lob_device_upload(gpu->device, there, c->values, n * size, c->error));
    LOB_TRY(
        lob_device_upload(gpu->device, (int32_t *)there + n, c->in->values, came * size, c->error));
    p.out.type = type;
    p.now = c->now;
    p.came.data = (void *)c->in->labels;
    p.came.type = c->in->type;
    p.mask = c->in->mask;
    p.voxels = c->voxels;
    LOB_TRY(lob_device_alloc(gpu->device, &p.out.data, bytes, c->error));
    const lob_status st = write_result(c, p, bytes);
    if (c->out->labels == p.out.data)
        c->out->device = gpu->device;
    else
        lob_device_free(gpu->device, p.out.data);
    return st;
}

static const lob_label_operations operations = {
    lob_components_cuda,
    lob_morphology_cuda,
    take,
    give_back,
    hold,
    count,
    put,
    look,
    count_pieces,
    boundary,
    run_majority,
    finish,
};

} /* namespace lob::labels */

using namespace lob::labels;

lob_status lob_labels_cuda(lob_labels_output *out, const lob_labels_input *in,
                           const lob_labels_options *options, const lob_context *context,
                           lob_error *error)
{
    lob_labels_input there = *in;
    gpu_labels gpu = {};
    lob_label_chain c = {};
    memset(out, 0, sizeof *out);
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_label_chain_check(in, options, error));
    const int64_t voxels = lob_dims_voxels(in->dims);
    const int64_t bytes = (int64_t)lob_type_of(in->type)->bytes;
    const lob_device_array travels[] = {
        lob_device_input(&there.labels, in->labels, lob_product(voxels, bytes, 1, 1), in->place),
        lob_device_input(&there.mask, in->mask, voxels, in->place),
    };
    LOB_TRY(lob_device_send(context->device, travels, 2, voxels, error));
    there.place = lob_context_place(context);
    gpu.device = context->device;
    gpu.budget = lob_device_budget_of(context, "label steps", voxels);
    gpu.place = in->place;
    c.operations = &operations;
    c.in = &there;
    c.options = options;
    c.caller = context;
    c.error = error;
    c.out = out;
    c.backend = &gpu;
    const lob_status st = lob_label_chain_run(&c);
    out->working_bytes = gpu.peak;
    if (st != LOB_OK) lob_labels_output_free(out);
    return st;
}
