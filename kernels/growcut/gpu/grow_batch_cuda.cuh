/*
 * GrowCut on a GPU: a batch of sections, with keys of one width. Tiles are filled, grown to the
 * fixed point (or by rounds of the automaton), and the results written. The tie zone takes a second
 * pass in which the largest label wins ties: it is where the labels of the two passes differ.
 */
#ifndef LOB_GROW_BATCH_CUDA_CUH
#define LOB_GROW_BATCH_CUDA_CUH

#include "kernels/growcut/gpu/fill_tiles_cuda.cuh"
#include "kernels/growcut/gpu/grow_rounds_cuda.cuh"
#include "kernels/growcut/gpu/grow_tiles_cuda.cuh"
#include "kernels/growcut/gpu/write_results_cuda.cuh"

#include <stdlib.h>
#include <string.h>

namespace lob::growcut
{

/* One pass: of the batch's progress it is `share`, from `from` on. */
template <typename K, typename S>
static lob_status run_pass(grow_state<K> *state, bool reversed, double from, double share)
{
    lob_device *device = state->batch->device;
    lob_error *error = state->error;
    grow_params<K> *g = &state->g;
    grow_counters *counters = g->counters;
    g->reversed = reversed;
    g->levels_known = reversed;
    state->pass_from = from;
    state->pass_share = share;
    LOB_TRY(lob_device_fill(device, counters, 0, counters_bytes(state->batch), error));
    LOB_TRY(lob_device_fill(device, counters->min_priority, 0xff, sizeof counters->min_priority,
                            error));
    LOB_TRY(launch(state, fill_kernel<K, S>, "filling tiles", g->cells, *g));
    LOB_TRY((put_soft_seeds<K, S>(state)));
    LOB_TRY((g->flood                        ? flood_tiles<K, S>(state)
             : state->batch->options->rounds ? grow_rounds<K, S>(state)
                                             : grow_tiles<K, S>(state)));
    LOB_TRY(launch(state, write_kernel<K, S>, "writing labels", g->cells, *g));
    return lob_device_download(device, state->counters, counters, counters_bytes(state->batch),
                               error);
}

template <typename K, typename S> static lob_status run_passes(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    const grow_counters *counters = state->counters;
    batch_result *result = state->result;
    const double share = batch->arrays->tie ? 0.5 : 1.0;
    LOB_TRY((run_pass<K, S>(state, false, 0.0, share)));
    const int64_t asked = batch->options->rounds, changing = (int64_t)counters->rounds;
    result->stats.seeds = (int64_t)counters->seeds;
    result->stats.seeds_outside = (int64_t)counters->outside;
    result->stats.reached = (int64_t)counters->labelled;
    result->stats.fixed_point = !asked || changing <= asked;
    result->stats.rounds = changing < asked ? changing : asked;
    memcpy(result->largest, state->largest, (size_t)batch->sections * sizeof *state->largest);
    if (state->g.flood || sizeof(K) == 4) LOB_TRY((find_overflow<K, S>(state)));
    if (batch->slab)
        LOB_TRY(lob_growcut_stats_of_slabs(&result->stats, result->largest, batch->sections,
                                           &result->overflow, batch->slab->team, state->error));
    if (result->overflow) return LOB_OK;
    if (batch->arrays->strength) LOB_TRY((write_strengths<K, S>(state)));
    if (!batch->arrays->tie) return LOB_OK;
    LOB_TRY((run_pass<K, S>(state, true, share, share)));
    result->stats.ties = (int64_t)counters->ties;
    return batch->slab ? lob_team_reduce(batch->slab->team, &result->stats.ties, 1, LOB_TEAM_SUM,
                                         state->error)
                       : LOB_OK;
}

/* Set the parameters that have nothing to do with working memory. */
template <typename K> static void describe(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    grow_params<K> *g = &state->g;
    g->image = batch->image;
    g->view = batch->view;
    g->seeds = batch->arrays->seeds;
    g->labels = batch->arrays->labels;
    g->tie = batch->arrays->tie;
    g->strength = batch->arrays->strength;
    g->label_type = batch->in->seeds->type;
    g->norm = batch->options->norm;
    g->largest_label = batch->in->labels;
    g->label_bits = lob_growcut_label_bits(batch->in->labels);
    g->label_mask = ((K)1 << g->label_bits) - 1;
    g->flood = batch->options->rule == LOB_RULE_FLOOD;
    g->reads_values = lob_growcut_reads_values(batch->options->rule);
    g->soft = batch->arrays->seed_strength != NULL;
    g->penalty = batch->options->penalty > 0;
    g->mailbox = batch->context->progress ? lob_device_mailbox_of(batch->device) : NULL;
    /* Several channels take longer to compare: cells make offers less often in a narrow window. */
    g->window_steps = layout_of(batch) == PACKED ? 3 : 30;
    g->own_first = batch->slab ? (uint32_t)batch->slab->first : 0;
    g->own_count = batch->slab ? (uint32_t)(batch->slab->end - batch->slab->first) : UINT32_MAX;
}

template <typename K> static lob_status prepare(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    void *block = NULL;
    describe(state);
    place_tables(state);
    make_sections(state);
    const int64_t bytes = lay_out(state, NULL);
    LOB_TRY(lob_device_budget_take(batch->budget, LOB_DEVICE_WORK, bytes, &block, state->error));
    lay_out(state, block);
    state->result->stats.working_bytes = bytes;
    LOB_TRY(lob_device_upload(batch->device, (void *)state->g.sections, state->sections,
                              batch->sections * (int64_t)sizeof *state->sections, state->error));
    return make_tables(state);
}

template <typename K> int64_t batch_bytes(const section_batch *batch)
{
    grow_state<K> state = {};
    state.batch = batch;
    return lay_out(&state, NULL);
}

template <typename K>
lob_status grow_batch(const section_batch *batch, batch_result *result, lob_error *error)
{
    grow_state<K> state = {};
    state.batch = batch;
    state.result = result;
    state.error = error;
    state.sections = (section_rule *)calloc((size_t)batch->sections, sizeof *state.sections);
    state.counters = (grow_counters *)calloc(1, (size_t)counters_bytes(batch));
    split_counters(state.counters, batch->sections, &state.largest, &state.overflow);
    lob_status st = state.sections && state.counters ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = prepare(&state);
    if (st == LOB_OK)
        st = batch->view.flat ? run_passes<K, slice_tile>(&state)
                              : run_passes<K, volume_tile>(&state);
    free(state.sections);
    free(state.counters);
    return st;
}

} /* namespace lob::growcut */

#endif
