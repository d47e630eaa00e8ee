/*
 * Box on the GPU. Small windows of one radius take one pass over the volume, others two, along x
 * and y and along z, or three where windows along x or y are too long for a tile in shared memory.
 * Passes read float32; other values become it first.
 */
#include "kernels/device/arena.cuh"
#include "kernels/filters/box/box_columns_cuda.cuh"
#include "kernels/filters/box/box_direct_cuda.cuh"
#include "kernels/filters/box/box_rows_cuda.cuh"

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

lob_status along_x(const box_run &b, float *out, const float *in)
{
    box_rows p = {};
    int64_t shared;
    p.out = out;
    p.in = in;
    p.x = b.pass[0];
    p.rows = b.dims.ny * b.dims.nz;
    if (rows_fit(&p, &shared)) return run_rows(b.device, p, shared, b.error);
    box_columns c = {};
    c.out = out;
    c.in = in;
    c.pass = b.pass[0];
    c.step = 1;
    c.apart = b.dims.nx;
    c.lines = p.rows;
    c.groups = 1;
    return run_columns(b.device, c, b.error);
}

lob_status along_y(const box_run &b, float *out, const float *in)
{
    box_columns c = {};
    c.out = out;
    c.in = in;
    c.pass = b.pass[1];
    c.step = b.dims.nx;
    c.apart = 1;
    c.lines = b.dims.nx;
    c.groups = b.dims.nz;
    c.group_step = b.dims.nx * b.dims.ny;
    return run_columns(b.device, c, b.error);
}

lob_status along_z(const box_run &b, float *out, const float *in)
{
    box_columns c = {};
    c.out = out;
    c.in = in;
    c.pass = b.pass[2];
    c.step = b.dims.nx * b.dims.ny;
    c.apart = 1;
    c.lines = c.step;
    c.groups = 1;
    return run_columns(b.device, c, b.error);
}

/* Along x and y at once, where a tile of both fits shared memory; the planes' number is p.rows. */
bool planes_fit(box_rows *p, int64_t *shared, const box_run &b)
{
    *p = box_rows{};
    p->x = b.pass[0];
    p->y = b.pass[1];
    p->rows = b.dims.nz;
    return p->x.radius > 0 && p->y.radius > 0 && rows_columns_fit(p, shared);
}

lob_status along_planes(const box_run &b, float *out, const float *in)
{
    box_rows p;
    int64_t shared;
    planes_fit(&p, &shared, b);
    p.out = out;
    p.in = in;
    return run_rows_columns(b.device, p, shared, b.error);
}

lob_status along_all(const box_run &b, float *out, const float *in)
{
    return run_direct(b.device, out, in, b.pass, b.error);
}

typedef lob_status (*box_step)(const box_run &b, float *out, const float *in);

/* The kernels that a run needs, one after the other; returns how many. */
int steps_of(box_step steps[3], const box_run &b)
{
    static const box_step along[3] = {along_x, along_y, along_z};
    box_rows unused;
    int64_t shared;
    int n = 0;
    if (direct_fits(b.pass)) {
        steps[n++] = along_all;
        return n;
    }
    const bool planes = planes_fit(&unused, &shared, b);
    if (planes) steps[n++] = along_planes;
    for (int a = planes ? 2 : 0; a < 3; a++)
        if (b.pass[a].radius > 0) steps[n++] = along[a];
    return n;
}

/* Sums of one kind of a channel, in `to`; steps write there and to `between` by turns. Without a
 * radius the sums are the voxels themselves. */
lob_status run_kind(box_run *b, float *to, float *between, const lob_filter_image *in,
                    const lob_filter_call *call, lob_box_what what, int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};
    const bool as_it_is = what == LOB_BOX_MEANS && in->type == LOB_F32 && call->before.identity;
    const float *from = (const float *)in->data + channel * n;
    box_step steps[3];
    lob_box_passes(b->pass, in, call, what);
    const int count = steps_of(steps, *b);
    if (!as_it_is || count == 0) {
        const bool mapped = what == LOB_BOX_MEANS && count == 0;
        float *const floats = count % 2 ? between : to;
        const read_params p = {
            floats,
            {in->data, in->type, call->mask, call->before, what},
            mapped ? call->after : identity,
            channel * n,
            n
        };
        LOB_TRY(lob_launch_over(b->device, read_kernel, "box, values as float32", n, BOX_THREADS, p,
                                b->error));
        from = floats;
    }
    for (int i = 0; i < count; i++) {
        float *const out = (count - i) % 2 ? to : between;
        LOB_TRY(steps[i](*b, out, from));
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

lob_status run_weighed(box_run *b, float *out, const box_memory &m, const lob_filter_image *in,
                       const lob_filter_call *call, int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    LOB_TRY(run_kind(b, m.a, out, in, call, LOB_BOX_SUMS, channel));
    LOB_TRY(run_kind(b, m.b, out, in, call, LOB_BOX_WEIGHTS, channel));
    const divide_params p = {
        out,         m.a,         m.b, {in->data, in->type, call->mask, call->before, LOB_BOX_SUMS},
        call->after, channel * n, n
    };
    return lob_launch_over(b->device, divide_kernel, "box, division", n, BOX_THREADS, p, b->error);
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
        if (lob_box_weighs(call)) {
            LOB_TRY(run_weighed(&b, to, m, in, call, c));
            continue;
        }
        LOB_TRY(run_kind(&b, to, m.a, in, call, LOB_BOX_MEANS, c));
    }
    return LOB_OK;
}

} /* namespace lob::filters */
