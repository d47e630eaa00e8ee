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
    int64_t at[3], t = 0;
    at[0] = i % nx;
    at[across] = of->first + voxel / e->seam_plane;
    at[3 - across] = i / nx;
    *cell = 0;
    for (int a = 2; a >= 0; a--) {
        t = t * e->tiles[a] + at[a] / e->side[a];
        *cell += (at[a] % e->side[a] + e->pad[a]) * e->pitch[a];
    }
    return t;
}

/* Seams begin with the keys of seeds, which both sides know. */
static lob_status begin_seams(engine *e, lob_error *error)
{
    const lob_growcut_slab *const slab = e->section->slab;
    if (!slab) return LOB_OK;
    const lob_dims dims = e->section->view.dims;
    const int64_t planes = e->section->seam_axis == 2 ? dims.nz : dims.ny;
    e->seam_plane = lob_dims_voxels(dims) / planes;
    e->seam[0].is_there = slab->first > 0;
    e->seam[1].is_there = slab->end < planes;
    e->seam[0].first = slab->first - 1;
    e->seam[1].first = slab->end - 1;
    for (int k = 0; k < 2; k++) {
        seam *const of = &e->seam[k];
        if (!of->is_there) continue;
        of->known = malloc((size_t)(2 * e->seam_plane) * sizeof *of->known);
        if (!of->known) return LOB_ENOMEM;
        for (int64_t i = 0, cell; i < 2 * e->seam_plane; i++) {
            const int64_t t = seam_cell(e, of, i, &cell);
            of->known[i] = e->tile[t].keys[cell];
        }
    }
    return count_bytes(e, error);
}

static bool tell(seam *of, int64_t voxel, path_key key)
{
    if (of->told == of->capacity) {
        const int64_t capacity = of->capacity ? 2 * of->capacity : 256;
        seam_key *const more = realloc(of->tells, (size_t)capacity * sizeof *more);
        if (!more) return false;
        of->tells = more;
        of->capacity = capacity;
    }
    of->tells[of->told++] = (seam_key){(path_key)voxel, key};
    return true;
}

/* Which keys have fallen since the last exchange? */
static bool look_for_news(const engine *e, seam *of)
{
    bool ok = true;
    of->told = 0;
    for (int64_t i = 0, cell; of->is_there && i < 2 * e->seam_plane && ok; i++) {
        const int64_t t = seam_cell(e, of, i, &cell);
        const path_key key = e->tile[t].keys[cell];
        if (key == of->known[i]) continue;
        of->known[i] = key;
        ok = tell(of, i, key);
    }
    return ok;
}

/* Take a key from the other side; changed: of rounds, by tile. */
static bool take_news(engine *e, seam *of, seam_key news, uint8_t *changed)
{
    int64_t cell;
    const int64_t t = seam_cell(e, of, (int64_t)news.voxel, &cell);
    tile *const to = &e->tile[t];
    if (news.key >= to->keys[cell]) return true;
    of->known[news.voxel] = news.key;
    if (changed) {
        to->keys[cell] = news.key;
        changed[t] = to->changed = true;
        return true;
    }
    if (news.key < to->inbox_min) to->inbox_min = news.key;
    return list_push(&to->inbox, (uint32_t)cell, news.key);
}

/* Send what this side tells, and take what the other does: counts are of all ranks, of their seam
 * before and behind. */
static lob_status pass_news(engine *e, const int64_t *counts, uint8_t *changed, lob_error *error)
{
    lob_team *const team = e->section->slab->team;
    seam_key *news[2] = {NULL, NULL};
    int64_t n[2] = {0, 0};
    lob_letter letters[2];
    int sent = 0;
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        const seam *const of = &e->seam[k];
        const int with = team->rank + (k ? 1 : -1);
        if (!of->is_there) continue;
        n[k] = counts[2 * with + !k];
        news[k] = malloc((size_t)n[k] * sizeof *news[k] + 1);
        ok = ok && news[k];
        letters[sent++] = (lob_letter){.with = with,
                                       .send = of->tells,
                                       .send_bytes = of->told * (int64_t)sizeof *of->tells,
                                       .receive = news[k],
                                       .receive_bytes = n[k] * (int64_t)sizeof *news[k]};
    }
    lob_status st = ok ? lob_team_send(team, letters, sent, error) : LOB_ENOMEM;
    for (int k = 0; k < 2 && st == LOB_OK; k++)
        for (int64_t i = 0; i < n[k] && ok; i++)
            ok = take_news(e, &e->seam[k], news[k][i], changed);
    free(news[0]);
    free(news[1]);
    return st == LOB_OK && !ok ? LOB_ENOMEM : st;
}

/*
 * Exchange what has fallen at the seams.
 *
 *   any  out  whether a rank had something to tell
 */
static lob_status exchange(engine *e, bool *any, uint8_t *changed, lob_error *error)
{
    lob_team *const team = e->section->slab->team;
    const int size = lob_team_size(team);
    *any = false;
    if (size == 1) return LOB_OK;
    int64_t *const counts = malloc((size_t)size * 2 * sizeof *counts);
    bool ok = counts != NULL;
    for (int k = 0; k < 2; k++) ok = ok && look_for_news(e, &e->seam[k]);
    const int64_t mine[2] = {e->seam[0].told, e->seam[1].told};
    lob_status st = ok ? lob_team_share(team, counts, mine, sizeof mine, error) : LOB_ENOMEM;
    for (int i = 0; i < 2 * size && st == LOB_OK; i++) *any = *any || counts[i] > 0;
    if (*any) st = pass_news(e, counts, changed, error);
    free(counts);
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
