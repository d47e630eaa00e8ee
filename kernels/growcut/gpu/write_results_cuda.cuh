/*
 * GrowCut on a GPU: keys become labels, the tie zone and strengths. After a pass with 32-bit keys a
 * search finds out whether 64 bits are needed.
 *
 * The host computes every strength, an exponential, because host and device differ in its last bit.
 */
#ifndef LOB_WRITE_RESULTS_CUDA_CUH
#define LOB_WRITE_RESULTS_CUDA_CUH

#include "kernels/growcut/gpu/grow_state_cuda.cuh"

#include <string.h>

namespace lob::growcut
{

/* ---- labels and ties ---- */

/* Labels; or, in the pass with ties reversed, where the labels now differ. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    write_kernel(const __grid_constant__ grow_params<K> g)
{
    u64 largest = 0; /* cost in this section, in units */
    int64_t section = 0;
    uint32_t labelled = 0, ties = 0;
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        const int64_t here = section_of(g, corner) - g.sections;
        const K unreached = (K)g.sections[here].unreached;
        if (here != section) {
            largest = warp_max(largest);
            if (lane == 0 && largest) atomicMax(&g.largest[section], largest);
            largest = 0;
            section = here;
        }
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const position p = position_in<S>(g, corner, cell);
            if (!p.inside) continue;
            const K key = g.key[(int64_t)tile * S::cells + cell];
            const int64_t v = voxel_of(g, p);
            const bool grown = key != 0 && key != unreached, own = is_own(g, p);
            int32_t label = grown ? label_of(g, key) : 0;
            if (g.reversed) {
                const bool tie = grown && label != lob_label_at(g.labels, g.label_type, v);
                g.tie[v] = tie;
                ties += tie && own;
                continue;
            }
            if (key == 0) label = lob_label_at(g.seeds, g.label_type, v);
            if (key == 0 && label && lob_voxel_state(&g.image, v) != LOB_VOXEL_DATA) label = 0;
            lob_label_put(g.labels, g.label_type, v, label);
            labelled += label != 0 && own;
            const u64 units = key >> g.sections[here].cost_shift;
            if (grown && units > largest) largest = units;
        }
    }
    largest = warp_max(largest);
    if (threadIdx.x % WARP == 0 && largest) atomicMax(&g.largest[section], largest);
    add_lanes(&g.counters->labelled, labelled);
    add_lanes(&g.counters->ties, ties);
}

/* ---- strengths ---- */

/* Voxels of the view whose costs the host wants, or which it has turned into strengths. */
template <typename K> struct strength_params {
    grow_params<K> g;
    u64 *units;            /* of each of these voxels; ~0 where there is no label */
    const float *strength; /* of each cost, section after section; or of each of these voxels */
    const int64_t *first;  /* of each section, the index of its cost 0 in strength */
    int64_t from, n;
};

/* Cost of voxel i of the view, in units; ~0 where there is no label. Reads the written labels. */
template <typename K, typename S>
static __device__ u64 cost_at(const grow_params<K> &g, int64_t i, int64_t *voxel, int64_t *section)
{
    const position p = position_of(g, i);
    *voxel = voxel_of(g, p);
    *section = section_of(g, p) - g.sections;
    if (lob_label_at(g.labels, g.label_type, *voxel) == 0) return ~0ull;
    return g.key[neighbour_of<S>(g, p, CENTRE)] >> g.sections[*section].cost_shift;
}

/* Strengths from the host's table. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    strength_kernel(const __grid_constant__ strength_params<K> r)
{
    for (int64_t i = grid_first(); i < r.n; i += grid_step()) {
        int64_t voxel, section;
        const u64 units = cost_at<K, S>(r.g, r.from + i, &voxel, &section);
        r.g.strength[voxel] = units == ~0ull ? 0.0f : r.strength[r.first[section] + (int64_t)units];
    }
}

/* Costs for the host, where a table of their strengths would be too long. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    cost_kernel(const __grid_constant__ strength_params<K> r)
{
    for (int64_t i = grid_first(); i < r.n; i += grid_step()) {
        int64_t voxel, section;
        r.units[i] = cost_at<K, S>(r.g, r.from + i, &voxel, &section);
    }
}

/* Strengths that the host has made of these voxels' costs. */
template <typename K>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    put_strength_kernel(const __grid_constant__ strength_params<K> r)
{
    for (int64_t i = grid_first(); i < r.n; i += grid_step())
        r.g.strength[voxel_of(r.g, position_of(r.g, r.from + i))] = r.strength[i];
}

/* From a table of the strength of every cost up to the largest. */
template <typename K, typename S>
static lob_status strengths_by_table(grow_state<K> *state, strength_params<K> *range,
                                     int64_t entries)
{
    const section_batch *batch = state->batch;
    float *table = (float *)malloc((size_t)entries * sizeof *table);
    int64_t *first = (int64_t *)malloc((size_t)batch->sections * sizeof *first);
    lob_status st = table && first ? LOB_OK : LOB_ENOMEM;
    int64_t at = 0;
    for (int64_t p = 0; p < batch->sections && st == LOB_OK; p++) {
        first[p] = at;
        for (u64 units = 0; units <= state->largest[p]; units++)
            table[at++] = lob_growcut_strength(&batch->rule[p], units);
    }
    if (st == LOB_OK)
        st = lob_device_upload(batch->device, state->staging, table,
                               entries * (int64_t)sizeof *table, state->error);
    if (st == LOB_OK)
        st = lob_device_upload(batch->device, state->section_first, first, batch->sections * 8,
                               state->error);
    free(table);
    free(first);
    if (st != LOB_OK) return st;
    range->strength = (const float *)state->staging;
    range->first = state->section_first;
    return launch(state, strength_kernel<K, S>, "strengths", range->n, *range);
}

/* Part by part: costs come to the host, strengths go back. */
template <typename K, typename S>
static lob_status strengths_by_host(grow_state<K> *state, strength_params<K> *range, int64_t voxels)
{
    const section_batch *batch = state->batch;
    const lob_device_view *view = &batch->view;
    const int64_t slice = (int64_t)view->side[0] * view->side[1], capacity = STAGING_BYTES / 8;
    u64 *units = (u64 *)malloc((size_t)STAGING_BYTES);
    if (!units) return lob_fail(state->error, LOB_ENOMEM, "no memory left for strengths");
    lob_status st = LOB_OK;
    for (range->from = 0; range->from < voxels && st == LOB_OK; range->from += range->n) {
        range->n = voxels - range->from < capacity ? voxels - range->from : capacity;
        range->units = (u64 *)state->staging;
        st = launch(state, cost_kernel<K, S>, "costs", range->n, *range);
        if (st == LOB_OK)
            st = lob_device_download(batch->device, units, state->staging, range->n * 8,
                                     state->error);
        float *strength = (float *)units; /* in place: a strength is shorter than a cost */
        for (int64_t i = 0; i < range->n && st == LOB_OK; i++) {
            const u64 cost = units[i];
            const int64_t p = view->flat ? (range->from + i) / slice : 0;
            const float value = cost == ~0ull ? 0.0f : lob_growcut_strength(&batch->rule[p], cost);
            memcpy(&strength[i], &value, sizeof value);
        }
        if (st == LOB_OK)
            st = lob_device_upload(batch->device, state->staging, strength, range->n * 4,
                                   state->error);
        if (st == LOB_OK) {
            range->strength = (const float *)state->staging;
            st = launch(state, put_strength_kernel<K>, "strengths", range->n, *range);
        }
    }
    free(units);
    return st;
}

template <typename K, typename S> static lob_status write_strengths(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    const lob_device_view *view = &batch->view;
    const int64_t voxels = (int64_t)view->side[0] * view->side[1] * view->side[2];
    const int64_t capacity = STAGING_BYTES / (int64_t)sizeof(float);
    strength_params<K> range = {};
    range.g = state->g;
    range.n = voxels;
    int64_t entries = 0;
    for (int64_t p = 0; p < batch->sections && entries <= capacity; p++)
        entries +=
            state->largest[p] < (u64)capacity ? (int64_t)state->largest[p] + 1 : capacity + 1;
    return entries <= capacity ? strengths_by_table<K, S>(state, &range, entries)
                               : strengths_by_host<K, S>(state, &range, voxels);
}

/* ---- overflow of 32-bit keys ---- */

/* In which sections is data without a path a possible step away from a seed or a reached cell? */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    overflow_kernel(const __grid_constant__ grow_params<K> g)
{
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        const section_rule *section = section_of(g, corner);
        const K unreached = (K)section->unreached;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t from = (int64_t)tile * S::cells + cell;
            const position p = position_in<S>(g, corner, cell);
            const K key = g.key[from];
            if (!p.inside || key == unreached) continue;
            const int64_t v = voxel_of(g, p);
            if (key == 0 && (lob_label_at(g.seeds, g.label_type, v) == 0 ||
                             lob_voxel_state(&g.image, v) != LOB_VOXEL_DATA))
                continue;
            for (int k = 0; k < g.neighbours; k++) {
                const int64_t to = neighbour_of<S>(g, p, g.direction[k]);
                if (to < 0 || g.key[to] != unreached) continue;
                const uint32_t d = distance_of(g, from, to, g.norm, section->fraction);
                if (section->kind != LOB_RULE_STRENGTH || d < section->dmax)
                    g.overflow[section - g.sections] = 1;
            }
        }
    }
}

/* In which sections was a step of a flood carried into the level? */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    long_plateau_kernel(const __grid_constant__ grow_params<K> g)
{
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        const section_rule *section = section_of(g, corner);
        const int shift = section->cost_shift;
        const K full = ((K)1 << shift) - ((K)1 << g.label_bits);
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t from = (int64_t)tile * S::cells + cell;
            const position p = position_in<S>(g, corner, cell);
            const K key = g.key[from];
            if (!p.inside || key == 0 || (key & full) != full) continue;
            for (int k = 0; k < g.neighbours; k++) {
                const int64_t to = neighbour_of<S>(g, p, g.direction[k]);
                if (to < 0 || g.key[to] == 0 || level_at(g, to) > key >> shift) continue;
                if (g.key[to] >> shift > key >> shift) g.overflow[section - g.sections] = 1;
            }
        }
    }
}

/* Could a path of this section have been refused only because its cost does not fit the key? Not
 * where the largest cost leaves capacity for one more step. In a flood steps may be too many. */
template <typename K> static bool may_overflow(const grow_state<K> *state, int64_t section)
{
    const lob_growcut_rule *rule = &state->batch->rule[section];
    const u64 capacity = (state->sections[section].unreached >> state->g.label_bits) - 1;
    return state->g.flood ||
           (capacity < rule->limit && state->largest[section] + rule->max_step > capacity);
}

/* Does this pass need longer keys? Where that may be, look for a step left out. */
template <typename K, typename S> static lob_status find_overflow(grow_state<K> *state)
{
    const int64_t sections = state->batch->sections;
    bool *overflow = &state->result->overflow, any = false;
    for (int64_t i = 0; i < sections; i++) {
        *overflow |= state->overflow[i] != 0; /* a soft seed whose start does not fit */
        any |= may_overflow(state, i);
    }
    if (!any || *overflow) return LOB_OK;
    LOB_TRY(launch(state, state->g.flood ? long_plateau_kernel<K, S> : overflow_kernel<K, S>,
                   "looking for overflow", state->g.cells, state->g));
    LOB_TRY(lob_device_download(state->batch->device, state->overflow, state->g.overflow,
                                sections * (int64_t)sizeof *state->overflow, state->error));
    for (int64_t i = 0; i < sections; i++)
        *overflow |= may_overflow(state, i) && state->overflow[i];
    return LOB_OK;
}

} /* namespace lob::growcut */

#endif
