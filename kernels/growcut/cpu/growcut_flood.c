/* The flood of GrowCut: waves of cells, level by level, whose planes are shared among threads. */
#include "kernels/growcut/cpu/growcut_flood.h"

#include "kernels/growcut/cpu/flood_cells.h"

#include <omp.h>
#include <sched.h>
#include <string.h>

enum {
    AT_ONCE = 64,
    AHEAD = 16, /* cells whose neighbours are fetched before they are looked at */
    MAX_NEIGHBOURS = 26
};

static const int64_t REPORT_CELLS = 1 << 20;

/* ---- seeds ---- */

static bool has_open_neighbour(const lob_flood *f, int64_t cell)
{
    for (int r = 0; r < f->rows; r++) {
        uint32_t states;
        memcpy(&states, f->state + cell + f->row[r].step, sizeof states);
        if (states & f->row[r].looks) return true;
    }
    return false;
}

/* Seeds wait in the queues of their levels; those deep inside a stroke reach nothing. */
static lob_status enqueue_seeds(const lob_flood *f, lob_flood_share *s, int own)
{
    const lob_dims dims = f->section->view.dims;
    for (int64_t z = 0; z < dims.nz; z++)
        for (int64_t y = 0; y < dims.ny; y++) {
            const int64_t row = lob_flood_row_of(f, y, z);
            if (f->shares > 1 && lob_flood_share_of(f, row) != own) continue;
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

/* ---- waves ---- */

static void fetch(const lob_flood *f, const int64_t *cell, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int r = 0; r < f->rows; r++) __builtin_prefetch(f->state + cell[i] + f->row[r].step);
}

/* May cells have been reached by water of this cost or more, before the ranks met? */
static inline bool is_again(const lob_flood *f, uint64_t cost)
{
    return cost <= f->high;
}

/*
 * A neighbour of a cell of the wave, whose label comes to it. again: it may have been reached in
 * vain, by water of no less cost than now; what comes to it then is looked at when all of the wave
 * is known.
 */
static inline void reach(const lob_flood *f, bool again, lob_flood_list *touched, int64_t cell,
                         uint32_t arrives, uint64_t cost)
{
    uint8_t *const state = f->state + cell;
    int32_t *const label = f->label + cell;
    const uint8_t tie = arrives & LOB_FLOOD_TIED ? LOB_FLOOD_TIE : 0;
    const int32_t own = (int32_t)(arrives & ~LOB_FLOOD_TIED);
    if (*state & LOB_FLOOD_OPEN) {
        *state = (uint8_t)((*state & ~LOB_FLOOD_OPEN) | LOB_FLOOD_REACHED | tie);
        *label = own;
        touched->cell[touched->n++] = cell;
    } else if (*state & LOB_FLOOD_REACHED) {
        *state = (uint8_t)(*state | tie | (own != *label ? LOB_FLOOD_TIE : 0));
        if (own < *label) *label = own;
    } else if (again && (*state & (LOB_FLOOD_FREE | LOB_FLOOD_AGAIN)) == LOB_FLOOD_FREE &&
               f->came[cell] >= cost) {
        *state |= LOB_FLOOD_AGAIN;
        touched->cell[touched->n++] = cell;
    }
}

/* Does a row of neighbours belong to another share? Then they are sent there. */
static bool is_sent(const lob_flood *f, lob_flood_share *s, int own, int64_t at, const bool is[3],
                    uint32_t label, lob_status *st)
{
    const int of = lob_flood_share_of(f, at + 1);
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

/* Cells of a cost reach their neighbours; again: after a meeting. */
static inline __attribute__((always_inline)) lob_status spread_as(bool again, const lob_flood *f,
                                                                  lob_flood_share *s, int own,
                                                                  const int64_t *cell,
                                                                  const uint32_t *label, int64_t n,
                                                                  uint64_t cost)
{
    lob_flood_row row[9];
    const int rows = f->rows;
    const uint8_t *const state = f->state;
    lob_status st = LOB_OK;
    memcpy(row, f->row, sizeof row);
    for (int64_t i = 0; i < n; i++) {
        if (i % AT_ONCE == 0)
            LOB_TRY(lob_flood_list_room(&s->pool, &s->touched, AT_ONCE * MAX_NEIGHBOURS));
        if (i + AHEAD < n) fetch(f, &cell[i + AHEAD], 1);
        const bool border = state[cell[i]] & LOB_FLOOD_BORDER;
        for (int r = 0; r < rows; r++) {
            const int64_t at = cell[i] + row[r].step;
            uint32_t states;
            if (border && is_sent(f, s, own, at, row[r].is, label[i], &st)) continue;
            memcpy(&states, state + at, sizeof states);
            if (!(states & (again ? row[r].frees : row[r].looks))) continue;
            for (int k = 0; k < 3; k++)
                if (row[r].is[k]) reach(f, again, &s->touched, at + k, label[i], cost);
        }
    }
    return st;
}

static lob_status spread(const lob_flood *f, lob_flood_share *s, int own, const int64_t *cell,
                         const uint32_t *label, int64_t n, uint64_t cost)
{
    return is_again(f, cost) ? spread_as(true, f, s, own, cell, label, n, cost)
                             : spread_as(false, f, s, own, cell, label, n, cost);
}

/* Leave those cells of a queue that have this cost still, with the labels that they have now. */
static int64_t refresh(const lob_flood *f, int64_t *cell, uint32_t *label, int64_t n, uint64_t cost)
{
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = cell[i];
        if (lob_flood_cost(f, at) != cost) continue;
        cell[left] = at;
        label[left++] = lob_flood_label(f, at);
    }
    return left;
}

/* Spread what waited in a level's queue. */
static lob_status pour(const lob_flood *f, lob_flood_share *s, int own, uint64_t cost)
{
    lob_flood_queue *const q = &s->queues[lob_flood_level(cost)];
    while (q->first) {
        if (q->first->next) fetch(f, q->first->next->cell, AHEAD);
        if (f->again) q->n = refresh(f, q->first->cell, q->first->label, q->n, cost);
        LOB_TRY(spread(f, s, own, q->first->cell, q->first->label, q->n, cost));
        lob_flood_drop_chunk(&s->pool, q);
    }
    return LOB_OK;
}

/* Cells that the waves of other shares have reached. */
static lob_status receive(const lob_flood *f, lob_flood_share *s, int own, uint64_t cost)
{
    for (int i = 0; i < f->shares; i++) {
        const lob_flood_list *const from = &f->share[i].sent[own];
        LOB_TRY(lob_flood_list_room(&s->pool, &s->touched, from->n));
        for (int64_t c = 0; c < from->n; c++) {
            if (c + AHEAD < from->n) __builtin_prefetch(f->state + from->cell[c + AHEAD]);
            reach(f, is_again(f, cost), &s->touched, from->cell[c], from->label[c], cost);
        }
    }
    return LOB_OK;
}

/*
 * The labels that come to what is reached again, from all neighbours of this cost, those that have
 * not changed too. Other shares change states meanwhile, but not of cells of this cost.
 */
static void find_labels(const lob_flood *f, lob_flood_share *s, uint64_t cost)
{
    lob_flood_list *const l = &s->touched;
    for (int64_t i = 0; i < l->n; i++) {
        uint32_t least = UINT32_MAX, tie = 0;
        if (!(f->state[l->cell[i]] & LOB_FLOOD_AGAIN)) continue;
        for (int r = 0; r < f->rows; r++)
            for (int k = 0; k < 3; k++) {
                const int64_t at = l->cell[i] + f->row[r].step + k;
                if (!f->row[r].is[k] || lob_flood_cost(f, at) != cost) continue;
                const uint32_t label = (uint32_t)f->label[at];
                if (f->state[at] & LOB_FLOOD_TIE || (least != UINT32_MAX && label != least))
                    tie = LOB_FLOOD_TIED;
                if (label < least) least = label;
            }
        l->label[i] = least | tie;
    }
}

/* Is what comes to a cell that is reached again other than before? Then it takes that. */
static bool takes(const lob_flood *f, int64_t cell, uint32_t label, uint64_t cost)
{
    uint8_t *const state = f->state + cell;
    const bool same = label == lob_flood_label(f, cell) && f->came[cell] == cost;
    const uint8_t tie = label & LOB_FLOOD_TIED ? LOB_FLOOD_TIE : 0;
    *state = (uint8_t)((*state & ~(LOB_FLOOD_TIE | LOB_FLOOD_AGAIN)) | tie);
    f->label[cell] = (int32_t)(label & ~LOB_FLOOD_TIED);
    return !same;
}

/* Does a cell that water has come to wait for its level still? Its queue will be refreshed. */
static bool is_waiting(const lob_flood *f, int64_t cell)
{
    const uint64_t came = f->came[cell], cost = lob_flood_cost_at(f->level[cell]);
    return came != LOB_FLOOD_NEVER && f->level[cell] > lob_flood_level(came) && cost > f->high;
}

/* What a wave has reached is the next wave, but for what is higher, which waits for its level. */
static lob_status settle(const lob_flood *f, lob_flood_share *s, uint64_t cost)
{
    lob_flood_list *const l = &s->touched;
    const lob_flood_list wave = s->wave;
    const uint16_t level = (uint16_t)lob_flood_level(cost);
    int64_t left = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (i + AHEAD < l->n) __builtin_prefetch(f->level + l->cell[i + AHEAD]);
        const int64_t cell = l->cell[i];
        if (f->state[cell] & LOB_FLOOD_AGAIN && !takes(f, cell, l->label[i], cost)) continue;
        const uint32_t label = lob_flood_label(f, cell);
        const bool waits = f->came && is_waiting(f, cell);
        f->state[cell] &= (uint8_t)~LOB_FLOOD_REACHED;
        if (f->came) {
            f->state[cell] |= LOB_FLOOD_NEWS;
            f->came[cell] = cost;
        }
        if (f->level[cell] > level) {
            if (!waits)
                LOB_TRY(lob_flood_enqueue(&s->pool, &s->queues[f->level[cell]], cell, label));
        } else {
            if (!f->came) f->level[cell] = level;
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

/*
 * Go on when so many threads have come. What each has written before, all others see after. Returns
 * the seconds that the last one was late by, 0 if it was not.
 */
static double meet(lob_flood_meeting *m, int threads)
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

/* A thread has every so many shares, from its own number on. */
typedef struct {
    int number, threads;
    double waited_s; /* for others that were late */
} worker;

static bool is_cancelled(lob_flood *f)
{
    int64_t flooded = 0;
    for (int i = 0; i < f->shares; i++) flooded += f->share[i].shown.flooded;
    if (flooded < f->next_report) return false;
    f->next_report = flooded + REPORT_CELLS;
    return lob_growcut_stops(f->section, flooded);
}

/* Show the others where a share stands, from a level on. */
static void show(const lob_flood *f, int own, int64_t level)
{
    lob_flood_share *const s = &f->share[own];
    while (level < f->levels && !s->queues[level].first) level++;
    if (level < f->levels) fetch(f, s->queues[level].first->cell, 1);
    s->shown.wave = s->wave.n;
    s->shown.next = level < f->levels ? lob_flood_cost_at(level) : LOB_FLOOD_NEVER;
    const uint64_t heard = f->again ? lob_flood_next_heard(f, own) : LOB_FLOOD_NEVER;
    if (heard < s->shown.next) s->shown.next = heard;
    s->shown.has_heard = heard != LOB_FLOOD_NEVER;
    s->shown.flooded = s->flooded;
    s->shown.status = s->status;
}

/*
 * Where all shares stand: the sum of waves, the least cost. Returns whether they go on: none has
 * failed, and in a team it is not time to meet.
 */
static bool look(const lob_flood *f, int64_t *wave, uint64_t *next)
{
    bool fine = true, has_heard = false;
    int64_t flooded = -f->begun;
    *wave = 0;
    *next = LOB_FLOOD_NEVER;
    for (int i = 0; i < f->shares; i++) {
        const lob_flood_share *const s = &f->share[i];
        fine = fine && s->shown.status == LOB_OK;
        has_heard = has_heard || s->shown.has_heard;
        flooded += s->shown.flooded;
        *wave += s->shown.wave;
        if (s->shown.next < *next) *next = s->shown.next;
    }
    if (!fine || *wave > 0) return fine;
    return *next < f->until && (has_heard || flooded < f->most);
}

/* Where other programs have the cores, threads wait for each other more than they do. */
static bool is_kept_waiting(const lob_flood *f, const worker *w)
{
    const double little_s = 0.01;
    return w->waited_s > little_s && w->waited_s > (omp_get_wtime() - f->start_s) / 2;
}

/*
 * One step of a thread's shares: from their waves, or from the level's queues. Between the first
 * meeting and the last a share takes what the others have sent.
 */
static void step(lob_flood *f, worker *w, uint64_t cost, bool from_queues)
{
    for (int i = w->number; i < f->shares; i += w->threads) {
        lob_flood_share *const s = &f->share[i];
        for (int to = 0; to < f->shares; to++) s->sent[to].n = 0;
        if (from_queues) s->wave.n = 0;
        if (s->status == LOB_OK && f->again) s->status = lob_flood_add_heard(f, s, i, cost);
        if (s->status == LOB_OK && from_queues) s->status = pour(f, s, i, cost);
        if (s->status == LOB_OK)
            s->status = spread(f, s, i, s->wave.cell, s->wave.label, s->wave.n, cost);
    }
    if (w->number == 0 && f->share[0].status == LOB_OK && is_cancelled(f))
        f->share[0].status = LOB_ECANCEL;
    w->waited_s += meet(&f->meeting, w->threads);
    for (int i = w->number; i < f->shares; i += w->threads) {
        lob_flood_share *const s = &f->share[i];
        if (s->status == LOB_OK && f->shares > 1) s->status = receive(f, s, i, cost);
        if (s->status == LOB_OK && is_again(f, cost)) find_labels(f, s, cost);
    }
    if (is_again(f, cost)) w->waited_s += meet(&f->meeting, w->threads);
    for (int i = w->number; i < f->shares; i += w->threads) {
        lob_flood_share *const s = &f->share[i];
        if (s->status == LOB_OK) s->status = settle(f, s, cost);
        show(f, i, lob_flood_level(cost));
    }
    if (is_kept_waiting(f, w)) atomic_store_explicit(&f->alone, true, memory_order_relaxed);
    w->waited_s += meet(&f->meeting, w->threads);
}

/*
 * What one thread does. After every meeting all threads see whether the first goes on alone, and,
 * if not, the same waves and costs. One that goes on alone has all shares, and meets nobody: so
 * the others leave without a look at shares that it may be writing.
 */
static void flood_shares(lob_flood *f, worker w)
{
    int64_t wave;
    uint64_t next, cost = 0;
    for (int i = w.number; i < f->shares; i += w.threads) {
        lob_flood_share *const s = &f->share[i];
        if (!f->again) s->status = enqueue_seeds(f, s, i);
        show(f, i, 0);
    }
    meet(&f->meeting, w.threads);
    for (;;) {
        if (atomic_load_explicit(&f->alone, memory_order_relaxed)) {
            if (w.number > 0) return;
            w.threads = 1;
        }
        if (!look(f, &wave, &next)) return;
        cost = wave > 0 ? cost + 1 : next;
        if (w.number == 0 && lob_flood_steps(cost) > f->steps) f->steps = lob_flood_steps(cost);
        if (w.number == 0) f->now = cost;
        step(f, &w, cost, wave == 0);
    }
}

/* Flood this rank's planes, and go on until no rank has news for another and all have risen. */
static lob_status flood_levels(lob_flood *f)
{
    for (bool any = true; any; f->again = true) {
        f->start_s = omp_get_wtime();
        f->begun = 0;
        for (int i = 0; i < f->shares; i++) f->begun += f->share[i].flooded;
        atomic_store(&f->alone, false);
#pragma omp parallel num_threads(f->shares)
        flood_shares(f, (worker){omp_get_thread_num(), omp_get_num_threads(), 0});
        for (int i = 0; i < f->shares; i++)
            if (f->share[i].status != LOB_OK) return f->share[i].status;
        if (f->now > f->high) f->high = f->now;
        if (!f->team) return LOB_OK;
        LOB_TRY(lob_flood_meet(f, &any));
        f->next_report = 0; /* a rank that floods little is asked too */
        if (is_cancelled(f)) return LOB_ECANCEL;
        if (!any) LOB_TRY(lob_flood_rise(f, &any));
    }
    return LOB_OK;
}

lob_status lob_growcut_flood(const lob_growcut_section *section, lob_growcut_result *result,
                             lob_error *error)
{
    lob_flood f = {.section = section, .error = error, .next_report = REPORT_CELLS};
    f.budget = (lob_budget){.who = "GrowCut's flood", .limit = section->max_memory};
    *result = (lob_growcut_result){.stats.fixed_point = true};
    lob_status st = lob_flood_begin(&f, result);
    if (st == LOB_OK) st = flood_levels(&f);
    if (st == LOB_OK) lob_flood_write(&f, result);
    result->stats.working_bytes = f.budget.peak;
    if (st == LOB_OK && f.team) {
        uint64_t most[2] = {result->largest, (uint64_t)result->steps};
        st = lob_growcut_stats_of_slabs(&result->stats, most, 2, &result->overflow, f.team, error);
        result->largest = most[0];
        result->steps = (int64_t)most[1];
    }
    if (!f.team) result->steps = f.steps;
    lob_flood_free(&f);
    return st;
}
