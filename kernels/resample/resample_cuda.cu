/* Resampling on a GPU: a thread writes one channel of one new voxel. */
#include "kernels/backend_cuda.h"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/resample/resample_voxel.h"

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

/* ---- grids that are a whole number of voxels apart: rows are copied ---- */

/* Is new voxel 0, 0, 0 old voxel `by`, and so on with all others? A position near to a whole number
 * is that number. */
static bool is_shift(int64_t by[3], const lob_resample_map *map)
{
    bool shift = true;
    for (int a = 0; a < 3; a++) {
        const double *const row = map->to_old[a];
        for (int k = 0; k < 3; k++) shift = shift && (k == a || row[k] == 0);
        if (!(fabs(row[3]) < 0x1p40)) return false;
        by[a] = (int64_t)floor(row[3] + 0.5);
        const double off = fabs(row[a] - 1) * (double)lob_side(map->dims, a);
        shift = shift && off + fabs(row[3] - (double)by[a]) < 0.9e-3;
    }
    return shift;
}

struct shift_params {
    resample_params s;
    int64_t by[3];
};

/* A warp takes a row. */
template <typename T> static __global__ void shift_kernel(shift_params p)
{
    const resample_params &s = p.s;
    const lob_dims d = s.map.dims, old = s.map.old;
    const int64_t rows = d.ny * d.nz;
    T fill;
    lob_filter_store(&fill, s.type, 0, s.map.fill);
    for (int64_t at = grid_first() / WARP; at < rows * s.channels; at += grid_step() / WARP) {
        const int64_t c = at / rows, y = at % d.ny + p.by[1], z = at % rows / d.ny + p.by[2];
        const bool inside = y >= 0 && y < old.ny && z >= 0 && z < old.nz;
        const T *const from = (const T *)s.from + c * s.apart + (z * old.ny + y) * old.nx;
        T *const to = (T *)s.to + at * d.nx;
        for (int64_t x = threadIdx.x % WARP; x < d.nx; x += WARP) {
            const int64_t i = x + p.by[0];
            to[x] = inside && i >= 0 && i < old.nx ? from[i] : fill;
        }
    }
}

#define LAUNCH_SHIFT(type, ctype, name, integer, lowest, highest)                                \
    case type:                                                                                   \
        return lob_launch_over(device, shift_kernel<ctype>, "copying rows", threads, THREADS, p, \
                               error);

static lob_status launch_shift(lob_device *device, const shift_params &p, lob_error *error)
{
    const int64_t threads = p.s.map.dims.ny * p.s.map.dims.nz * p.s.channels * WARP;
    LOB_TYPE_SWITCH(p.s.type, LAUNCH_SHIFT)
    return LOB_OK;
}

#define LAUNCH(type, ctype, name, integer, lowest, highest)                                   \
    case type:                                                                                \
        return lob_launch_over(device, voxels_kernel<ctype, lob_resample_voxel_##type>, what, \
                               s.voxels * s.channels, THREADS, s, error);

static lob_status launch(lob_device *device, const resample_params &s, lob_error *error)
{
    const char *what = "resampling";
    shift_params p = {s, {}};
    if (s.method >= LOB_RESAMPLE_MAJORITY)
        return lob_launch_over(device, majority_kernel, what, s.voxels, THREADS, s, error);
    if (is_shift(p.by, &s.map)) return launch_shift(device, p, error);
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
