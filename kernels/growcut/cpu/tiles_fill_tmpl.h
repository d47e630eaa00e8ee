/* Tiles are filled with levels, first keys and queued seeds. Part of growcut_tiles_tmpl.h. */
#ifndef LOB_TILES_FILL_TMPL_H
#define LOB_TILES_FILL_TMPL_H

#include "kernels/growcut/cpu/tiles_state_tmpl.h"

/* The first key of a voxel; seed is its label, or 0. */
static path_key first_key(const engine *e, bool is_data, int32_t seed, int64_t voxel)
{
    const float *strength = e->section->in->seed_strength;
    if (!is_data) return 0;
    if (seed == 0) return e->unreached;
    const uint64_t units = strength ? lob_growcut_start(&e->section->rule, strength[voxel]) : 0;
    if (units == 0) return 0;
    return units < (uint64_t)(e->unreached >> e->label_bits) ? key_of(e, units, seed)
                                                             : e->unreached;
}

/* Does a seed with a strength start at a cost that is allowed but does not fit the key? */
static bool start_overflows(const engine *e, int64_t voxel)
{
    const uint64_t units =
        lob_growcut_start(&e->section->rule, e->section->in->seed_strength[voxel]);
    return units <= e->section->rule.limit && units != UINT64_MAX;
}

static void fill_row(const engine *e, tile *to, const row_part *r)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    uint8_t is_data[MAX_ROW];
    lob_levels_data_row(is_data, &section->data, &section->view, r->x, r->y, r->z, r->n);
    const int64_t voxel = lob_view_index(&section->view, r->x, r->y, r->z);
    if (e->packs)
        lob_packed_row(to->packed + r->cell, is_data, &section->levels, section->data.image, voxel,
                       section->view.stride[0], r->n);
    for (int c = 0; !e->packs && c < section->data.image->channels; c++)
        lob_levels_row(to->levels + c * e->cells + r->cell, is_data, &section->levels,
                       &section->data, c, &section->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * section->view.stride[0];
        to->keys[r->cell + i] =
            first_key(e, is_data[i], lob_label_at(seeds->data, seeds->type, v), v);
    }
}

/* Has a cell a neighbour whose key can still fall? Seeds deep inside a stroke have none. */
static bool has_open_neighbour(const engine *e, const tile *of, int64_t cell)
{
    key_vector open = {0};
    for (int r = 0; r < e->rows; r++) {
        key_vector theirs;
        memcpy(&theirs, of->keys + cell + e->row[r].step, sizeof theirs);
        open |= (key_vector)(theirs != 0) & e->row[r].bit;
    }
    return (open[0] | open[1] | open[2]) != 0;
}

/* May any cell of a row have one, or be one? */
static bool is_open(const engine *e, const tile *of, const row_part *r)
{
    const size_t bytes = (size_t)(r->n + 2) * sizeof *of->keys;
    for (int k = 0; k < e->rows; k++)
        if (!lob_all_zero(of->keys + r->cell + e->row[k].step, bytes)) return true;
    return !lob_all_zero(of->keys + r->cell, bytes - 2 * sizeof *of->keys);
}

/* Queue the seeds of a row, and count them. */
static bool queue_seeds(const engine *e, tile *to, const row_part *r, lob_growcut_result *result)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const int64_t voxel = lob_view_index(&section->view, r->x, r->y, r->z);
    const bool own = is_own(e, r), open = is_open(e, to, r);
    uint8_t is_data[MAX_ROW];
    bool known = false;
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * section->view.stride[0];
        const int32_t seed = lob_label_at(seeds->data, seeds->type, v);
        if (seed == 0) continue;
        if (!known)
            lob_levels_data_row(is_data, &section->data, &section->view, r->x, r->y, r->z, r->n);
        known = true;
        const path_key key = to->keys[r->cell + i];
        if (!is_data[i] || key == e->unreached) {
            result->stats.seeds_outside += own;
            result->overflow |= is_data[i] && start_overflows(e, v);
            continue;
        }
        result->stats.seeds += own;
        if (section->rounds) continue; /* then no cell is queued: every cell reads its neighbours */
        if (!open) continue;
        const path_key start = key ? key : key_of(e, 0, seed);
        if (!key && (start >= e->unreached || !has_open_neighbour(e, to, r->cell + i))) continue;
        if (!queue_later(to, r->cell + i, start)) return false;
    }
    return true;
}

static bool fill_tile(const void *of, int64_t t, lob_growcut_result *result)
{
    const engine *const e = of;
    tile *to = &e->tile[t];
    to->changed = true;
    memset(to->keys, 0, (size_t)e->cells * sizeof *to->keys);
    memset(e->packs ? (void *)to->packed : to->levels, 0, (size_t)(e->cells * level_bytes(e)));
    for (int64_t k = -e->pad[2]; k < e->side[2] + e->pad[2]; k++)
        for (int64_t j = -e->pad[1]; j < e->side[1] + e->pad[1]; j++) {
            const row_part r = row_part_of(e, t, j, k, true);
            if (r.n) fill_row(e, to, &r);
        }
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++) {
            const row_part r = row_part_of(e, t, j, k, false);
            if (r.n && !queue_seeds(e, to, &r, result)) return false;
        }
    return true;
}

static void mark_halo(engine *e)
{
    memset(e->is_halo, 1, (size_t)e->cells);
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++)
            memset(e->is_halo + e->pad[0] + (j + e->pad[1]) * e->pitch[1] +
                       (k + e->pad[2]) * e->pitch[2],
                   0, (size_t)e->side[0]);
}

static lob_status fill(engine *e, lob_growcut_result *result)
{
    mark_halo(e);
    return lob_growcut_in_parts(result, fill_tile, e, e->count, e->workers) ? LOB_OK : LOB_ENOMEM;
}

#endif
