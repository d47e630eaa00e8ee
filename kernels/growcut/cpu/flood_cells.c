/* The flood's cells: how they lie, their memory, how they begin, and what is written of them. */
#include "kernels/growcut/cpu/flood_cells.h"

#include <string.h>

enum {
    LEAST_PLANES = 8, /* of a share */
    SLABS = 4,        /* of a share, at least */
    MOST_PLANES = 16, /* of a slab */
    PARTS = 16        /* between which ranks meet */
};

static const int64_t LEAST_CELLS = 1 << 13; /* of a share; of what a rank floods before it meets */

/* ---- how they lie ---- */

static void lay_out(lob_flood *f)
{
    const lob_dims dims = f->section->view.dims;
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    f->cells = 1;
    for (int a = 0; a < 3; a++) {
        f->pad[a] = side[a] > 1;
        f->pitch[a] = f->cells;
        f->cells *= side[a] + 2 * f->pad[a];
    }
    f->levels = (int64_t)f->section->rule.dmax + 1;
    f->axis = side[2] > 1 ? 2 : side[1] > 1 ? 1 : 0;
    f->planes = side[f->axis];
    f->end = f->planes;
    f->until = LOB_FLOOD_NEVER;
    f->most = INT64_MAX;
    const lob_growcut_slab *const slab = f->section->slab;
    if (!slab || lob_team_size(slab->team) == 1) return;
    f->team = slab->team;
    f->first = slab->first;
    f->end = slab->end;
    f->width = f->levels / PARTS + 1;
    f->until = lob_flood_cost_at(f->width);
    f->most = f->section->levels.data_voxels / (lob_team_size(f->team) * (int64_t)PARTS);
    if (f->most < LEAST_CELLS) f->most = LEAST_CELLS;
    const int64_t plane = f->pitch[f->axis]; /* the first is around the volume */
    f->news[0].is_there = f->first > 0;
    f->news[1].is_there = f->end < f->planes;
    f->seam[0] = (lob_flood_seam){f->first * plane, (f->first + 1) * plane, 0};
    f->seam[1] = (lob_flood_seam){(f->end + 1) * plane, f->end * plane, 0};
}

/* As many shares as there are threads with enough to do; thin slabs share what the water does. A
 * slab has two planes or more, so that the plane before the first is of a share too. */
static void lay_out_shares(lob_flood *f)
{
    _Static_assert(LEAST_PLANES >= 2 * SLABS, "height >= 2");
    int64_t shares = f->section->threads;
    if (shares > f->planes / LEAST_PLANES) shares = f->planes / LEAST_PLANES;
    if (shares > f->cells / LEAST_CELLS) shares = f->cells / LEAST_CELLS;
    f->shares = shares > 1 && f->axis > 0 ? (int)shares : 1;
    f->height = f->planes / (SLABS * f->shares);
    if (f->height > MOST_PLANES) f->height = MOST_PLANES;
    if (f->shares == 1) f->height = f->planes;
}

static bool is_border(const lob_flood *f, int64_t plane)
{
    return f->shares > 1 && (plane % f->height == 0 || plane % f->height == f->height - 1);
}

/* The neighbours row by row; along an axis of one voxel there are none. */
static void list_rows(lob_flood *f)
{
    const lob_growcut_rule *const rule = &f->section->rule;
    for (int k = 0; k < rule->neighbours; k++) {
        const int8_t *const at = rule->offset[k];
        bool inside = true;
        for (int a = 0; a < 3; a++) inside = inside && (at[a] == 0 || f->pad[a]);
        if (!inside) continue;
        const int64_t step = at[1] * f->pitch[1] + at[2] * f->pitch[2] - 1;
        int r = 0;
        while (r < f->rows && f->row[r].step != step) r++;
        if (r == f->rows) f->row[f->rows++] = (lob_flood_row){.step = step};
        f->row[r].is[at[0] + 1] = true;
    }
    for (int r = 0; r < f->rows; r++) {
        uint8_t looks[4] = {0}, frees[4] = {0};
        for (int i = 0; i < 3; i++) {
            looks[i] = f->row[r].is[i] ? LOB_FLOOD_OPEN | LOB_FLOOD_REACHED : 0;
            frees[i] = f->row[r].is[i] ? LOB_FLOOD_FREE : 0;
        }
        memcpy(&f->row[r].looks, looks, sizeof looks);
        memcpy(&f->row[r].frees, frees, sizeof frees);
    }
}

/* ---- memory ---- */

static lob_status take_memory(lob_flood *f)
{
    const int64_t margin = f->pitch[1] + f->pitch[2] + 8;
    lob_budget *const b = &f->budget;
    LOB_TRY(lob_budget_calloc(b, &f->states, f->cells + 2 * margin, 1, f->error));
    f->state = f->states + margin;
    LOB_TRY(lob_budget_alloc(b, &f->level, f->cells, sizeof *f->level, f->error));
    LOB_TRY(lob_budget_alloc(b, &f->label, f->cells, sizeof *f->label, f->error));
    if (f->team) LOB_TRY(lob_budget_alloc(b, &f->came, f->cells, sizeof *f->came, f->error));
    LOB_TRY(lob_budget_calloc(b, &f->share, f->shares, sizeof *f->share, f->error));
    for (int i = 0; i < f->shares; i++) {
        lob_flood_share *const s = &f->share[i];
        s->pool = (lob_flood_pool){.budget = b, .error = f->error};
        LOB_TRY(lob_budget_calloc(b, &s->queues, f->levels, sizeof *s->queues, f->error));
        LOB_TRY(lob_budget_calloc(b, &s->sent, f->shares, sizeof *s->sent, f->error));
    }
    for (int k = 0; k < 2; k++) {
        const int64_t cells = f->news[k].is_there ? f->pitch[f->axis] : 0;
        LOB_TRY(lob_budget_alloc(b, &f->news[k].tells, cells, sizeof(lob_flood_news), f->error));
        LOB_TRY(lob_budget_alloc(b, &f->news[k].hears, cells, sizeof(lob_flood_news), f->error));
    }
    return LOB_OK;
}

static void give_share(lob_flood *f, lob_flood_share *s)
{
    for (int i = 0; s->sent && i < f->shares; i++) lob_flood_list_free(&s->pool, &s->sent[i]);
    lob_flood_list_free(&s->pool, &s->wave);
    lob_flood_list_free(&s->pool, &s->touched);
    lob_flood_pool_free(&s->pool);
    lob_budget_free(&f->budget, s->queues, f->levels, sizeof *s->queues);
    lob_budget_free(&f->budget, s->sent, f->shares, sizeof *s->sent);
}

void lob_flood_free(lob_flood *f)
{
    lob_budget *const b = &f->budget;
    lob_budget_free(b, f->states, f->cells + 2 * (f->pitch[1] + f->pitch[2] + 8), 1);
    lob_budget_free(b, f->level, f->cells, sizeof *f->level);
    lob_budget_free(b, f->label, f->cells, sizeof *f->label);
    lob_budget_free(b, f->came, f->cells, sizeof *f->came);
    for (int i = 0; f->share && i < f->shares; i++)
        if (f->share[i].pool.budget) give_share(f, &f->share[i]);
    lob_budget_free(b, f->share, f->shares, sizeof *f->share);
    for (int k = 0; k < 2; k++) {
        const int64_t cells = f->news[k].is_there ? f->pitch[f->axis] : 0;
        lob_budget_free(b, f->news[k].tells, cells, sizeof(lob_flood_news));
        lob_budget_free(b, f->news[k].hears, cells, sizeof(lob_flood_news));
    }
}

/* ---- how they begin ---- */

static int64_t plane_of(const lob_flood *f, int64_t y, int64_t z)
{
    return f->axis == 2 ? z : f->axis == 1 ? y : 0;
}

/* Is a row's plane this rank's own? */
static bool is_own(const lob_flood *f, int64_t y, int64_t z)
{
    const int64_t plane = plane_of(f, y, z);
    return plane >= f->first && plane < f->end;
}

/* Levels, states and labels of a row; closed are seeds, what is too high for any path, and planes
 * beside a rank's own. */
static bool fill_row(const void *engine, int64_t row, lob_growcut_result *result)
{
    const lob_flood *const f = engine;
    const lob_growcut_section *const s = f->section;
    const lob_volume *const of = s->in->seeds;
    const int64_t y = row % s->view.dims.ny, z = row / s->view.dims.ny;
    const int64_t n = s->view.dims.nx, voxel = lob_view_index(&s->view, 0, y, z);
    const int64_t first = lob_flood_row_of(f, y, z);
    const bool own = is_own(f, y, z);
    uint8_t *const state = f->state + first; /* at first: is it data? */
    uint16_t *const level = f->level + first;
    int32_t *const label = f->label + first;
    const uint8_t border = is_border(f, plane_of(f, y, z)) ? LOB_FLOOD_BORDER : 0;
    const uint8_t open = !f->team ? LOB_FLOOD_OPEN
                         : own    ? LOB_FLOOD_OPEN | LOB_FLOOD_FREE
                                  : LOB_FLOOD_BESIDE;
    lob_levels_data_row(state, &s->data, &s->view, 0, y, z, n);
    lob_levels_row(level, state, &s->levels, &s->data, 0, &s->view, 0, y, z, n);
    for (int64_t x = 0; x < n; x++) {
        const int32_t seed = lob_label_at(of->data, of->type, voxel + x * s->view.stride[0]);
        const bool is_data = state[x], is_low = level[x] <= s->rule.limit;
        label[x] = is_data ? seed : 0;
        state[x] = border | (is_data && seed == 0 && is_low ? open : 0);
        if (f->came && label[x] != 0 && is_low) f->came[first + x] = 0;
        result->stats.seeds += own && seed && is_data;
        result->stats.seeds_outside += own && seed && !is_data;
    }
    return true;
}

lob_status lob_flood_begin(lob_flood *f, lob_growcut_result *result)
{
    const lob_growcut_section *const s = f->section;
    lay_out(f);
    lay_out_shares(f);
    list_rows(f);
    LOB_TRY(take_memory(f));
    if (f->came) memset(f->came, 0xff, (size_t)f->cells * sizeof *f->came);
    (void)lob_growcut_in_parts(result, fill_row, f, s->view.dims.ny * s->view.dims.nz, s->threads);
    return LOB_OK;
}

/* ---- what is written of them ---- */

static bool write_row(const void *engine, int64_t number, lob_growcut_result *result)
{
    const lob_flood *const f = engine;
    const lob_growcut_section *const s = f->section;
    const lob_volume *const seeds = s->in->seeds;
    const int64_t y = number % s->view.dims.ny, z = number / s->view.dims.ny;
    const int64_t row = lob_flood_row_of(f, y, z), voxel = lob_view_index(&s->view, 0, y, z);
    if (!is_own(f, y, z)) return true;
    for (int64_t x = 0; x < s->view.dims.nx; x++) {
        const int64_t cell = row + x, v = voxel + x * s->view.stride[0];
        const bool is_seed = lob_label_at(seeds->data, seeds->type, v) != 0;
        const bool tie = f->state[cell] & LOB_FLOOD_TIE;
        int64_t level = f->level[cell];
        if (f->came && f->label[cell] && !is_seed) {
            const uint64_t cost = lob_flood_cost(f, cell);
            level = lob_flood_level(cost);
            if (lob_flood_steps(cost) > result->steps) result->steps = lob_flood_steps(cost);
        }
        lob_growcut_put(s, v, f->label[cell], is_seed ? 0 : (uint64_t)level, true, result);
        if (!s->out->tie) continue;
        s->out->tie[v] = tie;
        result->stats.ties += tie;
    }
    return true;
}

void lob_flood_write(const lob_flood *f, lob_growcut_result *result)
{
    const lob_growcut_section *const s = f->section;
    (void)lob_growcut_in_parts(result, write_row, f, s->view.dims.ny * s->view.dims.nz, s->threads);
}
