/* The flood of GrowCut: cells, queues of levels, waves; planes are shared among threads. */
#include "kernels/growcut/cpu/growcut_flood.h"

#include "kernels/growcut/cpu/flood_queues.h"
#include "kernels/growcut/growcut_slabs.h"

#include <omp.h>
#include <sched.h>
#include <string.h>

/* States of a cell. */
enum {
    OPEN = 1,    /* data that no water has reached */
    REACHED = 2, /* by the wave under way */
    BORDER = 4,  /* a cell beside it may be of another share */
    TIE = 0x80   /* two labels came at the same cost */
};

enum {
    AT_ONCE = 64,
    AHEAD = 16, /* cells whose neighbours are fetched before they are looked at */
    MAX_NEIGHBOURS = 26,
    LEAST_PLANES = 8, /* of a share */
    MOST_PLANES = 16  /* of a slab */
};

static const uint32_t TIED = (uint32_t)1 << 31; /* beside a label */
static const int64_t LEAST_CELLS = 1 << 13;     /* of a share */
static const int64_t REPORT_CELLS = 1 << 20;

/* Where threads wait for each other, some microseconds apart: they spin, as a sleep takes longer
 * than that, and let others run where a thread is late. */
typedef struct {
    _Alignas(64) atomic_int here;
    _Alignas(64) atomic_uint turn;
} meeting;

/*
 * Go on when so many threads have come. What each has written before, all others see after. Returns
 * the seconds that the last one was late by, 0 if it was not.
 */
static double meet(meeting *m, int threads)
{
    enum { SPINS = 1000 };
    if (threads == 1) return 0;
    const unsigned turn = atomic_load_explicit(&m->turn, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&m->here, 1, memory_order_acq_rel) == threads - 1) {
        atomic_store_explicit(&m->here, 0, memory_order_relaxed);
        atomic_store_explicit(&m->turn, turn + 1, memory_order_release);
        return 0;
    }
    for (int spins = 0; spins < SPINS; spins++) {
        if (atomic_load_explicit(&m->turn, memory_order_acquire) != turn) return 0;
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }
    const double start_s = omp_get_wtime();
    while (atomic_load_explicit(&m->turn, memory_order_acquire) == turn) sched_yield();
    return omp_get_wtime() - start_s;
}

/* Neighbours in one row. */
typedef struct {
    int64_t step;   /* cells to the one at x - 1 */
    uint32_t looks; /* OPEN | REACHED in the bytes of those that are neighbours */
    bool is[3];
} neighbour_row;

/* A share of the cells, which one thread alone reads and writes: every so many slabs of planes. */
typedef struct {
    lob_flood_pool pool;
    lob_flood_queue *queues; /* levels */
    lob_flood_list wave, touched;
    lob_flood_list *sent; /* by share: cells of others that the wave reaches */
    int64_t flooded;
    lob_status status;
    struct {
        int64_t wave, next, flooded; /* cells, level of the next queue, cells */
        lob_status status;
    } shown; /* for other threads, from meeting to meeting */
} share;

/* A cell of a plane that two ranks have, from the plane's first on, and the label that came. Planes
 * of less than 2^31 voxels have less than 2^32 cells. */
typedef struct {
    uint32_t cell, label;
} seam_news;

/* The plane before a rank's own, or behind them, where there is such: its first cell, and that of
 * our own beside it. */
typedef struct {
    int64_t theirs, ours;
} seam;

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
    int axis;               /* planes lie across it: the last of more than one voxel */
    int64_t planes, height; /* of all slabs but the last */
    share *share;
    int shares;
    meeting meeting;
    double start_s;
    atomic_bool alone; /* the first thread goes on without the others */
    int64_t next_report, steps;

    lob_team *team;     /* of ranks; NULL: this one has all */
    int64_t first, end; /* its planes */
    seam seam[2];
    lob_growcut_news news[2]; /* as many as a plane has cells: each is told of once */
    int64_t *all;             /* 2 for each rank: where it stands */
    lob_status met;           /* of the team */
} flood;

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
    f->axis = side[2] > 1 ? 2 : side[1] > 1 ? 1 : 0;
    f->planes = side[f->axis];
    f->end = f->planes;
    const lob_growcut_slab *const slab = f->section->slab;
    if (!slab || lob_team_size(slab->team) == 1) return;
    f->team = slab->team;
    f->first = slab->first;
    f->end = slab->end;
    const int64_t plane = f->pitch[f->axis]; /* the first is around the volume */
    f->news[0].is_there = f->first > 0;
    f->news[1].is_there = f->end < f->planes;
    f->seam[0] = (seam){f->first * plane, (f->first + 1) * plane};
    f->seam[1] = (seam){(f->end + 1) * plane, f->end * plane};
}

/* As many shares as there are threads with enough to do; thin slabs share what the water does. */
static void lay_out_shares(flood *f)
{
    int64_t shares = f->section->threads;
    if (shares > f->planes / LEAST_PLANES) shares = f->planes / LEAST_PLANES;
    if (shares > f->cells / LEAST_CELLS) shares = f->cells / LEAST_CELLS;
    f->shares = shares > 1 && f->axis > 0 ? (int)shares : 1;
    f->height = f->planes / (4 * f->shares);
    if (f->height > MOST_PLANES) f->height = MOST_PLANES;
    if (f->height < 1 || f->shares == 1) f->height = f->planes;
}

static int share_of_plane(const flood *f, int64_t plane)
{
    return (int)(plane / f->height % f->shares);
}

/* Of a cell in a volume of several shares, or around it. */
static int share_of(const flood *f, int64_t cell)
{
    return share_of_plane(f, cell / f->pitch[f->axis] - 1);
}

static bool is_border(const flood *f, int64_t plane)
{
    return f->shares > 1 && (plane % f->height == 0 || plane % f->height == f->height - 1);
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
    LOB_TRY(lob_budget_calloc(b, &f->share, f->shares, sizeof *f->share, f->error));
    for (int i = 0; i < f->shares; i++) {
        share *const s = &f->share[i];
        s->pool = (lob_flood_pool){.budget = b, .error = f->error};
        LOB_TRY(lob_budget_calloc(b, &s->queues, f->levels, sizeof *s->queues, f->error));
        LOB_TRY(lob_budget_calloc(b, &s->sent, f->shares, sizeof *s->sent, f->error));
    }
    for (int k = 0; k < 2; k++) {
        const int64_t cells = f->news[k].is_there ? f->pitch[f->axis] : 0;
        LOB_TRY(lob_budget_alloc(b, &f->news[k].tells, cells, sizeof(seam_news), f->error));
        LOB_TRY(lob_budget_alloc(b, &f->news[k].hears, cells, sizeof(seam_news), f->error));
    }
    return lob_budget_alloc(b, &f->all, 2 * lob_team_size(f->team), sizeof *f->all, f->error);
}

static void give_share(flood *f, share *s)
{
    for (int i = 0; s->sent && i < f->shares; i++) lob_flood_list_free(&s->pool, &s->sent[i]);
    lob_flood_list_free(&s->pool, &s->wave);
    lob_flood_list_free(&s->pool, &s->touched);
    lob_flood_pool_free(&s->pool);
    lob_budget_free(&f->budget, s->queues, f->levels, sizeof *s->queues);
    lob_budget_free(&f->budget, s->sent, f->shares, sizeof *s->sent);
}

static void give_memory(flood *f)
{
    lob_budget *const b = &f->budget;
    lob_budget_free(b, f->states, f->cells + 2 * (f->pitch[1] + f->pitch[2] + 8), 1);
    lob_budget_free(b, f->level, f->cells, sizeof *f->level);
    lob_budget_free(b, f->label, f->cells, sizeof *f->label);
    for (int i = 0; f->share && i < f->shares; i++)
        if (f->share[i].pool.budget) give_share(f, &f->share[i]);
    lob_budget_free(b, f->share, f->shares, sizeof *f->share);
    for (int k = 0; k < 2; k++) {
        const int64_t cells = f->news[k].is_there ? f->pitch[f->axis] : 0;
        lob_budget_free(b, f->news[k].tells, cells, sizeof(seam_news));
        lob_budget_free(b, f->news[k].hears, cells, sizeof(seam_news));
    }
    lob_budget_free(b, f->all, 2 * lob_team_size(f->team), sizeof *f->all);
}

/* Is a row's plane this rank's own? */
static bool is_own(const flood *f, int64_t y, int64_t z)
{
    const int64_t plane = f->axis == 2 ? z : f->axis == 1 ? y : 0;
    return plane >= f->first && plane < f->end;
}

/* Levels, states and labels of a row; closed are seeds, and what is too high for any path. */
static bool fill_row(const void *engine, int64_t row, lob_growcut_result *result)
{
    const flood *const f = engine;
    const lob_growcut_section *const s = f->section;
    const lob_volume *const of = s->in->seeds;
    const int64_t y = row % s->view.dims.ny, z = row / s->view.dims.ny;
    const int64_t n = s->view.dims.nx, voxel = lob_view_index(&s->view, 0, y, z);
    const bool own = is_own(f, y, z);
    uint8_t *const state = f->state + row_of(f, y, z); /* at first: is it data? */
    uint16_t *const level = f->level + row_of(f, y, z);
    int32_t *const label = f->label + row_of(f, y, z);
    const uint8_t border = is_border(f, f->axis == 2 ? z : f->axis == 1 ? y : 0) ? BORDER : 0;
    lob_levels_data_row(state, &s->data, &s->view, 0, y, z, n);
    lob_levels_row(level, state, &s->levels, &s->data, 0, &s->view, 0, y, z, n);
    for (int64_t x = 0; x < n; x++) {
        const int32_t seed = lob_label_at(of->data, of->type, voxel + x * s->view.stride[0]);
        const bool is_data = state[x];
        label[x] = is_data ? seed : 0;
        state[x] = border | (is_data && seed == 0 && level[x] <= s->rule.limit ? OPEN : 0);
        result->stats.seeds += own && seed && is_data;
        result->stats.seeds_outside += own && seed && !is_data;
    }
    return true;
}

/* ---- waves ---- */

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
static lob_status enqueue_seeds(const flood *f, share *s, int own)
{
    const lob_dims dims = f->section->view.dims;
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++) {
            const int64_t row = row_of(f, y, z);
            if (!is_own(f, y, z) || (f->shares > 1 && share_of(f, row) != own)) continue;
            for (int64_t c = row; c < row + dims.nx; c++) {
                const uint16_t level = f->level[c];
                if (f->label[c] == 0 || level > f->section->rule.limit) continue;
                if (has_open_neighbour(f, c))
                    LOB_TRY(
                        lob_flood_enqueue(&s->pool, &s->queues[level], c, (uint32_t)f->label[c]));
            }
        }
    return LOB_OK;
}

static void fetch(const flood *f, const int64_t *cell, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int r = 0; r < f->rows; r++) __builtin_prefetch(f->state + cell[i] + f->row[r].step);
}

/* A neighbour of a cell of the wave, whose label comes to it. */
static inline void reach(uint8_t *state, int32_t *label, lob_flood_list *touched, int64_t cell,
                         uint32_t arrives)
{
    const uint8_t tie = arrives & TIED ? TIE : 0;
    const int32_t own = (int32_t)(arrives & ~TIED);
    if (state[cell] & OPEN) {
        state[cell] = (uint8_t)((state[cell] & BORDER) | REACHED | tie);
        label[cell] = own;
        touched->cell[touched->n++] = cell;
    } else if (state[cell] & REACHED) {
        const int32_t other = label[cell];
        state[cell] = (uint8_t)(state[cell] | tie | (own != other ? TIE : 0));
        if (own < other) label[cell] = own;
    }
}

/* Does a row of neighbours belong to another share? Then they are sent there. */
static bool is_sent(const flood *f, share *s, int own, int64_t at, const bool is[3], uint32_t label,
                    lob_status *st)
{
    const int of = share_of(f, at + 1);
    if (of == own) return false;
    lob_flood_list *const to = &s->sent[of];
    if (*st == LOB_OK) *st = lob_flood_list_room(&s->pool, to, 3);
    for (int k = 0; k < 3 && *st == LOB_OK; k++) {
        if (!is[k]) continue;
        to->cell[to->n] = at + k;
        to->label[to->n++] = label;
    }
    return true;
}

/* Cells of a wave reach their neighbours. */
static lob_status spread(const flood *f, share *s, int own, const int64_t *cell,
                         const uint32_t *label, int64_t n)
{
    neighbour_row row[9];
    const int rows = f->rows;
    uint8_t *const state = f->state;
    int32_t *const labels = f->label;
    lob_status st = LOB_OK;
    memcpy(row, f->row, sizeof row);
    for (int64_t i = 0; i < n; i++) {
        if (i % AT_ONCE == 0)
            LOB_TRY(lob_flood_list_room(&s->pool, &s->touched, AT_ONCE * MAX_NEIGHBOURS));
        if (i + AHEAD < n) fetch(f, &cell[i + AHEAD], 1);
        const bool border = state[cell[i]] & BORDER;
        for (int r = 0; r < rows; r++) {
            const int64_t at = cell[i] + row[r].step;
            uint32_t states;
            if (border && is_sent(f, s, own, at, row[r].is, label[i], &st)) continue;
            memcpy(&states, state + at, sizeof states);
            if (!(states & row[r].looks)) continue;
            for (int k = 0; k < 3; k++)
                if (row[r].is[k]) reach(state, labels, &s->touched, at + k, label[i]);
        }
    }
    return st;
}

/* Spread what waited in a level's queue. */
static lob_status pour(const flood *f, share *s, int own, int64_t level)
{
    lob_flood_queue *const q = &s->queues[level];
    while (q->first) {
        if (q->first->next) fetch(f, q->first->next->cell, AHEAD);
        LOB_TRY(spread(f, s, own, q->first->cell, q->first->label, q->n));
        lob_flood_drop_chunk(&s->pool, q);
    }
    return LOB_OK;
}

/* Cells that the waves of other shares have reached. */
static lob_status receive(const flood *f, share *s, int own)
{
    for (int i = 0; i < f->shares; i++) {
        const lob_flood_list *const from = &f->share[i].sent[own];
        LOB_TRY(lob_flood_list_room(&s->pool, &s->touched, from->n));
        for (int64_t c = 0; c < from->n; c++) {
            if (c + AHEAD < from->n) __builtin_prefetch(f->state + from->cell[c + AHEAD]);
            reach(f->state, f->label, &s->touched, from->cell[c], from->label[c]);
        }
    }
    return LOB_OK;
}

/* ---- seams ---- */

/* Cells beside this rank's planes, which a wave has reached: they are told of once, and closed. */
static void tell(flood *f, share *s)
{
    lob_flood_list *const l = &s->touched;
    const int64_t low = f->news[0].is_there ? f->seam[0].ours : 0;
    const int64_t high = f->news[1].is_there ? f->seam[1].theirs : f->cells;
    int64_t own = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const int64_t cell = l->cell[i];
        if (cell >= low && cell < high) {
            l->cell[own++] = cell;
            continue;
        }
        const int side = cell >= high;
        lob_growcut_news *const to = &f->news[side];
        const uint32_t tie = f->state[cell] & TIE ? TIED : 0;
        ((seam_news *)to->tells)[to->told++] =
            (seam_news){(uint32_t)(cell - f->seam[side].theirs), (uint32_t)f->label[cell] | tie};
        f->state[cell] = 0;
    }
    l->n = own;
}

/* Of all ranks, in the thread that speaks to them: tell of a wave, and hear. A share that has
 * failed says so to those who wait for it. */
static lob_status exchange(flood *f)
{
    bool any;
    for (int i = 0; i < f->shares; i++) LOB_TRY(f->share[i].status);
    const lob_status st =
        lob_growcut_swap_news(f->news, sizeof(seam_news), &any, f->team, NULL, f->error);
    f->news[0].told = f->news[1].told = 0;
    return st;
}

/* Cells of a share that other ranks' waves have reached. */
static lob_status hear(const flood *f, share *s, int own)
{
    for (int k = 0; k < 2; k++) {
        const int64_t ours = f->seam[k].ours, n = f->news[k].heard;
        const seam_news *const heard = f->news[k].hears;
        if (f->shares > 1 && n > 0 && share_of(f, ours) != own) continue;
        LOB_TRY(lob_flood_list_room(&s->pool, &s->touched, n));
        for (int64_t i = 0; i < n; i++)
            reach(f->state, f->label, &s->touched, ours + heard[i].cell, heard[i].label);
    }
    return LOB_OK;
}

/* What a wave has reached is the next wave, but for what is higher, which waits for its level. */
static lob_status settle(const flood *f, share *s, uint16_t level)
{
    lob_flood_list *const l = &s->touched;
    const lob_flood_list wave = s->wave;
    int64_t left = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (i + AHEAD < l->n) __builtin_prefetch(f->level + l->cell[i + AHEAD]);
        const int64_t cell = l->cell[i];
        const uint8_t state = f->state[cell];
        const uint32_t label = (uint32_t)f->label[cell] | (state & TIE ? TIED : 0);
        f->state[cell] = state & (TIE | BORDER);
        if (f->level[cell] > level) {
            LOB_TRY(lob_flood_enqueue(&s->pool, &s->queues[f->level[cell]], cell, label));
        } else {
            f->level[cell] = level;
            l->cell[left] = cell;
            l->label[left++] = label;
            if (left <= AHEAD) fetch(f, &cell, 1);
        }
    }
    s->flooded += l->n;
    s->wave = *l;
    s->wave.n = left;
    s->touched = wave;
    s->touched.n = 0;
    return LOB_OK;
}

/* ---- threads ---- */

/* A thread has every so many shares, from its own number on. */
typedef struct {
    int number, threads;
    double waited_s; /* for others that were late */
} worker;

static bool is_cancelled(flood *f)
{
    int64_t flooded = 0;
    for (int i = 0; i < f->shares; i++) flooded += f->share[i].shown.flooded;
    if (flooded < f->next_report) return false;
    f->next_report = flooded + REPORT_CELLS;
    return lob_growcut_stops(f->section, flooded);
}

/* Show the others where this share stands, from a level on. */
static void show(const flood *f, share *s, int64_t level)
{
    while (level < f->levels && !s->queues[level].first) level++;
    if (level < f->levels) fetch(f, s->queues[level].first->cell, 1);
    s->shown.wave = s->wave.n;
    s->shown.next = level;
    s->shown.flooded = s->flooded;
    s->shown.status = s->status;
}

/* Where all shares of this rank stand: the sum of waves, the least level; false: one has failed. */
static bool look_here(const flood *f, int64_t *wave, int64_t *next)
{
    bool fine = true;
    *wave = 0;
    *next = f->levels;
    for (int i = 0; i < f->shares; i++) {
        const share *const s = &f->share[i];
        fine = fine && s->shown.status == LOB_OK;
        *wave += s->shown.wave;
        if (s->shown.next < *next) *next = s->shown.next;
    }
    return fine;
}

/* Where all shares of all ranks stand. */
static bool look(flood *f, const worker *w, int64_t *wave, int64_t *next)
{
    if (!look_here(f, wave, next)) return false;
    if (!f->team) return true;
    if (w->number == 0) {
        const int64_t mine[2] = {*wave, *next};
        f->met = lob_team_share(f->team, f->all, mine, sizeof mine, f->error);
    }
    meet(&f->meeting, w->threads);
    for (int r = 0; f->met == LOB_OK && r < lob_team_size(f->team); r++) {
        *wave += r != lob_team_rank(f->team) ? f->all[2 * r] : 0;
        if (f->all[2 * r + 1] < *next) *next = f->all[2 * r + 1];
    }
    return f->met == LOB_OK;
}

/* Where other programs have the cores, threads wait for each other more than they do. */
static bool is_kept_waiting(const flood *f, const worker *w)
{
    const double little_s = 0.01;
    return w->waited_s > little_s && w->waited_s > (omp_get_wtime() - f->start_s) / 2;
}

/*
 * One step of a thread's shares: from the level's queues, or from their waves. Between the first
 * meeting and the second a share takes what the others have sent.
 */
static void step(flood *f, worker *w, int64_t level, bool from_queues)
{
    for (int i = w->number; i < f->shares; i += w->threads) {
        share *const s = &f->share[i];
        for (int to = 0; to < f->shares; to++) s->sent[to].n = 0;
        if (from_queues) s->wave.n = 0;
        if (s->status != LOB_OK) continue;
        s->status = from_queues ? pour(f, s, i, level)
                                : spread(f, s, i, s->wave.cell, s->wave.label, s->wave.n);
    }
    if (w->number == 0 && f->share[0].status == LOB_OK && is_cancelled(f))
        f->share[0].status = LOB_ECANCEL;
    w->waited_s += meet(&f->meeting, w->threads);
    for (int i = w->number; i < f->shares; i += w->threads) {
        share *const s = &f->share[i];
        if (s->status == LOB_OK && f->shares > 1) s->status = receive(f, s, i);
        if (s->status == LOB_OK && f->team) tell(f, s);
    }
    if (f->team) {
        meet(&f->meeting, w->threads);
        if (w->number == 0) f->met = exchange(f);
        meet(&f->meeting, w->threads);
    }
    for (int i = w->number; i < f->shares; i += w->threads) {
        share *const s = &f->share[i];
        if (s->status == LOB_OK) s->status = f->met;
        if (s->status == LOB_OK && f->team) s->status = hear(f, s, i);
        if (s->status == LOB_OK) s->status = settle(f, s, (uint16_t)level);
        show(f, s, level);
    }
    if (is_kept_waiting(f, w)) atomic_store_explicit(&f->alone, true, memory_order_relaxed);
    w->waited_s += meet(&f->meeting, w->threads);
}

/*
 * What one thread does. After every meeting all threads see whether the first goes on alone, and,
 * if not, the same waves and levels. One that goes on alone has all shares, and meets nobody: so
 * the others leave without a look at shares that it may be writing.
 */
static void flood_shares(flood *f, worker w)
{
    int64_t wave, level, here = 0, steps = 0;
    for (int i = w.number; i < f->shares; i += w.threads) {
        share *const s = &f->share[i];
        s->status = enqueue_seeds(f, s, i);
        show(f, s, 0);
    }
    meet(&f->meeting, w.threads);
    for (;;) {
        if (atomic_load_explicit(&f->alone, memory_order_relaxed)) {
            if (w.number > 0) return;
            w.threads = 1;
        }
        if (!look(f, &w, &wave, &level) || (wave == 0 && level == f->levels)) return;
        steps = wave > 0 ? steps + 1 : 0;
        if (wave == 0) here = level;
        if (w.number == 0 && steps > f->steps) f->steps = steps;
        step(f, &w, here, wave == 0);
    }
}

static lob_status flood_levels(flood *f)
{
    f->start_s = omp_get_wtime();
#pragma omp parallel num_threads(f->shares)
    flood_shares(f, (worker){omp_get_thread_num(), omp_get_num_threads(), 0});
    for (int i = 0; i < f->shares; i++)
        if (f->share[i].status != LOB_OK) return f->share[i].status;
    return f->met;
}

/* ---- results ---- */

static bool write_row(const void *engine, int64_t number, lob_growcut_result *result)
{
    const flood *const f = engine;
    const lob_growcut_section *const s = f->section;
    const lob_volume *const seeds = s->in->seeds;
    const int64_t y = number % s->view.dims.ny, z = number / s->view.dims.ny;
    const int64_t row = row_of(f, y, z), voxel = lob_view_index(&s->view, 0, y, z);
    if (!is_own(f, y, z)) return true;
    for (int64_t x = 0; x < s->view.dims.nx; x++) {
        const int64_t cell = row + x, v = voxel + x * s->view.stride[0];
        const bool is_seed = lob_label_at(seeds->data, seeds->type, v) != 0;
        const bool tie = f->state[cell] & TIE;
        lob_growcut_put(s, v, f->label[cell], is_seed ? 0 : f->level[cell], true, result);
        if (!s->out->tie) continue;
        s->out->tie[v] = tie;
        result->stats.ties += tie;
    }
    return true;
}

lob_status lob_growcut_flood(const lob_growcut_section *section, lob_growcut_result *result,
                             int64_t *steps, lob_error *error)
{
    const int64_t rows = section->view.dims.ny * section->view.dims.nz;
    flood f = {.section = section, .error = error, .next_report = REPORT_CELLS};
    f.budget = (lob_budget){.who = "GrowCut's flood", .limit = section->max_memory};
    *result = (lob_growcut_result){.stats.fixed_point = true};
    lay_out(&f);
    lay_out_shares(&f);
    list_rows(&f);
    lob_status st = take_memory(&f);
    if (st == LOB_OK) (void)lob_growcut_in_parts(result, fill_row, &f, rows, section->threads);
    if (st == LOB_OK) st = flood_levels(&f);
    if (st == LOB_OK) (void)lob_growcut_in_parts(result, write_row, &f, rows, section->threads);
    *steps = f.steps;
    result->stats.working_bytes = f.budget.peak;
    if (st == LOB_OK && f.team)
        st = lob_growcut_stats_of_slabs(&result->stats, &result->largest, 1, &result->overflow,
                                        f.team, error);
    give_memory(&f);
    return st;
}
