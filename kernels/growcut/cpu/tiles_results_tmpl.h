/* Keys become labels, strengths and ties; did a cost overflow? Part of growcut_tiles_tmpl.h. */
#ifndef LOB_TILES_RESULTS_TMPL_H
#define LOB_TILES_RESULTS_TMPL_H

#include "kernels/growcut/cpu/tiles_state_tmpl.h"

/* Is a seed or a reached cell of a row a possible step away from data without a path? */
static bool step_was_left_out(const engine *e, const tile *of, const row_part *r)
{
    const lob_volume *seeds = e->section->in->seeds;
    const int64_t voxel = lob_view_index(&e->section->view, r->x, r->y, r->z);
    uint8_t is_data[MAX_ROW];
    lob_levels_data_row(is_data, &e->section->data, &e->section->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t c = r->cell + i, v = voxel + i * e->section->view.stride[0];
        if (!is_data[i] || of->keys[c] == e->unreached)
            continue; /* the cost table may end before distances to it */
        if (of->keys[c] == 0 && lob_label_at(seeds->data, seeds->type, v) == 0) continue;
        for (int k = 0; k < e->neighbours; k++) {
            const int64_t n = c + e->step[k];
            if (of->keys[n] != e->unreached) continue;
            if (e->section->cost[step_distance(e, of, c, n)] != LOB_NO_PASSAGE) return true;
        }
    }
    return false;
}

/*
 * Could a path have been refused only because its cost does not fit the key? Not where the largest
 * cost leaves capacity for one more step; else look for a step that was left out. The answer
 * depends on the fixed point alone, not on the tiles.
 */
static bool overflowed(const engine *e, uint64_t largest)
{
    const lob_growcut_rule *rule = &e->section->rule;
    const uint64_t capacity = (uint64_t)(e->unreached >> e->label_bits) - 1;
    if (capacity >= rule->limit || largest + rule->max_step <= capacity) return false;
    int found = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers) reduction(| : found)
    for (int64_t t = 0; t < e->count; t++) {
        refresh_halo(e, t);
        for (int64_t j = 0; j < e->side[1] * e->side[2] && !found; j++) {
            const row_part r = row_part_of(e, t, j % e->side[1], j / e->side[1], false);
            found |= step_was_left_out(e, &e->tile[t], &r);
        }
    }
    return found;
}

/* Write the labels and strengths of a row. */
static void write_row(const engine *e, const tile *of, const row_part *r,
                      lob_growcut_result *result)
{
    const lob_growcut_section *section = e->section;
    const lob_volume *seeds = section->in->seeds;
    const int64_t voxel = lob_view_index(&section->view, r->x, r->y, r->z);
    const bool own = is_own(e, r);
    uint8_t is_data[MAX_ROW];
    lob_levels_data_row(is_data, &section->data, &section->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * section->view.stride[0];
        const path_key key = of->keys[r->cell + i];
        int32_t label = 0;
        uint64_t units = 0;
        if (key == 0 && is_data[i]) label = lob_label_at(seeds->data, seeds->type, v);
        if (key != 0 && key != e->unreached) {
            label = label_of(e, key);
            units = key >> e->label_bits;
        }
        lob_growcut_put(section, v, label, units, own, result);
    }
}

/* Write the tie zone of a row: where the labels of the pass before differ from this pass's. */
static void write_tie_row(const engine *e, const tile *of, const row_part *r,
                          lob_growcut_result *result)
{
    const lob_growcut_section *section = e->section;
    const int64_t voxel = lob_view_index(&section->view, r->x, r->y, r->z);
    const bool own = is_own(e, r);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * section->view.stride[0];
        const path_key key = of->keys[r->cell + i];
        const bool tie =
            key != 0 && key != e->unreached &&
            label_of(e, key) != lob_label_at(section->out->labels, section->in->seeds->type, v);
        section->out->tie[v] = tie;
        result->stats.ties += own && tie;
    }
}

/* The box around all tiles that have changed. */
static void find_changed(const engine *e, lob_growcut_result *result)
{
    for (int64_t t = 0, n = 0; t < e->count; t++) {
        if (!e->tile[t].changed) continue;
        const lob_dims dims = e->section->view.dims;
        const int64_t view[3] = {dims.nx, dims.ny, dims.nz};
        int64_t of[3];
        tile_place(e, t, of);
        for (int a = 0; a < 3; a++) {
            const int64_t first = of[a] * e->side[a], end = first + e->side[a];
            const int64_t last = end < view[a] ? end : view[a];
            if (n == 0 || first < result->first[a]) result->first[a] = first;
            if (n == 0 || last > result->end[a]) result->end[a] = last;
        }
        n++;
    }
}

static bool write_tile(const void *engine_, int64_t t, lob_growcut_result *result)
{
    const engine *const e = engine_;
    tile *const of = &e->tile[t];
    for (int64_t row = 0; row < e->side[1] * e->side[2] && of->changed; row++) {
        const row_part r = row_part_of(e, t, row % e->side[1], row / e->side[1], false);
        (e->reversed ? write_tie_row : write_row)(e, of, &r, result);
    }
    if (of->changed) {
        of->reached = result->stats.reached;
        of->largest = result->largest;
        of->changed = false;
    }
    result->stats.reached = of->reached;
    result->largest = of->largest;
    return true;
}

/* Write what has changed. */
static void write_results(engine *e, lob_growcut_result *result)
{
    find_changed(e, result);
    (void)lob_growcut_in_parts(result, write_tile, e, e->count, e->workers);
}

#endif
