/* Passes that look at one voxel alone, on the GPU: a thread takes a voxel through all operations.
 */
#include "kernels/filters/filters_cuda.cuh"

#include "kernels/device/grid.cuh"

namespace lob::filters
{

enum { POINT_THREADS = 256, COLOURS = 3 };

typedef struct {
    lob_filter_image out, in;
    int64_t voxels; /* of a channel */
    int64_t items;  /* voxels * channels, or voxels where colours are taken together */
    lob_filter_pass pass;
} point_params;

/* ---- float32 ---- */

static __device__ float load_float(const point_params &p, int64_t i)
{
    if (p.pass.slope == 1.0 && p.pass.inter == 0.0)
        return lob_filter_float(p.in.data, p.in.type, i);
    const double scaled = p.pass.slope * lob_filter_load(p.in.data, p.in.type, i);
    return lob_filter_quiet((float)(scaled + p.pass.inter));
}

static __device__ void store_float(const point_params &p, int64_t i, float value)
{
    if (p.out.type == LOB_F32)
        ((float *)p.out.data)[i] = value;
    else
        lob_filter_store(p.out.data, p.out.type, i, (double)value);
}

/* All operations on a voxel of N channels: one, which is mapped alone, or three together. */
template <int N>
static __global__ void __launch_bounds__(POINT_THREADS) float_kernel(point_params p)
{
    for (int64_t i = grid_first(); i < p.items; i += grid_step()) {
        float v[N];
        bool gray = false;
#pragma unroll
        for (int c = 0; c < N; c++) v[c] = load_float(p, c * p.voxels + i);
        for (int k = 0; k < p.pass.ops; k++) {
            const lob_pass_op &op = p.pass.op[k];
            const float luminance = N == 1 ? 0.0f : lob_filter_luminance(v[0], v[N / 2], v[N - 1]);
            gray |= N > 1 && op.kind == LOB_FILTER_GRAY;
#pragma unroll
            for (int c = 0; c < N; c++)
                v[c] = N == 1 || (op.kind != LOB_FILTER_GRAY && op.kind != LOB_FILTER_DESATURATE)
                           ? lob_filter_mapped(v[c], &op.map)
                       : op.kind == LOB_FILTER_GRAY
                           ? luminance
                           : lob_filter_desaturated(v[c], luminance, op.amount);
        }
#pragma unroll
        for (int c = 0; c < N; c++)
            if (c == 0 || !gray) store_float(p, c * p.voxels + i, v[c]);
    }
}

/* ---- other types ---- */

template <typename T>
static __global__ void __launch_bounds__(POINT_THREADS) clamp_kernel(point_params p)
{
    T low, high;
    lob_filter_store(&low, p.in.type, 0, p.pass.clamp[0]);
    lob_filter_store(&high, p.in.type, 0, p.pass.clamp[1]);
    for (int64_t i = grid_first(); i < p.items; i += grid_step()) {
        const T v = ((const T *)p.in.data)[i];
        ((T *)p.out.data)[i] = !(v - v == 0) ? v : v < low ? low : v > high ? high : v;
    }
}

static __global__ void __launch_bounds__(POINT_THREADS) cast_kernel(point_params p)
{
    for (int64_t i = grid_first(); i < p.items; i += grid_step())
        lob_filter_cast(&p.out, &p.in, p.pass.slope, p.pass.inter, i);
}

static lob_status clamp_pass(lob_device *device, const point_params &p, lob_error *error)
{
#define CLAMP(type_, ctype, name, integer, lowest, highest)                                        \
    case type_:                                                                                    \
        return lob_launch_over(device, clamp_kernel<ctype>, "clamping", p.items, POINT_THREADS, p, \
                               error);
    LOB_TYPE_SWITCH(p.in.type, CLAMP)
#undef CLAMP
    return LOB_EINTERNAL;
}

lob_status run_pointwise(lob_device *device, const lob_filter_image *out,
                         const lob_filter_image *in, const lob_filter_pass *pass, lob_error *error)
{
    const int64_t voxels = lob_dims_voxels(in->dims);
    const point_params p = {*out, *in, voxels, voxels * in->channels, *pass};
    bool colour = false;
    for (int k = 0; k < pass->ops; k++)
        colour |= pass->op[k].kind == LOB_FILTER_GRAY || pass->op[k].kind == LOB_FILTER_DESATURATE;
    if (pass->kind == LOB_PASS_CLAMP) return clamp_pass(device, p, error);
    if (pass->kind == LOB_PASS_CAST)
        return lob_launch_over(device, cast_kernel, "casting", p.items, POINT_THREADS, p, error);
    if (!colour)
        return lob_launch_over(device, float_kernel<1>, "mapping", p.items, POINT_THREADS, p,
                               error);
    point_params together = p;
    together.items = voxels;
    return lob_launch_over(device, float_kernel<COLOURS>, "mixing colours", voxels, POINT_THREADS,
                           together, error);
}

/* ---- looking through an image ---- */

typedef struct {
    lob_filter_image in;
    const uint8_t *mask;
    int64_t voxels, first, n;
    scan_counts *counts;
} scan_params;

/* What of a real number is not finite, and what is beyond the bound. */
template <typename T> static __device__ void look_at(T v, bool *is_not, bool *beyond)
{
    *is_not |= !(v - v == 0);
    *beyond |= !(v <= (T)LOB_FILTER_BOUND && v >= (T)-LOB_FILTER_BOUND);
}

static __global__ void __launch_bounds__(POINT_THREADS) scan_kernel(scan_params p)
{
    unsigned count = 0;
    bool beyond = false;
    for (int64_t i = grid_first(); i < p.n; i += grid_step()) {
        bool is_not = p.mask && p.mask[p.first + i] == 0;
        for (int c = 0; c < p.in.channels; c++) {
            const int64_t at = c * p.voxels + p.first + i;
            if (p.in.type == LOB_F32)
                look_at(((const float *)p.in.data)[at], &is_not, &beyond);
            else if (p.in.type == LOB_F64)
                look_at(((const double *)p.in.data)[at], &is_not, &beyond);
        }
        count += is_not;
    }
    count = __reduce_add_sync(ALL_LANES, count);
    const bool any = __any_sync(ALL_LANES, beyond);
    if (threadIdx.x % WARP != 0) return;
    if (count) atomicAdd(&p.counts->not_data, (unsigned long long)count);
    if (any) p.counts->beyond = 1;
}

lob_status scan(lob_device *device, scan_counts *counts, const lob_filter_image *in,
                const uint8_t *mask, int64_t first, int64_t n, lob_error *error)
{
    const scan_params p = {*in, mask, lob_dims_voxels(in->dims), first, n, counts};
    return lob_launch_over(device, scan_kernel, "looking for data", n, POINT_THREADS, p, error);
}

} /* namespace lob::filters */
