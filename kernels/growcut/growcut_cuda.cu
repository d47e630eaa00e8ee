/*
 * GrowCut on a GPU, the call: send the arrays, cut the image into sections (the volume, or its
 * slices), make batches of as many as fit, grow each with 32-bit keys and then, if these overflow,
 * with 64, fetch the results. The entry points are at the end.
 */
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/growcut/gpu/section_batch_cuda.cuh"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/share.h"

#include <math.h>
#include <stdlib.h>

namespace lob::growcut
{

/* Bounds the sections' tables, on the host and on the device. */
static const int64_t MAX_SECTIONS = 1024;

/* What the batches of a call share. */
typedef struct {
    section_batch batch;
    lob_view view;           /* of all sections: of a volume, or of all slices along its z */
    int64_t first, sections; /* of this rank, and behind its last */
    lob_device_budget budget;
    lob_growcut_stats sums;
    lob_error *error;
} growcut_call;

/* ---- what is grown together ---- */

/*
 * The view that is cut into sections. A volume one voxel thick is flat too: it has no neighbours
 * across, and flat tiles waste no cells.
 */
static lob_view view_of(lob_dims dims, int slice_axis, bool *flat)
{
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    int axis = slice_axis;
    for (int a = 2; a >= 0 && axis < 0; a--)
        if (side[a] == 1) axis = a;
    *flat = axis >= 0;
    if (axis < 0) return lob_view_whole(dims);
    lob_view view = lob_view_slice(dims, axis, 0);
    view.dims.nz = side[axis];
    return view;
}

/* Let the batch hold n sections, beginning with number `first`. */
static void take_sections(growcut_call *c, int64_t first, int64_t n)
{
    section_batch *batch = &c->batch;
    lob_device_view *view = &batch->view;
    view->offset = c->view.offset + (view->flat ? first * c->view.stride[2] : 0);
    for (int a = 0; a < 3; a++) view->stride[a] = c->view.stride[a];
    view->side[0] = (uint32_t)c->view.dims.nx;
    view->side[1] = (uint32_t)c->view.dims.ny;
    view->side[2] = (uint32_t)(view->flat ? n : c->view.dims.nz);
    batch->sections = view->flat ? n : 1;
    batch->progress_from = (double)first / (double)c->sections;
    batch->progress_share = (double)n / (double)c->sections;
    c->budget.voxels = (int64_t)view->side[0] * view->side[1] * view->side[2];
}

/* Bytes of the sections' tables and of the logarithms that these are made from, at most. */
static int64_t table_bytes(const section_batch *batch, int key_bits)
{
    const lob_growcut_options *options = batch->options;
    const lob_type type = batch->image.type;
    const bool strength = options->rule == LOB_RULE_STRENGTH;
    const bool fractions = batch->image.channels > 1 &&
                           (options->norm == LOB_NORM_L2 || options->norm == LOB_NORM_ALPHAMAX);
    const int64_t max_span = type == LOB_U8 || type == LOB_I8 ? 255 : 65535;
    const bool square = options->rule == LOB_RULE_SQUARE;
    if (!strength && !square && options->penalty == 0 && !fractions) return 0;
    int64_t entries = max_span * batch->image.channels + 1;
    if (fractions) entries = 2 * entries + LOB_GROWCUT_TABLE_ENTRIES;
    return batch->sections * entries * (key_bits / 8) +
           (strength ? entries * (int64_t)sizeof(double) : 0);
}

/* Bytes of working memory of the first attempt, at most. */
static int64_t first_bytes(const section_batch *batch)
{
    const int bits = batch->options->key_bits == 64 ? 64 : 32;
    return table_bytes(batch, bits) +
           (bits == 64 ? batch_bytes<u64>(batch) : batch_bytes<uint32_t>(batch));
}

/* Take all that are left, at most 1024, halved until they fit; at least one. Returns how many. */
static int64_t take_sections_that_fit(growcut_call *c, int64_t first)
{
    int64_t n = c->sections - first < MAX_SECTIONS ? c->sections - first : MAX_SECTIONS;
    for (take_sections(c, first, n); n > 1; take_sections(c, first, n = (n + 1) / 2)) {
        const int64_t bytes = first_bytes(&c->batch);
        if (bytes <= lob_device_budget_left(&c->budget, LOB_DEVICE_WORK, bytes)) break;
    }
    return n;
}

/* The same of all ranks: the least that one could take. */
static lob_status take_sections_of_all(growcut_call *c, int64_t first, int64_t *n)
{
    *n = take_sections_that_fit(c, first);
    if (!c->batch.slab) return LOB_OK;
    LOB_TRY(lob_team_reduce(c->batch.slab->team, n, 1, LOB_TEAM_MIN, c->error));
    take_sections(c, first, *n);
    return LOB_OK;
}

/* ---- a batch ---- */

/* What the host knows of each section; extremes and spans are of each section and channel. */
typedef struct {
    lob_extremes *extremes;
    lob_levels *levels;
    uint16_t *span;
    lob_growcut_rule *rules;
    uint64_t *largest;
} section_tables;

/* Lay out the tables in a block of ordinary memory; with NULL only its size, which is returned. */
static int64_t lay_out(section_tables *t, void *block, int64_t sections, int channels)
{
    arena memory(block);
    t->extremes = memory.take<lob_extremes>(sections * channels);
    t->levels = memory.take<lob_levels>(sections);
    t->span = memory.take<uint16_t>(sections * channels);
    t->rules = memory.take<lob_growcut_rule>(sections);
    t->largest = memory.take<uint64_t>(sections);
    return memory.used;
}

/* Scan the levels of every section, of all ranks, of which each looks at its own planes. */
static lob_status scan_levels(growcut_call *c, section_tables *t, void *work)
{
    const section_batch *batch = &c->batch;
    const lob_growcut_slab *const slab = batch->slab;
    const int across = batch->view.flat ? 1 : 2;
    lob_device_view own = batch->view;
    if (slab) {
        own.offset += slab->first * own.stride[across];
        own.side[across] = (uint32_t)(slab->end - slab->first);
    }
    LOB_TRY(levels::scan_extremes(batch->device, t->extremes, t->levels, &batch->image, &own, work,
                                  c->error));
    return slab ? lob_levels_of_team(t->extremes, t->levels, batch->sections, batch->in->image,
                                     slab->team, c->error)
                : LOB_OK;
}

/* Scan the levels of every section and make its rule. */
static lob_status make_rules(growcut_call *c, section_tables *t)
{
    section_batch *batch = &c->batch;
    const lob_volume *image = batch->in->image;
    const int channels = image->channels;
    const int64_t scan = levels::scan_bytes(batch->sections, channels);
    const int64_t later = first_bytes(batch);
    void *work = NULL;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_WORK, scan > later ? scan : later, &work,
                                   c->error));
    LOB_TRY(scan_levels(c, t, work));
    batch->data_voxels = 0;
    for (int64_t i = 0; i < batch->sections; i++) {
        uint16_t *span = t->span + i * channels;
        batch->data_voxels += t->levels[i].data_voxels;
        lob_levels_settle(&t->levels[i], span, t->extremes + i * channels, image);
        t->rules[i] = lob_growcut_rule_of(batch->options, &t->levels[i], span, image, &c->view);
    }
    batch->levels = t->levels;
    batch->rule = t->rules;
    return LOB_OK;
}

/* Add a batch's result to the call's. */
static void add_result(growcut_call *c, const section_tables *t, lob_growcut_stats stats)
{
    for (int64_t i = 0; i < c->batch.sections; i++) {
        const lob_levels *levels = &t->levels[i];
        const double cost = (double)t->largest[i] / t->rules[i].unit * levels->level_step;
        stats.data_voxels += levels->data_voxels;
        stats.not_finite += levels->not_finite;
        stats.largest_cost = fmax(stats.largest_cost, cost);
        stats.level_step = fmax(stats.level_step, levels->level_step);
    }
    lob_growcut_stats_add(&c->sums, &stats);
}

/* One attempt, with keys of type K. */
template <typename K>
static lob_status attempt(growcut_call *c, const section_tables *t, batch_result *result)
{
    *result = batch_result{};
    result->largest = t->largest;
    return grow_batch<K>(&c->batch, result, c->error);
}

/* Part of the progress given to the 32-bit attempt. Few calls need the 64-bit one after it. */
static const double FIRST_ATTEMPT = 0.9;

/* Do 32-bit keys leave bits enough for the steps of a flood, in every section? */
static bool has_step_bits(const section_batch *batch)
{
    const int label_bits = lob_growcut_label_bits(batch->in->labels);
    for (int64_t i = 0; i < batch->sections && batch->options->rule == LOB_RULE_FLOOD; i++)
        if (lob_growcut_step_bits(batch->rule[i].dmax, label_bits, 32) < LOB_GROWCUT_STEP_BITS)
            return false;
    return true;
}

/* Grow with the keys asked for, or with 32 bits and, if these overflow, again with 64. */
static lob_status grow_with_keys(growcut_call *c, const section_tables *t)
{
    section_batch *batch = &c->batch;
    const int asked = batch->options->key_bits;
    const double share = batch->progress_share;
    batch_result result = {};
    int bits = 64;
    if (asked != 64 && lob_growcut_try_32_bits(batch->in->labels) && has_step_bits(batch)) {
        batch->progress_share = asked == 32 ? share : share * FIRST_ATTEMPT;
        LOB_TRY(attempt<uint32_t>(c, t, &result));
        if (!result.overflow) bits = 32;
        batch->progress_from += batch->progress_share;
        batch->progress_share = share - batch->progress_share;
    }
    if (asked == 32 && bits == 64)
        return lob_fail(c->error, LOB_EARG, "path costs do not fit 32-bit keys");
    if (bits == 64) LOB_TRY(attempt<u64>(c, t, &result));
    if (bits == 64 && result.overflow && batch->options->rule == LOB_RULE_FLOOD)
        return lob_fail(c->error, LOB_EDATA, "plateaus are too wide for a flood of %d labels",
                        (int)batch->in->labels);
    result.stats.key_bits = bits;
    add_result(c, t, result.stats);
    return LOB_OK;
}

static lob_status grow_sections(growcut_call *c)
{
    const int64_t sections = c->batch.sections;
    const int channels = c->batch.image.channels;
    section_tables t = {};
    void *block = calloc(1, (size_t)lay_out(&t, NULL, sections, channels));
    if (!block) return LOB_ENOMEM;
    lay_out(&t, block, sections, channels);
    lob_status st = make_rules(c, &t);
    if (st == LOB_OK) st = grow_with_keys(c, &t);
    free(block);
    return st;
}

/* ---- a call ---- */

static lob_status begin(growcut_call *c, const lob_growcut_slab *slab)
{
    section_batch *batch = &c->batch;
    const lob_volume *image = batch->in->image;
    c->view = view_of(image->dims, batch->options->slice_axis, &batch->view.flat);
    const bool along = slab && batch->options->slice_axis == 2; /* a rank has slices of its own */
    c->first = along ? slab->first : 0;
    c->sections = along ? slab->end : batch->view.flat ? c->view.dims.nz : 1;
    batch->slab = along ? NULL : slab;
    const lob_dims dims = c->view.dims;
    const int64_t max = INT32_MAX, n = lob_dims_voxels(dims);
    if (lob_device_bytes_of(image) < 0 || n < 0 || n / 64 > max || dims.nx > max || dims.ny > max ||
        dims.nz > max)
        return lob_device_too_large(c->error);
    batch->image = lob_device_image_of(image, batch->arrays->image, batch->arrays->mask,
                                       batch->options->range);
    c->budget = lob_device_budget_of(batch->context, "GrowCut's tiles", n);
    return LOB_OK;
}

static lob_status grow_call(growcut_call *c, const lob_growcut_slab *slab)
{
    LOB_TRY(begin(c, slab));
    for (int64_t first = c->first, n; first < c->sections; first += n) {
        LOB_TRY(take_sections_of_all(c, first, &n));
        LOB_TRY(grow_sections(c));
    }
    LOB_TRY(lob_device_wait(c->batch.device, c->error));
    if (slab && !c->batch.slab) LOB_TRY(lob_growcut_stats_of_team(&c->sums, slab->team, c->error));
    return lob_growcut_check_grown(&c->sums, c->error);
}

/* Grow a volume, or a slab of it. */
static lob_status grow_input(const lob_growcut_output *out, lob_growcut_stats *stats,
                             const lob_growcut_input *in, const lob_growcut_options *options,
                             const lob_growcut_slab *slab, const lob_context *context,
                             lob_error *error)
{
    device_arrays arrays = {};
    growcut_call c = {};
    lob_device *device = context->device;
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_growcut_check(in, options, slab != NULL, error));
    const lob_place place = in->place;
    const int64_t voxels = lob_voxels(in->image), label_bytes = lob_device_bytes_of(in->seeds);
    const int64_t floats = lob_product(voxels, (int64_t)sizeof(float), 1, 1);
    const lob_device_array travels[] = {
        lob_device_volume(&arrays.image, in->image),
        lob_device_volume(&arrays.seeds, in->seeds),
        lob_device_input(&arrays.seed_strength, in->seed_strength, floats, place),
        lob_device_input(&arrays.mask, in->mask, voxels, place),
        lob_device_output(&arrays.labels, out->labels, label_bytes, place),
        lob_device_output(&arrays.strength, out->strength, out->strength ? floats : 0, place),
        lob_device_output(&arrays.tie, out->tie, out->tie ? voxels : 0, place),
    };
    const int n = sizeof travels / sizeof *travels;
    LOB_TRY(lob_device_send(device, travels, n, voxels, error));
    c.error = error;
    c.sums.fixed_point = true;
    c.batch.device = device;
    c.batch.budget = &c.budget;
    c.batch.in = in;
    c.batch.options = options;
    c.batch.arrays = &arrays;
    c.batch.context = context;
    const lob_status st = grow_call(&c, slab);
    if (stats) *stats = c.sums;
    LOB_TRY(st);
    LOB_TRY(lob_device_receive(device, travels, n, error));
    return lob_report(context, 1.0);
}

} /* namespace lob::growcut */

lob_status lob_growcut_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                            const lob_growcut_input *in, const lob_growcut_options *options,
                            const lob_context *context, lob_error *error)
{
    return lob::growcut::grow_input(out, stats, in, options, NULL, context, error);
}

lob_status lob_growcut_slabs_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                                  const lob_growcut_input *in, const lob_growcut_options *options,
                                  const lob_growcut_slab *slab, const lob_context *context,
                                  lob_error *error)
{
    if (lob_team_size(slab->team) == 1)
        return lob_growcut_cuda(out, stats, in, options, context, error);
    lob_status st = LOB_OK;
    if (options->rule == LOB_RULE_FLOOD || options->rounds > 0)
        st = lob_fail_hint(error, LOB_EARG, LOB_HINT_USE_CPU,
                           "floods and rounds of several ranks are grown by the CPU alone");
    else
        st = lob::growcut::grow_input(out, stats, in, options, slab, context, error);
    st = lob_error_end(error, st);
    return st == LOB_OK ? LOB_OK : lob_team_agree(slab->team, st, error);
}
