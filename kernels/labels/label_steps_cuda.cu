/* The operations of label_chain.h on the GPU, and the call. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/labels/label_chain.h"
#include "kernels/labels/label_slips.h"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "volumes/labels.h"

#include <string.h>

namespace lob::labels
{

enum { VOXEL_THREADS = 256, STRIP = 16 }; /* voxels that a thread counts before it adds */

/* Room for a step's tables; an earlier step's are forgotten. Algorithms take these blocks too. */
static lob_status take_block(lob_label_chain *c, lob_device_block block, void **memory,
                             int64_t bytes)
{
    const lob_context left = lob_budget_inner(&c->budget, &c->context);
    lob_device_budget budget = lob_device_budget_of(&left, "label steps", c->voxels);
    LOB_TRY(lob_device_budget_take(&budget, block, bytes, memory, c->error));
    lob_label_chain_count(c, bytes);
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
    lob_device *device = c->device;
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
    const int64_t bytes = (int64_t)c->count + 1;
    void *there = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, bytes));
    LOB_TRY(lob_device_fill(c->device, there, 0, bytes, c->error));
    const look_params p = {c->now, (uint8_t *)there, c->voxels};
    LOB_TRY(lob_launch_over(c->device, look_kernel, "looking for labels", p.voxels, VOXEL_THREADS,
                            p, c->error));
    return lob_device_download(c->device, seen, there, bytes, c->error);
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
    const int64_t each = sizeof(u64) + sizeof *owner;
    void *there = NULL;
    if (found == 0) return LOB_OK;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, found * each));
    LOB_TRY(lob_device_fill(c->device, there, 0, found * each, c->error));
    count_params p = {};
    p.now = c->now;
    p.next = c->next;
    p.pieces_voxels = (u64 *)there;
    p.owner = (int32_t *)(p.pieces_voxels + found);
    p.voxels = c->voxels;
    LOB_TRY(lob_launch_over(c->device, count_kernel, "counting pieces",
                            (p.voxels + STRIP - 1) / STRIP, VOXEL_THREADS, p, c->error));
    LOB_TRY(lob_device_download(c->device, voxels, p.pieces_voxels, found * (int64_t)sizeof *voxels,
                                c->error));
    return lob_device_download(c->device, owner, p.owner, found * (int64_t)sizeof *owner, c->error);
}

/* ---- neighbourhoods ---- */

typedef struct {
    lob_labels_array to, from;
    lob_dims dims;
    int axis; /* across slices, which are not looked across; -1: none */
} thin_params;

static __device__ bool is_boundary(const thin_params &p, int64_t i, int64_t x, int64_t y, int64_t z)
{
    const lob_dims d = p.dims;
    const int32_t own = lob_label_at(p.from.data, p.from.type, i);
    const auto differs = [&](bool there, int64_t other) {
        return there && lob_label_at(p.from.data, p.from.type, other) != own;
    };
    return own != 0 &&
           (differs(p.axis != 0 && x > 0, i - 1) || differs(p.axis != 0 && x + 1 < d.nx, i + 1) ||
            differs(p.axis != 1 && y > 0, i - d.nx) ||
            differs(p.axis != 1 && y + 1 < d.ny, i + d.nx) ||
            differs(p.axis != 2 && z > 0, i - d.nx * d.ny) ||
            differs(p.axis != 2 && z + 1 < d.nz, i + d.nx * d.ny));
}

/* What is no slip stays, or what is of the boundary. A warp takes a row. */
template <bool SLIPS>
static __global__ void __launch_bounds__(VOXEL_THREADS) thin_kernel(thin_params p)
{
    const lob_dims d = p.dims;
    for (int64_t row = grid_first() / WARP; row < d.ny * d.nz; row += grid_step() / WARP) {
        const int64_t y = row % d.ny, z = row / d.ny;
        for (int64_t x = threadIdx.x % WARP; x < d.nx; x += WARP) {
            const int64_t i = row * d.nx + x;
            const bool stays =
                SLIPS ? !lob_labels_is_slip(p.from.data, p.from.type, d, p.axis, x, y, z)
                      : is_boundary(p, i, x, y, z);
            lob_label_put(p.to.data, p.to.type, i,
                          stays ? lob_label_at(p.from.data, p.from.type, i) : 0);
        }
    }
}

template <bool SLIPS> static lob_status thin_out(lob_label_chain *c)
{
    const lob_dims d = c->in->dims;
    const thin_params p = {c->next, c->now, d, c->options->slice_axis};
    return lob_launch_over(c->device, thin_kernel<SLIPS>,
                           SLIPS ? "finding slips" : "finding boundaries", d.ny * d.nz * WARP,
                           VOXEL_THREADS, p, c->error);
}

static lob_status run_majority(lob_label_chain *c, const lob_majority *m)
{
    void *work = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_WORK, &work, majority_bytes(c->in->dims, m)));
    return majority(c->device, c->next.data, c->now.data, c->now.type, c->in->dims, m, work,
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
    void *const written = p.out.data;
    LOB_TRY(lob_launch_over(c->device, finish_kernel, "writing labels", p.voxels, VOXEL_THREADS, p,
                            c->error));
    LOB_TRY(lob_device_wait(c->device, c->error));
    return lob_device_result(c->device, &c->out->labels, written, bytes, c->result_place, c->error);
}

static lob_status finish(lob_label_chain *c, lob_type type)
{
    const int64_t size = sizeof *c->values, n = c->count, came = c->in->count;
    const int64_t bytes = c->voxels * (int64_t)lob_type_of(type)->bytes;
    void *there = NULL;
    LOB_TRY(take_block(c, LOB_DEVICE_TABLES, &there, (n + came + 1) * size));
    finish_params p = {};
    p.values = (const int32_t *)there;
    p.came_values = p.values + n;
    LOB_TRY(lob_device_upload(c->device, there, c->values, n * size, c->error));
    LOB_TRY(
        lob_device_upload(c->device, (int32_t *)there + n, c->in->values, came * size, c->error));
    p.out.type = type;
    p.now = c->now;
    p.came.data = (void *)c->in->labels;
    p.came.type = c->in->type;
    p.mask = c->in->mask;
    p.voxels = c->voxels;
    LOB_TRY(lob_device_alloc(c->device, &p.out.data, bytes, c->error));
    const lob_status st = write_result(c, p, bytes);
    if (c->out->labels == p.out.data)
        c->out->device = c->device;
    else
        lob_device_free(c->device, p.out.data);
    return st;
}

static const lob_label_operations operations = {
    lob_components_cuda, lob_morphology_cuda, put,          look,  count_pieces,
    thin_out<false>,     thin_out<true>,      run_majority, finish};

} /* namespace lob::labels */

using namespace lob::labels;

lob_status lob_labels_cuda(lob_labels_output *out, const lob_labels_input *in,
                           const lob_labels_options *options, const lob_context *context,
                           lob_error *error)
{
    lob_labels_input there = *in;
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
    c.operations = &operations;
    c.in = &there;
    c.options = options;
    c.caller = context;
    c.error = error;
    c.device = context->device;
    c.result_place = in->place;
    c.out = out;
    return lob_label_chain_run(&c);
}
