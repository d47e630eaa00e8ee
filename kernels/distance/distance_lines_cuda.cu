/*
 * The passes along y and z on the GPU. A block takes some adjacent columns whole into shared
 * memory, side by side, so that threads of one column each read different banks whatever voxel they
 * look at. Threads of a column share its voxels: first every step-th is searched for, then those
 * between two that are known, at last four at a time.
 */
#include "kernels/device/grid.cuh"
#include "kernels/distance/distance_search.h"
#include "kernels/distance/distance_stages_cuda.cuh"
#include "kernels/distance/distance_voxel.h"

namespace lob::distance
{

enum { LINE_THREADS = 256, COLUMN_BYTES = 64 };

/* What a pass reads and writes: the first of two, the second of two, or the only one. */
enum which { FIRST, SECOND, ONLY };

struct line_params {
    lob_distance_plan plan;
    const uint16_t *offsets;
    uint32_t *voxels;
    void *feature;
    const void *labels;
    int label_bytes;
    int64_t inner, blocks, apart, step; /* columns side by side and blocks of them; voxels from one
                                           such set to the next, and along a column */
    int32_t n, first_step;
    int shift; /* a block takes 1 << shift columns */
    double weight;
};

/* The two types of costs. */
struct narrow {
    typedef int32_t cost;
    typedef lob_narrow_line line;
    typedef lob_narrow_found found;
    static constexpr int32_t NONE = LOB_NO_COST_NARROW;
};

struct wide {
    typedef double cost;
    typedef lob_wide_line line;
    typedef lob_wide_found found;
    static constexpr double NONE = LOB_NO_COST_WIDE;
};

static __device__ inline void search(lob_narrow_found *best, const lob_narrow_line *line, int32_t i,
                                     int32_t step, const int count, int32_t lo, int32_t hi,
                                     const lob_distance_find find)
{
    lob_narrow_search(best, line, i, step, count, lo, hi, find, false);
}

static __device__ inline void search(lob_wide_found *best, const lob_wide_line *line, int32_t i,
                                     int32_t step, const int count, int32_t lo, int32_t hi,
                                     const lob_distance_find find)
{
    lob_wide_search(best, line, i, step, count, lo, hi, find, false);
}

/* A block's shared memory; a thread's pointers are to its column. */
template <typename W> struct columns {
    typename W::cost *values;
    uint32_t *labels;
    uint16_t *first, *last; /* of every fourth voxel: the places that are best */
};

static __host__ __device__ inline int64_t range_rows(int64_t n)
{
    return (n + 3) / 4;
}

static int64_t shared_bytes(lob_distance_find find, int64_t n, int columns, int64_t cost_bytes)
{
    const bool cost = find == LOB_FIND_COST;
    const int64_t ranges = range_rows(n) * (int64_t)sizeof(uint16_t) * (cost ? 1 : 2);
    const int64_t labels = cost ? 0 : n * (int64_t)sizeof(uint32_t);
    return columns * (n * cost_bytes + labels + ranges);
}

/* ---- loading ---- */

static __device__ double cost_of_offset(uint32_t offset, double weight)
{
    const double x = (double)offset;
    return offset == NO_OFFSET_16 ? LOB_NO_COST_WIDE : x * x * weight;
}

static __device__ int32_t cost_of_offset(uint32_t offset, int32_t weight)
{
    return offset == NO_OFFSET_16 ? LOB_NO_COST_NARROW : (int32_t)(offset * offset) * weight;
}

template <typename W, which PASS>
static __device__ typename W::cost cost_at(const line_params &p, int64_t i)
{
    if (PASS != SECOND) return cost_of_offset(p.offsets[i], (typename W::cost)p.plan.weight[0]);
    if (sizeof(typename W::cost) == 4) return (typename W::cost)p.voxels[i];
    return (typename W::cost)lob_distance_of_offsets(p.voxels[i], p.plan.weight[0],
                                                     p.plan.weight[1]);
}

template <typename W, lob_distance_find FIND, which PASS>
static __device__ void load(const line_params &p, const columns<W> &s, int64_t base, int32_t slot,
                            int32_t slots)
{
    const auto weight = (typename W::cost)p.weight;
#pragma unroll 4
    for (int32_t v = slot; v < p.n; v += slots) {
        const int64_t i = base + v * p.step;
        typename W::cost value = cost_at<W, PASS>(p, i);
        if (FIND != LOB_FIND_OTHER) value += weight * (typename W::cost)v * (typename W::cost)v;
        s.values[v << p.shift] = value;
        if (FIND == LOB_FIND_LABEL)
            s.labels[v << p.shift] = lob_distance_label(p.feature, p.label_bytes, i);
        if (FIND == LOB_FIND_OTHER)
            s.labels[v << p.shift] = lob_distance_class(
                lob_distance_label(p.labels, p.label_bytes, i), p.plan.only, p.plan.binary);
    }
}

/* ---- storing ---- */

static __device__ float value_of(int32_t cost, const lob_distance_plan &plan)
{
    return lob_distance_value_narrow(cost, plan.unit, plan.squared);
}

static __device__ float value_of(double cost, const lob_distance_plan &plan)
{
    return lob_distance_value(cost, LOB_NO_COST_WIDE, plan.unit, plan.squared);
}

template <typename W, lob_distance_find FIND, which PASS>
static __device__ void store(const line_params &p, const columns<W> &s, int64_t base, int32_t i,
                             const typename W::found &found, int k)
{
    typedef typename W::cost cost_t;
    const int64_t at = base + i * p.step;
    cost_t cost = found.value[k] + (cost_t)p.weight * (cost_t)i * (cost_t)i;
    const bool none = cost > (cost_t)p.plan.max;
    if (none) cost = W::NONE;
    if (PASS != FIRST) {
        float value = value_of(cost, p.plan);
        if (FIND == LOB_FIND_OTHER && p.plan.negative_inside && s.labels[i << p.shift])
            value = -value;
        ((float *)p.voxels)[at] = value;
    } else if (sizeof(cost_t) == 4) {
        p.voxels[at] = (uint32_t)cost;
    } else {
        const int32_t v = found.first[k];
        uint32_t held = (uint32_t)(v < i ? i - v : v - i) << 16;
        if (FIND != LOB_FIND_OTHER || s.labels[v << p.shift] == s.labels[i << p.shift])
            held |= p.offsets[base + v * p.step];
        p.voxels[at] = none ? LOB_NO_OFFSET : held;
    }
    if (FIND == LOB_FIND_LABEL)
        lob_distance_put_label(p.feature, p.label_bytes, at, none ? 0 : found.label[k]);
}

/* ---- searching ---- */

template <typename W, lob_distance_find FIND>
static __device__ void keep(const line_params &p, const columns<W> &s, int32_t i,
                            const typename W::found &found, int k)
{
    s.first[(i / 4) << p.shift] = (uint16_t)found.first[k];
    if (FIND != LOB_FIND_COST) s.last[(i / 4) << p.shift] = (uint16_t)found.last[k];
}

/*
 * Every first_step-th voxel looks at what its own cost, or the largest that counts, lets it reach.
 * Places that are best within this reach keep their order, too.
 */
template <typename W, lob_distance_find FIND>
static __device__ void search_first(const line_params &p, const columns<W> &s,
                                    const typename W::line &line, int32_t slot, int32_t slots)
{
    typedef typename W::cost cost_t;
    for (int32_t i = slot * p.first_step; i < p.n; i += slots * p.first_step) {
        typename W::found found;
        cost_t own = s.values[i << p.shift];
        if (FIND != LOB_FIND_OTHER) own -= line.weight * (cost_t)i * (cost_t)i;
        const double bound = (double)own < p.plan.max ? (double)own : p.plan.max;
        const int32_t reach = lob_distance_reach(bound, p.weight);
        const int32_t lo = i > reach ? i - reach : 0;
        const int32_t hi = p.n - 1 - i > reach ? i + reach : p.n - 1;
        search(&found, &line, i, 1, 1, lo, hi, FIND);
        keep<W, FIND>(p, s, i, found, 0);
    }
}

/* The limits of what is between voxel a and the next one of that step that is known. */
template <typename W, lob_distance_find FIND>
static __device__ void limits(const line_params &p, const columns<W> &s, int32_t a, int32_t step,
                              int32_t *lo, int32_t *hi)
{
    const uint16_t *last = FIND == LOB_FIND_COST ? s.first : s.last;
    *lo = s.first[(a / 4) << p.shift];
    *hi = a + step < p.n ? last[((a + step) / 4) << p.shift] : p.n - 1;
    lob_narrow_widen(lo, hi, p.n, FIND);
}

template <typename W, lob_distance_find FIND>
static __device__ void search_between(const line_params &p, const columns<W> &s,
                                      const typename W::line &line, int32_t step, int32_t slot,
                                      int32_t slots)
{
    for (int32_t a = slot * 4 * step; a < p.n; a += slots * 4 * step) {
        typename W::found found;
        int32_t lo, hi;
        limits<W, FIND>(p, s, a, 4 * step, &lo, &hi);
        if (a + 3 * step < p.n) {
            search(&found, &line, a + step, step, 3, lo, hi, FIND);
#pragma unroll
            for (int k = 0; k < 3; k++) keep<W, FIND>(p, s, a + (k + 1) * step, found, k);
        } else
            for (int32_t i = a + step; i < p.n; i += step) {
                search(&found, &line, i, step, 1, lo, hi, FIND);
                keep<W, FIND>(p, s, i, found, 0);
            }
    }
}

template <typename W, lob_distance_find FIND, which PASS>
static __device__ void search_last(const line_params &p, const columns<W> &s,
                                   const typename W::line &line, int64_t base, int32_t slot,
                                   int32_t slots)
{
    for (int32_t a = slot * 4; a < p.n; a += slots * 4) {
        typename W::found found;
        int32_t lo, hi;
        limits<W, FIND>(p, s, a, 4, &lo, &hi);
        if (a + 3 < p.n) {
            search(&found, &line, a, 1, 4, lo, hi, FIND);
#pragma unroll
            for (int k = 0; k < 4; k++) store<W, FIND, PASS>(p, s, base, a + k, found, k);
        } else
            for (int32_t i = a; i < p.n; i++) {
                search(&found, &line, i, 1, 1, lo, hi, FIND);
                store<W, FIND, PASS>(p, s, base, i, found, 0);
            }
    }
}

template <typename W, lob_distance_find FIND, which PASS>
static __global__ void __launch_bounds__(LINE_THREADS, 4) lines_kernel(line_params p)
{
    extern __shared__ double line_shared[];
    const int32_t wide_by = 1 << p.shift, column = (int32_t)threadIdx.x & (wide_by - 1);
    const int32_t slot = (int32_t)threadIdx.x >> p.shift, slots = (int32_t)blockDim.x >> p.shift;
    const int64_t set = blockIdx.x / p.blocks, at = (blockIdx.x - set * p.blocks) << p.shift;
    const int64_t base = set * p.apart + at + column;
    const bool there = at + column < p.inner;

    columns<W> s;
    s.values = (typename W::cost *)line_shared;
    s.labels = (uint32_t *)(s.values + ((int64_t)p.n << p.shift));
    s.first = (uint16_t *)(s.labels + (FIND == LOB_FIND_COST ? 0 : (int64_t)p.n << p.shift));
    s.last = s.first + (range_rows(p.n) << p.shift);
    s.values += column, s.labels += column, s.first += column, s.last += column;
    typename W::line line = {};
    line.values = s.values;
    line.labels = s.labels;
    line.apart = wide_by;
    line.weight = (typename W::cost)p.weight;

    if (there) load<W, FIND, PASS>(p, s, base, slot, slots);
    __syncthreads();
    if (there) search_first<W, FIND>(p, s, line, slot, slots);
    __syncthreads();
    for (int32_t step = p.first_step / 4; step > 1; step /= 4) {
        if (there) search_between<W, FIND>(p, s, line, step, slot, slots);
        __syncthreads();
    }
    if (there) search_last<W, FIND, PASS>(p, s, line, base, slot, slots);
}

/* ---- launching ---- */

typedef void lines_function(line_params);

/* A kernel by what is found and by the pass. */
template <typename W> static lines_function *kernel_of(lob_distance_find find, which pass)
{
#define OF_PASSES(find)                                                                          \
    {                                                                                            \
        lines_kernel<W, find, FIRST>, lines_kernel<W, find, SECOND>, lines_kernel<W, find, ONLY> \
    }
    static lines_function *const kernels[][3] = {
        OF_PASSES(LOB_FIND_COST), OF_PASSES(LOB_FIND_LABEL), OF_PASSES(LOB_FIND_OTHER)};
#undef OF_PASSES
    return kernels[find][pass];
}

static lob_status launch(lob_device *device, line_params p, which pass, lob_error *error)
{
    const lob_distance_find find = p.plan.find;
    const int64_t most = lob_device_shared_bytes(device);
    const int bytes = p.plan.narrow ? sizeof(narrow::cost) : sizeof(wide::cost);
    int columns = COLUMN_BYTES / bytes;
    while (columns > 1 && shared_bytes(find, p.n, columns, bytes) > most) columns /= 2;
    const int64_t shared = shared_bytes(find, p.n, columns, bytes);
    if (shared > most)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "distances: a line of %d voxels along y or z needs more shared memory "
                             "than the GPU has",
                             p.n);
    while (1 << p.shift < columns) p.shift++;
    p.blocks = (p.inner + columns - 1) / columns;
    const int64_t sets = lob_dims_voxels(p.plan.dims) / p.n / p.inner;
    lines_function *const kernel =
        p.plan.narrow ? kernel_of<narrow>(find, pass) : kernel_of<wide>(find, pass);
    LOB_TRY(lob_allow_shared(kernel, (size_t)shared, error));
    return lob_launch(device, kernel, "distances along lines", p.blocks * sets, LINE_THREADS,
                      (size_t)shared, p, error);
}

lob_status along_lines(lob_device *device, const run_arrays &run, int pass, lob_error *error)
{
    const lob_dims d = run.plan.dims;
    const int axis = run.plan.axis[pass];
    const bool alone = run.plan.weight[axis] == 0;
    line_params p = {};
    p.plan = run.plan;
    p.offsets = run.offsets;
    p.voxels = run.voxels;
    p.feature = run.feature;
    p.labels = run.labels;
    p.label_bytes = run.label_bytes;
    p.n = alone ? 1 : (int32_t)lob_side(d, axis);
    p.inner = alone ? lob_dims_voxels(d) : axis == 1 ? d.nx : d.nx * d.ny;
    p.apart = d.nx * d.ny;
    p.step = axis == 1 ? d.nx : d.nx * d.ny;
    p.first_step = lob_distance_first_step(p.n);
    p.weight = run.plan.weight[axis];
    return launch(device, p, run.plan.passes == 1 ? ONLY : pass == 0 ? FIRST : SECOND, error);
}

} /* namespace lob::distance */
