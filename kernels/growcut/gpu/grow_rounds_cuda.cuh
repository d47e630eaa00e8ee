/*
 * GrowCut on a GPU: rounds of the automaton, which may end before the fixed point.
 *
 * In a round, every cell reads its neighbours' keys of the round before and takes the cheapest path
 * that they offer. New keys go to a second array, and the two arrays swap. A tile is skipped when
 * nothing changed in or beside it in the round before: both arrays hold its keys.
 */
#ifndef LOB_GROW_ROUNDS_CUDA_CUH
#define LOB_GROW_ROUNDS_CUDA_CUH

#include "kernels/growcut/gpu/fill_tiles_cuda.cuh"

namespace lob::growcut
{

enum { ROUNDS_AT_ONCE = 32 }; /* launched before the host reads whether keys still change; >= 2 */

template <typename K> struct round_params {
    grow_params<K> g; /* its tile_list holds the last round in which each tile changed */
    K *next;
    uint32_t number; /* from 1 */
};

/* The cheapest path that a cell's neighbours offer, or its own key. */
template <typename K, typename S>
static __device__ inline K cheapest_offer(const grow_params<K> &g, const section_rule *section,
                                          const position &p, int64_t cell, K key)
{
    K best = key;
    for (int k = 0; k < g.neighbours; k++) {
        const int64_t from = neighbour_of<S>(g, p, g.direction[k]);
        const K theirs = from < 0 ? 0 : g.key[from];
        /* Key 0: not data, or a hard seed, whose offers hard_seed_kernel makes in round 1. */
        if (theirs == 0 || theirs >= best) continue;
        const u64 offer = offer_from(g, section, theirs, from, cell, g.direction[k]);
        if (offer < best) best = (K)offer;
    }
    return best;
}

/* Did a key change in a tile, or beside it, in the round before? Or in this one, which only makes
 * the answer true once too often. */
template <typename K, typename S>
static __device__ inline bool changed_nearby(const grow_params<K> &g, const position &corner,
                                             uint32_t number, uint32_t lane)
{
    bool changed = false;
    if (lane < DIRECTIONS && (!S::flat || lane / 9 == 1)) {
        const uint32_t x = corner.x / S::x + lane % 3 - 1, y = corner.y / S::y + lane / 3 % 3 - 1;
        const uint32_t z = corner.z / S::z + lane / 9 - 1;
        if (x < g.grid[0] && y < g.grid[1] && z < g.grid[2])
            changed = __ldcg(&g.tile_list[x + g.grid[0] * (y + g.grid[1] * z)]) + 1 >= number;
    }
    return __any_sync(ALL_LANES, changed);
}

static __device__ inline void note_round(grow_counters *counters, uint32_t number)
{
    if (__ldcg(&counters->rounds) < number) atomicMax(&counters->rounds, (u64)number);
}

template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    round_kernel(const __grid_constant__ round_params<K> r)
{
    const grow_params<K> &g = r.g;
    uint32_t reached = 0;
    /* When nothing changed in the round before, no block raises the number in this one. */
    if (r.number > 2 && __ldcg(&g.counters->rounds) + 1 < r.number) return;
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        /* The first two rounds fill the second array; the second round reads what the seeds
         * offered. */
        if (r.number > 2 && !changed_nearby<K, S>(g, corner, r.number, lane)) continue;
        const section_rule *section = section_of(g, corner);
        const K unreached = (K)section->unreached;
        bool changed = false;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t index = (int64_t)tile * S::cells + cell;
            const K key = g.key[index];
            K best = key;
            if (key)
                best =
                    cheapest_offer<K, S>(g, section, position_in<S>(g, corner, cell), index, key);
            r.next[index] = best;
            changed = changed || best != key;
            reached += best != key && key == unreached;
        }
        changed = __any_sync(ALL_LANES, changed);
        if (lane != 0) continue;
        if (changed) {
            g.tile_list[tile] = r.number;
            note_round(g.counters, r.number);
        }
        if (r.number == 2 && g.priority[tile] != keys<K>::none) note_round(g.counters, 1);
    }
    add_lanes(&g.counters->reached, reached);
}

/* One round. Hard seeds make their offers, which never change, in the first. */
template <typename K, typename S>
static lob_status run_round(grow_state<K> *state, uint32_t number, bool swap)
{
    grow_params<K> *g = &state->g;
    const round_params<K> round = {*g, state->other_key, number};
    LOB_TRY(launch(state, round_kernel<K, S>, "a round", g->cells, round));
    if (swap) {
        state->other_key = g->key;
        g->key = round.next;
    }
    return number == 1 ? launch(state, hard_seed_kernel<K, S>, "seeds", g->cells, *g) : LOB_OK;
}

/*
 * As many rounds as are asked for, and one more to find out whether it would change anything.
 * Afterwards the counters' rounds is the last that changed, or would have changed, a key.
 */
template <typename K, typename S> static lob_status grow_rounds(grow_state<K> *state)
{
    lob_device *device = state->batch->device;
    lob_error *error = state->error;
    grow_params<K> *g = &state->g;
    const uint32_t last = (uint32_t)state->batch->options->rounds + 1;
    uint32_t round = 0;
    /* Priorities show which tiles the hard seeds' offers reached; soft seeds have set some. */
    LOB_TRY(lob_device_fill(device, g->priority, 0xff, g->tiles * (int64_t)sizeof(K), error));
    LOB_TRY(
        lob_device_fill(device, g->tile_list, 0, g->tiles * (int64_t)sizeof *g->tile_list, error));
    do {
        for (int i = 0; i < ROUNDS_AT_ONCE && round < last; i++) {
            round++;
            LOB_TRY((run_round<K, S>(state, round, round < last)));
        }
        LOB_TRY(lob_device_download(device, state->counters, g->counters, sizeof *state->counters,
                                    error));
        if (report_progress(state, state->counters->reached)) return LOB_ECANCEL;
    } while (round < last && state->counters->rounds == round);
    return LOB_OK;
}

} /* namespace lob::growcut */

#endif
