/* Thresholds on the GPU: the histogram is counted on the device, the host chooses, and one kernel
 * labels. */
#include "kernels/backend_cuda.h"

#include "kernels/device/grid.cuh"
#include "kernels/histogram/histogram_cuda.cuh"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/share.h"
#include "kernels/threshold/threshold_rule.h"

#include <limits>
#include <stdlib.h>

namespace lob::threshold
{

enum { THREADS = 256, STRIP = 16, MAX_BOUNDS = LOB_THRESHOLD_MAX_CLASSES - 1 };

typedef struct {
    uint8_t *labels;
    const void *stored;
    const uint8_t *mask;
    int64_t voxels;
    bool packed; /* arrays are aligned to strips */
    lob_threshold_rule rule;
} label_input;

/* The rule in stored values: they reach bound k from bound[k] on, or where it falls up to there. */
template <typename T> struct label_params {
    label_input in;
    T bound[MAX_BOUNDS];
    int bounds;
    bool falling;
    uint32_t label[4]; /* a byte each */
};

/* ---- bounds among stored values ---- */

template <typename T> static double value_of(uint64_t key)
{
    T value;
    lob_value_of_key(&value, key);
    return (double)value;
}

/* The outermost stored value that reaches bound k; false: none does. */
template <typename T> static bool find_bound(T *bound, const lob_threshold_rule *rule, int k)
{
    const bool falling = rule->slope < 0;
    uint64_t low = lob_ordered_key(std::numeric_limits<T>::lowest());
    uint64_t high = lob_ordered_key(std::numeric_limits<T>::max());
    if (!lob_threshold_reaches(value_of<T>(falling ? low : high), rule, k)) return false;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2 + (falling ? (high - low) % 2 : 0);
        const bool reaches = lob_threshold_reaches(value_of<T>(middle), rule, k);
        if (falling && reaches)
            low = middle;
        else if (falling)
            high = middle - 1;
        else if (reaches)
            high = middle;
        else
            low = middle + 1;
    }
    lob_value_of_key(bound, low);
    return true;
}

template <typename T> static label_params<T> params_of(const label_input &in)
{
    label_params<T> p = {};
    p.in = in;
    p.falling = in.rule.slope < 0;
    for (int k = 0; k < in.rule.bounds && find_bound(&p.bound[k], &in.rule, k); k++) p.bounds++;
    for (int k = 0; k <= in.rule.bounds; k++)
        p.label[k / 4] |= (uint32_t)in.rule.label[k] << k % 4 * 8;
    return p;
}

/* ---- the kernel ---- */

/* How many bounds each of N values reaches. */
template <int N, typename T>
static __device__ inline void count_reached(int reached[N], const label_params<T> &p,
                                            const T value[N])
{
#pragma unroll
    for (int j = 0; j < N; j++) reached[j] = 0;
#pragma unroll 1
    for (int k = 0; k < p.bounds; k++) {
        const T bound = p.bound[k];
        if (p.falling)
#pragma unroll
            for (int j = 0; j < N; j++) reached[j] += value[j] <= bound;
        else
#pragma unroll
            for (int j = 0; j < N; j++) reached[j] += value[j] >= bound;
    }
}

/* The label of a value; 0 where it is not finite. */
template <typename T>
static __device__ inline uint32_t label_of(const label_params<T> &p, T value, int reached)
{
    static_assert(LOB_THRESHOLD_MAX_CLASSES == 16, "four words, and selectors of three bits");
    const uint32_t selector = (uint32_t)reached & 7;
    uint32_t label = __byte_perm(p.label[0], p.label[1], selector);
    if (p.bounds >= 8 && reached >= 8) label = __byte_perm(p.label[2], p.label[3], selector);
    return LOB_IS_FINITE(value) ? label & 255u : 0;
}

template <typename T> struct alignas(16) strip {
    T value[STRIP];
};

template <typename T>
static __global__ void __launch_bounds__(THREADS) label_kernel(const label_params<T> p)
{
    const T *stored = (const T *)p.in.stored;
    const uint4 *const masks = (const uint4 *)p.in.mask;
    const int64_t strips = p.in.packed ? p.in.voxels / STRIP : 0;
    int reached[STRIP];
    for (int64_t i = grid_first(); i < strips; i += grid_step()) {
        const strip<T> v = ((const strip<T> *)stored)[i];
        const uint4 mask = masks ? masks[i] : uint4{};
        uint32_t word[STRIP / 4] = {};
        count_reached<STRIP>(reached, p, v.value);
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            word[j / 4] |= label_of(p, v.value[j], reached[j]) << j % 4 * 8;
        if (masks) {
            word[0] &= __vcmpne4(mask.x, 0);
            word[1] &= __vcmpne4(mask.y, 0);
            word[2] &= __vcmpne4(mask.z, 0);
            word[3] &= __vcmpne4(mask.w, 0);
        }
        ((uint4 *)p.in.labels)[i] = {word[0], word[1], word[2], word[3]};
    }
    for (int64_t i = strips * STRIP + grid_first(); i < p.in.voxels; i += grid_step()) {
        count_reached<1>(reached, p, stored + i);
        p.in.labels[i] =
            p.in.mask && !p.in.mask[i] ? 0 : (uint8_t)label_of(p, stored[i], reached[0]);
    }
}

#define LABEL_KERNEL(type_, ctype, name, integer, lowest, highest)                             \
    case type_:                                                                                \
        return lob_launch_over(device, label_kernel<ctype>, "labelling by thresholds",         \
                               (in.voxels + STRIP - 1) / STRIP, THREADS, params_of<ctype>(in), \
                               error);

static lob_status label(const label_input &in, lob_type type, lob_device *device, lob_error *error)
{
    LOB_TYPE_SWITCH(type, LABEL_KERNEL);
    return LOB_EINTERNAL;
}

static bool aligned(const void *address, size_t to)
{
    return (uintptr_t)address % to == 0;
}

/* The thresholds that depend on the data. */
static lob_status find(lob_threshold_stats *stats, const histogram::device_values *from,
                       const lob_threshold_input *in, const lob_threshold_options *options,
                       const lob_context *context, lob_error *error)
{
    lob_device_budget device_budget =
        lob_device_budget_of(context, "thresholds", lob_voxels(in->image));
    lob_budget budget = {"thresholds", 0, 0, 0};
    lob_histogram_bins bins;
    void *work = NULL;
    LOB_TRY(lob_device_budget_take(&device_budget, LOB_DEVICE_WORK, histogram::work_bytes(), &work,
                                   error));
    stats->working_bytes = lob_device_budget_held(&device_budget);
    if (options->kind == LOB_THRESHOLD_PERCENTILE)
        return histogram::percentiles(stats->threshold, &options->percent, 1, NULL, from,
                                      context->device, work, error);
    int64_t *counts = (int64_t *)malloc(LOB_HISTOGRAM_MAX_BINS * sizeof *counts);
    if (!counts) return lob_fail(error, LOB_ENOMEM, "no memory left for a histogram");
    lob_status st = histogram::count(&bins, counts, from, context->device, work, error);
    if (st == LOB_OK) st = lob_otsu(stats, &bins, counts, options, in->image, &budget, error);
    free(counts);
    return st;
}

/* The voxels of `to` are on the device. */
static lob_status compute(label_input to, lob_threshold_stats *stats, const lob_threshold_input *in,
                          const lob_threshold_options *options, const lob_context *context,
                          lob_error *error)
{
    const lob_volume *image = in->image;
    const histogram::device_values from = {to.stored, image->type,  to.voxels,   1,
                                           to.mask,   image->slope, image->inter};
    if (!lob_threshold_given(stats, options))
        LOB_TRY(find(stats, &from, in, options, context, error));
    to.packed = aligned(to.labels, 16) && aligned(to.mask, 16) && aligned(to.stored, 16);
    to.rule = lob_threshold_rule_of(stats, options, image);
    LOB_TRY(label(to, image->type, context->device, error));
    return lob_device_wait(context->device, error);
}

} /* namespace lob::threshold */

lob_status lob_threshold_cuda(uint8_t *labels, lob_threshold_stats *stats,
                              const lob_threshold_input *in, const lob_threshold_options *options,
                              const lob_context *context, lob_error *error)
{
    lob::threshold::label_input to = {};
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_threshold_check(in, options, error));
    to.voxels = lob_voxels(in->image);
    const lob_device_array travels[] = {
        lob_device_volume(&to.stored, in->image),
        lob_device_input(&to.mask, in->mask, to.voxels, in->place),
        lob_device_output(&to.labels, labels, to.voxels, in->place),
    };
    LOB_TRY(lob_device_send(context->device, travels, 3, to.voxels, error));
    LOB_TRY(lob_report(context, 0.5));
    LOB_TRY(lob::threshold::compute(to, stats, in, options, context, error));
    LOB_TRY(lob_device_receive(context->device, travels, 3, error));
    return lob_report(context, 1.0);
}
