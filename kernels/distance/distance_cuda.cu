/* Distances on the GPU, from the host: memory, the passes in order, and the arrays that travel. */
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/distance/distance_stages_cuda.cuh"
#include "kernels/share.h"

namespace lob::distance
{

struct work_arrays {
    uint16_t *offsets;
    uint32_t *voxels; /* where there is no array of distances */
};

static work_arrays lay_out(arena *memory, const lob_distance_output *out, int64_t voxels)
{
    work_arrays w = {};
    w.offsets = memory->take<uint16_t>(voxels);
    if (!out->distance) w.voxels = memory->take<uint32_t>(voxels);
    return w;
}

int64_t work_bytes(const lob_distance_output *out, int64_t voxels)
{
    arena memory;
    lay_out(&memory, out, voxels);
    return memory.used;
}

lob_status transform(lob_device *device, const lob_distance_output *out, const void *labels,
                     const lob_distance_input *in, const lob_distance_options *options, void *work,
                     lob_error *error)
{
    arena memory(work);
    const work_arrays w = lay_out(&memory, out, lob_dims_voxels(in->dims));
    lob_distance_find find[2];
    const int n = lob_distance_runs(find, out, options);
    run_arrays run = {};
    run.labels = labels;
    run.label_bytes = (int)lob_type_of(in->type)->bytes;
    run.offsets = w.offsets;
    run.voxels = out->distance ? (uint32_t *)out->distance : w.voxels;
    run.feature = out->feature;
    for (int i = 0; i < n; i++) {
        run.plan = lob_distance_plan_of(in, options, find[i]);
        LOB_TRY(along_x(device, run, error));
        for (int pass = 0; pass < run.plan.passes; pass++)
            LOB_TRY(along_lines(device, run, pass, error));
    }
    return LOB_OK;
}

} /* namespace lob::distance */

using namespace lob::distance;

lob_status lob_distance_cuda(const lob_distance_output *out, const lob_distance_input *in,
                             const lob_distance_options *options, const lob_context *context,
                             lob_error *error)
{
    lob_distance_output there = {};
    void *labels = NULL, *work = NULL;
    LOB_TRY(lob_distance_check(out, in, options, error));
    if (!context->device) return lob_device_missing(error);
    const int64_t voxels = lob_dims_voxels(in->dims);
    const int64_t bytes = lob_product(voxels, (int64_t)lob_type_of(in->type)->bytes, 1, 1);
    const int64_t floats = lob_product(voxels, (int64_t)sizeof(float), 1, 1);
    lob_device_budget budget = lob_device_budget_of(context, "distances", voxels);
    const lob_device_array travels[] = {
        lob_device_input(&labels, in->labels, bytes, in->place),
        lob_device_output(&there.distance, out->distance, out->distance ? floats : 0, in->place),
        lob_device_output(&there.feature, out->feature, out->feature ? bytes : 0, in->place),
    };
    LOB_TRY(lob_device_send(context->device, travels, 3, voxels, error));
    LOB_TRY(lob_report(context, 0.3));
    LOB_TRY(
        lob_device_budget_take(&budget, LOB_DEVICE_WORK, work_bytes(&there, voxels), &work, error));
    LOB_TRY(transform(context->device, &there, labels, in, options, work, error));
    LOB_TRY(lob_device_receive(context->device, travels, 3, error));
    return lob_report(context, 1.0);
}
