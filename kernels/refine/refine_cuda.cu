/* Refining on the GPU: the loops over voxels; the host learns counts alone. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/refine/refine_job.h"

#include <string.h>

namespace lob::refine
{

enum { THREADS = 256 };

/* What kernels tell the host. Boxes follow, one for each label. */
struct counters {
    u64 sums[LOB_REFINE_LOOP_COUNT];
};

/* A box that is looked for: its first and the complements of its last coordinates, so that all six
 * fall from ~0. */
struct ends {
    u64 first[3], last[3];
};
static_assert(sizeof(ends) == sizeof(lob_box), "ends become boxes in their place");

static counters *counters_of(const lob_refine_job *j)
{
    return (counters *)j->backend;
}

/* ---- loops of voxels alone ---- */

struct loop_params {
    lob_refine_arrays a;
    int64_t n;
    u64 *sum;
};

typedef void loop_kernel(loop_params);

#define KERNEL(name)                                                               \
    static __global__ void __launch_bounds__(THREADS) name##_kernel(loop_params p) \
    {                                                                              \
        u64 mine = 0;                                                              \
        for (int64_t i = grid_first(); i < p.n; i += grid_step())                  \
            mine += (u64)lob_refine_at_##name(&p.a, i);                            \
        const u64 sum = warp_sum(mine);                                            \
        if (threadIdx.x % WARP == 0 && sum) atomicAdd(p.sum, sum);                 \
    }
LOB_REFINE_LOOPS(KERNEL)

static lob_status loop(lob_refine_job *j, lob_refine_loop which, int64_t n)
{
    static const struct {
        loop_kernel *kernel;
        const char *name;
    } kernels[] = {
#define ROW_OF(name) {name##_kernel, "refining: " #name},
        LOB_REFINE_LOOPS(ROW_OF)};
    const loop_params p = {j->a, n, &counters_of(j)->sums[which]};
    return lob_launch_over(j->device, kernels[which].kernel, kernels[which].name, n, THREADS, p,
                           j->error);
}

static lob_status sum_up(lob_refine_job *j)
{
    u64 sums[LOB_REFINE_LOOP_COUNT];
    LOB_TRY(lob_device_download(j->device, sums, counters_of(j)->sums, sizeof sums, j->error));
    for (int k = 0; k < LOB_REFINE_LOOP_COUNT; k++) j->sums[k] = (int64_t)sums[k];
    return LOB_OK;
}

/* ---- the part that holds labels ---- */

struct box_params {
    lob_refine_arrays a;
    lob_dims dims;
    int32_t labels; /* 0: one box, of all but the background, and of strokes of these */
    ends *to;
};

/* The box that a voxel is in; -1: in none. */
static __device__ inline int32_t box_of(const box_params &p, int64_t i)
{
    const int32_t label = lob_refine_label(&p.a, i);
    if (p.labels) return label - 1;
    const int32_t seed = lob_refine_seed(&p.a, i);
    return label != p.a.background || (seed != 0 && seed != p.a.background) ? 0 : -1;
}

/* Let a box hold a voxel: what is there already is mostly less. */
static __device__ inline void widen(ends *to, int axis, int64_t at)
{
    const u64 low = (u64)at, high = ~(u64)at;
    if (low < to->first[axis]) atomicMin(&to->first[axis], low);
    if (high < to->last[axis]) atomicMin(&to->last[axis], high);
}

/* A warp takes a row, 32 voxels at a time. */
static __global__ void __launch_bounds__(THREADS) boxes_kernel(box_params p)
{
    const int64_t rows = p.dims.ny * p.dims.nz;
    const int lane = (int)threadIdx.x % WARP;
    for (int64_t row = grid_first() / WARP; row < rows; row += grid_step() / WARP)
        for (int64_t x = lane; x - lane < p.dims.nx; x += WARP) {
            const int32_t box = x < p.dims.nx ? box_of(p, row * p.dims.nx + x) : -1;
            const uint32_t alike = __match_any_sync(ALL_LANES, box);
            const bool first = (alike & ((1u << lane) - 1)) == 0;
            if (box < 0 || !first) continue;
            widen(&p.to[box], 0, x);
            widen(&p.to[box], 0, x - lane + WARP - 1 - __clz((int)alike));
            widen(&p.to[box], 1, row % p.dims.ny);
            widen(&p.to[box], 2, row / p.dims.ny);
        }
}

static lob_status find_boxes(lob_refine_job *j, int32_t labels)
{
    const box_params p = {j->a, j->image.dims, labels, (ends *)(counters_of(j) + 1)};
    const int32_t count = labels > 0 ? labels : 1;
    const int64_t bytes = count * (int64_t)sizeof *p.to;
    LOB_TRY(lob_device_fill(j->device, p.to, 0xff, bytes, j->error));
    LOB_TRY(lob_launch_over(j->device, boxes_kernel, "the boxes of labels",
                            p.dims.ny * p.dims.nz * WARP, THREADS, p, j->error));
    LOB_TRY(lob_device_download(j->device, j->boxes, p.to, bytes, j->error));
    for (int32_t k = 0; k < count; k++) {
        ends found;
        memcpy(&found, &j->boxes[k], sizeof found);
        const bool none = found.first[0] == ~(u64)0;
        for (int a = 0; a < 3; a++) {
            j->boxes[k].first[a] = (int64_t)found.first[a];
            j->boxes[k].size[a] = none ? 0 : (int64_t)(~found.last[a] - found.first[a] + 1);
        }
    }
    return LOB_OK;
}

/* Rows of a box of a grid. */
struct rows_params {
    lob_dims dims, size;
    int64_t first[3];
};

static rows_params rows_of(lob_dims dims, const lob_box *box)
{
    return {
        dims, lob_box_dims(box), {box->first[0], box->first[1], box->first[2]}
    };
}

/* Where a row of the box begins on the grid; rows of several channels are planar. */
static __device__ inline int64_t row_at(const rows_params &r, int64_t row)
{
    const int64_t y = r.first[1] + row % r.size.ny;
    const int64_t plane = row / r.size.ny, channel = plane / r.size.nz;
    const int64_t z = channel * r.dims.nz + r.first[2] + plane % r.size.nz;
    return (z * r.dims.ny + y) * r.dims.nx + r.first[0];
}

struct larger_params {
    lob_refine_arrays a;
    rows_params rows;
};

static __global__ void __launch_bounds__(THREADS) larger_kernel(larger_params p)
{
    const lob_dims size = p.rows.size;
    for (int64_t row = grid_first() / WARP; row < size.ny * size.nz; row += grid_step() / WARP) {
        const int64_t at = row_at(p.rows, row);
        for (int64_t x = threadIdx.x % WARP; x < size.nx; x += WARP)
            lob_refine_larger(&p.a, row * size.nx + x, at + x);
    }
}

static lob_status take_larger(lob_refine_job *j, lob_dims dims, const lob_box *box)
{
    const larger_params p = {j->a, rows_of(dims, box)};
    return lob_launch_over(j->device, larger_kernel, "refining: larger shares",
                           p.rows.size.ny * p.rows.size.nz * WARP, THREADS, p, j->error);
}

/* Copy rows out of an array of planar channels or back into it. */
struct copy_params {
    void *part, *whole;
    int bytes; /* of a voxel */
    int channels;
    rows_params rows;
    bool back;
};

template <typename T>
static __device__ inline void copy_voxel(const copy_params &p, int64_t part, int64_t whole)
{
    if (p.back)
        ((T *)p.whole)[whole] = ((const T *)p.part)[part];
    else
        ((T *)p.part)[part] = ((const T *)p.whole)[whole];
}

static __global__ void __launch_bounds__(THREADS) copy_kernel(copy_params p)
{
    const lob_dims size = p.rows.size;
    const int64_t rows = size.ny * size.nz * p.channels;
    for (int64_t row = grid_first() / WARP; row < rows; row += grid_step() / WARP) {
        const int64_t from = row_at(p.rows, row);
        for (int64_t x = threadIdx.x % WARP; x < size.nx; x += WARP) {
            const int64_t i = row * size.nx + x;
            if (p.bytes == 1) copy_voxel<uint8_t>(p, i, from + x);
            if (p.bytes == 2) copy_voxel<uint16_t>(p, i, from + x);
            if (p.bytes == 4) copy_voxel<uint32_t>(p, i, from + x);
            if (p.bytes == 8) copy_voxel<uint64_t>(p, i, from + x);
        }
    }
}

static lob_status cut(lob_refine_job *j, void *part, void *whole, lob_type type, int channels,
                      lob_dims dims, const lob_box *box, bool back)
{
    copy_params p = {};
    p.part = part;
    p.whole = whole;
    p.bytes = (int)lob_type_of(type)->bytes;
    p.channels = channels;
    p.rows = rows_of(dims, box);
    p.back = back;
    return lob_launch_over(j->device, copy_kernel, "copying a box",
                           p.rows.size.ny * p.rows.size.nz * channels * WARP, THREADS, p, j->error);
}

static const lob_refine_operations operations = {lob_filter_cuda_tuned,
                                                 lob_components_cuda,
                                                 lob_distance_cuda,
                                                 loop,
                                                 sum_up,
                                                 find_boxes,
                                                 take_larger,
                                                 cut};

/* Counters of a call, on the device. */
static lob_status begin_counters(lob_refine_job *j)
{
    const int64_t boxes = j->in->label_count * (int64_t)sizeof(ends);
    LOB_TRY(lob_device_alloc(j->device, &j->backend, (int64_t)sizeof(counters) + boxes, j->error));
    return lob_device_fill(j->device, j->backend, 0, sizeof(counters), j->error);
}

} /* namespace lob::refine */

using namespace lob::refine;

lob_status lob_refine_cuda(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                           const lob_refine_options *options, const lob_context *context,
                           lob_error *error)
{
    lob_device *device = context->device;
    lob_volume image = *in->image;
    lob_refine_input there = *in;
    void *labels = NULL;
    lob_refine_job j = {};
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_refine_check(in, options, error));
    const int64_t n = lob_voxels(in->image);
    const int64_t seed_bytes = (int64_t)lob_type_of(in->seeds_type)->bytes;
    const int64_t came_bytes = (int64_t)lob_type_of(in->labels_type)->bytes;
    const int64_t label_bytes = (int64_t)lob_type_of(lob_label_type(in->label_count))->bytes;
    const lob_device_array travels[] = {
        lob_device_volume(&image.data, options->edge > 0 ? in->image : NULL),
        lob_device_input(&there.seeds, in->seeds, lob_product(n, seed_bytes, 1, 1), in->place),
        lob_device_input(&there.labels, in->labels, lob_product(n, came_bytes, 1, 1), in->place),
        lob_device_output(&labels, out, lob_product(n, label_bytes, 1, 1), in->place),
        lob_device_input(&there.others, in->others, lob_product(n, came_bytes, 1, 1), in->place),
        lob_device_input(&there.shares, in->shares, lob_product(n, in->label_count - 1, 1, 1),
                         in->place),
        lob_device_input(&there.absent, in->absent,
                         lob_side(image.dims, in->absent_axis) * (in->label_count + 1),
                         lob_place()),
    };
    enum { TRAVELS = sizeof travels / sizeof travels[0] };
    LOB_TRY(lob_device_send(device, travels, TRAVELS, n, error));
    image.place = there.place = lob_context_place(context);
    there.image = &image;
    j.operations = &operations;
    j.in = &there;
    j.options = options;
    j.context = context;
    j.error = error;
    j.device = device;
    lob_status st = begin_counters(&j);
    if (st == LOB_OK) st = lob_refine_run(&j, labels, stats);
    lob_device_free(device, j.backend);
    LOB_TRY(st);
    return lob_device_receive(device, travels, TRAVELS, error);
}
