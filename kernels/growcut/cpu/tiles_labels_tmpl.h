/*
 * The labels of a flood, after its costs are final. Part of growcut_tiles_tmpl.h.
 *
 * Growing leaves in each key the label that came first, which depends on the order of visits: paths
 * of different costs cost the same once a wall is higher than both. A cell's label is the one of
 * the neighbour by which the flood first comes to it: of those from which a step leads to exactly
 * its cost, the least cost counts, and of several with that cost the smallest label. Every step
 * costs something, so labels depend on those of cheaper cells alone: wherever one is found to be
 * wrong, it is put right and the cells that follow from it are looked at again, until none is.
 *
 * That is done on copies of the keys, in which seeds have the keys that they make offers with.
 */
#ifndef LOB_TILES_LABELS_TMPL_H
#define LOB_TILES_LABELS_TMPL_H

#include "kernels/growcut/cpu/tiles_state_tmpl.h"

/* Copy the keys of a tile, its halo's as they are there. */
static void copy_keys(const engine *e, int64_t t)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const tile *of = &e->tile[t];
    uint8_t is_data[MAX_ROW];
    for (int64_t c = 0; c < e->cells; c++) of->next[c] = of->keys[c] ? of->keys[c] : KEY_END;
    for (int64_t k = -e->pad[2]; k < e->side[2] + e->pad[2]; k++)
        for (int64_t j = -e->pad[1]; j < e->side[1] + e->pad[1]; j++) {
            const row_part r = row_part_of(e, t, j, k, true);
            const int64_t voxel = lob_view_index(&section->view, r.x, r.y, r.z);
            bool known = false;
            for (int64_t i = 0; i < r.n; i++) {
                const int64_t c = r.cell + i, v = voxel + i * section->view.stride[0];
                const int32_t seed = of->keys[c] ? 0 : lob_label_at(seeds->data, seeds->type, v);
                if (seed == 0) continue;
                if (!known)
                    lob_levels_data_row(is_data, &section->data, &section->view, r.x, r.y, r.z,
                                        r.n);
                known = true;
                if (is_data[i]) of->next[c] = seed_key(e, of, c, seed);
            }
        }
}

/* The key with the label that its neighbours give a cell that has been reached. */
static path_key labelled_key(const engine *e, const tile *of, int64_t c)
{
    const path_key cost = of->next[c] & ~e->labels, level = e->weight[of->levels[c]];
    path_key first = KEY_END;
    for (int k = 0; k < e->neighbours; k++) {
        const path_key from = of->next[c + e->step[k]];
        const path_key onward = (from & ~e->labels) + e->extra[k];
        const path_key reached = onward > level ? onward : level;
        if (reached == cost && from < first) first = from;
    }
    return first == KEY_END ? of->next[c] : cost | (first & e->labels);
}

/* Put the label of a cell right, if it is one of the tile's own that a path has reached, and list
 * it if that changed it. */
static bool settle_cell(const engine *e, const tile *of, worker *w, int64_t c)
{
    if (e->is_halo[c] || of->keys[c] == 0 || of->keys[c] == e->unreached) return true;
    const path_key key = labelled_key(e, of, c);
    if (key == of->next[c]) return true;
    of->next[c] = key;
    return list_push(&w->bucket[0], (uint32_t)c, key);
}

/* Fetch the halo, and list its cells that have changed. */
static bool fetch_halo(const engine *e, int64_t t, list *fetched)
{
    const tile *of = &e->tile[t];
    bool ok = true;
    for (int64_t c = 0; c < e->cells; c++) {
        if (!e->is_halo[c] || of->keys[c] == 0) continue;
        int64_t theirs = c;
        const int side = owner_of(e, c, &theirs);
        const path_key key = tile_beside(e, t, side)->next[theirs];
        if (key != of->next[c]) ok &= list_push(fetched, (uint32_t)c, key);
    }
    return ok;
}

/* Put the labels of a tile right: of all its cells, or of those that follow from the fetched halo.
 * Returns whether it changed any. */
static bool settle_tile(const engine *e, int64_t t, worker *w, bool all)
{
    const tile *of = &e->tile[t];
    list *todo = &w->bucket[0];
    bool ok = true;
    size_t fetched = 0;
    for (; fetched < of->later.n; fetched++) {
        of->next[of->later.items[fetched].cell] = of->later.items[fetched].key;
        ok &= all || list_push(todo, of->later.items[fetched].cell, 0);
    }
    if (all) fetched = 0;
    for (int64_t c = 0; c < e->cells && all && ok; c++) ok = settle_cell(e, of, w, c);
    for (size_t i = 0; i < todo->n && ok; i++) { /* it may grow meanwhile */
        const int64_t from = todo->items[i].cell;
        for (int k = 0; k < e->neighbours && ok; k++) {
            const int64_t c = from + e->step[k]; /* beside the halo there may be no cell */
            if (c >= 0 && c < e->cells) ok = settle_cell(e, of, w, c);
        }
    }
    const bool changed = todo->n > fetched;
    todo->n = 0;
    if (!ok) w->failed = true;
    return changed;
}

/* A round: halos are fetched from tiles that changed in the last one, then labels are put right.
 * Returns whether any changed. */
static bool settle_round(engine *e, uint8_t *changed, bool first)
{
    int any = 0;
#pragma omp parallel num_threads(e->workers) reduction(| : any)
    {
        worker *w = &e->worker[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 1)
        for (int64_t t = 0; t < e->count; t++) {
            e->tile[t].later.n = 0; /* no cell is queued any more */
            if (changed_nearby(e, changed, t) && !fetch_halo(e, t, &e->tile[t].later))
                w->failed = true;
        }
#pragma omp for schedule(dynamic, 1)
        for (int64_t t = 0; t < e->count; t++) {
            changed[t] = first || e->tile[t].later.n ? settle_tile(e, t, w, first) : false;
            any |= changed[t];
        }
    }
    return any;
}

/* Put all labels right. */
static lob_status settle_labels(engine *e, lob_error *error)
{
    uint8_t *changed = malloc((size_t)e->count);
    lob_status st = changed ? LOB_OK : LOB_ENOMEM;
    bool more = st == LOB_OK;
    if (more) memset(changed, 1, (size_t)e->count);
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)
    for (int64_t t = 0; t < e->count; t++) copy_keys(e, t);
    for (bool first = true; more && st == LOB_OK; first = false) {
        more = settle_round(e, changed, first);
        st = count_bytes(e, error);
        for (int w = 0; w < e->workers; w++)
            if (e->worker[w].failed) st = LOB_ENOMEM;
        if (st == LOB_OK && report_progress(e)) st = LOB_ECANCEL;
    }
#pragma omp parallel for schedule(static) num_threads(e->workers)
    for (int64_t t = 0; t < e->count; t++)
        for (int64_t c = 0; c < e->cells; c++)
            if (e->tile[t].keys[c] != 0) e->tile[t].keys[c] = e->tile[t].next[c];
    free(changed);
    return st;
}

#endif
