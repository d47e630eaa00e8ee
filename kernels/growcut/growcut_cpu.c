/* GrowCut on the CPU: sweeps, where they serve, else tiles, or the flood, grow each section. */
#include "kernels/arrays.h"
#include "kernels/growcut/cpu/growcut_flood.h"
#include "kernels/growcut/cpu/growcut_sweeps.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/share.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* Voxels along a tile's side: its keys and levels then fit the second-level cache. */
enum { TILE_3D = 32, TILE_2D = 128 };

/* Part of the progress given to an attempt. Few calls need wider keys after it. */
static const double FIRST_ATTEMPT = 0.9;

/* Give the next pass its share of what the passes before it left of the section's progress. */
static void next_pass(lob_growcut_section *pass, const lob_growcut_section *section, double share)
{
    const double left = section->progress_to - pass->progress_to;
    pass->progress_from = pass->progress_to;
    pass->progress_to = share < 1 ? pass->progress_from + left * share : section->progress_to;
}

lob_growcut_stats lob_growcut_section_stats(const lob_growcut_section *section,
                                            const lob_growcut_result *result, int key_bits)
{
    lob_growcut_stats stats = result->stats;
    const double levels = (double)result->largest / section->rule.unit;
    stats.key_bits = key_bits;
    stats.largest_cost = levels * section->levels.level_step;
    stats.data_voxels = section->levels.data_voxels;
    stats.not_finite = section->levels.not_finite;
    stats.level_step = section->levels.level_step;
    return stats;
}

bool lob_growcut_stops(const lob_growcut_section *section, int64_t reached)
{
    const lob_context *const context = section->context;
    const double all = (double)section->levels.data_voxels;
    const double share = all > 0 ? fmin((double)reached / all, 1) : 1;
    if (section->cancelled && atomic_load_explicit(section->cancelled, memory_order_relaxed))
        return true;
    return context && context->progress &&
           context->progress(context->user,
                             section->progress_from +
                                 (section->progress_to - section->progress_from) * share) != 0;
}

bool lob_growcut_in_parts(lob_growcut_result *result, lob_growcut_part *part, const void *engine,
                          int64_t parts, int threads)
{
    int64_t seeds = 0, outside = 0, reached = 0, ties = 0, steps = 0;
    uint64_t largest = 0;
    bool overflow = false, failed = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic, parts / (64 * threads) + 1)        \
    reduction(+ : seeds, outside, reached, ties) reduction(max : largest, steps)                   \
    reduction(|| : overflow, failed)
    for (int64_t i = 0; i < parts; i++) {
        lob_growcut_result of = {0};
        failed = !part(engine, i, &of) || failed;
        seeds += of.stats.seeds;
        outside += of.stats.seeds_outside;
        reached += of.stats.reached;
        ties += of.stats.ties;
        overflow = overflow || of.overflow;
        if (of.largest > largest) largest = of.largest;
        if (of.steps > steps) steps = of.steps;
    }
    result->stats.seeds += seeds;
    result->stats.seeds_outside += outside;
    result->stats.reached += reached;
    result->stats.ties += ties;
    result->overflow = result->overflow || overflow;
    if (largest > result->largest) result->largest = largest;
    if (steps > result->steps) result->steps = steps;
    return !failed;
}

/* Grow with the keys asked for; or by sweeps, with 32 bits and with 64, if those before overflow.
 */
static lob_status grow_with_keys(const lob_growcut_section *section, int key_bits,
                                 lob_growcut_stats *stats, lob_error *error)
{
    const bool try_32 = key_bits != 64 && lob_growcut_try_32_bits(section->in->labels);
    const double share = section->out->tie ? 0.5 : 1.0;
    lob_growcut_result result = {.overflow = !try_32}, ties = {0};
    lob_growcut_section pass = *section;
    pass.progress_to = section->progress_from;
    if (key_bits != 64 && !section->slab && lob_growcut_sweeps_fit(section)) {
        next_pass(&pass, section, FIRST_ATTEMPT);
        LOB_TRY(lob_growcut_sweeps(&pass, &result, error));
        *stats = lob_growcut_section_stats(section, &result, 32);
        if (!result.overflow) return LOB_OK;
    }
    if (try_32) {
        next_pass(&pass, section, key_bits == 32 ? share : FIRST_ATTEMPT * share);
        LOB_TRY(lob_growcut_tiles_32.grow(&pass, false, &result, error));
    }
    if (result.overflow && key_bits == 32)
        return lob_fail(error, LOB_EARG, "path costs do not fit 32-bit keys");
    const bool wide = result.overflow;
    *stats = result.stats;
    if (wide) {
        next_pass(&pass, section, share);
        LOB_TRY(lob_growcut_tiles_64.grow(&pass, false, &result, error));
    }
    if (section->out->tie) {
        next_pass(&pass, section, 1.0);
        const lob_growcut_engine *const engine =
            wide ? &lob_growcut_tiles_64 : &lob_growcut_tiles_32;
        LOB_TRY(engine->grow(&pass, true, &ties, error));
    }
    const int64_t bytes[2] = {stats->working_bytes, ties.stats.working_bytes};
    *stats = lob_growcut_section_stats(section, &result, wide ? 64 : 32);
    stats->ties = ties.stats.ties;
    for (int i = 0; i < 2; i++)
        if (bytes[i] > stats->working_bytes) stats->working_bytes = bytes[i];
    return LOB_OK;
}

/* Would keys of 32 bits hold the labels, the levels and this many steps? A flood here has none, but
 * on a GPU. */
static bool fit_32_bits(const lob_growcut_section *section, int64_t steps)
{
    const int32_t labels = section->in->labels;
    const int bits = lob_growcut_step_bits(section->rule.dmax, lob_growcut_label_bits(labels), 32);
    return lob_growcut_try_32_bits(labels) && bits >= LOB_GROWCUT_STEP_BITS && steps >> bits == 0;
}

static lob_status flood(const lob_growcut_section *section, int key_bits, lob_growcut_stats *stats,
                        lob_error *error)
{
    lob_growcut_result result;
    LOB_TRY(lob_growcut_flood(section, &result, error));
    const bool wide = !fit_32_bits(section, result.steps);
    if (wide && key_bits == 32)
        return lob_fail(error, LOB_EARG, "path costs do not fit 32-bit keys");
    *stats = lob_growcut_section_stats(section, &result, wide || key_bits == 64 ? 64 : 32);
    return LOB_OK;
}

/* The levels of all slabs: of the planes that are each rank's own. */
static lob_status scan_slabs(lob_growcut_section *section, uint16_t *span, lob_error *error)
{
    const lob_growcut_slab *const slab = section->slab;
    lob_extremes all[LOB_GROWCUT_MAX_CHANNELS];
    lob_view own = section->view;
    own.offset += slab->first * own.stride[section->seam_axis];
    *(section->seam_axis == 2 ? &own.dims.nz : &own.dims.ny) = slab->end - slab->first;
    LOB_TRY(lob_levels_extremes_of_team(all, &section->levels, &section->data, &own,
                                        section->threads, slab->team, error));
    lob_levels_settle(&section->levels, span, all, section->data.image);
    return LOB_OK;
}

lob_status lob_growcut_section_begin(lob_growcut_section *section,
                                     const lob_growcut_options *options, lob_error *error)
{
    uint16_t span[LOB_GROWCUT_MAX_CHANNELS];
    if (section->slab)
        LOB_TRY(scan_slabs(section, span, error));
    else
        lob_levels_scan(&section->levels, span, &section->data, &section->view, section->threads);
    section->rule =
        lob_growcut_rule_of(options, &section->levels, span, section->in->image, &section->view);
    section->cost = lob_growcut_costs(&section->rule);
    return section->cost ? LOB_OK : LOB_ENOMEM;
}

/* Grow one section: scan its levels, make its rule, run the engine. */
static lob_status grow_section(lob_growcut_section *section, const lob_growcut_options *options,
                               lob_growcut_stats *stats, lob_error *error)
{
    LOB_TRY(lob_growcut_section_begin(section, options, error));
    const lob_status st = (section->rule.kind == LOB_RULE_FLOOD ? flood : grow_with_keys)(
        section, options->key_bits, stats, error);
    free(section->cost);
    return st;
}

/* The slices across an axis. */
typedef struct {
    const lob_growcut_section *whole;
    const lob_growcut_options *options;
    int64_t first, count;
    bool *grown; /* count */
    int at_once; /* each by one thread; 1: one after another, by all threads */
    bool retry;  /* a slice that exceeds its memory is grown later, with fewer at once */
    atomic_int stop;
    atomic_llong finished;
    lob_growcut_stats *stats;
    lob_status status; /* the first failure */
    lob_error *error;
} slices;

/* Only the calling thread, which is thread 0, reports progress. */
static lob_status grow_slice(const slices *all, int64_t s, lob_growcut_stats *part,
                             lob_error *reason)
{
    const lob_growcut_section *whole = all->whole;
    const int64_t finished = atomic_load(&all->finished), limit = whole->max_memory / all->at_once;
    lob_growcut_section section = *whole;
    section.view = lob_view_slice(whole->in->image->dims, all->options->slice_axis, all->first + s);
    section.seam_axis = 1; /* the slices across x and y have z as their y */
    section.threads = all->at_once > 1 ? 1 : whole->threads;
    section.max_memory = whole->max_memory && limit == 0 ? 1 : limit;
    section.cancelled = &all->stop;
    section.context = omp_get_thread_num() == 0 ? whole->context : NULL;
    section.progress_from = (double)finished / (double)all->count;
    /* A slice that may have to be grown again reports no progress. */
    section.progress_to = (double)(finished + !all->retry) / (double)all->count;
    return grow_section(&section, all->options, part, reason);
}

/* Grow the slices that are not grown yet. */
static void grow_the_rest(slices *all)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(all->at_once)
    for (int64_t s = 0; s < all->count; s++) {
        if (all->grown[s] || atomic_load_explicit(&all->stop, memory_order_relaxed)) continue;
        lob_growcut_stats part = {0};
        lob_error reason = {.text = ""};
        const lob_status st = grow_slice(all, s, &part, &reason);
        if (st == LOB_ENOMEM && all->retry) continue;
        part.working_bytes *= all->at_once;
        all->grown[s] = true;
        atomic_fetch_add(&all->finished, 1);
#pragma omp critical(lob_growcut_slices)
        {
            lob_growcut_stats_add(all->stats, &part);
            if (st != LOB_OK && all->status == LOB_OK) {
                all->status = st;
                if (all->error) *all->error = reason;
                atomic_store(&all->stop, 1);
            }
        }
    }
}

/*
 * Grow each of some slices on its own. With at least as many slices as threads, each thread takes
 * whole slices and an equal part of the memory. Slices that need more are grown afterwards, with
 * half as many at once, and so on.
 */
static lob_status grow_slices(const lob_growcut_section *whole, const lob_growcut_options *options,
                              int64_t first, int64_t end, lob_growcut_stats *stats,
                              lob_error *error)
{
    slices all = {.whole = whole, .options = options, .stats = stats, .error = error};
    all.first = first;
    all.count = end - first;
    all.grown = calloc((size_t)all.count, sizeof *all.grown);
    if (!all.grown) return LOB_ENOMEM;
    /* Ranks take the slices that they share in the same order. */
    all.at_once = all.count >= whole->threads && !whole->slab ? whole->threads : 1;
    for (; all.at_once > 0 && all.status == LOB_OK; all.at_once /= 2) {
        if (atomic_load(&all.finished) == all.count) break;
        all.retry = all.at_once > 1 && whole->max_memory > 0;
        grow_the_rest(&all);
    }
    free(all.grown);
    return all.status;
}

lob_growcut_section lob_growcut_section_of(const lob_growcut_output *out,
                                           const lob_growcut_input *in,
                                           const lob_growcut_options *options,
                                           const lob_context *context)
{
    const bool flat = options->slice_axis >= 0;
    return (lob_growcut_section){
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
        .progress_to = 1.0
    };
}

lob_status lob_growcut_stats_of_team(lob_growcut_stats *stats, lob_team *team, lob_error *error)
{
    const int size = lob_team_size(team);
    const lob_growcut_stats mine = *stats;
    lob_growcut_stats *const all = malloc((size_t)size * sizeof *all);
    const lob_status st = all ? lob_team_share(team, all, &mine, sizeof mine, error) : LOB_ENOMEM;
    *stats = (lob_growcut_stats){.fixed_point = true};
    for (int r = 0; r < size && st == LOB_OK; r++) lob_growcut_stats_add(stats, &all[r]);
    free(all);
    return st;
}

lob_status lob_growcut_stats_of_slabs(lob_growcut_stats *stats, uint64_t *largest, int64_t n,
                                      bool *overflow, lob_team *team, lob_error *error)
{
    int64_t over = *overflow;
    LOB_TRY(lob_growcut_stats_of_team(stats, team, error));
    LOB_TRY(lob_team_reduce(team, &over, 1, LOB_TEAM_MAX, error));
    *overflow = over != 0;
    return lob_team_reduce(team, (int64_t *)largest, (int)n, LOB_TEAM_MAX, error);
}

/* Grow a volume, or a slab of it. */
static lob_status grow_input(const lob_growcut_output *out, lob_growcut_stats *stats,
                             const lob_growcut_input *in, const lob_growcut_options *options,
                             const lob_growcut_slab *slab, const lob_context *context,
                             lob_error *error)
{
    LOB_TRY(lob_check_memory(in->place, in->image, in->seeds, error));
    LOB_TRY(lob_growcut_check(in, options, slab != NULL, error));
    const lob_dims dims = in->image->dims;
    const int axis = options->slice_axis;
    const int64_t first = axis == 2 && slab ? slab->first : 0;
    const int64_t end = axis == 0 ? dims.nx : axis == 1 ? dims.ny : slab ? slab->end : dims.nz;
    lob_growcut_section section = lob_growcut_section_of(out, in, options, context);
    lob_growcut_stats sums = {.fixed_point = true};
    section.slab = axis == 2 ? NULL : slab;
    section.seam_axis = 2;
    lob_status st = axis >= 0 ? grow_slices(&section, options, first, end, &sums, error)
                              : grow_section(&section, options, &sums, error);
    if (st == LOB_OK && axis == 2 && slab) st = lob_growcut_stats_of_team(&sums, slab->team, error);
    if (st == LOB_OK) st = lob_growcut_check_grown(&sums, error);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    if (stats) *stats = sums;
    return st;
}

lob_status lob_growcut_cpu(const lob_growcut_output *out, lob_growcut_stats *stats,
                           const lob_growcut_input *in, const lob_growcut_options *options,
                           const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    const lob_status st = grow_input(out, stats, in, options, NULL, context, error);
    return lob_error_end(error, st);
}

lob_status lob_growcut_slabs(const lob_growcut_output *out, lob_growcut_stats *stats,
                             const lob_growcut_input *in, const lob_growcut_options *options,
                             const lob_growcut_slab *slab, const lob_context *context,
                             lob_error *error)
{
    if (lob_team_size(slab->team) == 1)
        return lob_growcut_cpu(out, stats, in, options, context, error);
    lob_error_begin(error);
    lob_status st = grow_input(out, stats, in, options, slab, context, error);
    st = lob_error_end(error, st);
    return st == LOB_OK ? LOB_OK : lob_team_agree(slab->team, st, error);
}
