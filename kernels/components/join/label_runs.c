/* Runs joined into pieces, slab by slab; pieces joined into components across the seams; visits to
 * the rows of the table that this makes. */
#include "kernels/components/join/run_table.h"

#include "kernels/components/join/join_rows.h"
#include "volumes/voxel_memory.h"

#include <omp.h>
#include <stdlib.h>

/*
 * Several slabs per thread balance the load and keep a slab's runs in the cache: up to MAX_SLABS
 * per thread while a slab has at least SLAB_PLANES planes, since each seam costs as much as a
 * plane, but MIN_SLABS per thread in any case. A slab has at least SLAB_VOXELS voxels.
 */
enum { MIN_SLABS = 4, MAX_SLABS = 16, SLAB_PLANES = 8, SLAB_VOXELS = 1 << 12 };

/* For 6, 18 or 26 neighbours; 4 and 8 are those of 6 and 18 that do not cross slices. */
static void list_earlier_rows(lob_run_table *t)
{
    static const lob_earlier_row all[4] = {
        {-1, 0,  -1},
        {0,  -1, -1},
        {-1, -1, -1},
        {1,  -1, -1}
    };
    const int axis = t->slice_axis;
    const int max_apart = t->neighbours == 6 || t->neighbours == 4 ? 1
                          : t->neighbours == 26                    ? 3
                                                                   : 2;
    for (int i = 0; i < 4; i++) {
        lob_earlier_row *b = &t->earlier[i];
        *b = all[i];
        const int apart = (b->dy != 0) + (b->dz != 0);
        if (apart > max_apart || (axis == 1 && b->dy) || (axis == 2 && b->dz)) continue;
        b->reach = axis != 0 && apart < max_apart;
    }
}

static lob_status cut_slabs(lob_run_table *t, lob_error *error)
{
    const int64_t nx = t->dims.nx, rows = t->dims.ny * t->dims.nz;
    const int64_t thick = SLAB_PLANES * t->dims.ny;
    const int64_t even_rows = rows / ((int64_t)t->threads * MIN_SLABS) + 1;
    const int64_t max_rows = UINT32_MAX / nx; /* a slab's runs are counted in 32 bits */
    t->rows = rows;
    t->words = lob_bit_words(nx);
    t->slab_rows = rows / ((int64_t)t->threads * MAX_SLABS) + 1;
    if (t->slab_rows < thick) t->slab_rows = thick < even_rows ? thick : even_rows;
    if (t->slab_rows < SLAB_VOXELS / nx + 1) t->slab_rows = SLAB_VOXELS / nx + 1;
    if (t->slab_rows > max_rows) t->slab_rows = max_rows;
    if (t->slab_rows > rows) t->slab_rows = rows;
    t->slabs = (rows + t->slab_rows - 1) / t->slab_rows;
    LOB_TRY(lob_budget_alloc(t->budget, &t->slab, t->slabs, sizeof *t->slab, error));
    LOB_TRY(lob_budget_alloc(t->budget, &t->row_run, rows, sizeof *t->row_run, error));
    LOB_TRY(lob_budget_alloc(t->budget, &t->foreground, rows, (size_t)t->words * 8, error));
    if (t->slice_axis == 0)
        t->starts = t->foreground; /* every voxel is a run of its own */
    else if (t->join != LOB_JOIN_ANY)
        LOB_TRY(lob_budget_alloc(t->budget, &t->starts, rows, (size_t)t->words * 8, error));
    for (int64_t s = 0; s < t->slabs; s++) {
        const int64_t end = (s + 1) * t->slab_rows;
        t->slab[s] = (lob_slab){.row = s * t->slab_rows, .row_end = end < rows ? end : rows};
    }
    return LOB_OK;
}

LOB_SIMD_CLONES(int64_t, count_starts, (t, row), const lob_run_table *t, int64_t row)
{
    const uint64_t *bits = t->foreground + row * t->words, *starts = lob_run_table_starts(t, row);
    int64_t count = 0;
    for (int64_t w = 0; w < t->words; w++)
        count += __builtin_popcountll(lob_bits_starts(bits, starts, w));
    return count;
}

static lob_status make_all_bits(lob_run_table *t, double share)
{
    lob_progress_stage(t->stages, t->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(t->threads)
    for (int64_t s = 0; s < t->slabs; s++) {
        lob_slab *slab = &t->slab[s];
        int64_t runs = 0;
        for (int64_t row = slab->row; row < slab->row_end; row++) {
            t->make_bits(t, row, t->user);
            t->row_run[row] = (uint32_t)runs;
            runs += count_starts(t, row);
            if (row % LOB_REPORT_ROWS == 0 && lob_progress_report(t->stages, LOB_REPORT_ROWS))
                break;
        }
        slab->runs = runs;
    }
    t->runs = 0;
    for (int64_t s = 0; s < t->slabs; s++) t->runs += t->slab[s].runs;
    t->max_row_runs = 0;
    for (int64_t row = 0; row < t->rows; row++) {
        const int64_t count = lob_run_table_row(NULL, t, row).count;
        if (count > t->max_row_runs) t->max_row_runs = count;
    }
    return atomic_load(&t->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

/*
 * Allocate run_piece. Where runs are many, it gets 4 bytes per voxel, and the runs of a slab take
 * the last elements among those of the slab's voxels. Then labels can be written over it from left
 * to right: behind any run there are at least as many voxels as runs that are still to be read.
 */
static lob_status alloc_runs(lob_run_table *t, lob_error *error)
{
    enum { MANY = 8 }; /* voxels per run */
    const int64_t voxels = t->rows * t->dims.nx;
    int64_t next = 0;
    t->shared = t->may_share && t->runs > voxels / MANY;
    for (int64_t s = 0; s < t->slabs; s++) {
        lob_slab *slab = &t->slab[s];
        slab->first_run = t->shared ? slab->row_end * t->dims.nx - slab->runs : next;
        next += slab->runs;
    }
    if (!t->shared)
        return lob_budget_alloc(t->budget, &t->run_piece, t->runs, sizeof *t->run_piece, error);
    LOB_TRY(lob_budget_hold(t->budget, t->runs * (int64_t)sizeof *t->run_piece, error));
    t->run_piece = lob_voxel_memory(voxels * (int64_t)sizeof *t->run_piece);
    if (t->run_piece) return LOB_OK;
    lob_budget_release(t->budget, t->runs * (int64_t)sizeof *t->run_piece);
    return lob_fail(error, LOB_ENOMEM, "no memory for the labels of %lld voxels",
                    (long long)voxels);
}

static lob_status number_pieces(lob_run_table *t, lob_error *error)
{
    t->pieces = 0;
    for (int64_t s = 0; s < t->slabs; s++) {
        t->slab[s].first_piece = t->pieces;
        t->pieces += t->slab[s].pieces;
    }
    if (t->pieces > UINT32_MAX)
        return lob_fail(error, LOB_EDATA, "%lld pieces are more than can be numbered",
                        (long long)t->pieces);
    LOB_TRY(lob_budget_alloc(t->budget, &t->number, t->pieces, sizeof *t->number, error));
    for (int64_t i = 0; i < t->pieces; i++) t->number[i] = (uint32_t)i;
    return LOB_OK;
}

typedef void join_part(lob_run_table *t, lob_slab *slab, const lob_join_scratch *scratch);

/* Call join for every slab from this one on, in parallel. */
static lob_status join_all(lob_run_table *t, join_part *join, int64_t from, lob_error *error)
{
    lob_join_scratch *scratch = NULL;
    const int count = lob_run_table_threads(t);
    LOB_TRY(lob_budget_calloc(t->budget, &scratch, count, sizeof *scratch, error));
    lob_status st = lob_join_scratch_alloc(t, scratch, count, error);
    if (st == LOB_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
        for (int64_t s = from; s < t->slabs; s++)
            if (!atomic_load_explicit(&t->stages->stop, memory_order_relaxed))
                join(t, &t->slab[s], &scratch[omp_get_thread_num()]);
        if (atomic_load(&t->stages->stop)) st = LOB_ECANCEL;
    }
    lob_join_scratch_free(t, scratch, count);
    lob_budget_free(t->budget, scratch, count, sizeof *scratch);
    return st;
}

lob_status lob_label_runs(lob_run_table *t, const double share[2], lob_error *error)
{
    list_earlier_rows(t);
    LOB_TRY(cut_slabs(t, error));
    LOB_TRY(make_all_bits(t, share[0]));
    LOB_TRY(alloc_runs(t, error));
    lob_progress_stage(t->stages, t->rows, share[1]);
    LOB_TRY(join_all(t, lob_join_slab, 0, error));
    LOB_TRY(number_pieces(t, error));
    if (t->slabs > 1) LOB_TRY(join_all(t, lob_join_seam, 1, error));
    uint32_t components = 0;
    for (int64_t i = 0; i < t->pieces; i++)
        t->number[i] = t->number[i] == i ? components++ : t->number[t->number[i]];
    t->components = components;
    return LOB_OK;
}

/* runs: max_row_runs per thread, or NULL. */
static lob_status visit_rows(const lob_run_table *t, lob_run *runs, lob_row_visit *visit,
                             void *user, double share)
{
    lob_progress_stage(t->stages, t->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(lob_run_table_threads(t))
    for (int64_t s = 0; s < t->slabs; s++) {
        lob_run *const mine = runs ? runs + omp_get_thread_num() * t->max_row_runs : NULL;
        for (int64_t row = t->slab[s].row; row < t->slab[s].row_end; row++) {
            const lob_row_runs here = lob_run_table_row(mine, t, row);
            visit(t, &here, user);
            if (row % LOB_REPORT_ROWS == 0 && lob_progress_report(t->stages, LOB_REPORT_ROWS))
                break;
        }
    }
    return atomic_load(&t->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_run_table_visit(const lob_run_table *t, lob_row_visit *visit, void *user,
                               double share, lob_error *error)
{
    const int64_t capacity = t->max_row_runs * lob_run_table_threads(t);
    lob_run *runs;
    LOB_TRY(lob_budget_alloc(t->budget, &runs, capacity, sizeof *runs, error));
    lob_status st = visit_rows(t, runs, visit, user, share);
    lob_budget_free(t->budget, runs, capacity, sizeof *runs);
    return st;
}

lob_status lob_run_table_visit_bits(const lob_run_table *t, lob_row_visit *visit, void *user,
                                    double share)
{
    return visit_rows(t, NULL, visit, user, share);
}

void lob_run_table_detach(lob_run_table *t)
{
    lob_budget_release(t->budget, t->runs * (int64_t)sizeof *t->run_piece);
    t->run_piece = NULL;
}

void lob_run_table_free(lob_run_table *t)
{
    const size_t row_bytes = (size_t)t->words * 8;
    if (t->starts != t->foreground) lob_budget_free(t->budget, t->starts, t->rows, row_bytes);
    lob_budget_free(t->budget, t->foreground, t->rows, row_bytes);
    lob_budget_free(t->budget, t->row_run, t->rows, sizeof *t->row_run);
    lob_budget_free(t->budget, t->slab, t->slabs, sizeof *t->slab);
    lob_budget_free(t->budget, t->run_piece, t->runs, sizeof *t->run_piece);
    lob_budget_free(t->budget, t->number, t->pieces, sizeof *t->number);
    t->starts = t->foreground = NULL;
    t->row_run = t->run_piece = t->number = NULL;
    t->slab = NULL;
}
