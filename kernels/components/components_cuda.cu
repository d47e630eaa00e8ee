/* Components on the device: which are kept, how they are labelled, and the way of the arrays. */
#include "kernels/components/components_job_cuda.cuh"
#include "kernels/levels/levels_cuda.cuh"
#include "kernels/regions/regions_cuda.h"
#include "volumes/bytes.h"
#include "volumes/labels.h"

#include <stdlib.h>

/* ---- labels of components ---- */

typedef struct {
    lob_device_image image;
    int64_t n;
    wide *member; /* indices of voxels; replaced by the bits of their stored values as doubles */
} gathering;

enum { GATHER_THREADS = 256 };

static __global__ void __launch_bounds__(GATHER_THREADS) gather_kernel(gathering g)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.n; i += step)
        g.member[i] = (wide)__double_as_longlong(lob_stored_value(&g.image, (int64_t)g.member[i]));
}

/* What the host decides with: all of found. */
typedef struct {
    int64_t *voxels;
    double *stored; /* the value of the component's voxels */
    int32_t *label; /* its number among those that are kept; 0: it is not */
    int32_t *value; /* of those that are kept, by their number */
} decision;

static void decision_free(decision *d)
{
    free(d->voxels);
    free(d->stored);
    free(d->label);
    free(d->value);
}

static lob_status decision_alloc(decision *d, int64_t found, lob_error *error)
{
    const size_t n = (size_t)found + 1;
    d->voxels = (int64_t *)malloc(n * sizeof *d->voxels);
    d->stored = (double *)malloc(n * sizeof *d->stored);
    d->label = (int32_t *)malloc(n * sizeof *d->label);
    d->value = (int32_t *)malloc(n * sizeof *d->value);
    if (d->voxels && d->stored && d->label && d->value) return LOB_OK;
    return lob_fail(error, LOB_ENOMEM, "no memory to choose among %lld components",
                    (long long)found);
}

static lob_status fetch_sizes(joining *j, decision *d, lob_error *error)
{
    wide *sizes = (wide *)j->of_pieces;
    LOB_TRY(lob_joining_sizes(j, sizes, error));
    return lob_device_download(j->device, d->voxels, sizes, j->found * (int64_t)sizeof *sizes,
                               error);
}

/* The first voxel of each component that is kept, in place of the sizes. */
static lob_status fetch_members(joining *j, decision *d, lob_components_output *result,
                                lob_error *error)
{
    wide *member = (wide *)j->of_pieces;
    result->member = (int64_t *)malloc(((size_t)result->count + 1) * sizeof *result->member);
    if (!result->member)
        return lob_fail(error, LOB_ENOMEM, "no memory for the table of %lld components",
                        (long long)result->count);
    LOB_TRY(lob_joining_members(j, member, error));
    LOB_TRY(lob_device_download(j->device, d->voxels, member, j->found * (int64_t)sizeof *member,
                                error));
    for (int64_t i = 0; i < j->found; i++)
        if (d->label[i]) result->member[d->label[i] - 1] = d->voxels[i];
    return LOB_OK;
}

static lob_status fetch_values(joining *j, decision *d, lob_error *error)
{
    const lob_volume *image = j->in->image;
    gathering g = {};
    g.image.stored = j->arrays->image;
    g.image.type = image->type;
    g.n = j->found;
    g.member = (wide *)j->of_pieces;
    LOB_TRY(lob_joining_members(j, g.member, error));
    LOB_TRY(lob_launch(j->device, gather_kernel, "reading values",
                       lob_grid_blocks(j->device, g.n, GATHER_THREADS), GATHER_THREADS, 0, g,
                       error));
    return lob_device_download(j->device, d->stored, g.member, g.n * (int64_t)sizeof *d->stored,
                               error);
}

/* The value of each component that is kept, by its number, in place of the sizes' memory. */
static lob_status keep_values(const joining *j, decision *d, int64_t kept, int64_t *largest,
                              lob_error *error)
{
    lob_volume voxel = {};
    voxel.type = LOB_F64;
    voxel.slope = j->in->image->slope;
    voxel.inter = j->in->image->inter;
    *largest = 0;
    for (int64_t i = 0; i < j->found; i++)
        if (d->label[i]) d->voxels[d->label[i] - 1] = i;
    for (int64_t i = 0; i < kept; i++) {
        voxel.data = &d->stored[d->voxels[i]];
        LOB_TRY(lob_component_label_of_voxel(&d->value[i], &voxel, 0, error));
        if (d->value[i] > *largest) *largest = d->value[i];
    }
    return LOB_OK;
}

/* label: of each component, in device memory */
static lob_status decide(joining *j, decision *d, const uint32_t **label,
                         lob_components_output *result, int64_t *largest, lob_error *error)
{
    const lob_components_options *o = j->options;
    uint32_t *labels = (uint32_t *)((wide *)j->of_pieces + j->found);
    LOB_TRY(decision_alloc(d, j->found, error));
    LOB_TRY(fetch_sizes(j, d, error));
    LOB_TRY(lob_components_select(d->label, &result->count, d->voxels, j->found, o, error));
    LOB_TRY(lob_device_upload(j->device, labels, d->label, j->found * (int64_t)sizeof *d->label,
                              error));
    *label = labels;
    *largest = result->count;
    if (lob_components_lists_members(o)) LOB_TRY(fetch_members(j, d, result, error));
    if (!o->keep_values) return LOB_OK;
    LOB_TRY(fetch_values(j, d, error));
    return keep_values(j, d, result->count, largest, error);
}

/* ---- from numbers to values ---- */

typedef struct {
    const int32_t *number;
    void *label;
    lob_type type;
    const int32_t *value; /* of numbers from 1 */
    int64_t voxels;
} renaming;

static __global__ void __launch_bounds__(GATHER_THREADS) rename_kernel(renaming n)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n.voxels; i += step) {
        const int32_t number = n.number[i];
        lob_label_put(n.label, n.type, i, number ? n.value[number - 1] : 0);
    }
}

/* Replace int32 numbers by values of a type; a narrower one is written elsewhere first. */
static lob_status rename_labels(joining *j, const decision *d, int64_t kept, lob_type type,
                                lob_error *error)
{
    void *memory = NULL, *labels = j->arrays->labels;
    const int64_t bytes = kept * (int64_t)sizeof *d->value, slack = 2 * 256;
    renaming n = {};
    n.voxels = lob_voxels(j->in->image);
    n.number = (const int32_t *)labels;
    n.label = labels;
    n.type = type;
    const int64_t narrow = type == LOB_I32 ? 0 : n.voxels * (int64_t)lob_type_of(type)->bytes;
    LOB_TRY(lob_joining_block(j, LOB_DEVICE_WORK, bytes + narrow + slack, &memory, error));
    unsigned char *at = (unsigned char *)memory;
    void *values = lob_take(&at, bytes);
    n.value = (const int32_t *)values;
    LOB_TRY(lob_device_upload(j->device, values, d->value, bytes, error));
    if (narrow) n.label = at;
    LOB_TRY(lob_launch(j->device, rename_kernel, "writing values",
                       lob_grid_blocks(j->device, n.voxels, GATHER_THREADS), GATHER_THREADS, 0, n,
                       error));
    if (narrow)
        LOB_CUDA(cudaMemcpyAsync(labels, at, (size_t)narrow, cudaMemcpyDeviceToDevice,
                                 lob_device_cuda_stream(j->device)));
    return LOB_OK;
}

/* ---- the calls ---- */

/* Of labels as they are written: with holes filled, or where memory is short. */
static lob_status measure_labels(joining *j, lob_components_output *result, lob_error *error)
{
    const lob_region *regions = NULL;
    const lob_region_values *values = NULL;
    lob_regions_input in = {};
    lob_context context = *j->context;
    int64_t taken = 0;
    context.progress = NULL;
    in.type = result->type;
    in.count = result->count;
    in.dims = j->in->image->dims;
    in.image = j->in->intensities;
    const lob_regions_arrays arrays = {j->arrays->labels, j->arrays->intensities};
    LOB_TRY(lob_regions_cuda_arrays(&arrays, &regions, &values, &result->fine, &taken, &in,
                                    &context, error));
    j->held[LOB_DEVICE_TABLES] = 0; /* it has become the table, which is output */
    lob_joining_hold(j, LOB_DEVICE_WORK, taken);
    result->regions = (lob_region *)regions;
    result->values = (lob_region_values *)values;
    return LOB_OK;
}

static lob_status measure(joining *j, lob_components_output *result, const uint32_t *label,
                          lob_error *error)
{
    bool measured = false;
    if (!j->options->fill_holes) LOB_TRY(lob_joining_measure(j, result, label, &measured, error));
    return measured ? LOB_OK : measure_labels(j, result, error);
}

/* From numbered pieces to labels; holes and regions go by numbers, values come last. */
static lob_status label_all(joining *j, decision *d, lob_components_output *result,
                            lob_error *error)
{
    const lob_components_options *o = j->options;
    const uint32_t *label = NULL;
    int64_t largest = j->found;
    lob_type type = LOB_I32;
    result->count = j->found;
    if (j->piece_bytes) LOB_TRY(decide(j, d, &label, result, &largest, error));
    LOB_TRY(lob_components_type(&type, largest, o, error));
    result->type = o->keep_values ? LOB_I32 : type;
    LOB_TRY(lob_joining_paint(j, j->arrays->labels, result->type, label, false, error));
    LOB_TRY(lob_joining_done(j, 0.8));
    if (o->fill_holes && result->count > 0)
        LOB_TRY(lob_holes_fill(j, j->arrays->labels, result->type, error));
    if (o->regions) LOB_TRY(measure(j, result, label, error));
    result->type = type;
    return o->keep_values ? rename_labels(j, d, result->count, type, error) : LOB_OK;
}

static lob_status join_all(joining *j, decision *d, lob_components_output *result, lob_error *error)
{
    const lob_components_options *o = j->options;
    const bool tells =
        lob_components_selects(o) || o->keep_values || lob_components_lists_members(o);
    wide counts[2];
    LOB_TRY(lob_device_enter(j->device, error));
    j->rule = lob_component_rule_of(j->in->image, o);
    j->piece_bytes = tells ? (int64_t)(sizeof(wide) + sizeof(uint32_t)) : 0;
    LOB_TRY(lob_joining_plan(j, j->in->image->dims, o->neighbours, o->slice_axis,
                             o->join != LOB_JOIN_ANY, error));
    LOB_TRY(lob_joining_allocate(j, error));
    LOB_TRY(lob_joining_classify(j, error));
    LOB_TRY(lob_joining_done(j, 0.2));
    LOB_TRY(lob_joining_join(j, error));
    LOB_TRY(lob_device_download(j->device, counts, j->counts, sizeof counts, error));
    result->found = j->found;
    result->foreground = (int64_t)counts[0];
    result->not_finite = (int64_t)counts[1];
    LOB_TRY(label_all(j, d, result, error));
    LOB_TRY(lob_device_wait(j->device, error));
    result->working_bytes = j->bytes;
    return lob_joining_done(j, 0.9);
}

lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_output *result, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error)
{
    joining j = {};
    *result = lob_components_output{};
    if (!context->device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_components_check(in, options, error));
    j.device = context->device;
    j.in = in;
    j.options = options;
    j.arrays = arrays;
    j.context = context;
    decision d = {};
    const lob_status st = join_all(&j, &d, result, error);
    decision_free(&d);
    if (st != LOB_OK) {
        cudaStreamSynchronize(
            lob_device_cuda_stream(j.device)); /* nothing of it stays on the way */
        free(result->member);
        *result = lob_components_output{};
    }
    return st;
}

/* Where the arrays of a call lie in the device's block for them, and how large they are. */
typedef struct {
    int64_t voxels, image, mask, intensities, labels, total;
} sizes;

static int64_t array_bytes(const lob_volume *volume)
{
    return lob_product(lob_voxels(volume), volume->channels,
                       (int64_t)lob_type_of(volume->type)->bytes, 1);
}

static lob_status measure_arrays(sizes *z, const lob_components_input *in,
                                 const lob_components_options *options, lob_device *device,
                                 lob_error *error)
{
    const bool narrow = options->type != LOB_TYPES && !options->keep_values;
    const lob_type widest = narrow ? options->type : LOB_I32;
    const int64_t slack = 4 * 256;
    const bool same = in->intensities && in->intensities->data == in->image->data;
    char taken[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    z->voxels = lob_voxels(in->image);
    z->image = array_bytes(in->image);
    z->mask = in->mask ? z->voxels : 0;
    z->intensities = in->intensities && !same ? array_bytes(in->intensities) : 0;
    z->labels = lob_product(z->voxels, (int64_t)lob_type_of(widest)->bytes, 1, 1);
    const int64_t most = INT64_MAX / 8;
    if (z->image < 0 || z->intensities < 0 || z->labels < 0 || z->image > most ||
        z->intensities > most || z->labels > most)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volume is too large for a GPU");
    z->total = z->image + z->mask + z->intensities + z->labels + slack;
    const int64_t room = lob_device_block_capacity(device, LOB_DEVICE_ARRAYS, z->total);
    if (z->total <= room) return LOB_OK;
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "the volumes take %s and the GPU has %s free, enough for %.1f million "
                         "voxels without what joining takes",
                         lob_bytes_text(taken, z->total), lob_bytes_text(left, room),
                         (double)z->voxels / (double)z->total * (double)room / 1e6);
}

static lob_status send(lob_components_arrays *arrays, const sizes *z,
                       const lob_components_input *in, lob_device *device, lob_error *error)
{
    void *block = NULL;
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_ARRAYS, &block, z->total, error));
    unsigned char *at = (unsigned char *)block;
    void *image = lob_take(&at, z->image), *mask = lob_take(&at, z->mask);
    void *intensities = lob_take(&at, z->intensities);
    arrays->image = image;
    arrays->mask = z->mask ? (const uint8_t *)mask : NULL;
    arrays->intensities = z->intensities ? intensities : in->intensities ? image : NULL;
    arrays->labels = at;
    LOB_TRY(lob_device_upload(device, image, in->image->data, z->image, error));
    LOB_TRY(lob_device_upload(device, mask, in->mask, z->mask, error));
    if (!z->intensities) return LOB_OK;
    return lob_device_upload(device, intensities, in->intensities->data, z->intensities, error);
}

/* The labels and the table, if there is one, in memory of the host's. */
static lob_status receive(lob_components_output *result, const lob_components_arrays *arrays,
                          int64_t voxels, bool wanted, lob_device *device, lob_error *error)
{
    const bool with_values = wanted && arrays->intensities;
    const int64_t bytes = voxels * (int64_t)lob_type_of(result->type)->bytes;
    const int64_t rows = result->count * (int64_t)sizeof(lob_region);
    const int64_t sums = result->count * (int64_t)sizeof(lob_region_values);
    const lob_region *regions = result->regions;
    const lob_region_values *values = result->values;
    result->regions = wanted ? (lob_region *)malloc((size_t)rows + 1) : NULL;
    result->values = with_values ? (lob_region_values *)malloc((size_t)sums + 1) : NULL;
    result->labels = malloc((size_t)bytes);
    if (!result->labels || (wanted && !result->regions) || (with_values && !result->values))
        return lob_fail(error, LOB_ENOMEM, "no memory for the labels of %.1f million voxels",
                        (double)voxels / 1e6);
    if (wanted) LOB_TRY(lob_device_download(device, result->regions, regions, rows, error));
    if (with_values) LOB_TRY(lob_device_download(device, result->values, values, sums, error));
    return lob_device_download(device, result->labels, arrays->labels, bytes, error);
}

lob_status lob_components_cuda(lob_components_output *result, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error)
{
    lob_components_arrays arrays = {};
    sizes z = {};
    lob_device *device = context->device;
    *result = lob_components_output{};
    if (!device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_components_check(in, options, error));
    LOB_TRY(measure_arrays(&z, in, options, device, error));
    LOB_TRY(send(&arrays, &z, in, device, error));
    LOB_TRY(lob_components_cuda_arrays(&arrays, result, in, options, context, error));
    lob_status st = receive(result, &arrays, z.voxels, options->regions, device, error);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    if (st != LOB_OK) lob_components_output_free(result);
    return st;
}
