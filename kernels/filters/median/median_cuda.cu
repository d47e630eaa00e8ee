/* Median on the GPU: a conversion where one is needed, then a kernel for each channel. */
#include "kernels/filters/median/median_network_cuda.cuh"
#include "kernels/filters/median/median_select_cuda.cuh"
#include "kernels/filters/median/median_sliced_cuda.cuh"

namespace lob::filters
{
namespace
{

enum { CONVERT_THREADS = 256 };

struct convert_params {
    float *out;
    const void *in; /* may be out */
    lob_type type;
    lob_filter_map map;
    int64_t n;
};

__global__ void convert_kernel(const convert_params p)
{
    for (int64_t i = grid_first(); i < p.n; i += grid_step())
        p.out[i] = lob_filter_value(p.in, p.type, &p.map, i);
}

lob_status convert(lob_device *device, const convert_params &p, lob_error *error)
{
    return lob_launch_over(device, convert_kernel, "conversion before a median", p.n,
                           CONVERT_THREADS, p, error);
}

/* Any window, whatever the places hold: by slices of bits, or by bisection where it is too large.
 */
template <typename T>
lob_status run_any(lob_device *device, const median_params<T> &p, lob_type type, lob_error *error)
{
    using bits = typename voxel_key<T>::bits;
    sliced_params<bits> sliced = {};
    bool done = false;
    sliced.kind = lob_key_kind_of(type);
    sliced.image = {(const bits *)p.in, (bits *)p.out, p.mask, p.axes, p.edge, 0, p.gaps};
    memcpy(&sliced.image.edge_value, &p.edge_value, sizeof p.edge_value);
    LOB_TRY(run_sliced(&done, device, sliced, error));
    return done ? LOB_OK : run_select(device, p, error);
}

/* All channels of an image whose type out has too. */
template <typename T>
lob_status run(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
               const lob_filter_call *call, lob_error *error)
{
    const lob_dims d = in->dims;
    const int64_t voxels = lob_dims_voxels(d);
    const uint64_t edge_bits = lob_median_edge_bits(in->type, call->options);
    median_params<T> p = {};
    p.mask = call->mask;
    p.edge = call->options->edge;
    p.gaps = lob_median_gaps(call, in->type);
    memcpy(&p.edge_value, &edge_bits, sizeof p.edge_value);
    for (int a = 0; a < 3; a++) {
        p.axes.n[a] = lob_side(d, a);
        p.axes.stride[a] = a == 0 ? 1 : p.axes.stride[a - 1] * p.axes.n[a - 1];
        p.axes.radius[a] = lob_median_radius(call->step, a);
    }
    const bool by_network = !p.gaps && network_axes(&p.axes);
    for (int c = 0; c < in->channels; c++) {
        p.in = (const T *)in->data + c * voxels;
        p.out = (T *)out->data + c * voxels;
        LOB_TRY(by_network ? run_network(device, p, error) : run_any(device, p, in->type, error));
    }
    return LOB_OK;
}

} /* namespace */

int64_t median_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    (void)call;
    return in->channels * lob_dims_voxels(in->dims) * (int64_t)sizeof(float);
}

#define RUN(type, ctype, name, integer, lowest, highest)      \
    case type:                                                \
        LOB_TRY(run<ctype>(device, out, &from, call, error)); \
        break;

lob_status median(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                  const lob_filter_call *call, void *work, lob_error *error)
{
    const int64_t n = in->channels * lob_dims_voxels(in->dims);
    lob_filter_image from = *in;
    LOB_TRY(lob_device_enter(device, error));
    if (lob_median_converts(out, in, call)) {
        LOB_TRY(convert(device, {(float *)work, in->data, in->type, call->before, n}, error));
        from.data = work;
        from.type = LOB_F32;
    }
    LOB_TYPE_SWITCH(from.type, RUN)
    if (call->after.identity) return LOB_OK;
    return convert(device, {(float *)out->data, out->data, LOB_F32, call->after, n}, error);
}

} /* namespace lob::filters */
