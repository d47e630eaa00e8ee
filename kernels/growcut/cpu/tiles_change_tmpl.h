/*
 * Seeds are drawn and erased after the growth, which goes on from there. Part of
 * growcut_tiles_tmpl.h.
 *
 * Growth alone can only lower keys. So where a key has to rise (a seed is erased, or takes the
 * place of a path that cost nothing and had a smaller label), it is lost, with the keys of all
 * cells whose best path may lead through it: those that have, of a lost neighbour, just the key
 * that it would offer. No best path of any other cell leads through a lost one, so these keys still
 * hold (Ramalingam and Reps, "An incremental algorithm for a generalization of the shortest-path
 * problem", J. Algorithms 21, 1996). Lost cells are then offered paths by all their neighbours, and
 * growth does the rest.
 */
#ifndef LOB_TILES_CHANGE_TMPL_H
#define LOB_TILES_CHANGE_TMPL_H

#include "kernels/growcut/cpu/tiles_fill_tmpl.h"

/* A cell that has lost its key, and the key. */
typedef struct {
    int64_t tile;
    uint32_t cell;
    path_key key;
} lost_cell;

typedef struct {
    lost_cell *items;
    size_t n, capacity;
} lost_list;

static bool lost_push(engine *e, lost_list *to, int64_t t, int64_t cell, path_key key)
{
    if (to->n == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 1024;
        const int64_t more = (int64_t)((capacity - to->capacity) * sizeof *to->items);
        if (lob_budget_hold(&e->budget, more, NULL) != LOB_OK) return false;
        lost_cell *items = realloc(to->items, capacity * sizeof *items);
        if (!items) return false;
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->n++] = (lost_cell){t, (uint32_t)cell, key};
    return true;
}

/* Where a cell lies, counted from the tile's first one. */
static void place_of(const engine *e, int64_t cell, int64_t at[3])
{
    for (int a = 2; a >= 0; a--) {
        at[a] = cell / e->pitch[a] - e->pad[a];
        cell %= e->pitch[a];
    }
}

/* Set a cell's key in its tile, and its copies in the halos of the tiles beside it. */
static void put_key(engine *e, int64_t t, int64_t cell, path_key key)
{
    int64_t at[3], of[3];
    bool low[3], high[3], inner = true;
    place_of(e, cell, at);
    tile_place(e, t, of);
    e->tile[t].keys[cell] = key;
    e->tile[t].changed = true;
    for (int a = 0; a < 3; a++) {
        low[a] = at[a] == 0 && of[a] > 0;
        high[a] = at[a] == e->side[a] - 1 && of[a] < e->tiles[a] - 1;
        inner = inner && !low[a] && !high[a];
    }
    for (int side = 0; side < SIDES && !inner; side++) {
        const int toward[3] = {side % 3 - 1, side / 3 % 3 - 1, side / 9 - 1};
        int64_t theirs = cell;
        bool beside = true;
        for (int a = 0; a < 3; a++) {
            beside = beside && (toward[a] == 0 || (toward[a] < 0 ? low[a] : high[a]));
            theirs -= toward[a] * e->side[a] * e->pitch[a];
        }
        if (beside) tile_beside(e, t, side)->keys[theirs] = key;
    }
}

/* The tile of neighbour q of a cell of tile t, and in q the cell there. A halo cell with key 0 may
 * lie outside of the section, and is left where it is. */
static int64_t own_cell(const engine *e, int64_t t, int64_t *q)
{
    if (!e->is_halo[*q] || e->tile[t].keys[*q] == 0) return t;
    const int side = owner_of(e, *q, q);
    return tile_beside(e, t, side) - e->tile;
}

/* A path's first key: of a seed of strength 1, which the keys give as 0. */
static path_key start_key(const engine *e, int32_t seed)
{
    return key_of(e, 0, seed);
}

/* Lose the keys of all cells whose paths may lead through those that are lost. */
static bool lose(engine *e, lost_list *lost)
{
    for (size_t i = 0; i < lost->n; i++) {
        const lost_cell from = lost->items[i];
        const tile *const of = &e->tile[from.tile];
        for (int k = 0; k < e->neighbours; k++) {
            int64_t cell = from.cell + e->step[k];
            const int64_t t = own_cell(e, from.tile, &cell);
            const path_key key = e->tile[t].keys[cell];
            if (key == 0 || key == e->unreached || key < from.key ||
                ((key ^ from.key) & e->labels) != 0 ||
                offer_of(e, of, from.cell, from.cell + e->step[k], from.key, k) != key)
                continue;
            put_key(e, t, cell, e->unreached);
            if (!lost_push(e, lost, t, cell, key)) return false;
        }
    }
    return true;
}

/* The seed in a cell whose key is 0, or 0: it is no data, or lies outside of the section. */
static int32_t seed_of(const engine *e, int64_t t, int64_t cell)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const lob_dims dims = section->view.dims;
    int64_t at[3], of[3];
    uint8_t is_data;
    place_of(e, cell, at);
    tile_place(e, t, of);
    for (int a = 0; a < 3; a++) at[a] += of[a] * e->side[a];
    if (at[0] < 0 || at[1] < 0 || at[2] < 0 || at[0] >= dims.nx || at[1] >= dims.ny ||
        at[2] >= dims.nz)
        return 0;
    const int64_t voxel = lob_view_index(&section->view, at[0], at[1], at[2]);
    const int32_t seed = lob_label_at(seeds->data, seeds->type, voxel);
    if (seed == 0) return 0;
    lob_levels_data_row(&is_data, &section->data, &section->view, at[0], at[1], at[2], 1);
    return is_data ? seed : 0;
}

/* Queue the cells beside a lost one that have a path. */
static bool queue_rim(engine *e, const lost_cell *lost)
{
    for (int k = 0; k < e->neighbours; k++) {
        int64_t cell = lost->cell + e->step[k], t = lost->tile;
        const bool is_seed = e->tile[t].keys[cell] == 0;
        const int32_t seed = is_seed ? seed_of(e, t, cell) : 0;
        if (is_seed && !seed) continue;
        if (e->is_halo[cell]) t = tile_beside(e, t, owner_of(e, cell, &cell)) - e->tile;
        const path_key key = seed ? start_key(e, seed) : e->tile[t].keys[cell];
        if (key != e->unreached && !queue_later(&e->tile[t], cell, key)) return false;
    }
    return true;
}

/* One voxel's seed changes. */
static bool change_seed(engine *e, lost_list *lost, int64_t t, int64_t cell, int32_t old,
                        int32_t now)
{
    const path_key was = old ? start_key(e, old) : e->tile[t].keys[cell];
    const path_key is = now ? start_key(e, now) : e->unreached;
    put_key(e, t, cell, now ? 0 : e->unreached);
    if (is > was && !lost_push(e, lost, t, cell, was)) return false;
    return !now || queue_later(&e->tile[t], cell, is);
}

/* A row of the section takes the seeds of another volume; the number of seeds on data and elsewhere
 * follows. */
static bool change_row(engine *e, lost_list *lost, const lob_growcut_change *change, int64_t y,
                       int64_t z, lob_growcut_stats *stats)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const size_t bytes = lob_type_of(seeds->type)->bytes;
    const int64_t start = lob_view_index(&section->view, change->first[0], y, z);
    if (section->view.stride[0] == 1 &&
        memcmp((const uint8_t *)seeds->data + (size_t)start * bytes,
               (const uint8_t *)change->seeds + (size_t)start * bytes,
               (size_t)change->size[0] * bytes) == 0)
        return true;
    for (int64_t x = change->first[0]; x < change->first[0] + change->size[0]; x++) {
        const int64_t v = lob_view_index(&section->view, x, y, z);
        const int32_t old = lob_label_at(seeds->data, seeds->type, v);
        const int32_t now = lob_label_at(change->seeds, seeds->type, v);
        if (old == now) continue;
        uint8_t is_data;
        lob_levels_data_row(&is_data, &section->data, &section->view, x, y, z, 1);
        int64_t *const count = is_data ? &stats->seeds : &stats->seeds_outside;
        *count += (now != 0) - (old != 0);
        const int64_t at[3] = {x, y, z};
        int64_t cell;
        const int64_t t = tile_at(e, at, &cell);
        if (is_data && !change_seed(e, lost, t, cell, old, now)) return false;
        lob_label_put(seeds->data, seeds->type, v, now);
    }
    return true;
}

static lob_status change_seeds(engine *e, const lob_growcut_change *change,
                               lob_growcut_stats *stats)
{
    lost_list lost = {0};
    bool ok = true;
    for (int64_t k = 0; k < change->size[2] && ok; k++)
        for (int64_t j = 0; j < change->size[1] && ok; j++)
            ok = change_row(e, &lost, change, change->first[1] + j, change->first[2] + k, stats);
    ok = ok && lose(e, &lost);
    for (size_t i = 0; i < lost.n && ok; i++)
        if (e->tile[lost.items[i].tile].keys[lost.items[i].cell] != 0)
            ok = queue_rim(e, &lost.items[i]);
    free(lost.items);
    lob_budget_release(&e->budget, (int64_t)(lost.capacity * sizeof *lost.items));
    return ok ? LOB_OK : LOB_ENOMEM;
}

#endif
