/* Resampling on a GPU: a thread writes one channel of one new voxel. */
#include "kernels/backend_cuda.h"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/resample/resample_voxel.h"

#include <stdlib.h>
#include <string.h>

namespace lob::resample
{

enum { THREADS = 256 };

typedef struct {
    void *to;
    const void *from;
    lob_resample_map map;
    lob_resample_method method;
    lob_type type;
    int64_t voxels; /* of the new grid */
    int64_t apart;  /* voxels of an old channel */
    int channels;
} resample_params;

template <typename T>
using voxel_function = void (*)(T *, const T *, int64_t, const lob_resample_window *,
                                const lob_resample_map *, bool);

/* The label of a majority; only for the types that labels have. */
static __device__ int32_t majority(const resample_params &s, const lob_resample_window &w)
{
    if (s.type == LOB_U8) return lob_resample_most_LOB_U8((const uint8_t *)s.from, &w, &s.map);
    if (s.type == LOB_I16) return lob_resample_most_LOB_I16((const int16_t *)s.from, &w, &s.map);
    return lob_resample_most_LOB_I32((const int32_t *)s.from, &w, &s.map);
}

static __global__ void majority_kernel(resample_params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        const lob_voxel_at at = lob_voxel_place(s.map.dims, i);
        lob_resample_window w;
        int32_t label = (int32_t)s.map.fill;
        if (lob_resample_place(&w, &s.map, at.x, at.y, at.z)) label = majority(s, w);
        lob_label_put(s.to, s.type, i, label);
    }
}

template <typename T, voxel_function<T> VOXEL>
static __global__ void voxels_kernel(resample_params s)
{
    const bool linear = s.method == LOB_RESAMPLE_LINEAR;
    for (int64_t at = grid_first(); at < s.voxels * s.channels; at += grid_step()) {
        const int64_t c = at / s.voxels, i = at - c * s.voxels;
        const lob_voxel_at place = lob_voxel_place(s.map.dims, i);
        lob_resample_window w;
        const bool inside = lob_resample_place(&w, &s.map, place.x, place.y, place.z);
        VOXEL((T *)s.to + c * s.voxels, (const T *)s.from + c * s.apart, i, inside ? &w : nullptr,
              &s.map, linear);
    }
}

/* ---- nearest voxels of parallel grids: rows are copied ---- */

struct rows_params {
    resample_params s;
    const int64_t *nearest[3]; /* by new axis, of each of its voxels; -1: outside */
    int64_t stride[3];
};

/* A warp takes a row. */
template <typename T> static __global__ void rows_kernel(rows_params p)
{
    const resample_params &s = p.s;
    const lob_dims d = s.map.dims;
    const int64_t rows = d.ny * d.nz;
    T fill;
    lob_filter_store(&fill, s.type, 0, s.map.fill);
    for (int64_t at = grid_first() / WARP; at < rows * s.channels; at += grid_step() / WARP) {
        const int64_t y = p.nearest[1][at % d.ny], z = p.nearest[2][at % rows / d.ny];
        const T *const from =
            (const T *)s.from + at / rows * s.apart + y * p.stride[1] + z * p.stride[2];
        T *const to = (T *)s.to + at * d.nx;
        for (int64_t x = threadIdx.x % WARP; x < d.nx; x += WARP) {
            const int64_t i = p.nearest[0][x];
            to[x] = y >= 0 && z >= 0 && i >= 0 ? from[i * p.stride[0]] : fill;
        }
    }
}

#define LAUNCH_ROWS(type, ctype, name, integer, lowest, highest)                                \
    case type:                                                                                  \
        return lob_launch_over(device, rows_kernel<ctype>, "copying rows", threads, THREADS, p, \
                               error);

static lob_status launch_rows(lob_device *device, const rows_params &p, lob_error *error)
{
    const int64_t threads = p.s.map.dims.ny * p.s.map.dims.nz * p.s.channels * WARP;
    LOB_TYPE_SWITCH(p.s.type, LAUNCH_ROWS)
    return LOB_OK;
}

/* Tables of nearest voxels on the device, where these are all that is looked for. */
static lob_status send_rows(lob_device *device, rows_params *p, void **tables,
                            const lob_resample_lines *l, lob_error *error)
{
    const lob_dims d = p->s.map.dims;
    const int64_t all = d.nx + d.ny + d.nz, bytes = all * (int64_t)sizeof(int64_t);
    bool several = false;
    int64_t *const nearest = (int64_t *)malloc((size_t)bytes);
    if (!nearest) return lob_fail(error, LOB_ENOMEM, "no memory left for resampling");
    for (int64_t i = 0; i < all; i++) {
        const lob_resample_along *const at = &l->along[0][i];
        several = several || (at->inside && at->first < at->last);
        nearest[i] = at->inside ? at->nearest : -1;
    }
    lob_status st = LOB_OK;
    if (p->s.method == LOB_RESAMPLE_NEAREST || !several) {
        st = lob_device_alloc(device, tables, bytes, error);
        if (st == LOB_OK) st = lob_device_upload(device, *tables, nearest, bytes, error);
    }
    free(nearest);
    return st;
}

/* Copy rows where each new voxel is an old one. */
static lob_status copy_rows(lob_device *device, const resample_params &s, bool *copied,
                            lob_error *error)
{
    rows_params p = {s, {}, {}};
    lob_resample_lines l;
    void *tables = NULL;
    LOB_TRY(lob_resample_lines_make(&l, &s.map, error));
    lob_status st = l.along[0] ? send_rows(device, &p, &tables, &l, error) : LOB_OK;
    *copied = tables;
    if (st == LOB_OK && tables) {
        p.nearest[0] = (const int64_t *)tables;
        p.nearest[1] = p.nearest[0] + s.map.dims.nx;
        p.nearest[2] = p.nearest[1] + s.map.dims.ny;
        memcpy(p.stride, l.stride, sizeof p.stride);
        st = launch_rows(device, p, error);
    }
    lob_device_free(device, tables);
    free(l.along[0]);
    return st;
}

#define LAUNCH(type, ctype, name, integer, lowest, highest)                                   \
    case type:                                                                                \
        return lob_launch_over(device, voxels_kernel<ctype, lob_resample_voxel_##type>, what, \
                               s.voxels * s.channels, THREADS, s, error);

static lob_status launch(lob_device *device, const resample_params &s, lob_error *error)
{
    const char *what = "resampling";
    bool copied = false;
    if (s.method >= LOB_RESAMPLE_MAJORITY)
        return lob_launch_over(device, majority_kernel, what, s.voxels, THREADS, s, error);
    /* Of a shorter row most of a warp would wait. */
    if (s.map.dims.nx >= WARP) LOB_TRY(copy_rows(device, s, &copied, error));
    if (copied) return LOB_OK;
    LOB_TYPE_SWITCH(s.type, LAUNCH)
    return LOB_OK;
}

} /* namespace lob::resample */

using namespace lob::resample;

lob_status lob_resample_cuda(void *out, const lob_resample_input *in,
                             const lob_resample_options *options, const lob_context *context,
                             lob_error *error)
{
    lob_device *device = context->device;
    resample_params s = {};
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_resample_check(in, options, error));
    s.map = lob_resample_map_of(in, options);
    s.method = options->method;
    s.type = in->volume->type;
    s.voxels = lob_dims_voxels(in->dims);
    s.apart = lob_voxels(in->volume);
    s.channels = in->volume->channels;
    const int64_t bytes = (int64_t)lob_type_of(s.type)->bytes;
    const lob_device_array travels[] = {
        lob_device_volume(&s.from, in->volume),
        lob_device_output(&s.to, out, lob_product(s.voxels, bytes, s.channels, 1), in->place),
    };
    LOB_TRY(lob_device_send(device, travels, 2, s.voxels, error));
    if (context->progress && context->progress(context->user, 0.3)) return LOB_ECANCEL;
    LOB_TRY(launch(device, s, error));
    LOB_TRY(lob_device_wait(device, error));
    LOB_TRY(lob_device_receive(device, travels, 2, error));
    return context->progress && context->progress(context->user, 1.0) ? LOB_ECANCEL : LOB_OK;
}
