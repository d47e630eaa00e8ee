/*
 * Histograms and percentiles on the GPU. Blocks count into tables in shared memory, which they add
 * to one table in device memory at their end; the host makes bins and ranks from it.
 */
#include "kernels/histogram/histogram_cuda.cuh"

#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/levels/levels_cuda.cuh"

#include <stdlib.h>
#include <type_traits>

namespace lob::histogram
{

/*
 * Digits of 11 bits: three passes over 32 bits. A block's table has PREFIXES digits' counts, or
 * SHARED_BINS bins; more are counted in several passes. Two blocks of 1024 threads fill a
 * multiprocessor and leave few tables to add.
 */
enum {
    THREADS = 1024,
    DIGIT_BITS = 11,
    PREFIXES = 4,
    SHARED_BINS = 24576,
    FEW_BINS = 8192, /* up to here two blocks share a multiprocessor */
    LOADS = 4
};

typedef struct {
    device_values from;
    u64 *counts;
    /* digits */
    int shift, digit, prefixes;
    bool first; /* no bits are known yet */
    uint64_t prefix[PREFIXES];
    /* bins */
    int bins; /* of this pass */
    uint64_t low_bits;
    lob_bin_rule rule;
    const double *edge; /* on the device */
} count_params;

/* ---- reading all values ---- */

using levels::pack;

/*
 * Call `take` with every value of the data; ANY: with those that are not finite too, but for what a
 * mask leaves out. Loads of 16 bytes where arrays allow them.
 */
template <typename T, bool ANY, typename F>
static __device__ inline void each_value(const device_values &from, F take)
{
    const int64_t step = grid_step(), voxels = from.voxels;
    const auto take_data = [&](T v) {
        if (ANY || LOB_IS_FINITE(v)) take(v);
    };
    for (int c = 0; c < from.channels; c++) {
        const T *v = (const T *)from.stored + c * voxels;
        const bool packed = !from.mask && (uintptr_t)v % 16 == 0;
        const int64_t packs = packed ? voxels / pack<T>::n : 0;
        const pack<T> *const in = (const pack<T> *)v;
        int64_t i = grid_first();
        for (; i + (LOADS - 1) * step < packs; i += LOADS * step) {
            pack<T> some[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) some[k] = in[i + k * step];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
#pragma unroll
                for (int j = 0; j < pack<T>::n; j++) take_data(some[k].value[j]);
        }
        for (; i < packs; i += step)
#pragma unroll 1
            for (int j = 0; j < pack<T>::n; j++) take_data(v[i * pack<T>::n + j]);
        for (i = packs * pack<T>::n + grid_first(); i < voxels; i += step)
            if (!from.mask || from.mask[i]) take_data(v[i]);
    }
}

static __device__ inline void add_table(u64 *to, const uint32_t *table, int n)
{
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n; i += THREADS)
        if (table[i]) atomicAdd(&to[i], (u64)table[i]);
}

static __device__ inline void clear_table(uint32_t *table, int n)
{
    for (int i = (int)threadIdx.x; i < n; i += THREADS) table[i] = 0;
    __syncthreads();
}

/* ---- digits ---- */

template <typename T> static __global__ void __launch_bounds__(THREADS) digit_kernel(count_params p)
{
    /* Keys of up to 32 bits are worked on as such. */
    typedef typename std::conditional<sizeof(T) == 8, uint64_t, uint32_t>::type K;
    extern __shared__ uint32_t table[];
    const int columns = p.prefixes << p.digit;
    const K digits = ((K)1 << p.digit) - 1;
    clear_table(table, columns);
    if (p.first)
        each_value<T, false>(p.from,
                             [&](T v) { atomicAdd(&table[(K)lob_ordered_key(v) >> p.shift], 1u); });
    else
        each_value<T, false>(p.from, [&](T v) {
            const K key = (K)lob_ordered_key(v) >> p.shift;
#pragma unroll
            for (int k = 0; k < PREFIXES; k++)
                if (k < p.prefixes && key >> p.digit == (K)p.prefix[k])
                    atomicAdd(&table[(k << p.digit) + (int)(key & digits)], 1u);
        });
    add_table(p.counts, table, columns);
}

/* ---- bins ---- */

/* Whole numbers from p.low_bits on; those beyond p.bins are another pass's. */
template <typename T> static __global__ void __launch_bounds__(THREADS) exact_kernel(count_params p)
{
    extern __shared__ uint32_t table[];
    clear_table(table, p.bins);
    each_value<T, false>(p.from, [&](T v) {
        const uint64_t bin = (uint64_t)v - p.low_bits;
        if (bin < (uint64_t)p.bins) atomicAdd(&table[bin], 1u);
    });
    add_table(p.counts, table, p.bins);
}

/* Values of equal bins, in doubles. */
template <typename T> static __global__ void __launch_bounds__(THREADS) equal_kernel(count_params p)
{
    extern __shared__ uint32_t table[];
    __shared__ double edge[LOB_HISTOGRAM_BINS + 1];
    for (int i = (int)threadIdx.x; i <= LOB_HISTOGRAM_BINS; i += THREADS) edge[i] = p.edge[i];
    clear_table(table, LOB_HISTOGRAM_BINS);
    each_value<T, false>(
        p.from, [&](T v) { atomicAdd(&table[lob_bin_of_double((double)v, &p.rule, edge)], 1u); });
    add_table(p.counts, table, LOB_HISTOGRAM_BINS);
}

/*
 * Float32 values of equal bins: lob_bin_of_float, but where its product lies well inside of a bin
 * by fewer and faster instructions. 2^23 more than a number below 2^22 is the number rounded to a
 * whole one, which stands in the last bits.
 */
static __global__ void __launch_bounds__(THREADS) equal_float_kernel(count_params p)
{
    extern __shared__ uint32_t table[];
    __shared__ float edge[LOB_HISTOGRAM_BINS + 1];
    const float shift = 0x1p23f, inside = 0.5f - p.rule.near_f;
    for (int i = (int)threadIdx.x; i <= LOB_HISTOGRAM_BINS; i += THREADS)
        edge[i] = (float)p.edge[i];
    clear_table(table, LOB_HISTOGRAM_BINS);
    each_value<float, true>(p.from, [&](float v) {
        const float at = (v * 0.5f - p.rule.half_low_f) * p.rule.per_half_f, middle = at - 0.5f;
        const float moved = middle + shift;
        uint32_t bin = __float_as_uint(moved) - __float_as_uint(shift);
        if (!(bin < LOB_HISTOGRAM_BINS && fabsf(middle - (moved - shift)) < inside)) {
            if (!LOB_IS_FINITE(v)) return;
            bin = (uint32_t)lob_bin_of_float(v, &p.rule, edge);
        }
        atomicAdd(&table[bin], 1u);
    });
    add_table(p.counts, table, LOB_HISTOGRAM_BINS);
}

/* ---- launches ---- */

typedef void count_kernel(count_params);

enum count_kind { DIGITS, EXACT_BINS, EQUAL_BINS };

#define KERNEL(type_, ctype, name, integer, lowest, highest) \
    case type_:                                              \
        return kind == DIGITS       ? digit_kernel<ctype>    \
               : kind == EXACT_BINS ? exact_kernel<ctype>    \
                                    : equal_kernel<ctype>;

static count_kernel *kernel_of(count_kind kind, lob_type type)
{
    if (kind == EQUAL_BINS && type == LOB_F32) return equal_float_kernel;
    LOB_TYPE_SWITCH(type, KERNEL);
    return NULL;
}

/* Clear the table in device memory, count into it and download it. */
static lob_status count_into(u64 *host, count_kernel *kernel, const count_params &p, int columns,
                             lob_device *device, lob_error *error)
{
    const size_t shared = (size_t)columns * sizeof(uint32_t);
    const int64_t resident =
        (int64_t)lob_device_multiprocessors(device) * (columns <= FEW_BINS ? 2 : 1);
    const int64_t wanted = (p.from.voxels + THREADS - 1) / THREADS;
    const int64_t bytes = columns * (int64_t)sizeof(u64);
    if (shared > 40 << 10) LOB_TRY(lob_allow_shared(kernel, shared, error));
    LOB_TRY(lob_device_fill(device, p.counts, 0, bytes, error));
    LOB_TRY(lob_launch(device, kernel, "counting values", wanted < resident ? wanted : resident,
                       THREADS, shared, p, error));
    return lob_device_download(device, host, p.counts, bytes, error);
}

/* ---- calls ---- */

/* What the working memory holds. */
typedef struct {
    u64 *counts;
    double *edge;
    unsigned char *scan;
} memory;

static int64_t lay_out(memory *m, void *work)
{
    arena a(work);
    m->counts = a.take<u64>(SHARED_BINS);
    m->edge = a.take<double>(LOB_HISTOGRAM_BINS + 1);
    m->scan = a.take<unsigned char>(levels::scan_bytes(1, 1));
    return a.used;
}

int64_t work_bytes(void)
{
    memory m;
    return lay_out(&m, NULL);
}

/* Lowest and highest value. Channels are scanned one by one, since the scan would leave out a voxel
 * that is NaN in any of them, and in rows whose length fits 32 bits. */
static lob_status find_extremes(lob_extremes *all, int64_t *not_finite, const device_values *from,
                                lob_device *device, void *work, lob_error *error)
{
    const int64_t row = INT64_C(1) << 31, bytes = (int64_t)lob_type_of(from->type)->bytes;
    *all = lob_extremes{};
    *not_finite = 0;
    for (int c = 0; c < from->channels; c++)
        for (int64_t first = 0; first < from->voxels; first += row) {
            const int64_t n = from->voxels - first < row ? from->voxels - first : row;
            const lob_device_view view = lob_device_view_of({n, 1, 1});
            lob_device_image image = {};
            lob_extremes some = {};
            lob_levels found = {};
            image.stored = (const unsigned char *)from->stored + (c * from->voxels + first) * bytes;
            image.mask = from->mask ? from->mask + first : NULL;
            image.voxels = n;
            image.channels = 1;
            image.type = from->type;
            LOB_TRY(levels::scan_extremes(device, &some, &found, &image, &view, work, error));
            lob_extremes_widen(all, &some, from->type);
            *not_finite += found.not_finite;
        }
    return LOB_OK;
}

lob_status count(lob_histogram_bins *bins, int64_t *counts, const device_values *from,
                 lob_device *device, void *work, lob_error *error)
{
    memory m;
    lob_extremes all;
    count_params p = {};
    *bins = lob_histogram_bins{};
    lay_out(&m, work);
    LOB_TRY(find_extremes(&all, &bins->not_finite, from, device, m.scan, error));
    lob_histogram_settle(bins, &all, from->type);
    if (bins->count == 0) return LOB_OK;
    p.from = *from;
    p.counts = m.counts;
    p.edge = m.edge;
    if (!bins->exact) {
        p.rule = lob_bin_rule_of(bins);
        LOB_TRY(lob_device_upload(device, m.edge, bins->edge, sizeof bins->edge, error));
        LOB_TRY(count_into((u64 *)counts, kernel_of(EQUAL_BINS, from->type), p, LOB_HISTOGRAM_BINS,
                           device, error));
    }
    for (int first = 0; bins->exact && first < bins->count; first += SHARED_BINS) {
        p.low_bits = bins->low_bits + (uint64_t)first;
        p.bins = bins->count - first < SHARED_BINS ? bins->count - first : SHARED_BINS;
        LOB_TRY(count_into((u64 *)counts + first, kernel_of(EXACT_BINS, from->type), p, p.bins,
                           device, error));
    }
    for (int b = 0; b < bins->count; b++) bins->values += counts[b];
    return LOB_OK;
}

/* The counts of the next digit, PREFIXES prefixes at a time. */
static lob_status count_digit(u64 *counts, const lob_selection *s, const device_values *from,
                              const memory *m, lob_device *device, lob_error *error)
{
    count_params p = {};
    p.from = *from;
    p.counts = m->counts;
    p.shift = lob_selection_shift(s);
    p.digit = s->digit;
    p.first = s->done == 0;
    for (int first = 0; first < s->prefixes; first += PREFIXES) {
        p.prefixes = s->prefixes - first < PREFIXES ? s->prefixes - first : PREFIXES;
        for (int k = 0; k < p.prefixes; k++) p.prefix[k] = s->prefix[first + k];
        LOB_TRY(count_into(counts + ((int64_t)first << s->digit), kernel_of(DIGITS, s->type), p,
                           p.prefixes << s->digit, device, error));
    }
    return LOB_OK;
}

lob_status percentiles(double *values, const double *percent, int count, int64_t *data,
                       const device_values *from, lob_device *device, void *work, lob_error *error)
{
    memory m;
    lob_selection s;
    double stored[LOB_PERCENTILES_MAX];
    lay_out(&m, work);
    u64 *counts = (u64 *)malloc(sizeof *counts * ((size_t)LOB_SELECT_RANKS << DIGIT_BITS));
    if (!counts) return lob_fail(error, LOB_ENOMEM, "no memory left for the counts of digits");
    lob_selection_percents(stored, percent, count, from->slope);
    lob_selection_begin(&s, from->type, DIGIT_BITS);
    lob_status st = lob_device_enter(device, error);
    bool any = true;
    while (st == LOB_OK && any && s.done < s.key_bits) {
        st = count_digit(counts, &s, from, &m, device, error);
        if (st == LOB_OK) any = lob_selection_take(&s, (const uint64_t *)counts, stored, count);
    }
    free(counts);
    if (st != LOB_OK) return st;
    if (data) *data = s.data;
    if (!any) return lob_percentiles_no_data(error);
    lob_selection_end(values, &s, count, from->slope, from->inter);
    return LOB_OK;
}

} /* namespace lob::histogram */

lob_status lob_percentiles_cuda(double *values, const double *percent, int count,
                                const lob_volume *image, const lob_context *context,
                                lob_error *error)
{
    const int64_t voxels = lob_voxels(image);
    const lob::histogram::device_values from = {
        image->data, image->type, voxels, image->channels, NULL, image->slope, image->inter};
    lob_device_budget budget = lob_device_budget_of(context, "percentiles", voxels);
    void *work;
    LOB_TRY(lob_device_budget_take(&budget, LOB_DEVICE_WORK, lob::histogram::work_bytes(), &work,
                                   error));
    return lob::histogram::percentiles(values, percent, count, NULL, &from, context->device, work,
                                       error);
}
