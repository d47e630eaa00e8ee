/* Labels become the numbers of their connected components, device to device. */
#include "kernels/components/label/label_pieces_cuda.cuh"

#include "kernels/components/components_stages_cuda.cuh"

namespace lob::components
{

static lob_status check_count(call *c, lob_error *error)
{
    const int64_t max = INT32_MAX - 1;
    if (c->join.pieces <= max) return LOB_OK;
    LOB_TRY(fetch_found(c, error));
    if (c->found <= max) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%lld pieces are more than labels can number",
                    (long long)c->found);
}

lob_status label_pieces(labelled_pieces *pieces, int32_t *labels, lob_dims dims, int slice_axis,
                        const lob_context *context, lob_error *error)
{
    lob_volume image = {};
    lob_components_input in = {};
    lob_components_options options = lob_components_defaults();
    device_arrays arrays = {};
    lob_context quiet = *context;
    call c = {};
    image.type = options.type = LOB_I32;
    image.dims = dims;
    image.channels = 1;
    image.slope = 1;
    in.image = &image;
    options.join = LOB_JOIN_EQUAL;
    options.slice_axis = slice_axis;
    options.neighbours = slice_axis < 0 ? 6 : 4;
    arrays.image = arrays.labels = labels;
    quiet.progress = NULL;
    c.spare = (uint32_t *)labels;
    c.spare_words = lob_voxels(&image);
    c.device = context->device;
    c.in = &in;
    c.options = &options;
    c.arrays = &arrays;
    c.context = &quiet;
    c.rule = lob_component_rule_of(&image, &options);
    c.budget = lob_device_budget_of(context, "components", lob_voxels(&image));
    c.budget.held[LOB_DEVICE_WORK] = pieces->work_bytes;
    LOB_TRY(plan_join(&c, dims, options.neighbours, slice_axis, true, error));
    LOB_TRY(allocate_join(&c, error));
    LOB_TRY(find_foreground(&c, error));
    LOB_TRY(join_pieces(&c, error));
    LOB_TRY(check_count(&c, error));
    LOB_TRY(write_labels(&c, labels, LOB_I32, NULL, false, error));
    pieces->components = found_on_device(c.join);
    pieces->table = c.join.parent;
    pieces->max_components = c.join.pieces;
    pieces->work_bytes = c.budget.held[LOB_DEVICE_WORK];
    pieces->table_bytes = c.budget.held[LOB_DEVICE_TABLES];
    return LOB_OK;
}

} /* namespace lob::components */
