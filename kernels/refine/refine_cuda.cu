/* Refining on the GPU: every step on arrays in device memory; the host learns counts alone. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/refine/refine_stages_cuda.cuh"

namespace lob::refine
{

/* ---- memory ---- */

static int64_t lay_out(job *j, bool copies, void *block)
{
    const int64_t n = j->part.voxels, edge = j->options->edge > 0 ? j->channels : 0;
    arena memory(block);
    j->counts = memory.take<counters>(1);
    j->mask = memory.take<uint8_t>(n);
    j->value = memory.take<float>(edge * n);
    j->finite = memory.take<uint8_t>(edge ? n : 0);
    j->parts = memory.take<float>(edge ? (edge + 1) * n : (n + 1 + 3) / 4);
    j->flags = (uint8_t *)j->parts;
    j->best = memory.take<float>(j->several ? n : 0);
    j->taken = memory.take<uint8_t>(j->several ? n * type_bytes(j->type) : 0);
    if (!copies) return memory.used;
    j->part.image =
        memory.take<uint8_t>(n * j->channels * (edge ? type_bytes(j->in->image->type) : 0));
    j->part.seeds = memory.take<uint8_t>(n * type_bytes(j->in->seeds_type));
    j->part.labels = memory.take<uint8_t>(n * type_bytes(j->type));
    return memory.used;
}

lob_context inner_context(const job *j)
{
    lob_context context = lob_device_budget_inner(&j->budget, j->context);
    context.progress = NULL;
    return context;
}

lob_volume on_part(const job *j, const void *data, lob_type type, int channels)
{
    lob_volume v = lob_volume_empty();
    v.data = (void *)data;
    v.place = lob_context_place(j->context);
    v.type = type;
    v.channels = channels;
    v.dims = j->part.dims;
    v.geometry = j->in->image->geometry;
    return v;
}

voxel_params params_of(const job *j, const grid &g)
{
    voxel_params p = {};
    p.dims = g.dims;
    p.voxels = g.voxels;
    p.labels = g.labels;
    p.type = j->type;
    p.seeds = g.seeds;
    p.seeds_type = j->in->seeds_type;
    p.background = j->in->background;
    p.counts = j->counts;
    p.mask = j->mask;
    p.best = j->best;
    p.taken = j->taken;
    p.flags = j->flags;
    return p;
}

/* ---- labels as they came, and what changed ---- */

struct came_params {
    voxel_params to;
    const void *before;
    lob_type before_type;
};

static __device__ inline int32_t came_at(const came_params &p, int64_t i)
{
    const int32_t label = lob_label_at(p.before, p.before_type, i);
    return label ? label : p.to.background;
}

static __global__ void __launch_bounds__(THREADS) begin_kernel(came_params p)
{
    for (int64_t i = grid_first(); i < p.to.voxels; i += grid_step())
        lob_label_put(p.to.labels, p.to.type, i, came_at(p, i));
}

static __global__ void __launch_bounds__(THREADS) changed_kernel(came_params p)
{
    u64 changed = 0;
    for (int64_t i = grid_first(); i < p.to.voxels; i += grid_step())
        changed += label_at(p.to, i) != came_at(p, i);
    add_up(&p.to.counts->changed, changed);
}

/* ---- Gaussians ---- */

int64_t smooth_bytes(const job *j, int channels)
{
    return channels * j->part.voxels * (int64_t)sizeof(float);
}

lob_status gaussian(job *j, float **smooth, const lob_volume *image, const uint8_t *mask,
                    double sigma_mm, lob_error *error)
{
    const lob_filter_step step = lob_refine_gaussian_step(image, sigma_mm);
    const lob_filter_options options = lob_refine_gaussian_options();
    const lob_filter_input in = {image, mask, &step, 1, image->place};
    const int64_t bytes = smooth_bytes(j, image->channels);
    LOB_TRY(lob_device_budget_count(&j->budget, bytes, error));
    const lob_context context = inner_context(j);
    lob_filter_output out;
    const lob_status st = lob_filter_cuda(&out, &in, &options, &context, error);
    if (st != LOB_OK) {
        j->budget.arrays -= bytes;
        return st;
    }
    count_inner(j, out.working_bytes);
    *smooth = (float *)out.data;
    return LOB_OK;
}

lob_status smooth_next(job *j, const lob_volume *image, const uint8_t *mask, double sigma_mm,
                       lob_error *error)
{
    drop(j, &j->smooth, j->smooth_bytes);
    j->smooth_bytes = smooth_bytes(j, image->channels);
    return gaussian(j, &j->smooth, image, mask, sigma_mm, error);
}

/* ---- smooth ---- */

static __global__ void __launch_bounds__(THREADS) is_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        p.mask[i] = label_at(p, i) == p.label;
}

/* One label and the background: the label where its share is above 1/2. */
static __global__ void __launch_bounds__(THREADS) above_half_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        lob_label_put(p.labels, p.type, i, p.share[i] > 0.5F ? p.label : p.background);
}

voxel_kernel *above_half(void)
{
    return above_half_kernel;
}

/* Take a label where its share is the largest so far; labels come in ascending order. */
static __global__ void __launch_bounds__(THREADS) larger_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        if (!p.first && !(p.share[i] > p.best[i])) continue;
        p.best[i] = p.share[i];
        lob_label_put(p.taken, p.type, i, p.label);
    }
}

lob_status put_taken(const job *j, lob_error *error)
{
    return lob_device_copy(j->device, j->part.labels, j->taken,
                           j->part.voxels * type_bytes(j->type), error);
}

static lob_status smooth(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    const lob_volume indicator = on_part(j, j->mask, LOB_U8, 1);
    voxel_params p = params_of(j, j->part);
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (!j->several && l == j->in->background) continue;
        p.label = l;
        p.first = l == 1;
        LOB_TRY(launch(j, is_kernel, "a label's voxels", p, p.voxels, error));
        LOB_TRY(smooth_next(j, &indicator, NULL, j->options->smooth_mm, error));
        p.share = j->smooth;
        LOB_TRY(launch(j, j->several ? larger_kernel : above_half_kernel, "taking labels", p,
                       p.voxels, error));
    }
    return j->several ? put_taken(j, error) : LOB_OK;
}

/* ---- the call ---- */

static lob_status run_steps(job *j, lob_error *error)
{
    const lob_refine_steps steps = {smooth, tidy, edge};
    return lob_refine_run(j, &steps, j->options, j->context, error);
}

static lob_status compute(job *j, lob_error *error)
{
    came_params came = {params_of(j, j->whole), j->labels_before, j->in->labels_type};
    lob_box box;
    bool smaller;
    counters counts = {};
    LOB_TRY(
        lob_launch_over(j->device, begin_kernel, "labels", j->whole.voxels, THREADS, came, error));
    LOB_TRY(find_part(j, &box, &smaller, error));
    j->part = j->whole;
    if (smaller) {
        j->part.dims = {box.size[0], box.size[1], box.size[2]};
        j->part.voxels = lob_dims_voxels(j->part.dims);
    }
    j->block_bytes = lay_out(j, smaller, NULL);
    LOB_TRY(lob_device_budget_alloc(&j->budget, &j->block, j->block_bytes, error));
    count_inner(j, 0);
    lay_out(j, smaller, j->block);
    LOB_TRY(lob_device_fill(j->device, j->counts, 0, sizeof *j->counts, error));
    if (smaller) LOB_TRY(copy_part(j, &box, error));
    LOB_TRY(run_steps(j, error));
    if (smaller) LOB_TRY(put_part(j, &box, error));
    came.to.counts = j->counts;
    LOB_TRY(lob_launch_over(j->device, changed_kernel, "counting changes", j->whole.voxels, THREADS,
                            came, error));
    LOB_TRY(lob_device_download(j->device, &counts, j->counts, sizeof counts, error));
    j->stats->changed = (int64_t)counts.changed;
    j->stats->pieces = (int64_t)counts.pieces;
    j->stats->filled = (int64_t)counts.filled;
    j->stats->working_bytes = j->peak;
    return LOB_OK;
}

} /* namespace lob::refine */

using namespace lob::refine;

lob_status lob_refine_cuda(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                           const lob_refine_options *options, const lob_context *context,
                           lob_error *error)
{
    job j = {};
    *stats = {};
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_refine_check(in, options, error));
    j.in = in;
    j.options = options;
    j.context = context;
    j.device = context->device;
    j.stats = stats;
    j.type = lob_label_type(in->label_count);
    j.channels = in->image->channels;
    j.several = in->label_count > 2;
    j.whole.dims = in->image->dims;
    j.whole.voxels = lob_voxels(in->image);
    const int64_t n = j.whole.voxels;
    j.budget = lob_device_budget_of(context, "refining", n);
    const lob_device_array travels[] = {
        lob_device_volume(&j.whole.image, options->edge > 0 ? in->image : NULL),
        lob_device_input(&j.whole.seeds, in->seeds, n * type_bytes(in->seeds_type), in->place),
        lob_device_input(&j.labels_before, in->labels, n * type_bytes(in->labels_type), in->place),
        lob_device_output(&j.whole.labels, out, n * type_bytes(j.type), in->place),
    };
    LOB_TRY(lob_device_send(context->device, travels, 4, n, error));
    const lob_status st = compute(&j, error);
    drop(&j, &j.pieces, j.pieces_bytes);
    drop(&j, &j.smooth, j.smooth_bytes);
    drop(&j, &j.mean, smooth_bytes(&j, j.channels));
    drop(&j, &j.block, j.block_bytes);
    LOB_TRY(st);
    return lob_device_receive(context->device, travels, 4, error);
}
