/* The operations of label_chain.h on the GPU, and the call. */
#include "kernels/labels/label_steps_cuda.h"

#include "kernels/components/components_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/labels/label_chain.h"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "kernels/morphology/morphology_cuda.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

namespace lob::labels
{

enum { VOXEL_THREADS = 256, STRIP = 16 }; /* voxels that a thread counts before it adds */

/* What the operations need beside the chain. Two arrays take turns as now and next. */
typedef struct {
    lob_device *device;
    lob_device_budget budget;
    const lob_labels_arrays *arrays;
    int64_t voxels, peak; /* peak: bytes of working memory */
    void *array[2];
    int turn; /* which of them is next */
} gpu_labels;

static gpu_labels *gpu_of(const lob_label_chain *c)
{
    return (gpu_labels *)c->backend;
}

/* ---- memory ---- */

static void count_peak(gpu_labels *gpu, int64_t inner)
{
    const int64_t own = lob_device_budget_held(&gpu->budget);
    const int64_t both = gpu->budget.held[LOB_DEVICE_LABELS] + inner;
    if (own > gpu->peak) gpu->peak = own;
    if (both > gpu->peak) gpu->peak = both;
}

/* Room for a step's tables; an earlier step's are forgotten. */
static lob_status take(lob_label_chain *c, lob_device_block block, void **memory, int64_t bytes)
{
    gpu_labels *gpu = gpu_of(c);
    gpu->budget.held[block] = 0;
    LOB_TRY(lob_device_budget_take(&gpu->budget, block, bytes, memory, c->error));
    count_peak(gpu, 0);
    return LOB_OK;
}

/* What an algorithm below may take of the caller's memory; it uses the other blocks again. */
static lob_context inner_context(const lob_label_chain *c)
{
    lob_context inner = c->context;
    if (inner.max_memory > 0) {
        const int64_t left = inner.max_memory - gpu_of(c)->budget.held[LOB_DEVICE_LABELS];
        inner.max_memory = left > 1 ? left : 1; /* 0 would be no limit */
    }
    return inner;
}

static void set_next(lob_label_chain *c, lob_type type)
{
    const gpu_labels *gpu = gpu_of(c);
    c->next.data = gpu->array[gpu->turn];
    c->next.type = type;
}

/* now = next */
static lob_status advance(lob_label_chain *c)
{
    c->now = c->next;
    gpu_of(c)->turn ^= 1;
    return LOB_OK;
}

/* ---- voxel by voxel ---- */

typedef struct {
    lob_labels_array to, from;
    const int32_t *table; /* NULL: labels stay */
    int64_t voxels;
} put_params;

static __global__ void __launch_bounds__(VOXEL_THREADS) put_kernel(put_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(p.from.data, p.from.type, i);
        lob_label_put(p.to.data, p.to.type, i, p.table ? p.table[label] : label);
    }
}

/* to[v] = table[from[v]]; a table of the host, with `entries` */
static lob_status put_through(lob_label_chain *c, lob_labels_array to, lob_labels_array from,
                              const int32_t *table, int64_t entries)
{
    const gpu_labels *gpu = gpu_of(c);
    const int64_t bytes = entries * (int64_t)sizeof *table;
    void *there = NULL;
    if (table) {
        LOB_TRY(take(c, LOB_DEVICE_TABLES, &there, bytes));
        LOB_TRY(lob_device_upload(gpu->device, there, table, bytes, c->error));
    }
    const put_params p = {to, from, (const int32_t *)there, gpu->voxels};
    return lob_launch_over(gpu->device, put_kernel, "exchanging labels", p.voxels, VOXEL_THREADS, p,
                           c->error);
}

static lob_status recode(lob_label_chain *c, const int32_t *table, lob_type type)
{
    set_next(c, type);
    LOB_TRY(put_through(c, c->next, c->now, table, (int64_t)c->count + 1));
    return advance(c);
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
    LOB_TRY(take(c, LOB_DEVICE_TABLES, &there, bytes));
    LOB_TRY(lob_device_fill(gpu->device, there, 0, bytes, c->error));
    const look_params p = {c->now, (uint8_t *)there, gpu->voxels};
    LOB_TRY(lob_launch_over(gpu->device, look_kernel, "looking for labels", p.voxels, VOXEL_THREADS,
                            p, c->error));
    return lob_device_download(gpu->device, seen, there, bytes, c->error);
}

/* ---- pieces ---- */

static lob_status join(lob_label_chain *c, const lob_components_options *options, int64_t *count)
{
    const lob_volume image = lob_label_chain_image(c);
    const lob_components_input in = {&image, NULL, NULL};
    const lob_context context = inner_context(c);
    lob_components_output r;
    set_next(c, LOB_I32); /* so much room; what is written is of r.type */
    const lob_components_arrays arrays = {c->now.data, NULL, NULL, c->next.data};
    LOB_TRY(lob_components_cuda_arrays(&arrays, &r, &in, options, &context, c->error));
    c->next.type = r.type;
    *count = r.count;
    count_peak(gpu_of(c), r.working_bytes);
    lob_components_output_free(&r);
    return LOB_OK;
}

static lob_status number_pieces(lob_label_chain *c, int64_t *found)
{
    const lob_components_options options = lob_label_chain_join(c);
    return join(c, &options, found);
}

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
    LOB_TRY(take(c, LOB_DEVICE_TABLES, &there, found * each));
    LOB_TRY(lob_device_fill(gpu->device, there, 0, found * each, c->error));
    count_params p = {};
    p.now = c->now;
    p.next = c->next;
    p.pieces_voxels = (u64 *)there;
    p.owner = (int32_t *)(p.pieces_voxels + found);
    p.voxels = gpu->voxels;
    LOB_TRY(lob_launch_over(gpu->device, count_kernel, "counting pieces",
                            (p.voxels + STRIP - 1) / STRIP, VOXEL_THREADS, p, c->error));
    LOB_TRY(lob_device_download(gpu->device, voxels, p.pieces_voxels,
                                found * (int64_t)sizeof *voxels, c->error));
    return lob_device_download(gpu->device, owner, p.owner, found * (int64_t)sizeof *owner,
                               c->error);
}

/* Put a table of pieces into now, which is the caller's array at first and cannot be written. */
static lob_status from_pieces(lob_label_chain *c, const int32_t *table, int64_t entries)
{
    const gpu_labels *gpu = gpu_of(c);
    const lob_labels_array pieces = c->next;
    const lob_labels_array to = {gpu->array[gpu->turn ^ 1], c->now.type};
    LOB_TRY(put_through(c, to, pieces, table, entries));
    c->now = to;
    return LOB_OK;
}

static lob_status choose_pieces(lob_label_chain *c, int64_t found, const int32_t *table)
{
    return from_pieces(c, table, found + 1);
}

static lob_status fill_holes(lob_label_chain *c)
{
    const lob_components_options options = lob_label_chain_fill(c);
    int64_t count;
    LOB_TRY(join(c, &options, &count));
    return from_pieces(c, NULL, 0);
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
    set_next(c, c->now.type);
    const boundary_params p = {c->next, c->now, d.nx, d.ny, d.nz, c->options->slice_axis};
    LOB_TRY(lob_launch_over(gpu_of(c)->device, boundary_kernel, "finding boundaries",
                            d.ny * d.nz * WARP, VOXEL_THREADS, p, c->error));
    return advance(c);
}

static lob_status run_majority(lob_label_chain *c, const lob_majority *m)
{
    void *work = NULL;
    set_next(c, c->now.type);
    LOB_TRY(take(c, LOB_DEVICE_WORK, &work, majority_bytes(c->in->dims, m)));
    LOB_TRY(majority(gpu_of(c)->device, c->next.data, c->now.data, c->now.type, c->in->dims, m,
                     work, c->error));
    return advance(c);
}

static lob_status morphology(lob_label_chain *c, lob_morphology how, double radius,
                             const double spacing[3])
{
    const lob_context context = inner_context(c);
    lob_morphology_input in = {};
    in.type = c->now.type;
    in.dims = c->in->dims;
    for (int a = 0; a < 3; a++) in.spacing[a] = spacing[a];
    set_next(c, c->now.type);
    LOB_TRY(lob_morphology_cuda_arrays(c->next.data, c->now.data, &in, how, radius, &context,
                                       c->error));
    return advance(c);
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

static lob_status finish(lob_label_chain *c, lob_type type)
{
    const gpu_labels *gpu = gpu_of(c);
    const int64_t size = sizeof *c->values, n = c->count, came = c->in->count;
    void *there = NULL;
    LOB_TRY(take(c, LOB_DEVICE_TABLES, &there, (n + came + 1) * size));
    finish_params p = {};
    p.values = (const int32_t *)there;
    p.came_values = p.values + n;
    LOB_TRY(lob_device_upload(gpu->device, there, c->values, n * size, c->error));
    LOB_TRY(
        lob_device_upload(gpu->device, (int32_t *)there + n, c->in->values, came * size, c->error));
    p.out.data = gpu->arrays->out;
    p.out.type = type;
    p.now = c->now;
    p.came.data = (void *)gpu->arrays->labels;
    p.came.type = c->in->type;
    p.mask = c->in->mask ? gpu->arrays->mask : NULL;
    p.voxels = gpu->voxels;
    LOB_TRY(lob_launch_over(gpu->device, finish_kernel, "writing labels", p.voxels, VOXEL_THREADS,
                            p, c->error));
    return lob_device_wait(gpu->device, c->error);
}

static const lob_label_operations operations = {
    recode,     look,     number_pieces, count_pieces, choose_pieces, advance,
    fill_holes, boundary, run_majority,  morphology,   finish,
};

/* Two arrays for labels; where pieces are numbered, of int32. */
static lob_status take_arrays(gpu_labels *gpu, const lob_labels_input *in, lob_error *error)
{
    const int64_t each = lob_label_chain_has_pieces(in) ? (int64_t)sizeof(int32_t)
                                                        : (int64_t)lob_type_of(in->type)->bytes;
    const int64_t bytes = lob_product(gpu->voxels, each, 1, 1);
    if (bytes < 0 || bytes > INT64_MAX / 8) return lob_device_too_large(error);
    arena sizes;
    for (int i = 0; i < 2; i++) sizes.take<unsigned char>(bytes);
    void *block = NULL;
    LOB_TRY(lob_device_budget_take(&gpu->budget, LOB_DEVICE_LABELS, sizes.used, &block, error));
    arena memory(block);
    for (int i = 0; i < 2; i++) gpu->array[i] = memory.take<unsigned char>(bytes);
    return LOB_OK;
}

} /* namespace lob::labels */

using namespace lob::labels;

lob_status lob_labels_cuda_arrays(const lob_labels_arrays *arrays, lob_labels_output *out,
                                  const lob_labels_input *in, const lob_labels_options *options,
                                  const lob_context *context, lob_error *error)
{
    memset(out, 0, sizeof *out);
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_label_chain_check(in, options, error));
    LOB_TRY(lob_device_enter(context->device, error));
    gpu_labels gpu = {};
    gpu.device = context->device;
    gpu.voxels = lob_dims_voxels(in->dims);
    gpu.budget = lob_device_budget_of(context, "label steps", gpu.voxels);
    gpu.arrays = arrays;
    LOB_TRY(take_arrays(&gpu, in, error));
    lob_label_chain c = {};
    c.operations = &operations;
    c.in = in;
    c.options = options;
    c.caller = context;
    c.error = error;
    c.now.data = (void *)arrays->labels;
    c.now.type = in->type;
    c.out = out;
    c.backend = &gpu;
    const lob_status st = lob_label_chain_run(&c);
    out->working_bytes = gpu.peak;
    if (st != LOB_OK) lob_labels_output_free(out);
    return st;
}

lob_status lob_labels_cuda(lob_labels_output *out, const lob_labels_input *in,
                           const lob_labels_options *options, const lob_context *context,
                           lob_error *error)
{
    lob_labels_arrays arrays = {};
    memset(out, 0, sizeof *out);
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_label_chain_check(in, options, error));
    const int64_t voxels = lob_dims_voxels(in->dims);
    const int64_t bytes = (int64_t)lob_type_of(in->type)->bytes;
    const lob_device_array travels[] = {
        {(void **)&arrays.labels, in->labels,  NULL, lob_product(voxels,    bytes, 1,     1)      },
        {(void **)&arrays.mask,   in->mask,    NULL, in->mask ? voxels : 0},
        {&arrays.out,     NULL, NULL,    lob_product(voxels,                    sizeof(int32_t),      1, 1)},
    };
    LOB_TRY(lob_device_send(context->device, travels, 3, voxels, error));
    LOB_TRY(lob_labels_cuda_arrays(&arrays, out, in, options, context, error));
    const int64_t size = voxels * (int64_t)lob_type_of(out->type)->bytes;
    out->labels = malloc((size_t)size);
    lob_status st = out->labels ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory for the labels");
    if (st == LOB_OK)
        st = lob_device_download(context->device, out->labels, arrays.out, size, error);
    if (st != LOB_OK) lob_labels_output_free(out);
    return st;
}
