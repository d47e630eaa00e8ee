/* GrowCut on the CPU: the whole volume as one job of the tile engine, or every slice as one. */
#include "kernels/growcut/cpu/growcut_tiles.h"

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
    if (part->rounds > to->rounds) to->rounds = part->rounds;
    to->fixed_point = to->fixed_point && part->fixed_point;
    if (part->key_bits > to->key_bits) to->key_bits = part->key_bits;
    if (part->working_bytes > to->working_bytes) to->working_bytes = part->working_bytes;
}

/* What the narrow key's try is of the whole, when the wide one may have to follow: few need it. */
static const double FIRST_TRY = 0.9;

/* Let the next run tell of its share of what the runs before it left of the job. */
static void next_part(lob_growcut_job *run, const lob_growcut_job *job, double share)
{
    run->done_before = run->done_after;
    run->done_after = share < 1 ? run->done_before + (job->done_after - run->done_before) * share
                                : job->done_after;
}

/* Grow with the key asked for, or with the narrow one and again with the wide one if it overflows.
 */
static lob_status grow_keyed(const lob_growcut_job *job, int key_bits, lob_growcut_stats *stats,
                             lob_error *error)
{
    const bool narrow = key_bits != 64 && lob_growcut_try_32_bits(job->in->labels);
    const double share = job->out->tie ? 0.5 : 1.0;
    lob_growcut_result result = {.overflow = !narrow}, ties = {0};
    lob_growcut_job run = *job;
    lob_status st = LOB_OK;
    run.done_after = job->done_before;
    if (narrow) {
        next_part(&run, job, key_bits == 32 ? share : FIRST_TRY * share);
        st = lob_growcut_tiles_32(&run, &result, error);
    }
    if (st != LOB_OK) return st;
    if (result.overflow && key_bits == 32)
        return lob_fail(error, LOB_EARG, "path costs do not fit 32-bit keys");
    stats->key_bits = result.overflow ? 64 : 32;
    stats->working_bytes = result.working_bytes;
    if (result.overflow) {
        next_part(&run, job, share);
        st = lob_growcut_tiles_64(&run, &result, error);
    }
    if (st != LOB_OK) return st;
    if (job->out->tie) {
        next_part(&run, job, 1.0);
        st = stats->key_bits == 32 ? lob_growcut_ties_32(&run, &ties, error)
                                   : lob_growcut_ties_64(&run, &ties, error);
    }
    stats->seeds = result.seeds;
    stats->seeds_outside = result.seeds_outside;
    stats->reached = result.reached;
    stats->ties = ties.ties;
    stats->rounds = result.rounds;
    stats->fixed_point = result.fixed_point;
    stats->largest_cost = (double)result.largest / job->rule.unit * job->levels.level_step;
    if (result.working_bytes > stats->working_bytes) stats->working_bytes = result.working_bytes;
    if (ties.working_bytes > stats->working_bytes) stats->working_bytes = ties.working_bytes;
    return st;
}

/* Grow over one view: scan its levels, make its rule, run the engine. */
static lob_status grow_view(lob_growcut_job *job, const lob_growcut_options *options,
                            lob_growcut_stats *stats, lob_error *error)
{
    uint16_t span[LOB_GROWCUT_MAX_CHANNELS];
    lob_levels_scan(&job->levels, span, &job->data, &job->view, job->threads);
    job->rule = lob_growcut_rule_of(options, &job->levels, span, job->in->image, &job->view);
    uint32_t *cost = lob_growcut_costs(&job->rule);
    if (!cost) return LOB_ENOMEM;
    job->cost = cost;
    const lob_status st = grow_keyed(job, options->key_bits, stats, error);
    free(cost);
    stats->data_voxels = job->levels.data_voxels;
    stats->not_finite = job->levels.not_finite;
    stats->level_step = job->levels.level_step;
    return st;
}

/* All slices across an axis. */
typedef struct {
    const lob_growcut_job *whole;
    const lob_growcut_options *options;
    int64_t count;
    bool *grown;  /* count */
    int at_once;  /* each by one thread; 1: one after another, by all threads */
    bool patient; /* a slice that does not fit waits until fewer are grown at once */
    atomic_int stop;
    atomic_llong finished;
    lob_growcut_stats *stats;
    lob_status status; /* the first failure */
    lob_error *error;
} slices;

/* The first thread tells the progress and hears of a cancel. */
static lob_status grow_slice(const slices *all, int64_t s, lob_growcut_stats *part, lob_error *line)
{
    const lob_growcut_job *whole = all->whole;
    const int64_t finished = atomic_load(&all->finished), most = whole->max_memory / all->at_once;
    lob_growcut_job job = *whole;
    job.view = lob_view_slice(whole->in->image->dims, all->options->slice_axis, s);
    job.threads = all->at_once > 1 ? 1 : whole->threads;
    job.max_memory = whole->max_memory && most == 0 ? 1 : most;
    job.cancelled = &all->stop;
    job.context = omp_get_thread_num() == 0 ? whole->context : NULL;
    job.done_before = (double)finished / (double)all->count;
    /* What may have to be grown again tells nothing before it is finished. */
    job.done_after = (double)(finished + !all->patient) / (double)all->count;
    return grow_view(&job, all->options, part, line);
}

static void grow_round(slices *all)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(all->at_once)
    for (int64_t s = 0; s < all->count; s++) {
        if (all->grown[s] || atomic_load_explicit(&all->stop, memory_order_relaxed)) continue;
        lob_growcut_stats part = {0};
        lob_error line = {.text = ""};
        const lob_status st = grow_slice(all, s, &part, &line);
        if (st == LOB_ENOMEM && all->patient) continue;
        part.working_bytes *= all->at_once;
        all->grown[s] = true;
        atomic_fetch_add(&all->finished, 1);
#pragma omp critical(lob_growcut_slices)
        {
            add(all->stats, &part);
            if (st != LOB_OK && all->status == LOB_OK) {
                all->status = st;
                if (all->error) *all->error = line;
                atomic_store(&all->stop, 1);
            }
        }
    }
}

/*
 * Every slice as an image of its own. With at least as many slices as threads each thread takes
 * whole slices and its part of the memory; those that need more than that come afterwards, fewer
 * and fewer at once.
 */
static lob_status grow_slices(const lob_growcut_job *whole, const lob_growcut_options *options,
                              lob_growcut_stats *stats, lob_error *error)
{
    const lob_dims dims = whole->in->image->dims;
    const int axis = options->slice_axis;
    slices all = {.whole = whole, .options = options, .stats = stats, .error = error};
    all.count = axis == 0 ? dims.nx : axis == 1 ? dims.ny : dims.nz;
    all.grown = calloc((size_t)all.count, sizeof *all.grown);
    if (!all.grown) return LOB_ENOMEM;
    all.at_once = all.count >= whole->threads ? whole->threads : 1;
    for (; all.at_once > 0 && all.status == LOB_OK; all.at_once /= 2) {
        if (atomic_load(&all.finished) == all.count) break;
        all.patient = all.at_once > 1 && whole->max_memory > 0;
        grow_round(&all);
    }
    free(all.grown);
    return all.status;
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
        .rounds = options->rounds,
        .tile = options->tile ? options->tile
                : flat        ? TILE_2D
                              : TILE_3D,
        .threads = context->threads > 0 ? context->threads : 1,
        .max_memory = context->max_memory,
        .context = context,
        .done_after = 1.0
    };
    lob_growcut_stats sums = {.fixed_point = true};
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
