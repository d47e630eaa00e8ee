/* Resampling on a GPU: a thread writes one new voxel. */
#include "kernels/backend_cuda.h"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/resample/resample_parts.h"

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
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        const lob_voxel_at at = lob_voxel_place(s.map.dims, i);
        lob_resample_window w;
        const bool inside = lob_resample_place(&w, &s.map, at.x, at.y, at.z);
        for (int c = 0; c < s.channels; c++)
            VOXEL((T *)s.to + c * s.voxels, (const T *)s.from + c * s.apart, i,
                  inside ? &w : nullptr, &s.map, linear);
    }
}

static lob_status launch(lob_device *device, const resample_params &s, lob_error *error)
{
    const char *what = "resampling";
    if (s.method >= LOB_RESAMPLE_MAJORITY)
        return lob_launch_over(device, majority_kernel, what, s.voxels, THREADS, s, error);
    switch (s.type) {
#define LAUNCH(type, ctype, name, integer, lowest, highest)                                   \
    case type:                                                                                \
        return lob_launch_over(device, voxels_kernel<ctype, lob_resample_voxel_##type>, what, \
                               s.voxels, THREADS, s, error);
        LOB_TYPE_LIST(LAUNCH)
#undef LAUNCH
    case LOB_TYPES:
        break;
    }
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
