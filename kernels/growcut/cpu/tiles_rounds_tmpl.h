/*
 * Growing by rounds of the automaton, which may end before the fixed point. Part of
 * growcut_tiles_tmpl.h.
 *
 * In a round, every cell reads its neighbours' keys of the round before and takes the cheapest path
 * that they offer. After n rounds a key is therefore the lowest over the paths of at most n steps.
 * New keys go to a second array. A tile is skipped when nothing changed in or beside it.
 */
#ifndef LOB_TILES_ROUNDS_TMPL_H
#define LOB_TILES_ROUNDS_TMPL_H

#include "kernels/growcut/cpu/tiles_seams_tmpl.h"

/*
 * The offers of seeds of strength 1 to the cells of a tile, from its halo too. Their key, 0, does
 * not hold their label. They never change, so only the first round needs them.
 */
static void take_from_seeds(const engine *e, int64_t t)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const tile *of = &e->tile[t];
    uint8_t is_data[MAX_ROW];
    const int64_t rows = e->side[1] + 2 * e->pad[1];
    for (int64_t row = 0; row < rows * (e->side[2] + 2 * e->pad[2]); row++) {
        const row_part r = row_part_of(e, t, row % rows - e->pad[1], row / rows - e->pad[2], true);
        const int64_t voxel = lob_view_index(&section->view, r.x, r.y, r.z);
        bool known = false;
        for (int64_t i = 0; i < r.n; i++) {
            const int64_t c = r.cell + i, v = voxel + i * section->view.stride[0];
            const int32_t seed = of->keys[c] ? 0 : lob_label_at(seeds->data, seeds->type, v);
            if (seed == 0) continue;
            if (!known)
                lob_levels_data_row(is_data, &section->data, &section->view, r.x, r.y, r.z, r.n);
            known = true;
            for (int k = 0; is_data[i] && k < e->neighbours; k++) {
                const int64_t n = c + e->step[k]; /* past the halo's end a row starts with halo */
                if (n < 0 || n >= e->cells || e->is_halo[n] || of->next[n] == 0) continue;
                const uint64_t offer = offer_of(e, of, c, n, key_of(e, 0, seed), k);
                if (offer < of->next[n]) of->next[n] = (path_key)offer;
            }
        }
    }
}

/* The cheapest path that a cell's neighbours offer, or its own key. */
static path_key cheapest_offer(const engine *e, const tile *of, int64_t c)
{
    path_key best = of->keys[c];
    for (int k = 0; k < e->neighbours; k++) {
        const int64_t n = c + e->step[k];
        const path_key from = of->keys[n];
        if (from == 0 || from >= best) continue;
        const uint64_t offer = offer_of(e, of, n, c, from, k);
        if (offer < best) best = (path_key)offer;
    }
    return best;
}

/* A round of one tile; true when a key changed. */
static bool take_offers(const engine *e, int64_t t, bool first, worker *w)
{
    const tile *of = &e->tile[t];
    for (int64_t c = 0; c < e->cells; c++)
        if (!e->is_halo[c] && of->keys[c] != 0) of->next[c] = cheapest_offer(e, of, c);
    if (first) take_from_seeds(e, t);
    bool changed = false;
    for (int64_t c = 0; c < e->cells; c++) {
        if (e->is_halo[c] || of->next[c] == of->keys[c]) continue;
        w->reached += of->keys[c] == e->unreached;
        changed = true;
    }
    return changed;
}

/* A round of the tiles that are active; true when a key changed. */
static bool run_round(engine *e, const uint8_t *active, uint8_t *changed, bool first)
{
    int any = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers) reduction(| : any)
    for (int64_t t = 0; t < e->count; t++) {
        worker *w = &e->worker[omp_get_thread_num()];
        changed[t] = active[t] && take_offers(e, t, first, w);
        any |= changed[t];
    }
    return any;
}

/* Swap the keys, copy them to the halos, and find the tiles where a key may change next. */
static lob_status end_round(engine *e, uint8_t *active, uint8_t *changed, lob_error *error)
{
    bool any;
    for (int64_t t = 0; t < e->count; t++) {
        tile *of = &e->tile[t];
        path_key *next = of->next;
        if (!changed[t]) continue;
        of->next = of->keys;
        of->keys = next;
    }
    if (e->section->slab) LOB_TRY(exchange(e, &any, changed, error));
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)
    for (int64_t t = 0; t < e->count; t++) {
        active[t] = changed_nearby(e, changed, t);
        if (active[t]) refresh_halo(e, t);
    }
    return LOB_OK;
}

/* Has a key changed anywhere in the volume? */
static lob_status any_rank(const engine *e, bool *any, lob_error *error)
{
    int64_t most = *any;
    if (!e->section->slab) return LOB_OK;
    LOB_TRY(lob_team_reduce(e->section->slab->team, &most, 1, LOB_TEAM_MAX, error));
    *any = most != 0;
    return LOB_OK;
}

/* As many rounds as are asked for, and one more to find out whether it would change anything. */
static lob_status grow_rounds(engine *e, lob_growcut_result *result, lob_error *error)
{
    const size_t count = (size_t)e->count;
    uint8_t *active = malloc(count), *changed = malloc(count);
    lob_status st = active && changed ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) memset(active, 1, count);
    for (int64_t t = 0; t < e->count; t++)
        memcpy(e->tile[t].next, e->tile[t].keys, (size_t)e->cells * sizeof(path_key));
    while (st == LOB_OK) {
        bool any = run_round(e, active, changed, result->stats.rounds == 0);
        st = any_rank(e, &any, error);
        if (!any || st != LOB_OK) break;
        result->stats.fixed_point = result->stats.rounds < e->section->rounds;
        if (!result->stats.fixed_point) break;
        result->stats.rounds++;
        st = end_round(e, active, changed, error);
        if (st == LOB_OK && report_progress(e)) st = LOB_ECANCEL;
    }
    free(active);
    free(changed);
    return st;
}

#endif
