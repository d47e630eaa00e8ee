/*
 * Keys cross the seams between a team's slabs, as growcut_slabs.h says. Part of
 * growcut_tiles_tmpl.h.
 */
#ifndef LOB_TILES_SEAMS_TMPL_H
#define LOB_TILES_SEAMS_TMPL_H

#include "kernels/growcut/cpu/tiles_grow_tmpl.h"

/* The tile and the cell of a voxel at a seam: of its two planes, one behind the other. */
static int64_t seam_cell(const engine *e, const seam *of, int64_t voxel, int64_t *cell)
{
    const int across = e->section->seam_axis;
    const int64_t nx = e->section->view.dims.nx, i = voxel % e->seam_plane;
    int64_t at[3];
    at[0] = i % nx;
    at[across] = of->first + voxel / e->seam_plane;
    at[3 - across] = i / nx;
    return tile_at(e, at, cell);
}

/* Seams begin with the keys of seeds, which both sides know. */
static lob_status begin_seams(engine *e, lob_error *error)
{
    const lob_growcut_slab *const slab = e->section->slab;
    if (!slab) return LOB_OK;
    const lob_dims dims = e->section->view.dims;
    const int64_t planes = e->section->seam_axis == 2 ? dims.nz : dims.ny;
    e->seam_plane = lob_dims_voxels(dims) / planes;
    const bool is_there[2] = {slab->first > 0, slab->end < planes};
    e->seam[0].first = slab->first - 1;
    e->seam[1].first = slab->end - 1;
    for (int k = 0; k < 2; k++) {
        seam *const of = &e->seam[k];
        if (!is_there[k]) continue;
        of->known = malloc((size_t)(2 * e->seam_plane) * sizeof *of->known);
        if (!of->known) return LOB_ENOMEM;
        for (int64_t i = 0, cell; i < 2 * e->seam_plane; i++) {
            const int64_t t = seam_cell(e, of, i, &cell);
            of->known[i] = e->tile[t].keys[cell];
        }
    }
    return count_bytes(e, error);
}

/* Which keys have fallen since the last exchange? */
static bool look_for_news(const engine *e, seam *of)
{
    bool ok = true;
    of->tells.n = 0;
    for (int64_t i = 0, cell; of->known && i < 2 * e->seam_plane && ok; i++) {
        const int64_t t = seam_cell(e, of, i, &cell);
        const path_key key = e->tile[t].keys[cell];
        if (key == of->known[i]) continue;
        of->known[i] = key;
        ok = list_push(&of->tells, (uint32_t)i, key);
    }
    return ok;
}

/* Take a key from the other side; changed: of rounds, by tile. */
static bool take_news(engine *e, seam *of, queued_cell news, uint8_t *changed)
{
    int64_t cell;
    const int64_t t = seam_cell(e, of, news.cell, &cell);
    tile *const to = &e->tile[t];
    if (news.key >= to->keys[cell]) return true;
    of->known[news.cell] = news.key;
    if (changed) {
        to->keys[cell] = news.key;
        changed[t] = to->changed = true;
        return true;
    }
    if (news.key < to->inbox_min) to->inbox_min = news.key;
    return list_push(&to->inbox, (uint32_t)cell, news.key);
}

/*
 * Exchange what has fallen at the seams.
 *
 *   any  out  whether a rank had something to tell
 */
static lob_status exchange(engine *e, bool *any, uint8_t *changed, lob_error *error)
{
    lob_team *const team = e->section->slab->team;
    lob_team_news news[2];
    bool ok = true;
    *any = false;
    if (lob_team_size(team) == 1) return LOB_OK;
    for (int k = 0; k < 2; k++) {
        seam *const of = &e->seam[k];
        ok = ok && look_for_news(e, of);
        news[k] = (lob_team_news){.is_there = of->known,
                                  .tells = of->tells.items,
                                  .told = (int64_t)of->tells.n,
                                  .budget = &e->budget};
    }
    lob_status st =
        ok ? lob_team_swap(news, sizeof(queued_cell), any, team, NULL, error) : LOB_ENOMEM;
    for (int k = 0; k < 2; k++) {
        const queued_cell *const heard = news[k].hears;
        for (int64_t i = 0; i < news[k].heard && st == LOB_OK; i++)
            if (!take_news(e, &e->seam[k], heard[i], changed)) st = LOB_ENOMEM;
        lob_budget_free(&e->budget, news[k].hears, news[k].heard, sizeof *heard);
    }
    return st;
}

/* Grow to the fixed point of the whole volume. */
static lob_status grow_across(engine *e, lob_error *error)
{
    bool any = true;
    LOB_TRY(grow(e, error));
    while (e->section->slab && any) {
        LOB_TRY(exchange(e, &any, NULL, error));
        if (any) LOB_TRY(grow(e, error));
    }
    return LOB_OK;
}

#endif
