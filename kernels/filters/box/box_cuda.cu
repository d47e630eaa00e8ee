/*
 * Box on the GPU. With three radii two passes are enough where windows are small: along x and y,
 * and along z. Where they are not, lines along x and then along y are summed a few planes at a
 * time, so that the planes between the two passes stay in the cache.
 */
#include "kernels/filters/box/box_cuda.cuh"

#include "kernels/device/arena.cuh"
#include "kernels/filters/box/box_columns_cuda.cuh"
#include "kernels/filters/box/box_rows_cuda.cuh"

namespace lob
{
namespace filters
{
namespace
{

enum { CACHED_BYTES = 24 << 20 }; /* of the planes between two passes: half of an H200's L2 */

/* One channel's sums of one kind: passes from the input to `to`, over `between`. */
struct box_run {
    lob_device *device;
    lob_dims dims;
    lob_box_pass pass[3];
    box_input in;
    float *to, *between;
    lob_error *error;
};

box_input floats_at(const float *floats)
{
    box_input in = {};
    in.floats = floats;
    return in;
}

box_input moved(box_input in, int64_t voxels)
{
    if (in.floats) in.floats += voxels;
    in.voxel += voxels;
    in.mask_voxel += voxels;
    return in;
}

struct copy_params {
    float *out;
    box_input in;
    lob_filter_map after;
    int64_t n;
};

__global__ void copy_kernel(const copy_params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        p.out[i] = lob_filter_mapped(box_value(p.in, i), &p.after);
}

lob_status along_x(const box_run &b, float *out, const box_input &in, int64_t planes)
{
    box_rows p = {};
    int64_t shared;
    p.out = out;
    p.in = in;
    p.x = b.pass[0];
    p.rows = planes * b.dims.ny;
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

lob_status along_y(const box_run &b, float *out, const box_input &in, int64_t planes)
{
    box_columns c = {};
    c.out = out;
    c.in = in;
    c.pass = b.pass[1];
    c.step = b.dims.nx;
    c.apart = 1;
    c.lines = b.dims.nx;
    c.groups = planes;
    c.group_step = b.dims.nx * b.dims.ny;
    return run_columns(b.device, c, b.error);
}

lob_status along_z(const box_run &b, float *out, const box_input &in)
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

/* Along x and y, from b.in to out; the planes between, if there are any, go to `ring`. */
lob_status along_x_and_y(const box_run &b, float *out, float *ring)
{
    const int64_t plane = b.dims.nx * b.dims.ny;
    box_rows p = {};
    int64_t shared, group = CACHED_BYTES / (plane * (int64_t)sizeof(float));
    p.out = out;
    p.in = b.in;
    p.x = b.pass[0];
    p.y = b.pass[1];
    p.rows = b.dims.nz;
    if (rows_columns_fit(&p, &shared)) return run_rows_columns(b.device, p, shared, b.error);
    if (group < 1) group = 1;
    for (int64_t z = 0; z < b.dims.nz; z += group) {
        const int64_t planes = b.dims.nz - z < group ? b.dims.nz - z : group;
        LOB_TRY(along_x(b, ring, moved(b.in, z * plane), planes));
        LOB_TRY(along_y(b, out + z * plane, floats_at(ring), planes));
    }
    return LOB_OK;
}

/* All passes of one kind. */
lob_status run(const box_run &b)
{
    const bool x = b.pass[0].radius > 0, y = b.pass[1].radius > 0, z = b.pass[2].radius > 0;
    float *const flat = z ? b.between : b.to;
    const box_input rest = x || y ? floats_at(flat) : b.in;
    if (x && y)
        LOB_TRY(along_x_and_y(b, flat, z ? b.to : b.between));
    else if (x)
        LOB_TRY(along_x(b, flat, b.in, b.dims.nz));
    else if (y)
        LOB_TRY(along_y(b, flat, b.in, b.dims.nz));
    return z ? along_z(b, b.to, rest) : LOB_OK;
}

/* Sums of one kind of a channel. Without a radius they are the voxels themselves. */
lob_status run_kind(box_run *b, const lob_filter_image *in, const lob_filter_call *call,
                    lob_box_what what, int64_t channel)
{
    const int64_t n = lob_dims_voxels(in->dims);
    const bool as_it_is = what == LOB_BOX_MEANS && in->type == LOB_F32 && call->before.identity;
    lob_box_passes(b->pass, in, call, what);
    b->in = floats_at(as_it_is ? (const float *)in->data + channel * n : NULL);
    b->in.from = {in->data, in->type, call->mask, call->before, what};
    b->in.voxel = channel * n;
    if (b->pass[0].radius + b->pass[1].radius + b->pass[2].radius > 0) return run(*b);
    copy_params p = {b->to, b->in, b->pass[0].after, n};
    if (what == LOB_BOX_MEANS) p.after = call->after;
    return lob_launch_over(b->device, copy_kernel, "box without a radius", n, BOX_THREADS, p,
                           b->error);
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
    b->between = out;
    b->to = m.a;
    LOB_TRY(run_kind(b, in, call, LOB_BOX_SUMS, channel));
    b->to = m.b;
    LOB_TRY(run_kind(b, in, call, LOB_BOX_WEIGHTS, channel));
    const divide_params p = {out, m.a, m.b, b->in.from, call->after, channel * n, n};
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
        b.to = to;
        b.between = m.a;
        LOB_TRY(run_kind(&b, in, call, LOB_BOX_MEANS, c));
    }
    return LOB_OK;
}

} /* namespace filters */
} /* namespace lob */
