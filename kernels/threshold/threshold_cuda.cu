/* Thresholds on the GPU: the histogram is counted on the device, the host chooses, and one kernel
 * labels. */
#include "kernels/threshold/threshold_cuda.h"

#include "kernels/device/grid.cuh"
#include "kernels/histogram/histogram_cuda.cuh"
#include "kernels/threshold/threshold_rule.h"

#include <stdlib.h>

namespace lob::threshold
{

enum { THREADS = 256, STRIP = 4 }; /* a thread labels STRIP voxels, one word */

typedef struct {
    uint8_t *labels;
    const void *stored;
    const uint8_t *mask;
    int64_t voxels;
    bool packed; /* arrays are aligned to strips */
    lob_threshold_rule rule;
} label_params;

template <typename T>
static __device__ inline uint8_t label_of(const label_params &p, T stored, bool inside)
{
    return inside && stored - stored == 0 ? lob_threshold_label((double)stored, &p.rule) : 0;
}

template <typename T> struct alignas(STRIP * sizeof(T)) strip {
    T value[STRIP];
};

template <typename T> static __global__ void __launch_bounds__(THREADS) label_kernel(label_params p)
{
    const T *stored = (const T *)p.stored;
    const int64_t strips = p.packed ? p.voxels / STRIP : 0;
    for (int64_t i = grid_first(); i < strips; i += grid_step()) {
        const strip<T> v = ((const strip<T> *)stored)[i];
        const uchar4 all = {1, 1, 1, 1}, m = p.mask ? ((const uchar4 *)p.mask)[i] : all;
        ((uchar4 *)p.labels)[i] = {label_of(p, v.value[0], m.x), label_of(p, v.value[1], m.y),
                                   label_of(p, v.value[2], m.z), label_of(p, v.value[3], m.w)};
    }
    for (int64_t i = strips * STRIP + grid_first(); i < p.voxels; i += grid_step())
        p.labels[i] = label_of(p, stored[i], !p.mask || p.mask[i]);
}

#define LABEL_KERNEL(type_, ctype, name, integer, lowest, highest)                     \
    case type_:                                                                        \
        return lob_launch_over(device, label_kernel<ctype>, "labelling by thresholds", \
                               (p.voxels + STRIP - 1) / STRIP, THREADS, p, error);

static lob_status label(const label_params &p, lob_type type, lob_device *device, lob_error *error)
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

} /* namespace lob::threshold */

using namespace lob::threshold;

lob_status lob_threshold_cuda_arrays(const lob_threshold_arrays *arrays, lob_threshold_stats *stats,
                                     const lob_threshold_input *in,
                                     const lob_threshold_options *options,
                                     const lob_context *context, lob_error *error)
{
    const lob_volume *image = in->image;
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_threshold_check(in, options, error));
    LOB_TRY(lob_device_enter(context->device, error));
    const lob::histogram::device_values from = {arrays->image, image->type,  lob_voxels(image), 1,
                                                arrays->mask,  image->slope, image->inter};
    if (!lob_threshold_given(stats, options))
        LOB_TRY(find(stats, &from, in, options, context, error));
    label_params p = {};
    p.labels = arrays->labels;
    p.stored = arrays->image;
    p.mask = arrays->mask;
    p.voxels = from.voxels;
    p.packed = aligned(p.labels, STRIP) && aligned(p.mask, STRIP) &&
               aligned(p.stored, STRIP * lob_type_of(image->type)->bytes);
    p.rule = lob_threshold_rule_of(stats, options, image);
    LOB_TRY(label(p, image->type, context->device, error));
    return lob_device_wait(context->device, error);
}

lob_status lob_threshold_cuda(uint8_t *labels, lob_threshold_stats *stats,
                              const lob_threshold_input *in, const lob_threshold_options *options,
                              const lob_context *context, lob_error *error)
{
    lob_threshold_arrays arrays = {};
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_threshold_check(in, options, error));
    const int64_t voxels = lob_voxels(in->image);
    const lob_device_array travels[] = {
        {(void **)&arrays.image,  in->image->data, NULL,   lob_device_bytes_of(in->image)},
        {(void **)&arrays.mask,   in->mask,        NULL,   in->mask ? voxels : 0         },
        {(void **)&arrays.labels, NULL,            labels, voxels                        },
    };
    LOB_TRY(lob_device_send(context->device, travels, 3, voxels, error));
    if (context->progress && context->progress(context->user, 0.5)) return LOB_ECANCEL;
    LOB_TRY(lob_threshold_cuda_arrays(&arrays, stats, in, options, context, error));
    LOB_TRY(lob_device_receive(context->device, travels, 3, error));
    return context->progress && context->progress(context->user, 1.0) ? LOB_ECANCEL : LOB_OK;
}
