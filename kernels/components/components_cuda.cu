/* The call: arrays to the device and back, which components stay, and their labels. */
#include "kernels/components/components_stages_cuda.cuh"

#include "kernels/device/device_image.cuh"
#include "kernels/regions/regions_values_cuda.cuh"
#include "kernels/share.h"
#include "volumes/labels.h"

#include <stdlib.h>

namespace lob::components
{

enum { VALUE_THREADS = 256 };

/* ---- which components stay ---- */

typedef struct {
    lob_device_image image;
    int64_t n;
    double slope, inter;
    u64 *member; /* indices of voxels; replaced by the bits of their values */
} gather_params;

static __global__ void __launch_bounds__(VALUE_THREADS) gather_kernel(gather_params g)
{
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i < g.n; i += step)
        g.member[i] = (u64)__double_as_longlong(lob_component_value(
            lob_stored_value(&g.image, (int64_t)g.member[i]), g.slope, g.inter));
}

/* What the host has chosen. */
typedef struct {
    int32_t *label; /* found: the component's number among the selected ones; 0: taken out */
    int32_t *value; /* of selected components, by number */
} selection;

static lob_status alloc_each(void *array, int64_t n, size_t size, lob_error *error)
{
    *(void **)array = malloc((size_t)n * size + 1);
    if (*(void **)array) return LOB_OK;
    return lob_fail(error, LOB_ENOMEM, "no memory to choose among %lld components", (long long)n);
}

/* Of each component its size, the index of its first voxel, or its value, in malloc'ed memory, by
 * way of per_component. */
static lob_status fetch_each(call *c, void *array, lob_error *error)
{
    return lob_device_result(c->device, (void **)array, c->per_component,
                             c->found * (int64_t)sizeof(u64), {}, error);
}

static lob_status fetch_sizes(call *c, int64_t **voxels, lob_error *error)
{
    LOB_TRY(count_voxels(c, (u64 *)c->per_component, error));
    return fetch_each(c, voxels, error);
}

static lob_status fetch_values(call *c, double **value, lob_error *error)
{
    const lob_volume *const image = c->in->image;
    gather_params g = {};
    g.image = lob_device_image_of(image, c->arrays->image, NULL, NULL);
    g.n = c->found;
    g.slope = image->slope;
    g.inter = image->inter;
    g.member = (u64 *)c->per_component;
    LOB_TRY(find_members(c, g.member, error));
    LOB_TRY(
        lob_launch_over(c->device, gather_kernel, "reading values", g.n, VALUE_THREADS, g, error));
    return fetch_each(c, value, error);
}

static lob_status select_members(call *c, const selection *s, lob_components_output *out,
                                 lob_error *error)
{
    int64_t *member = NULL;
    LOB_TRY(find_members(c, (u64 *)c->per_component, error));
    LOB_TRY(alloc_each(&out->member, out->count, sizeof *member, error));
    LOB_TRY(fetch_each(c, &member, error));
    for (int64_t i = 0; i < c->found; i++)
        if (s->label[i]) out->member[s->label[i] - 1] = member[i];
    free(member);
    return LOB_OK;
}

static lob_status select_values(call *c, selection *s, int64_t selected, int64_t *largest,
                                lob_error *error)
{
    double *value = NULL;
    LOB_TRY(alloc_each(&s->value, selected, sizeof *s->value, error));
    lob_status st = fetch_values(c, &value, error);
    *largest = 0;
    for (int64_t i = 0; st == LOB_OK && i < c->found; i++) {
        if (!s->label[i]) continue;
        int32_t *const label = &s->value[s->label[i] - 1];
        st = lob_component_label_of_value(label, value[i], error);
        if (st == LOB_OK && *label > *largest) *largest = *label;
    }
    free(value);
    return st;
}

/* label: of each component, in device memory */
static lob_status select(call *c, selection *s, const uint32_t **label, lob_components_output *out,
                         int64_t *largest, lob_error *error)
{
    const lob_components_options *o = c->options;
    uint32_t *const labels = (uint32_t *)((u64 *)c->per_component + c->found);
    int64_t *voxels = NULL;
    LOB_TRY(alloc_each(&s->label, c->found, sizeof *s->label, error));
    lob_status st = fetch_sizes(c, &voxels, error);
    if (st == LOB_OK) st = lob_components_select(s->label, &out->count, voxels, c->found, o, error);
    free(voxels);
    LOB_TRY(st);
    LOB_TRY(lob_device_upload(c->device, labels, s->label, c->found * (int64_t)sizeof *s->label,
                              error));
    *label = labels;
    *largest = out->count;
    if (lob_components_lists_members(o)) LOB_TRY(select_members(c, s, out, error));
    return o->keep_values ? select_values(c, s, out->count, largest, error) : LOB_OK;
}

/* ---- from numbers to values ---- */

typedef struct {
    const int32_t *number;
    void *label;
    lob_type type;
    const int32_t *value; /* of numbers from 1 */
    int64_t voxels;
} value_params;

static __global__ void __launch_bounds__(VALUE_THREADS) value_kernel(value_params v)
{
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i < v.voxels; i += step) {
        const int32_t number = v.number[i];
        lob_label_put(v.label, v.type, i, number ? v.value[number - 1] : 0);
    }
}

/* Replace int32 numbers by values; those of a narrower type are written elsewhere first. */
static lob_status write_values(call *c, const selection *s, int64_t selected, lob_type type,
                               lob_error *error)
{
    void *memory = NULL, *values = NULL, *labels = c->arrays->labels, *narrow = NULL;
    value_params v = {};
    v.voxels = lob_voxels(c->in->image);
    v.number = (const int32_t *)labels;
    v.type = type;
    const int64_t bytes = selected * (int64_t)sizeof *s->value;
    const int64_t narrow_bytes = type == LOB_I32 ? 0 : v.voxels * (int64_t)lob_type_of(type)->bytes;
    const auto lay_out = [&](lob::arena block) {
        values = block.take<unsigned char>(bytes);
        narrow = block.take<unsigned char>(narrow_bytes);
        return block.used;
    };
    LOB_TRY(
        lob_device_budget_take(&c->budget, LOB_DEVICE_WORK, lay_out(lob::arena()), &memory, error));
    lay_out(lob::arena(memory));
    v.value = (const int32_t *)values;
    v.label = narrow_bytes ? narrow : labels;
    LOB_TRY(lob_device_upload(c->device, values, s->value, bytes, error));
    LOB_TRY(lob_launch_over(c->device, value_kernel, "writing values", v.voxels, VALUE_THREADS, v,
                            error));
    return narrow_bytes ? lob_device_copy(c->device, labels, narrow, narrow_bytes, error) : LOB_OK;
}

/* ---- stages ---- */

/* Measure labels of so many components; regions and values are left in device memory. */
static lob_status measure(call *c, lob_components_output *out, lob_type type, lob_error *error)
{
    const lob_components_share *const share = c->in->share;
    lob_volume intensities = c->in->intensities ? *c->in->intensities : lob_volume_empty();
    regions::device_table table;
    lob_regions_input in = {};
    in.labels = c->arrays->labels;
    in.type = type;
    in.count = out->count;
    in.dims = c->in->image->dims;
    intensities.data = (void *)c->arrays->intensities;
    in.image = c->in->intensities ? &intensities : NULL;
    if (share) out->fine = *share->fine;
    LOB_TRY(regions::measure(&table, &out->fine, share != NULL, &in, &c->budget, error));
    out->regions = out->count ? (lob_region *)table.regions : NULL;
    out->values = out->count ? (lob_region_values *)table.values : NULL;
    return LOB_OK;
}

/* Regions and, where there are any, values, from device memory. */
static lob_status fetch_table(lob_components_output *out, const lob_components_input *in,
                              lob_device *device, lob_error *error)
{
    void *const regions = out->regions, *const values = out->values;
    out->regions = NULL;
    out->values = NULL;
    LOB_TRY(lob_device_result(device, (void **)&out->regions, regions,
                              out->count * (int64_t)sizeof(lob_region), {}, error));
    if (!in->intensities) return LOB_OK;
    return lob_device_result(device, (void **)&out->values, values,
                             out->count * (int64_t)sizeof(lob_region_values), {}, error);
}

/* ---- a slab of several ---- */

/* All that is asked of pieces beside their numbers; regions are left in out. */
static lob_status describe(call *c, lob_slab_found *found, lob_components_output *out,
                           lob_error *error)
{
    const lob_components_options *const o = c->options;
    LOB_TRY(c->in->share->team ? join_seam(c, found, error) : fetch_faces(c, found, error));
    if (lob_components_selects(o)) LOB_TRY(fetch_sizes(c, &found->voxels, error));
    if (o->keep_values) LOB_TRY(fetch_values(c, &found->value, error));
    if (!o->regions) return LOB_OK;
    LOB_TRY(write_labels(c, c->arrays->labels, LOB_I32, NULL, false, error));
    LOB_TRY(measure(c, out, LOB_I32, error));
    return fetch_table(out, c->in, c->device, error);
}

/* Bytes of the arrays that describe pieces. */
static int64_t bytes_of(const call *c, const lob_slab_found *found)
{
    const int64_t faces = 2 * (int64_t)c->join.nx * c->join.ny;
    return (found->faces ? faces * (int64_t)sizeof *found->faces : 0) +
           found->pair_count * (int64_t)sizeof *found->pairs +
           found->found * (int64_t)((found->voxels ? sizeof *found->voxels : 0) +
                                    (found->value ? sizeof *found->value : 0) +
                                    (found->regions ? sizeof *found->regions : 0) +
                                    (found->values ? sizeof *found->values : 0));
}

/* Tell of the pieces; the labels that come back go into device memory. */
static lob_status settle(call *c, uint32_t *labels, lob_components_output *out, lob_error *error)
{
    const lob_components_share *const share = c->in->share;
    const uint32_t *label = NULL;
    lob_slab_found found = {c->found, out->foreground, out->not_finite};
    lob_status st = share->known ? LOB_OK : describe(c, &found, out, error);
    found.regions = out->regions;
    found.values = out->values;
    out->regions = NULL;
    out->values = NULL;
    if (st == LOB_OK) {
        found.held = lob_device_budget_held(&c->budget) + bytes_of(c, &found);
        st = share->settle(share->user, &label, &out->type, &found, error);
    }
    if (st == LOB_OK && share->paints)
        st = lob_device_upload(c->device, labels, label, c->found * (int64_t)sizeof *label, error);
    void *const arrays[] = {found.faces,   found.voxels, found.value,
                            found.regions, found.values, found.pairs};
    for (void *array : arrays) free(array);
    return st;
}

/* From numbered pieces to labels. Holes and regions go by numbers; values are written last. */
static lob_status label_all(call *c, selection *s, lob_components_output *out, lob_error *error)
{
    const lob_components_options *o = c->options;
    const uint32_t *label = NULL;
    int64_t largest = c->found;
    lob_type type = LOB_I32;
    out->count = c->found;
    if (c->in->share) {
        uint32_t *const labels = (uint32_t *)((u64 *)c->per_component + c->found);
        LOB_TRY(settle(c, labels, out, error));
        if (!c->in->share->paints) return LOB_OK;
        return write_labels(c, c->arrays->labels, out->type, labels, false, error);
    }
    if (c->component_bytes) LOB_TRY(select(c, s, &label, out, &largest, error));
    LOB_TRY(lob_components_type(&type, largest, o, error));
    out->type = o->keep_values ? LOB_I32 : type;
    LOB_TRY(write_labels(c, c->arrays->labels, out->type, label, false, error));
    LOB_TRY(report_progress(c, 0.8));
    if (o->fill_holes && out->count > 0)
        LOB_TRY(fill_holes(c, c->arrays->labels, out->type, error));
    if (o->regions) LOB_TRY(measure(c, out, out->type, error));
    out->type = type;
    return o->keep_values ? write_values(c, s, out->count, type, error) : LOB_OK;
}

static lob_status run_stages(call *c, selection *s, lob_components_output *out, lob_error *error)
{
    const lob_components_options *o = c->options;
    const bool selects = lob_components_selects(o) || o->keep_values ||
                         lob_components_lists_members(o) || c->in->share;
    u64 counts[3];
    LOB_TRY(lob_device_enter(c->device, error));
    c->rule = lob_component_rule_of(c->in->image, o);
    c->component_bytes = selects ? (int64_t)(sizeof(u64) + sizeof(uint32_t)) : 0;
    LOB_TRY(plan_join(c, c->in->image->dims, o->neighbours, o->slice_axis, o->join != LOB_JOIN_ANY,
                      error));
    LOB_TRY(allocate_join(c, error));
    LOB_TRY(find_foreground(c, error));
    LOB_TRY(report_progress(c, 0.2));
    LOB_TRY(join_pieces(c, error));
    LOB_TRY(lob_device_copy(c->device, c->counts + 2, found_on_device(c->join), sizeof(uint32_t),
                            error));
    LOB_TRY(lob_device_download(c->device, counts, c->counts, sizeof counts, error));
    c->found = (uint32_t)counts[2];
    out->found = c->found;
    out->foreground = (int64_t)counts[0];
    out->not_finite = (int64_t)counts[1];
    LOB_TRY(label_all(c, s, out, error));
    LOB_TRY(lob_device_wait(c->device, error));
    out->working_bytes = lob_device_budget_held(&c->budget);
    return report_progress(c, 0.9);
}

/* The stages, from arrays on the device to labels there. The rest of out has the device's addresses
 * of regions and values, in memory that it keeps until its next call, and member. */
static lob_status label_on_device(const device_arrays *arrays, lob_components_output *out,
                                  const lob_components_input *in,
                                  const lob_components_options *options, const lob_context *context,
                                  lob_error *error)
{
    call c = {};
    selection chosen = {};
    c.device = context->device;
    c.in = in;
    c.options = options;
    c.arrays = arrays;
    c.context = context;
    c.budget = lob_device_budget_of(context, "components", lob_voxels(in->image));
    if (in->share && !in->share->paints && options->regions) /* labels for measuring alone */
        lob_device_budget_hold(&c.budget, LOB_DEVICE_ARRAYS,
                               lob_voxels(in->image) * (int64_t)sizeof(int32_t));
    const lob_status st = run_stages(&c, &chosen, out, error);
    free(chosen.label);
    free(chosen.value);
    if (st != LOB_OK) {
        lob_device_wait(c.device, NULL); /* for copies that are still on their way */
        free(out->member);
        *out = {};
    }
    return st;
}

/* Labels to in->place, if there are any; the table to ordinary memory. */
static lob_status receive(lob_components_output *out, void *labels, const lob_components_input *in,
                          bool measured, lob_device *device, lob_error *error)
{
    if (measured) LOB_TRY(fetch_table(out, in, device, error));
    if (in->share && !in->share->paints) return LOB_OK;
    const int64_t bytes = lob_voxels(in->image) * (int64_t)lob_type_of(out->type)->bytes;
    return lob_device_result(device, &out->labels, labels, bytes, in->place, error);
}

} /* namespace lob::components */

lob_status lob_components_cuda(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error)
{
    lob::components::device_arrays arrays = {};
    lob_device *device = context->device;
    void *room = NULL;
    *out = {};
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_components_check(in, options, error));
    const lob_volume *image = in->image, *intensities = in->intensities;
    const bool written = !in->share || in->share->paints || options->regions;
    const bool narrow = options->type != LOB_TYPES && (in->share || !options->keep_values);
    const int64_t voxels = lob_voxels(image);
    const lob_type_info *type = lob_type_of(narrow ? options->type : LOB_I32);
    const int64_t label_bytes = written ? lob_product(voxels, (int64_t)type->bytes, 1, 1) : 0;
    const bool same = intensities && intensities->data == image->data; /* sent once */
    LOB_TRY(lob_device_result_room(device, &room, label_bytes, in->place, error));
    const lob_device_array sent[] = {
        lob_device_volume(&arrays.image, image),
        lob_device_input(&arrays.mask, in->mask, voxels, in->place),
        lob_device_volume(&arrays.intensities, same ? NULL : intensities),
        lob_device_output(&arrays.labels, room, label_bytes, in->place),
    };
    lob_status st = lob_device_send(device, sent, 4, voxels, error);
    if (same) arrays.intensities = arrays.image;
    if (st == LOB_OK)
        st = lob::components::label_on_device(&arrays, out, in, options, context, error);
    if (st == LOB_OK)
        st = lob::components::receive(out, arrays.labels, in, options->regions && !in->share,
                                      device, error);
    if (st == LOB_OK && room) {
        out->device = device;
        room = NULL;
    }
    if (st == LOB_OK) st = lob_report(context, 1.0);
    lob_device_free(device, room);
    if (st != LOB_OK) lob_components_output_free(out);
    return st;
}
