/* Median on the GPU: which kernel takes a channel. */
#include "kernels/filters/median/median_network_cuda.cuh"
#include "kernels/filters/median/median_select_cuda.cuh"
#include "kernels/filters/median/median_sliced_cuda.cuh"

namespace lob::filters
{
namespace
{

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

/* All channels of an image. */
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

#define RUN(type, ctype, name, integer, lowest, highest) \
    case type:                                           \
        return run<ctype>(device, out, in, call, error);

lob_status median(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                  const lob_filter_call *call, void *, lob_error *error)
{
    LOB_TRY(lob_device_enter(device, error));
    LOB_TYPE_SWITCH(in->type, RUN)
    return LOB_EINTERNAL;
}

} /* namespace lob::filters */
