/* Growing to the fixed point: sweeps of visits to tiles. Part of growcut_tiles_tmpl.h. */
#ifndef LOB_TILES_GROW_TMPL_H
#define LOB_TILES_GROW_TMPL_H

#include "kernels/growcut/cpu/tiles_state_tmpl.h"

/* Queue a lowered cell: in a bucket of the window that starts at base, or for a later window. */
static bool enqueue(const engine *e, tile *of, worker *w, path_key base, uint32_t cell,
                    path_key key)
{
    const path_key bucket = (key - base) >> e->bucket_shift;
    return bucket < BUCKETS ? list_push(&w->bucket[bucket], cell, key) : queue_later(of, cell, key);
}

/* Take what neighbouring tiles have sent, and queue the cells that this window may grow. */
static bool begin_visit(const engine *e, tile *of, worker *w, path_key base)
{
    omp_set_lock(&of->lock);
    list posted = of->inbox;
    of->inbox = (list){0};
    of->inbox_min = KEY_END;
    omp_unset_lock(&of->lock);

    /* The later cells first: their list is compacted in place before it may grow. */
    bool ok = true;
    size_t still_later = 0;
    of->later_min = KEY_END;
    for (size_t i = 0; i < of->later.n; i++) {
        const queued_cell later = of->later.items[i];
        const path_key now = of->keys[later.cell];
        if (now != later.key && now != 0) continue; /* lowered since, and queued then */
        const path_key bucket = (later.key - base) >> e->bucket_shift;
        if (bucket < BUCKETS) {
            ok = ok && list_push(&w->bucket[bucket], later.cell, later.key);
        } else {
            if (later.key < of->later_min) of->later_min = later.key;
            of->later.items[still_later++] = later;
        }
    }
    of->later.n = still_later;
    for (size_t i = 0; i < posted.n; i++) {
        const queued_cell post = posted.items[i];
        path_key *key = &of->keys[post.cell];
        if (post.key >= *key) continue;
        w->reached += *key == e->unreached;
        *key = post.key;
        ok = ok && enqueue(e, of, w, base, post.cell, post.key);
    }
    list_free(&posted);
    return ok;
}

static bool lower(const engine *e, tile *of, worker *w, path_key base, int64_t cell, path_key key)
{
    path_key *old = &of->keys[cell];
    const bool is_new = *old == e->unreached;
    *old = key;
    if (e->is_halo[cell]) return list_push(&w->halo, (uint32_t)cell, key);
    w->reached += is_new;
    return enqueue(e, of, w, base, (uint32_t)cell, key);
}

static inline level_vector difference(level_vector near, uint16_t own)
{
    const level_vector above = (level_vector)(near > own);
    return ((near - own) & above) | ((own - near) & ~above);
}

/*
 * Which neighbours might take a path through a cell: bit k for neighbour k. Under every rule and
 * norm but the squares, which level_mask takes out, a step costs at least the largest channel's
 * difference, or the level entered, times the unit, which needs no table. A sum that wraps only
 * adds a candidate, whose exact offer then fails.
 */
static inline __attribute__((always_inline)) uint32_t candidates(const engine *e,
                                                                 const path_key *keys,
                                                                 const uint16_t *levels,
                                                                 int channels, path_key key)
{
    const uint16_t own = e->reads_values ? 0 : levels[0];
    key_vector hit = {0};
    for (int r = 0; r < e->rows; r++) {
        const neighbour_row *row = &e->row[r];
        key_vector theirs;
        level_vector near;
        memcpy(&theirs, keys + row->step, sizeof theirs);
        memcpy(&near, levels + row->step, sizeof near);
        level_vector differ = difference(near, own);
        for (int c = 1; c < channels; c++) {
            memcpy(&near, levels + c * e->cells + row->step, sizeof near);
            near = difference(near, levels[c * e->cells]);
            const level_vector more = (level_vector)(near > differ);
            differ = (near & more) | (differ & ~more);
        }
        const key_vector by = __builtin_convertvector(differ & e->level_mask, key_vector);
        const key_vector offer = row->extra + key + (by << e->level_shift);
        hit |= (key_vector)(offer < theirs) & row->bit;
    }
    return (uint32_t)(hit[0] | hit[1] | hit[2]);
}

/* The same of packed levels. */
static inline __attribute__((always_inline)) uint32_t packed_candidates(const engine *e,
                                                                        const path_key *keys,
                                                                        const lob_packed *levels,
                                                                        path_key key)
{
    key_vector hit = {0};
    for (int r = 0; r < e->rows; r++) {
        const neighbour_row *row = &e->row[r];
        key_vector theirs;
        memcpy(&theirs, keys + row->step, sizeof theirs);
        const lob_four differ = lob_packed_four(levels + row->step, levels[0]);
        const key_vector by = __builtin_convertvector(differ & e->level_mask, key_vector);
        const key_vector offer = row->extra + key + (by << e->level_shift);
        hit |= (key_vector)(offer < theirs) & row->bit;
    }
    return (uint32_t)(hit[0] | hit[1] | hit[2]);
}

/* Offer a path through one cell to all its neighbours. */
static bool grow_cell(const engine *e, tile *of, worker *w, path_key base, queued_cell from)
{
    const path_key *keys = of->keys + from.cell;
    uint32_t left = e->packs ? packed_candidates(e, keys, of->packed + from.cell, from.key)
                             : candidates(e, keys, of->levels + from.cell,
                                          e->section->data.image->channels, from.key);
    bool ok = true;
    for (; left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        const int64_t step = e->step[k];
        const uint32_t d = step_distance(e, of, from.cell, from.cell + step);
        const uint64_t offer = (uint64_t)from.key + e->weight[d] + e->extra[k];
        if (offer < keys[step]) ok &= lower(e, of, w, base, from.cell + step, (path_key)offer);
    }
    return ok;
}

static bool grow_buckets(const engine *e, tile *of, worker *w, path_key base)
{
    bool ok = true;
    for (int b = 0; b < BUCKETS; b++) {
        list *bucket = &w->bucket[b];
        for (size_t i = 0; i < bucket->n; i++) { /* it may grow meanwhile */
            const queued_cell from = bucket->items[i];
            const path_key now = of->keys[from.cell];
            if (now == from.key || now == 0) ok &= grow_cell(e, of, w, base, from);
        }
        bucket->n = 0;
    }
    return ok;
}

/* Send every lowered halo cell to the tile that owns it, once, with its lowest key. */
static bool end_visit(engine *e, int64_t t, worker *w)
{
    const tile *of = &e->tile[t];
    bool ok = true;
    for (size_t i = 0; i < w->halo.n; i++) {
        const queued_cell out = w->halo.items[i];
        if (of->keys[out.cell] != out.key) continue;
        int64_t theirs = out.cell;
        const int side = owner_of(e, out.cell, &theirs);
        ok &= list_push(&w->mail[side], (uint32_t)theirs, out.key);
    }
    w->halo.n = 0;
    for (int s = 0; s < SIDES; s++) {
        list *mail = &w->mail[s];
        if (mail->n == 0) continue;
        tile *to = tile_beside(e, t, s);
        omp_set_lock(&to->lock);
        for (size_t i = 0; i < mail->n; i++) {
            ok &= list_push(&to->inbox, mail->items[i].cell, mail->items[i].key);
            if (mail->items[i].key < to->inbox_min) to->inbox_min = mail->items[i].key;
        }
        omp_unset_lock(&to->lock);
        mail->n = 0;
    }
    return ok;
}

static void visit(engine *e, int64_t t, worker *w, path_key base)
{
    tile *of = &e->tile[t];
    const bool ok = begin_visit(e, of, w, base) && grow_buckets(e, of, w, base);
    of->changed = true;
    if (!end_visit(e, t, w) || !ok) w->failed = true;
    if (of->later.n == 0) list_free(&of->later);
}

/* The lowest key that is queued in a tile or sent to it. */
static path_key lowest_key(const tile *t)
{
    return t->later_min < t->inbox_min ? t->later_min : t->inbox_min;
}

/*
 * The cost window's width: narrow windows grow few voxels twice, wide ones give many tiles to grow
 * at once. It is a few steps of mean cost; the mean is over the steps from every 61st cell along x.
 */
static void choose_cost_window(engine *e)
{
    const double window_steps = 3;
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = 0; t < e->count; t++) {
        const tile *of = &e->tile[t];
        for (int64_t c = 0; c + 1 < e->cells; c += 61) {
            if (of->keys[c] == 0 || of->keys[c + 1] == 0) continue;
            const int fraction = e->section->rule.fraction;
            const uint32_t d = e->packs ? lob_packed_largest(of->packed[c], of->packed[c + 1])
                                              << fraction
                                        : lob_growcut_distance(of->levels + c, of->levels + c + 1,
                                                               e->section->data.image->channels,
                                                               e->cells, LOB_NORM_LINF, fraction);
            if (e->weight[d] < KEY_NO_PASSAGE) sum += (double)(e->weight[d] >> e->label_bits), n++;
        }
    }
    const double mean = n ? sum / (double)n : 0;
    const double width = window_steps * mean + BUCKETS;
    const int last = KEY_BITS - 10;
    e->bucket_shift = e->label_bits < last ? e->label_bits : last;
    while (e->bucket_shift < last &&
           (double)((path_key)BUCKETS << (e->bucket_shift - e->label_bits)) < width)
        e->bucket_shift++;
    e->window = (path_key)BUCKETS << e->bucket_shift;
}

/* Sweep over the tiles that have cells queued in the window, until none has any. */
static lob_status grow(engine *e, lob_error *error)
{
    int64_t *active = malloc((size_t)e->count * sizeof *active);
    if (!active) return LOB_ENOMEM;
    lob_status st = LOB_OK;
    while (st == LOB_OK) {
        path_key lowest = KEY_END;
        for (int64_t t = 0; t < e->count; t++)
            if (lowest_key(&e->tile[t]) < lowest) lowest = lowest_key(&e->tile[t]);
        if (lowest == KEY_END) break;
        const path_key base = lowest >> e->bucket_shift << e->bucket_shift;
        int64_t n = 0;
        for (int64_t t = 0; t < e->count; t++)
            if (lowest_key(&e->tile[t]) - base < e->window) active[n++] = t;
        const int workers = n < e->workers ? (int)n : e->workers;
        const int64_t others = reached(e) - e->worker[0].reached;
        atomic_bool stop = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (workers > 1)
        for (int64_t i = 0; i < n; i++) {
            worker *const w = &e->worker[omp_get_thread_num()];
            if (atomic_load_explicit(&stop, memory_order_relaxed)) continue;
            visit(e, active[i], w, base);
            /* One sweep may be most of a growth: the calling thread, which is 0, asks within it. */
            if (w == e->worker && i % 16 == 0 && lob_growcut_stops(e->section, others + w->reached))
                atomic_store_explicit(&stop, true, memory_order_relaxed);
        }
        st = count_bytes(e, error);
        for (int w = 0; w < e->workers; w++)
            if (e->worker[w].failed) st = LOB_ENOMEM;
        if (st == LOB_OK && (atomic_load(&stop) || report_progress(e))) st = LOB_ECANCEL;
    }
    free(active);
    return st;
}

#endif
