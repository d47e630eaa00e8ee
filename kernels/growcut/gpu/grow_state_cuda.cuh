/*
 * GrowCut on a GPU, the host's side of a batch with keys of one width: its working memory, the
 * rules of its sections, progress, launches.
 */
#ifndef LOB_GROW_STATE_CUDA_CUH
#define LOB_GROW_STATE_CUDA_CUH

#include "kernels/device/arena.cuh"
#include "kernels/growcut/gpu/grow_params_cuda.cuh"
#include "kernels/growcut/gpu/section_batch_cuda.cuh"

#include <math.h>
#include <stdlib.h>

namespace lob::growcut
{

/* Soft seeds, strengths and costs travel through so many bytes: few trips, little memory. */
static const int64_t STAGING_BYTES = 4 << 20;

/* A key about a seam: of the cell's number in its two planes. */
template <typename K> struct seam_key {
    K voxel, key;
};

template <typename K> struct grow_state {
    const section_batch *batch;
    batch_result *result;
    lob_error *error;
    grow_params<K> g;
    double pass_from, pass_share; /* of the batch's progress: the pass under way */
    section_rule *sections;       /* host copy of what is uploaded */
    int64_t table_n;              /* entries of all tables */
    uint32_t dmax;                /* of the longest table; 0: there is none */
    grow_counters *counters;      /* host copies of three arrays of g, in one block */
    u64 *largest;
    uint32_t *overflow;
    /* In device memory: */
    K *other_key; /* of the automaton's rounds, which read one array and write the other */
    void *staging;
    int64_t *section_first; /* of each section, where its strengths start in the staged table */
    K *table;
    double *ln;
    K *known[2]; /* of the seam before the slab, and behind it */
    seam_key<K> *told[2], *heard[2];
    u64 *told_count; /* of both seams */
};

/* ---- working memory ---- */

/* The counters are followed by two numbers of each section, so that one copy fetches all. */
static int64_t counters_bytes(const section_batch *batch)
{
    return (int64_t)sizeof(grow_counters) +
           batch->sections * (int64_t)(sizeof(u64) + sizeof(uint32_t));
}

static void split_counters(grow_counters *counters, int64_t sections, u64 **largest,
                           uint32_t **overflow)
{
    *largest = counters ? (u64 *)(counters + 1) : NULL;
    *overflow = counters ? (uint32_t *)(*largest + sections) : NULL;
}

template <typename K> static void set_grid(grow_params<K> *g, const lob_device_view *view)
{
    const uint32_t side[3] = {view->flat ? (uint32_t)slice_tile::x : (uint32_t)volume_tile::x,
                              view->flat ? (uint32_t)slice_tile::y : (uint32_t)volume_tile::y,
                              view->flat ? (uint32_t)slice_tile::z : (uint32_t)volume_tile::z};
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) {
        g->grid[a] = (view->side[a] - 1) / side[a] + 1;
        tiles *= g->grid[a];
    }
    g->tiles = (uint32_t)tiles;
    g->cells = tiles * volume_tile::cells;
}

/* How levels lie; those of 8-bit types have 8 bits. */
static level_layout layout_of(const section_batch *batch)
{
    const int channels = batch->image.channels;
    const bool bytes = batch->image.type == LOB_U8 || batch->image.type == LOB_I8;
    if (channels == 1) return ONE_LEVEL;
    return bytes && channels <= PACKED_CHANNELS && batch->options->norm == LOB_NORM_LINF
               ? PACKED
               : BY_CHANNEL;
}

/* Cells of the two planes about the seam before the slab, or behind it; 0: there is no such seam.
 */
static int64_t seam_cells(const section_batch *batch, int k)
{
    const lob_growcut_slab *const slab = batch->slab;
    const uint32_t *const side = batch->view.side;
    const int across = batch->view.flat ? 1 : 2;
    const bool is_there = slab && (k ? slab->end < side[across] : slab->first > 0);
    return is_there ? 2 * (int64_t)side[0] * side[3 - across] : 0;
}

/* How many logarithms the tables need. */
template <typename K> static int64_t logarithms_of(const grow_state<K> *state)
{
    const bool strength = state->batch->options->rule == LOB_RULE_STRENGTH;
    return strength && state->dmax ? (int64_t)state->dmax + 1 : 0;
}

/* Lay out the working memory; with block NULL only its size, which is returned, is found. */
template <typename K> static int64_t lay_out(grow_state<K> *state, void *block)
{
    const section_batch *batch = state->batch;
    grow_params<K> *g = &state->g;
    arena memory(block);
    const bool staged = batch->arrays->seed_strength || batch->arrays->strength;
    set_grid(g, &batch->view);
    g->key = memory.take<K>(g->cells);
    state->other_key = memory.take<K>(batch->options->rounds > 0 ? g->cells : 0);
    g->layout = layout_of(batch);
    g->level = g->layout == PACKED
                   ? (void *)memory.take<uint2>(g->cells)
                   : (void *)memory.take<uint16_t>(g->cells * batch->image.channels);
    g->pending = memory.take<uint32_t>(g->cells / WARP);
    g->priority = memory.take<K>(g->tiles);
    const bool given = g->layout == PACKED && batch->options->rule != LOB_RULE_FLOOD &&
                       batch->options->rounds == 0;
    g->tile_list = memory.take<uint32_t>(given ? 0 : g->tiles);
    g->ring = given ? memory.take<uint32_t>(RING) : NULL;
    g->sections = memory.take<section_rule>(batch->sections);
    g->counters = (grow_counters *)memory.take<unsigned char>(counters_bytes(batch));
    split_counters(g->counters, batch->sections, &g->largest, &g->overflow);
    state->staging = memory.take<unsigned char>(staged ? STAGING_BYTES : 0);
    state->section_first = memory.take<int64_t>(staged ? batch->sections : 0);
    g->table = state->table = memory.take<K>(state->table_n);
    state->ln = memory.take<double>(logarithms_of(state));
    const int64_t seam[2] = {seam_cells(batch, 0), seam_cells(batch, 1)};
    for (int k = 0; k < 2; k++) {
        state->known[k] = memory.take<K>(seam[k]);
        state->told[k] = memory.take<seam_key<K>>(seam[k]);
        state->heard[k] = memory.take<seam_key<K>>(seam[k]);
    }
    state->told_count = memory.take<u64>(batch->slab ? 2 : 0);
    return memory.used;
}

/* ---- the rules of the sections ---- */

/* Weights come from a table where they are no power of two times the distance. */
static bool has_table(const section_batch *batch, int64_t p)
{
    const lob_growcut_rule *rule = &batch->rule[p];
    return rule->kind == LOB_RULE_STRENGTH || rule->kind == LOB_RULE_SQUARE || rule->unit < 1 ||
           rule->fraction > 0;
}

static int direction_of(const int8_t offset[3])
{
    return CENTRE + offset[0] + 3 * offset[1] + 9 * offset[2];
}

/* A table depends on the rule, dmax and scale, so consecutive sections may share one. */
template <typename K> static void place_tables(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    for (int64_t p = 0; p < batch->sections; p++) {
        const lob_growcut_rule *rule = &batch->rule[p], *before = &batch->rule[p ? p - 1 : 0];
        if (!has_table(batch, p)) continue;
        const bool same = p > 0 && has_table(batch, p - 1) && before->dmax == rule->dmax &&
                          before->scale == rule->scale;
        state->sections[p].table = same ? state->sections[p - 1].table : state->table_n;
        if (!same) state->table_n += (int64_t)rule->dmax + 1;
        if (rule->dmax > state->dmax) state->dmax = rule->dmax;
    }
}

template <typename K>
static section_rule section_rule_of(const section_batch *batch, int64_t index, int64_t table,
                                    int label_bits)
{
    const lob_growcut_rule *rule = &batch->rule[index];
    const bool flood = rule->kind == LOB_RULE_FLOOD, bounded = rule->kind != LOB_RULE_SQUARE;
    const int steps = flood ? lob_growcut_step_bits(rule->dmax, label_bits, 8 * sizeof(K)) : 0;
    const int cost_shift = label_bits + steps;
    const u64 capacity = (u64)(keys<K>::end >> cost_shift) - 2;
    const int shift = cost_shift + ilogb(rule->unit), max_shift = sizeof(K) == 4 ? 31 : 61;
    section_rule to = {};
    to.levels = lob_device_levels_of(batch->levels[index]);
    to.has_table = has_table(batch, index);
    to.table = table;
    to.kind = rule->kind;
    to.cost_shift = cost_shift;
    to.dmax = rule->dmax;
    to.fraction = rule->fraction;
    to.scale = rule->scale;
    to.level_shift = rule->unit >= 1 ? (uint32_t)shift : 0;
    to.bound = rule->unit >= 1 && bounded ? (u64)1 << (shift < max_shift ? shift : max_shift) : 0;
    to.unit = rule->unit;
    to.limit = rule->limit;
    to.unreached = ((rule->limit < capacity ? rule->limit : capacity) + 1) << cost_shift;
    for (int k = 0; k < rule->neighbours; k++)
        to.extra[direction_of(rule->offset[k])] = weight_from<K>(rule->extra[k], label_bits);
    return to;
}

template <typename K> static void make_sections(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    const lob_growcut_rule *any = &batch->rule[0];
    grow_params<K> *g = &state->g;
    for (int64_t i = 0; i < batch->sections; i++)
        state->sections[i] = section_rule_of<K>(batch, i, state->sections[i].table, g->label_bits);
    for (int k = 0; k < any->neighbours; k++)
        if (!batch->view.flat || any->offset[k][2] == 0)
            g->direction[g->neighbours++] = (int8_t)direction_of(any->offset[k]);
}

/* ---- progress and launches ---- */

/* Report that so many voxels have a path; returns whether to stop. */
template <typename K> static bool report_progress(const grow_state<K> *state, u64 voxels)
{
    const section_batch *batch = state->batch;
    const lob_context *context = batch->context;
    const double reached = (double)voxels / (double)(batch->data_voxels + 1);
    const double done = state->pass_from + state->pass_share * (reached < 1 ? reached : 1);
    return context->progress &&
           context->progress(context->user, batch->progress_from + batch->progress_share * done);
}

/* Launch a kernel whose blocks have BLOCK_THREADS threads. */
template <typename K, typename A>
static lob_status launch(const grow_state<K> *state, void (*kernel)(A), const char *name,
                         int64_t items, const A &argument)
{
    lob_device *device = state->batch->device;
    return lob_launch_over(device, kernel, name, items, BLOCK_THREADS, argument, state->error);
}

} /* namespace lob::growcut */

#endif
