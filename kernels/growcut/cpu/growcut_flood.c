/* The flood of GrowCut: cells, queues of levels, waves. */
#include "kernels/growcut/cpu/growcut_flood.h"

#include "kernels/budget.h"
#include "volumes/labels.h"

#include <string.h>

enum {
    OPEN = 1,    /* data that no water has reached */
    REACHED = 2, /* by the wave under way */
    TIE = 0x80,  /* two labels came at the same cost */
    AT_ONCE = 64,
    AHEAD = 16, /* cells whose neighbours are fetched before they are looked at */
    QUEUED = 30,
    BLOCK = 256,
    MAX_NEIGHBOURS = 26
};

/* QUEUED cells of a level's queue. */
typedef struct part {
    struct part *next;
    int64_t cell[QUEUED];
    uint32_t label[QUEUED]; /* and TIED */
} part;

/* All parts but the first are full. */
typedef struct {
    part *first;
    int64_t n; /* cells of the first */
} queue;

static const uint32_t TIED = (uint32_t)1 << 31; /* beside a label */

/* Parts are had by the block. */
typedef struct block {
    struct block *next;
    part parts[BLOCK];
} block;

typedef struct {
    int64_t *cell;
    uint32_t *label; /* and TIED */
    int64_t n, capacity;
} list;

/* Neighbours in one row. */
typedef struct {
    int64_t step;   /* cells to the one at x - 1 */
    uint32_t looks; /* OPEN | REACHED in the bytes of those that are neighbours */
    bool is[3];
} neighbour_row;

/* Cells are the section's voxels with one around them along each axis of more than one voxel. */
typedef struct {
    const lob_growcut_section *section;
    lob_budget budget;
    lob_error *error;
    int64_t pad[3], pitch[3], cells;
    uint8_t *states; /* of the cells, with a margin that row reads may touch */
    uint8_t *state;
    uint16_t *level; /* of a cell that is reached: of its path */
    int32_t *label;  /* 0: not reached */
    neighbour_row row[9];
    int rows;
    int64_t levels;
    queue *queues; /* levels */
    part *unused;
    block *blocks;
    list wave, touched;
    int64_t flooded, next_report;
} flood;

static const int64_t REPORT_CELLS = 1 << 20;

/* ---- cells ---- */

static int64_t row_of(const flood *f, int64_t y, int64_t z)
{
    return f->pad[0] + (y + f->pad[1]) * f->pitch[1] + (z + f->pad[2]) * f->pitch[2];
}

static void lay_out(flood *f)
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
}

/* The neighbours row by row; along an axis of one voxel there are none. */
static void list_rows(flood *f)
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
        if (r == f->rows) f->row[f->rows++] = (neighbour_row){.step = step};
        f->row[r].is[at[0] + 1] = true;
    }
    for (int r = 0; r < f->rows; r++) {
        uint8_t looks[4] = {0};
        for (int i = 0; i < 3; i++) looks[i] = f->row[r].is[i] ? OPEN | REACHED : 0;
        memcpy(&f->row[r].looks, looks, sizeof looks);
    }
}

static lob_status take_memory(flood *f)
{
    const int64_t margin = f->pitch[1] + f->pitch[2] + 8;
    lob_budget *const b = &f->budget;
    LOB_TRY(lob_budget_calloc(b, &f->states, f->cells + 2 * margin, 1, f->error));
    f->state = f->states + margin;
    LOB_TRY(lob_budget_alloc(b, &f->level, f->cells, sizeof *f->level, f->error));
    LOB_TRY(lob_budget_alloc(b, &f->label, f->cells, sizeof *f->label, f->error));
    return lob_budget_calloc(b, &f->queues, f->levels, sizeof *f->queues, f->error);
}

static void list_free(flood *f, list *l)
{
    lob_budget_free(&f->budget, l->cell, l->capacity, sizeof *l->cell);
    lob_budget_free(&f->budget, l->label, l->capacity, sizeof *l->label);
}

static void give_memory(flood *f)
{
    lob_budget *const b = &f->budget;
    lob_budget_free(b, f->states, f->cells + 2 * (f->pitch[1] + f->pitch[2] + 8), 1);
    lob_budget_free(b, f->level, f->cells, sizeof *f->level);
    lob_budget_free(b, f->label, f->cells, sizeof *f->label);
    lob_budget_free(b, f->queues, f->levels, sizeof *f->queues);
    list_free(f, &f->wave);
    list_free(f, &f->touched);
    for (block *next, *at = f->blocks; at; at = next) {
        next = at->next;
        lob_budget_free(b, at, 1, sizeof *at);
    }
}

/* Levels, states and labels of a row; closed are seeds, and what is too high for any path. */
static void fill_row(const flood *f, int64_t y, int64_t z, int64_t seeds[2])
{
    const lob_growcut_section *const s = f->section;
    const lob_volume *const of = s->in->seeds;
    const int64_t n = s->view.dims.nx, voxel = lob_view_index(&s->view, 0, y, z);
    uint8_t *const state = f->state + row_of(f, y, z); /* at first: is it data? */
    uint16_t *const level = f->level + row_of(f, y, z);
    int32_t *const label = f->label + row_of(f, y, z);
    lob_levels_data_row(state, &s->data, &s->view, 0, y, z, n);
    lob_levels_row(level, state, &s->levels, &s->data, 0, &s->view, 0, y, z, n);
    for (int64_t x = 0; x < n; x++) {
        const int32_t seed = lob_label_at(of->data, of->type, voxel + x * s->view.stride[0]);
        const bool is_data = state[x];
        label[x] = is_data ? seed : 0;
        state[x] = is_data && seed == 0 && level[x] <= s->rule.limit ? OPEN : 0;
        seeds[is_data] += seed != 0;
    }
}

static void fill(flood *f, lob_growcut_result *result)
{
    const lob_dims dims = f->section->view.dims;
    int64_t seeds = 0, outside = 0;
#pragma omp parallel for collapse(2) num_threads(f->section->threads) schedule(static)            \
    reduction(+ : seeds, outside)
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++) {
            int64_t of_row[2] = {0};
            fill_row(f, y, z, of_row);
            outside += of_row[0];
            seeds += of_row[1];
        }
    result->stats.seeds = seeds;
    result->stats.seeds_outside = outside;
}

/* ---- queues ---- */

static lob_status more_parts(flood *f)
{
    block *more;
    LOB_TRY(lob_budget_alloc(&f->budget, &more, 1, sizeof *more, f->error));
    more->next = f->blocks;
    f->blocks = more;
    for (int i = 0; i < BLOCK; i++) {
        more->parts[i].next = f->unused;
        f->unused = &more->parts[i];
    }
    return LOB_OK;
}

static lob_status enqueue(flood *f, uint16_t level, int64_t cell, uint32_t label)
{
    queue *const q = &f->queues[level];
    if (!q->first || q->n == QUEUED) {
        if (!f->unused) LOB_TRY(more_parts(f));
        part *const another = f->unused;
        f->unused = another->next;
        another->next = q->first;
        *q = (queue){another, 0};
    }
    q->first->cell[q->n] = cell;
    q->first->label[q->n++] = label;
    return LOB_OK;
}

/* Make room for so many more. */
static lob_status make_room(flood *f, list *l, int64_t more)
{
    if (l->n + more <= l->capacity) return LOB_OK;
    list larger = {.n = l->n, .capacity = 3 * l->capacity / 2 + more};
    lob_budget *const b = &f->budget;
    lob_status st = lob_budget_alloc(b, &larger.cell, larger.capacity, sizeof *l->cell, f->error);
    if (st == LOB_OK)
        st = lob_budget_alloc(b, &larger.label, larger.capacity, sizeof *l->label, f->error);
    if (st != LOB_OK) {
        list_free(f, &larger);
        return st;
    }
    if (l->n > 0) memcpy(larger.cell, l->cell, (size_t)l->n * sizeof *l->cell);
    list_free(f, l);
    *l = larger;
    return LOB_OK;
}

static bool has_open_neighbour(const flood *f, int64_t cell)
{
    for (int r = 0; r < f->rows; r++) {
        uint32_t states;
        memcpy(&states, f->state + cell + f->row[r].step, sizeof states);
        if (states & f->row[r].looks) return true;
    }
    return false;
}

/* Seeds wait in the queues of their levels; those deep inside a stroke reach nothing. */
static lob_status enqueue_seeds(flood *f)
{
    const lob_dims dims = f->section->view.dims;
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++) {
            const int64_t row = row_of(f, y, z);
            for (int64_t c = row; c < row + dims.nx; c++) {
                if (f->label[c] == 0 || f->level[c] > f->section->rule.limit) continue;
                if (has_open_neighbour(f, c))
                    LOB_TRY(enqueue(f, f->level[c], c, (uint32_t)f->label[c]));
            }
        }
    return LOB_OK;
}

/* ---- waves ---- */

static void fetch(const flood *f, const int64_t *cell, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int r = 0; r < f->rows; r++) __builtin_prefetch(f->state + cell[i] + f->row[r].step);
}

/* A neighbour of a cell of the wave, whose label comes to it. */
static inline void reach(uint8_t *state, int32_t *label, list *touched, int64_t cell,
                         uint32_t arrives)
{
    const uint8_t tie = arrives & TIED ? TIE : 0;
    const int32_t own = (int32_t)(arrives & ~TIED);
    if (state[cell] & OPEN) {
        state[cell] = REACHED | tie;
        label[cell] = own;
        touched->cell[touched->n++] = cell;
    } else if (state[cell] & REACHED) {
        const int32_t other = label[cell];
        state[cell] = (uint8_t)(state[cell] | tie | (own != other ? TIE : 0));
        if (own < other) label[cell] = own;
    }
}

/* Cells of a wave reach their neighbours. */
static lob_status spread(flood *f, const int64_t *cell, const uint32_t *label, int64_t n)
{
    neighbour_row row[9];
    const int rows = f->rows;
    uint8_t *const state = f->state;
    int32_t *const labels = f->label;
    memcpy(row, f->row, sizeof row);
    for (int64_t i = 0; i < n; i++) {
        if (i % AT_ONCE == 0) LOB_TRY(make_room(f, &f->touched, AT_ONCE * MAX_NEIGHBOURS));
        if (i + AHEAD < n) fetch(f, &cell[i + AHEAD], 1);
        for (int r = 0; r < rows; r++) {
            const int64_t at = cell[i] + row[r].step;
            uint32_t states;
            memcpy(&states, state + at, sizeof states);
            if (!(states & row[r].looks)) continue;
            for (int k = 0; k < 3; k++)
                if (row[r].is[k]) reach(state, labels, &f->touched, at + k, label[i]);
        }
    }
    return LOB_OK;
}

/* What a wave has reached is the next wave, but for what is higher, which waits for its level. */
static lob_status settle(flood *f, uint16_t level)
{
    list *const l = &f->touched;
    const list wave = f->wave;
    int64_t left = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (i + AHEAD < l->n) __builtin_prefetch(f->level + l->cell[i + AHEAD]);
        const int64_t cell = l->cell[i];
        const uint8_t tie = f->state[cell] & TIE;
        const uint32_t label = (uint32_t)f->label[cell] | (tie ? TIED : 0);
        f->state[cell] = tie;
        if (f->level[cell] > level) {
            LOB_TRY(enqueue(f, f->level[cell], cell, label));
        } else {
            f->level[cell] = level;
            l->cell[left] = cell;
            l->label[left++] = label;
            if (left <= AHEAD) fetch(f, &cell, 1);
        }
    }
    f->flooded += l->n;
    f->wave = *l;
    f->wave.n = left;
    f->touched = wave;
    f->touched.n = 0;
    return LOB_OK;
}

static bool is_cancelled(flood *f)
{
    const lob_growcut_section *const s = f->section;
    if (f->flooded < f->next_report) return false;
    f->next_report = f->flooded + REPORT_CELLS;
    if (s->cancelled && atomic_load_explicit(s->cancelled, memory_order_relaxed)) return true;
    if (!s->context || !s->context->progress) return false;
    const double share = (double)f->flooded / (double)(s->levels.data_voxels + 1);
    return s->context->progress(s->context->user,
                                s->progress_from + (s->progress_to - s->progress_from) * share) !=
           0;
}

/* All waves of a level; steps: the most of them so far. */
static lob_status flood_level(flood *f, uint16_t level, int64_t *steps)
{
    queue *const q = &f->queues[level];
    f->wave.n = 0;
    while (q->first) {
        part *const at = q->first;
        if (at->next) fetch(f, at->next->cell, AHEAD);
        LOB_TRY(spread(f, at->cell, at->label, q->n));
        *q = (queue){at->next, QUEUED};
        at->next = f->unused;
        f->unused = at;
    }
    LOB_TRY(settle(f, level));
    for (int64_t step = 1; f->wave.n > 0; step++) {
        if (step > *steps) *steps = step;
        if (is_cancelled(f)) return LOB_ECANCEL;
        LOB_TRY(spread(f, f->wave.cell, f->wave.label, f->wave.n));
        LOB_TRY(settle(f, level));
    }
    return is_cancelled(f) ? LOB_ECANCEL : LOB_OK;
}

static lob_status flood_levels(flood *f, int64_t *steps)
{
    for (int64_t level = 0; level < f->levels; level++) {
        const queue *const next = &f->queues[level + 1 < f->levels ? level + 1 : level];
        if (next->first) fetch(f, next->first->cell, next->n < AHEAD ? next->n : AHEAD);
        if (f->queues[level].first) LOB_TRY(flood_level(f, (uint16_t)level, steps));
    }
    return LOB_OK;
}

/* ---- results ---- */

static void write_row(const flood *f, int64_t y, int64_t z, lob_growcut_result *result)
{
    const lob_growcut_section *const s = f->section;
    const lob_growcut_output *const out = s->out;
    const lob_volume *const seeds = s->in->seeds;
    const int64_t row = row_of(f, y, z), voxel = lob_view_index(&s->view, 0, y, z);
    for (int64_t x = 0; x < s->view.dims.nx; x++) {
        const int64_t cell = row + x, v = voxel + x * s->view.stride[0];
        const int32_t label = f->label[cell];
        const bool is_seed = lob_label_at(seeds->data, seeds->type, v) != 0;
        const uint64_t units = label && !is_seed ? f->level[cell] : 0;
        const bool tie = f->state[cell] & TIE;
        lob_label_put(out->labels, seeds->type, v, label);
        if (out->strength) out->strength[v] = label ? lob_growcut_strength(&s->rule, units) : 0;
        if (out->tie) {
            out->tie[v] = tie;
            result->stats.ties += tie;
        }
        result->stats.reached += label != 0;
        if (units > result->largest) result->largest = units;
    }
}

static void write_results(const flood *f, lob_growcut_result *result)
{
    const lob_dims dims = f->section->view.dims;
    int64_t reached = 0, ties = 0;
    uint64_t largest = 0;
#pragma omp parallel for collapse(2) num_threads(f->section->threads) schedule(static)            \
    reduction(+ : reached, ties) reduction(max : largest)
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++) {
            lob_growcut_result of_row = {0};
            write_row(f, y, z, &of_row);
            reached += of_row.stats.reached;
            ties += of_row.stats.ties;
            if (of_row.largest > largest) largest = of_row.largest;
        }
    result->stats.reached = reached;
    result->stats.ties = ties;
    result->largest = largest;
}

lob_status lob_growcut_flood(const lob_growcut_section *section, lob_growcut_result *result,
                             int64_t *steps, lob_error *error)
{
    flood f = {.section = section, .error = error};
    f.budget = (lob_budget){.who = "GrowCut's flood", .limit = section->max_memory};
    f.next_report = REPORT_CELLS;
    *result = (lob_growcut_result){.stats.fixed_point = true};
    *steps = 0;
    lay_out(&f);
    list_rows(&f);
    lob_status st = take_memory(&f);
    if (st == LOB_OK) fill(&f, result);
    if (st == LOB_OK) st = enqueue_seeds(&f);
    if (st == LOB_OK) st = flood_levels(&f, steps);
    if (st == LOB_OK) write_results(&f, result);
    result->stats.working_bytes = f.budget.peak;
    give_memory(&f);
    return st;
}
