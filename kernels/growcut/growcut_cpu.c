/* GrowCut on the CPU: the whole volume as one job of the tile engine, or every slice as one. */
#include "kernels/growcut/growcut_tiles.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* Sides that keep a tile's keys and levels in the second-level cache. */
enum { TILE_3D = 32, TILE_2D = 128 };

static void add(lob_growcut_stats *to, const lob_growcut_stats *part)
{
    to->data_voxels += part->data_voxels;
    to->not_finite += part->not_finite;
    to->seeds += part->seeds;
    to->seeds_outside += part->seeds_outside;
    to->reached += part->reached;
    to->ties += part->ties;
    to->largest_cost = fmax(to->largest_cost, part->largest_cost);
    to->level_step = fmax(to->level_step, part->level_step);
    if (part->key_bits > to->key_bits) to->key_bits = part->key_bits;
    if (part->working_bytes > to->working_bytes) to->working_bytes = part->working_bytes;
}

/* Beyond so many labels a narrow key has no room worth trying. */
enum { NARROW_LABELS = 1 << 24 };

/* Grow with the key asked for, or with the narrow one and again with the wide one if it overflows.
 */
static lob_status grow_keyed(const lob_growcut_job *job, int key_bits, lob_growcut_stats *stats,
                             lob_error *error)
{
    lob_growcut_result result = {0}, ties = {0};
    lob_status st = LOB_OK;
    stats->key_bits = 64;
    if (key_bits != 64) {
        result.overflow = job->in->labels >= NARROW_LABELS;
        if (!result.overflow) st = lob_growcut_tiles_32(job, &result, error);
        if (st != LOB_OK) return st;
        if (!result.overflow)
            stats->key_bits = 32;
        else if (key_bits == 32)
            return lob_fail(error, LOB_EARG, "path costs do not fit 32-bit keys");
    }
    stats->working_bytes = result.working_bytes;
    if (stats->key_bits == 64) st = lob_growcut_tiles_64(job, &result, error);
    if (st != LOB_OK) return st;
    if (job->out->tie)
        st = stats->key_bits == 32 ? lob_growcut_ties_32(job, &ties, error)
                                   : lob_growcut_ties_64(job, &ties, error);
    stats->seeds = result.seeds;
    stats->seeds_outside = result.seeds_outside;
    stats->reached = result.reached;
    stats->ties = ties.ties;
    stats->largest_cost = (double)result.largest / job->rule.unit * job->levels.level_step;
    if (result.working_bytes > stats->working_bytes) stats->working_bytes = result.working_bytes;
    if (ties.working_bytes > stats->working_bytes) stats->working_bytes = ties.working_bytes;
    return st;
}

/* Grow over one view: scan its levels, make its rule, run the engine. */
static lob_status grow_view(lob_growcut_job *job, const lob_growcut_options *options,
                            lob_growcut_stats *stats, lob_error *error)
{
    uint16_t span[LOB_GROWCUT_CHANNELS];
    lob_levels_scan(&job->levels, span, &job->data, &job->view, job->threads);
    lob_status st = lob_growcut_rules_make(&job->rule, 1, options, &job->levels, span,
                                           job->in->image, &job->view, 1);
    if (st != LOB_OK) return st;
    st = grow_keyed(job, options->key_bits, stats, error);
    stats->data_voxels = job->levels.data_voxels;
    stats->not_finite = job->levels.not_finite;
    stats->level_step = job->levels.level_step;
    lob_growcut_rule_free(&job->rule);
    return st;
}

/*
 * Every slice as an image of its own. With at least as many slices as threads each thread takes
 * whole slices; the first thread tells the progress and hears of a cancel.
 */
static lob_status grow_slices(const lob_growcut_job *whole, const lob_growcut_options *options,
                              lob_growcut_stats *stats, lob_error *error)
{
    const lob_dims dims = whole->in->image->dims;
    const int axis = options->slice_axis;
    const int64_t slices = axis == 0 ? dims.nx : axis == 1 ? dims.ny : dims.nz;
    const int outer = slices >= whole->threads ? whole->threads : 1;
    lob_status first_failure = LOB_OK;
    atomic_int stop = 0;
    atomic_llong finished = 0;

#pragma omp parallel for schedule(dynamic, 1) num_threads(outer)
    for (int64_t s = 0; s < slices; s++) {
        if (atomic_load_explicit(&stop, memory_order_relaxed)) continue;
        lob_growcut_job job = *whole;
        const bool tells = omp_get_thread_num() == 0;
        lob_growcut_stats part = {0};
        lob_error line = {""};
        job.view = lob_view_slice(dims, axis, s);
        job.threads = outer > 1 ? 1 : whole->threads;
        job.cancelled = &stop;
        job.context = tells ? whole->context : NULL;
        job.done_before = (double)atomic_load(&finished) / (double)slices;
        job.done_now = 1.0 / (double)slices;
        const lob_status st = grow_view(&job, options, &part, &line);
        atomic_fetch_add(&finished, 1);
#pragma omp critical(lob_growcut_slices)
        {
            add(stats, &part);
            if (st != LOB_OK && first_failure == LOB_OK) {
                first_failure = st;
                if (error) *error = line;
                atomic_store(&stop, 1);
            }
        }
    }
    stats->working_bytes *= outer;
    return first_failure;
}

lob_status lob_growcut_cpu(const lob_growcut_output *out, lob_growcut_stats *stats,
                           const lob_growcut_input *in, const lob_growcut_options *options,
                           const lob_context *context, lob_error *error)
{
    lob_status st = lob_growcut_check(in, options, error);
    if (st != LOB_OK) return st;
    const bool flat = options->slice_axis >= 0;
    lob_growcut_job job = {
        .in = in,
        .out = out,
        .data = {in->image, in->mask, {options->range[0], options->range[1]}},
        .view = lob_view_whole(in->image->dims),
        .norm = options->norm,
        .tile = options->tile ? options->tile
                : flat        ? TILE_2D
                              : TILE_3D,
        .threads = context->threads > 0 ? context->threads : 1,
        .max_memory = context->max_memory,
        .context = context,
        .done_now = 1.0
    };
    lob_growcut_stats sums = {0};
    st = flat ? grow_slices(&job, options, &sums, error) : grow_view(&job, options, &sums, error);
    if (st == LOB_OK && sums.seeds == 0)
        st = lob_fail(error, LOB_EDATA,
                      "all %lld seed voxels lie outside the mask, the range or the finite values",
                      (long long)sums.seeds_outside);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    if (stats) *stats = sums;
    return st;
}
