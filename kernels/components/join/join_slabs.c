/* Joining runs into pieces, slab by slab, and pieces into components along the seams. */
#include "kernels/components/join/join_rows.h"

#include "volumes/bytes.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/*
 * Slabs a thread, so that those with little in them even out and a slab's nodes stay in caches: as
 * many as there may be while seams are one plane in 8, but some in any case. And a slab's least.
 */
enum { SLABS_A_THREAD = 4, MORE_SLABS = 16, SLAB_PLANES = 8, SLAB_VOXELS = 1 << 12 };

/* 6, 18, 26; 4 and 8 leave out what crosses slices. */
static void list_before(lob_pieces *p)
{
    static const lob_before all[4] = {
        {-1, 0,  -1},
        {0,  -1, -1},
        {-1, -1, -1},
        {1,  -1, -1}
    };
    const int axis = p->slice_axis;
    const int most = p->neighbours == 6 || p->neighbours == 4 ? 1 : p->neighbours == 26 ? 3 : 2;
    for (int i = 0; i < 4; i++) {
        lob_before *b = &p->before[i];
        *b = all[i];
        const int apart = (b->dy != 0) + (b->dz != 0);
        if (apart > most || (axis == 1 && b->dy) || (axis == 2 && b->dz)) continue;
        b->reach = axis != 0 && apart < most;
    }
}

static lob_status cut(lob_pieces *p, lob_error *error)
{
    const int64_t nx = p->dims.nx, rows = p->dims.ny * p->dims.nz;
    const int64_t thick = SLAB_PLANES * p->dims.ny;
    const int64_t most_rows = rows / ((int64_t)p->threads * SLABS_A_THREAD) + 1;
    const int64_t most = UINT32_MAX / nx; /* a slab's nodes are counted in 32 bits */
    p->rows = rows;
    p->words = lob_bit_words(nx);
    p->slab_rows = rows / ((int64_t)p->threads * MORE_SLABS) + 1;
    if (p->slab_rows < thick) p->slab_rows = thick < most_rows ? thick : most_rows;
    if (p->slab_rows < SLAB_VOXELS / nx + 1) p->slab_rows = SLAB_VOXELS / nx + 1;
    if (p->slab_rows > most) p->slab_rows = most;
    if (p->slab_rows > rows) p->slab_rows = rows;
    p->slabs = (rows + p->slab_rows - 1) / p->slab_rows;
    lob_status st = lob_budget_alloc(p->budget, &p->slab, p->slabs, sizeof *p->slab, error);
    if (st == LOB_OK) st = lob_budget_alloc(p->budget, &p->first, rows, sizeof *p->first, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(p->budget, &p->filled, rows, (size_t)p->words * 8, error);
    if (st == LOB_OK && p->slice_axis == 0)
        p->starts = p->filled; /* every voxel a run of its own */
    else if (st == LOB_OK && p->join != LOB_JOIN_ANY)
        st = lob_budget_alloc(p->budget, &p->starts, rows, (size_t)p->words * 8, error);
    for (int64_t s = 0; st == LOB_OK && s < p->slabs; s++) {
        const int64_t end = (s + 1) * p->slab_rows;
        p->slab[s] = (lob_slab){.row = s * p->slab_rows, .row_end = end < rows ? end : rows};
    }
    return st;
}

LOB_SIMD_CLONES static int64_t count_starts(const lob_pieces *p, int64_t row)
{
    const uint64_t *filled = p->filled + row * p->words, *starts = lob_pieces_starts(p, row);
    int64_t count = 0;
    uint64_t before = 0;
    for (int64_t w = 0; w < p->words; w++) {
        const uint64_t begins = starts ? starts[w] : filled[w] & ~(filled[w] << 1 | before);
        before = filled[w] >> 63;
        count += __builtin_popcountll(begins);
    }
    return count;
}

enum { TOLD = 64 }; /* rows between tellings */

static int workers(const lob_pieces *p)
{
    return p->threads < p->slabs ? p->threads : (int)p->slabs;
}

static lob_status mark(lob_pieces *p, double share)
{
    lob_progress_stage(p->stages, p->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int64_t s = 0; s < p->slabs; s++) {
        lob_slab *slab = &p->slab[s];
        int64_t nodes = 0;
        for (int64_t row = slab->row; row < slab->row_end; row++) {
            p->mark(p, row, p->user);
            p->first[row] = (uint32_t)nodes;
            nodes += count_starts(p, row);
            if (row % TOLD == 0 && lob_progress_report(p->stages, TOLD)) break;
        }
        slab->nodes = nodes;
    }
    p->nodes = 0;
    for (int64_t s = 0; s < p->slabs; s++) p->nodes += p->slab[s].nodes;
    p->longest = 0;
    for (int64_t row = 0; row < p->rows; row++) {
        const int64_t count = lob_slab_runs(p, &p->slab[row / p->slab_rows], row);
        if (count > p->longest) p->longest = count;
    }
    return atomic_load(&p->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

/*
 * Memory for nodes. Where they are many and may spread, a slab's are the last of its voxels', so
 * that labels can be written over them from left to right: to the right of a run there is a voxel
 * at least for each node that is still to be read.
 */
static lob_status take_nodes(lob_pieces *p, lob_error *error)
{
    enum { MANY = 8 }; /* voxels a node */
    const int64_t voxels = p->rows * p->dims.nx;
    int64_t next = 0;
    p->spread = p->may_spread && p->nodes > voxels / MANY;
    for (int64_t s = 0; s < p->slabs; s++) {
        lob_slab *slab = &p->slab[s];
        slab->node = p->spread ? slab->row_end * p->dims.nx - slab->nodes : next;
        next += slab->nodes;
    }
    if (!p->spread) return lob_budget_alloc(p->budget, &p->node, p->nodes, sizeof *p->node, error);
    lob_status st = lob_budget_hold(p->budget, p->nodes * (int64_t)sizeof *p->node, error);
    if (st != LOB_OK) return st;
    p->node = lob_alloc_pages(voxels * (int64_t)sizeof *p->node);
    if (p->node) return LOB_OK;
    lob_budget_release(p->budget, p->nodes * (int64_t)sizeof *p->node);
    return lob_fail(error, LOB_ENOMEM, "no memory for the labels of %lld voxels",
                    (long long)voxels);
}

static lob_status number_pieces(lob_pieces *p, lob_error *error)
{
    p->total = 0;
    for (int64_t s = 0; s < p->slabs; s++) {
        p->slab[s].piece = p->total;
        p->total += p->slab[s].pieces;
    }
    if (p->total > UINT32_MAX)
        return lob_fail(error, LOB_EDATA, "%lld pieces are more than can be numbered",
                        (long long)p->total);
    const lob_status st =
        lob_budget_alloc(p->budget, &p->number, p->total, sizeof *p->number, error);
    for (int64_t i = 0; st == LOB_OK && i < p->total; i++) p->number[i] = (uint32_t)i;
    return st;
}

/* Call for every slab from the given one on, in parallel. */
typedef void join_part(lob_pieces *p, lob_slab *slab, const lob_window *window);

static lob_status join_all(lob_pieces *p, join_part *join, int64_t from, lob_error *error)
{
    lob_window *win = NULL;
    const int count = workers(p);
    lob_status st = lob_budget_alloc(p->budget, &win, count, sizeof *win, error);
    if (st != LOB_OK) return st;
    memset(win, 0, (size_t)count * sizeof *win);
    st = lob_windows_take(p, win, count, error);
    if (st == LOB_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
        for (int64_t s = from; s < p->slabs; s++)
            if (!atomic_load_explicit(&p->stages->stop, memory_order_relaxed))
                join(p, &p->slab[s], &win[omp_get_thread_num()]);
        if (atomic_load(&p->stages->stop)) st = LOB_ECANCEL;
    }
    lob_windows_give(p, win, count);
    lob_budget_free(p->budget, win, count, sizeof *win);
    return st;
}

lob_status lob_pieces_find(lob_pieces *p, const double share[2], lob_error *error)
{
    list_before(p);
    lob_status st = cut(p, error);
    if (st == LOB_OK) st = mark(p, share[0]);
    if (st == LOB_OK) st = take_nodes(p, error);
    if (st == LOB_OK) {
        lob_progress_stage(p->stages, p->rows, share[1]);
        st = join_all(p, lob_join_slab, 0, error);
    }
    if (st == LOB_OK) st = number_pieces(p, error);
    if (st == LOB_OK && p->slabs > 1) st = join_all(p, lob_join_seam, 1, error);
    if (st != LOB_OK) return st;
    uint32_t found = 0;
    for (int64_t i = 0; i < p->total; i++)
        p->number[i] = p->number[i] == i ? found++ : p->number[p->number[i]];
    p->found = found;
    return LOB_OK;
}

/* runs: room for the longest a thread; or NULL. */
static lob_status visit_rows(const lob_pieces *p, lob_run *runs, lob_row_visit *visit, void *user,
                             double share)
{
    lob_progress_stage(p->stages, p->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers(p))
    for (int64_t s = 0; s < p->slabs; s++) {
        lob_run *const mine = runs ? runs + omp_get_thread_num() * p->longest : NULL;
        for (int64_t row = p->slab[s].row; row < p->slab[s].row_end; row++) {
            const lob_piece_row here = lob_pieces_row(mine, p, row);
            visit(p, &here, user);
            if (row % TOLD == 0 && lob_progress_report(p->stages, TOLD)) break;
        }
    }
    return atomic_load(&p->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_pieces_visit(const lob_pieces *p, lob_row_visit *visit, void *user, double share,
                            lob_error *error)
{
    const int64_t room = p->longest * workers(p);
    lob_run *runs;
    lob_status st = lob_budget_alloc(p->budget, &runs, room, sizeof *runs, error);
    if (st != LOB_OK) return st;
    st = visit_rows(p, runs, visit, user, share);
    lob_budget_free(p->budget, runs, room, sizeof *runs);
    return st;
}

lob_status lob_pieces_visit_bits(const lob_pieces *p, lob_row_visit *visit, void *user,
                                 double share)
{
    return visit_rows(p, NULL, visit, user, share);
}

void lob_pieces_hand_over(lob_pieces *p)
{
    lob_budget_release(p->budget, p->nodes * (int64_t)sizeof *p->node);
    p->node = NULL;
}

void lob_pieces_free(lob_pieces *p)
{
    const size_t row_bytes = (size_t)p->words * 8;
    if (p->starts != p->filled) lob_budget_free(p->budget, p->starts, p->rows, row_bytes);
    lob_budget_free(p->budget, p->filled, p->rows, row_bytes);
    lob_budget_free(p->budget, p->first, p->rows, sizeof *p->first);
    lob_budget_free(p->budget, p->slab, p->slabs, sizeof *p->slab);
    lob_budget_free(p->budget, p->node, p->nodes, sizeof *p->node);
    lob_budget_free(p->budget, p->number, p->total, sizeof *p->number);
    p->starts = p->filled = NULL;
    p->first = p->node = p->number = NULL;
    p->slab = NULL;
}
