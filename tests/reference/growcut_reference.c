/* Rounds of Bellman-Ford over (cost, label) pairs, with the smallest and the largest label of a
 * cost; for a flood, the least cost first. */
#include "tests/reference/growcut_case.h"

#include "kernels/growcut/growcut_rule.h"
#include "kernels/growcut/growcut_voxel.h"
#include "volumes/labels.h"

#include <stdlib.h>

typedef struct {
    uint64_t cost;           /* UINT64_MAX: not reached */
    int32_t lowest, highest; /* labels that reach the voxel at this cost */
} state;

typedef struct {
    const lob_growcut_input *in;
    lob_growcut_rule rule;
    uint32_t *cost; /* of a step, by distance */
    lob_dims dims;
    int64_t n;
    uint16_t *levels;
    uint8_t *is_data, *is_fixed, *is_done;
    uint64_t *first; /* of a flood: the cost from which a voxel was flooded */
    lob_norm norm;
} world;

static state first_state(world *w, int64_t v)
{
    const int32_t seed = lob_label_at(w->in->seeds->data, w->in->seeds->type, v);
    const state none = {UINT64_MAX, 0, 0};
    if (!w->is_data[v] || seed == 0) return none;
    const uint64_t start =
        w->in->seed_strength ? lob_growcut_start(&w->rule, w->in->seed_strength[v]) : 0;
    w->is_fixed[v] = start == 0;
    return start <= w->rule.limit && start != UINT64_MAX ? (state){start, seed, seed} : none;
}

/* Voxel v after its neighbours, as they were in s, have made their offers. */
static state relaxed(const world *w, const state *s, int64_t v)
{
    const lob_dims dims = w->dims;
    const int64_t x = v % dims.nx, y = v / dims.nx % dims.ny, z = v / dims.nx / dims.ny;
    state best = s[v];
    for (int k = 0; k < w->rule.neighbours; k++) {
        const int64_t p = x - w->rule.offset[k][0], q = y - w->rule.offset[k][1],
                      r = z - w->rule.offset[k][2];
        if (p < 0 || p >= dims.nx || q < 0 || q >= dims.ny || r < 0 || r >= dims.nz) continue;
        const int64_t u = p + dims.nx * (q + dims.ny * r);
        const uint32_t d =
            lob_growcut_reads_values(w->rule.kind)
                ? w->levels[v]
                : lob_growcut_distance(w->levels + u, w->levels + v, w->in->image->channels, w->n,
                                       w->norm, w->rule.fraction);
        if (s[u].cost == UINT64_MAX || !w->is_data[u]) continue;
        if (w->cost[d] == LOB_NO_PASSAGE || w->rule.extra[k] == LOB_NO_PASSAGE) continue;
        const uint64_t offer = s[u].cost + w->cost[d] + w->rule.extra[k];
        if (offer > w->rule.limit || offer > best.cost) continue;
        if (offer < best.cost) best = (state){offer, s[u].lowest, s[u].highest};
        if (s[u].lowest < best.lowest) best.lowest = s[u].lowest;
        if (s[u].highest > best.highest) best.highest = s[u].highest;
    }
    return best;
}

/* What a round changed. */
enum { COST_OR_LABEL = 1, HIGHEST = 2 };

/* All voxels at once: next is what they become, now what they were. */
static int run_round(const world *w, state *next, const state *now)
{
    int changed = 0;
    for (int64_t v = 0; v < w->n; v++) {
        next[v] = w->is_data[v] && !w->is_fixed[v] ? relaxed(w, now, v) : now[v];
        if (next[v].cost != now[v].cost || next[v].lowest != now[v].lowest)
            changed |= COST_OR_LABEL;
        if (next[v].highest != now[v].highest) changed |= HIGHEST;
    }
    return changed;
}

/* The neighbour of a voxel in a direction; -1 outside. */
static int64_t neighbour_of(const world *w, int64_t v, int k)
{
    const lob_dims dims = w->dims;
    const int64_t x = v % dims.nx + w->rule.offset[k][0];
    const int64_t y = v / dims.nx % dims.ny + w->rule.offset[k][1];
    const int64_t z = v / dims.nx / dims.ny + w->rule.offset[k][2];
    const bool inside = x >= 0 && x < dims.nx && y >= 0 && y < dims.ny && z >= 0 && z < dims.nz;
    return inside ? x + dims.nx * (y + dims.ny * z) : -1;
}

/* Priority flood: of the voxels that water has reached, the one of the least cost, level << 32 |
 * steps, floods its neighbours; every one is done once, and every step costs more than nothing. A
 * voxel's labels are those of the first ones, of one cost, by which it is flooded. */
static void flood(const world *w, state *s)
{
    uint8_t *done = w->is_done;
    for (int64_t v = 0; v < w->n; v++) {
        if (w->is_fixed[v]) s[v].cost = (uint64_t)w->levels[v] << 32;
        done[v] = s[v].cost == UINT64_MAX ? false : w->levels[v] > w->rule.limit;
    }
    for (int64_t u = 0; u >= 0;) {
        u = -1;
        for (int64_t v = 0; v < w->n; v++)
            if (!done[v] && s[v].cost != UINT64_MAX && (u < 0 || s[v].cost < s[u].cost)) u = v;
        for (int k = 0; u >= 0 && k < w->rule.neighbours; k++) {
            const int64_t v = neighbour_of(w, u, k);
            if (v < 0 || !w->is_data[v] || w->is_fixed[v] || done[v]) continue;
            const bool rises = w->levels[v] > s[u].cost >> 32;
            const uint64_t offer = rises ? (uint64_t)w->levels[v] << 32 : s[u].cost + 1;
            if (offer > s[v].cost || offer >> 32 > w->rule.limit) continue;
            if (offer < s[v].cost) {
                s[v] = (state){offer, s[u].lowest, s[u].highest};
                w->first[v] = s[u].cost;
            }
            if (s[u].cost > w->first[v]) continue;
            if (s[u].lowest < s[v].lowest) s[v].lowest = s[u].lowest;
            if (s[u].highest > s[v].highest) s[v].highest = s[u].highest;
        }
        if (u >= 0) done[u] = true;
    }
    for (int64_t v = 0; v < w->n; v++)
        if (s[v].cost != UINT64_MAX) s[v].cost = w->is_fixed[v] ? 0 : s[v].cost >> 32;
}

static void put(const world *w, const lob_growcut_output *out, int64_t v, const state *s)
{
    const int32_t label = s->cost == UINT64_MAX ? 0 : s->lowest;
    lob_label_put(out->labels, w->in->seeds->type, v, label);
    if (out->strength) out->strength[v] = label ? lob_growcut_strength(&w->rule, s->cost) : 0;
    if (out->tie) out->tie[v] = label && s->lowest != s->highest;
}

int64_t growcut_reference(const lob_growcut_output *out, bool *fixed_point,
                          const lob_growcut_input *in, const lob_growcut_options *options)
{
    const lob_volume *image = in->image;
    world w = {.in = in, .dims = image->dims, .n = lob_voxels(image), .norm = options->norm};
    const lob_data data = {
        image, in->mask, {options->range[0], options->range[1]}
    };
    const lob_view view = lob_view_whole(image->dims);
    uint16_t span[LOB_GROWCUT_MAX_CHANNELS];
    lob_levels levels;
    w.levels = malloc((size_t)(w.n * image->channels) * sizeof *w.levels);
    w.is_data = malloc((size_t)w.n);
    w.is_fixed = calloc((size_t)w.n, 1);
    w.is_done = calloc((size_t)w.n, 1);
    w.first = malloc((size_t)w.n * sizeof *w.first);
    state *s = malloc((size_t)w.n * sizeof *s), *next = malloc((size_t)w.n * sizeof *s);

    lob_levels_scan(&levels, span, &data, &view, 1);
    w.rule = lob_growcut_rule_of(options, &levels, span, image, &view);
    w.cost = lob_growcut_costs(&w.rule);
    for (int64_t row = 0; row < w.n; row += w.dims.nx) {
        const int64_t y = row / w.dims.nx % w.dims.ny, z = row / w.dims.nx / w.dims.ny;
        lob_levels_data_row(w.is_data + row, &data, &view, 0, y, z, w.dims.nx);
        for (int c = 0; c < image->channels; c++)
            lob_levels_row(w.levels + c * w.n + row, w.is_data + row, &levels, &data, c, &view, 0,
                           y, z, w.dims.nx);
    }
    for (int64_t v = 0; v < w.n; v++) s[v] = first_state(&w, v);
    int64_t changing = 0;
    *fixed_point = true;
    if (options->rule == LOB_RULE_FLOOD) flood(&w, s);
    for (int64_t round = 1; options->rule != LOB_RULE_FLOOD; round++) {
        const int changed = run_round(&w, next, s);
        const bool over = options->rounds && round > options->rounds;
        if (over) *fixed_point = !(changed & COST_OR_LABEL);
        if (over || !changed) break;
        if (changed & COST_OR_LABEL) changing = round;
        state *last = s;
        s = next;
        next = last;
    }
    for (int64_t v = 0; v < w.n; v++) put(&w, out, v, &s[v]);

    free(w.cost);
    free(w.levels);
    free(w.is_data);
    free(w.is_fixed);
    free(w.is_done);
    free(w.first);
    free(s);
    free(next);
    return changing;
}
