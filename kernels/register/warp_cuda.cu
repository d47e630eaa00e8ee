/* A volume through a field on a GPU: a thread writes one new voxel. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/register/warp_voxel.h"

namespace lob::registration
{

static __global__ void warp_kernel(lob_warp_map m)
{
    for (int64_t i = grid_first(); i < m.voxels; i += grid_step()) lob_warp_voxel(&m, i);
}

} /* namespace lob::registration */

using namespace lob::registration;

lob_status lob_warp_on_cuda(lob_warp_map *map, const lob_volume *out, const lob_volume *moving,
                            const lob_field *field, const lob_context *context, lob_error *error)
{
    lob_device *const device = context->device;
    const lob_place field_place = {field->device ? LOB_PLACE_CUDA : LOB_PLACE_MEMORY,
                                   field->device ? lob_device_number(field->device) : 0};
    const lob_device_array travels[] = {
        lob_device_volume(&map->from, moving),
        lob_device_input(&map->field.mm, field->mm,
                         lob_product(lob_dims_voxels(field->dims), 3, sizeof(float), 1),
                         field_place),
        lob_device_output(&map->to, out->data, lob_device_bytes_of(out), out->place),
    };
    lob_device_begin(device);
    lob_status st = lob_device_send(device, travels, 3, map->voxels, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, warp_kernel, "warping", map->voxels, 256, *map, error);
    if (st == LOB_OK) st = lob_device_receive(device, travels, 3, error);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    lob_device_end(device);
    return st;
}
