/*
 * Box on the GPU. Small windows of one radius take one pass over the volume, others two, along x
 * and y and along z, or three where windows along x or y are too long for a tile in shared memory.
 * Passes read float32; other values become it first.
 */
#include "kernels/device/arena.cuh"
#include "kernels/filters/box/box_columns_cuda.cuh"
#include "kernels/filters/box/box_direct_cuda.cuh"
#include "kernels/filters/box/box_rows_cuda.cuh"

#include <utility>

namespace lob::filters
{
namespace
{

/* One channel's sums of one kind. */
struct box_run {
    lob_device *device;
    lob_dims dims;
    lob_box_pass pass[3];
    lob_error *error;
};

struct read_params {
    float *out;
    lob_box_source from;
    lob_filter_map after;
    int64_t voxel, n; /* voxel: the channel's first one */
};

__global__ void read_kernel(const read_params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        p.out[i] = lob_filter_mapped(lob_box_read(&p.from, p.voxel + i, i), &p.after);
}

/* Lines of an axis, one by one. */
lob_status along(const box_run &b, int axis, float *out, const float *in)
{
    const lob_dims d = b.dims;
    box_columns c = {};
    c.out = out;
    c.in = in;
    c.pass = b.pass[axis];
    c.step = axis == 0 ? 1 : axis == 1 ? d.nx : d.nx * d.ny;
    c.apart = axis == 0 ? d.nx : 1;
    c.lines = axis == 0 ? d.ny * d.nz : c.step;
    c.groups = axis == 1 ? d.nz : 1;
    c.group_step = d.nx * d.ny;
    return run_columns(b.device, c, b.error);
}

/* Tiles along x, with `both` along y too; false: they do not fit shared memory. */
bool rows_of(box_rows *p, const box_run &b, bool both)
{
    *p = box_rows{};
    p->x = b.pass[0];
    p->y = b.pass[1];
    p->planes = b.dims.nz;
    if (!both) {
        p->y = lob_box_pass{};
        p->y.n = b.dims.ny * b.dims.nz;
        p->y.block = BOX_TILE_Y;
        while (1 << p->y.shift < BOX_TILE_Y) p->y.shift++;
        p->planes = 1;
    }
    return rows_fit(p);
}

/* The kernels that a run needs, one after the other. */
enum box_step { ALONG_X, ALONG_Y, ALONG_Z, ALONG_PLANES, ALONG_ALL };

/* Returns how many. */
int steps_of(box_step steps[3], const box_run &b)
{
    box_rows unused;
    int n = 0;
    if (direct_fits(b.pass)) {
        steps[n++] = ALONG_ALL;
        return n;
    }
    const bool planes = b.pass[0].radius > 0 && b.pass[1].radius > 0 && rows_of(&unused, b, true);
    if (planes) steps[n++] = ALONG_PLANES;
    for (int a = planes ? 2 : 0; a < 3; a++)
        if (b.pass[a].radius > 0) steps[n++] = (box_step)a;
    return n;
}

lob_status run_step(const box_run &b, box_step step, float *out, const float *in)
{
    box_rows p;
    if (step == ALONG_ALL)
        return run_direct(b.device, out, in, NULL, b.pass, NULL,
                          &b.pass[b.pass[2].radius ? 2 : 1].after, b.error);
    if (step == ALONG_Y || step == ALONG_Z || !rows_of(&p, b, step == ALONG_PLANES))
        return along(b, step, out, in);
    p.out = out;
    p.in = in;
    return run_rows(b.device, p, b.error);
}

const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};

/* Whether values need no conversion to float32. */
bool reads_floats(const lob_filter_image *in, const lob_filter_call *call)
{
    return in->type == LOB_F32 && call->before.identity;
}

/* Read a channel as float32. */
lob_status read_floats(const box_run *b, float *out, const lob_filter_image *in,
                       const lob_filter_call *call, lob_box_what what, const lob_filter_map &after,
                       int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const read_params p = {
        out, {in->data, in->type, call->mask, call->before, what},
         after, channel * n, n
    };
    return lob_launch_over(b->device, read_kernel, "box, values as float32", n, BOX_THREADS, p,
                           b->error);
}

/* The means of a channel, in `to`; steps write there and to `between` by turns. Without a radius
 * they are the voxels themselves. */
lob_status run_means(box_run *b, float *to, float *between, const lob_filter_image *in,
                     const lob_filter_call *call, int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const float *from = (const float *)in->data + channel * n;
    box_step steps[3];
    lob_box_passes(b->pass, in, call, LOB_BOX_MEANS);
    const int count = steps_of(steps, *b);
    if (!reads_floats(in, call) || count == 0) {
        float *const floats = count % 2 ? between : to;
        LOB_TRY(read_floats(b, floats, in, call, LOB_BOX_MEANS, count == 0 ? call->after : identity,
                            channel));
        from = floats;
    }
    for (int i = 0; i < count; i++) {
        float *const out = (count - i) % 2 ? to : between;
        LOB_TRY(run_step(*b, steps[i], out, from));
        from = out;
    }
    return LOB_OK;
}

struct divide_params {
    float *out;
    const float *sums, *weights;
    lob_box_source from;
    lob_filter_map after;
    int64_t voxel, n;
};

__global__ void divide_kernel(const divide_params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        p.out[i] = lob_box_mean(&p.from, &p.after, p.sums[i], p.weights[i], p.voxel + i, i);
}

struct box_memory {
    float *a, *b; /* b: where data are weighed */
};

int64_t lay_out(box_memory *m, void *work, const lob_filter_image *in, const lob_filter_call *call)
{
    const int64_t n = lob_dims_voxels(in->dims);
    arena from(work);
    m->a = from.take<float>(n);
    m->b = lob_box_weighs(call) ? from.take<float>(n) : NULL;
    return from.used;
}

/* Sums of data and of weights, which one reading gives where the first step is one along x, with y
 * too if planes fit. Steps of both write to three arrays by turns. */
lob_status run_weighed(box_run *b, float *out, const box_memory &m, const lob_filter_image *in,
                       const lob_filter_call *call, int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    box_run runs[2] = {*b, *b};
    box_step steps[3];
    box_rows p = {};
    float *array[3] = {m.a, m.b, out}; /* the sums, the weights, neither */
    lob_box_passes(runs[0].pass, in, call, LOB_BOX_SUMS);
    lob_box_passes(runs[1].pass, in, call, LOB_BOX_WEIGHTS);
    const int count = steps_of(steps, runs[0]);
    const bool direct = count > 0 && steps[0] == ALONG_ALL;
    const bool rows = count > 0 && (steps[0] == ALONG_PLANES || steps[0] == ALONG_X) &&
                      rows_of(&p, runs[0], steps[0] == ALONG_PLANES);
    p.in = (const float *)in->data + channel * n;
    if ((direct || rows) && !reads_floats(in, call)) {
        float *const floats = direct ? m.a : out;
        LOB_TRY(read_floats(b, floats, in, call, LOB_BOX_MEANS, identity, channel));
        p.in = floats;
    }
    if (direct)
        return run_direct(b->device, out, p.in, call->mask, runs[0].pass, runs[1].pass,
                          &call->after, b->error);
    if (rows) {
        p.out = array[0];
        p.weights = array[1];
        p.mask = call->mask;
        p.weight_outside_y = runs[1].pass[1].outside;
        if (p.x.edge != LOB_EDGE_CONSTANT) p.x.outside = NAN;
        LOB_TRY(run_rows(b->device, p, b->error));
    }
    for (int kind = 0; kind < 2; kind++) {
        if (!rows)
            LOB_TRY(read_floats(b, array[kind], in, call, kind ? LOB_BOX_WEIGHTS : LOB_BOX_SUMS,
                                identity, channel));
        for (int i = rows; i < count; i++) {
            LOB_TRY(run_step(runs[kind], steps[i], array[2], array[kind]));
            std::swap(array[kind], array[2]);
        }
    }
    const divide_params divide = {
        out,
        array[0],
        array[1],
        {in->data, in->type, call->mask, call->before, LOB_BOX_SUMS},
        call->after,
        channel * n,
        n
    };
    return lob_launch_over(b->device, divide_kernel, "box, division", n, BOX_THREADS, divide,
                           b->error);
}

} /* namespace */

int64_t box_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    box_memory unused;
    return lay_out(&unused, NULL, in, call);
}

lob_status box(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
               const lob_filter_call *call, void *work, lob_error *error)
{
    const int64_t n = lob_dims_voxels(in->dims);
    box_run b = {};
    box_memory m;
    LOB_TRY(lob_device_enter(device, error));
    lay_out(&m, work, in, call);
    b.device = device;
    b.dims = in->dims;
    b.error = error;
    for (int c = 0; c < in->channels; c++) {
        float *const to = (float *)out->data + c * n;
        LOB_TRY(lob_box_weighs(call) ? run_weighed(&b, to, m, in, call, c)
                                     : run_means(&b, to, m.a, in, call, c));
    }
    return LOB_OK;
}

} /* namespace lob::filters */
