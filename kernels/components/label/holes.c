/*
 * Holes on the CPU: label the background, drop the pieces that reach a border, and count for each
 * hole its faces with every label.
 */
#include "kernels/components/label/holes.h"

#include "kernels/components/components_select.h"
#include "kernels/pair_table.h"

#include <omp.h>

/* Working memory of a thread. */
typedef struct {
    lob_run *run; /* max_row_runs: a row of labels */
    lob_status status;
} thread_memory;

typedef struct {
    const lob_run_table *labels;
    bool removed;
    bool along[3]; /* axes with neighbours and borders: several voxels, and not across slices */
    thread_memory *thread;
    lob_pair_table *faces; /* of each thread: that a hole and a label have in common */
    uint8_t *open;         /* holes->components: whether it reaches a border */
    lob_error *error;
} hole_search;

static void clear_range(uint64_t *bits, uint32_t start, uint32_t end)
{
    for (uint32_t x = start; x < end;) {
        const uint32_t word = x / 64, stop = (word + 1) * 64 < end ? (word + 1) * 64 : end;
        const uint64_t from = UINT64_MAX << (x % 64);
        bits[word] &= ~(stop % 64 ? from & ((UINT64_C(1) << (stop % 64)) - 1) : from);
        x = stop;
    }
}

/* Make the bits of a row of background: all voxels outside the runs that have a label. */
static void make_bits(lob_run_table *holes, int64_t row, void *user)
{
    const hole_search *search = user;
    const lob_run_table *labels = search->labels;
    const uint64_t *labelled = labels->foreground + row * labels->words;
    uint64_t *bits = holes->foreground + row * holes->words;
    const int64_t tail = holes->dims.nx % 64;
    for (int64_t w = 0; w < holes->words; w++)
        bits[w] = search->removed ? UINT64_MAX : ~labelled[w];
    if (tail) bits[holes->words - 1] &= (UINT64_C(1) << tail) - 1;
    if (!search->removed) return;
    const lob_row_runs here =
        lob_run_table_row(search->thread[omp_get_thread_num()].run, labels, row);
    for (int64_t i = 0; i < here.count; i++)
        if (labels->number[here.first_piece + here.piece[i]])
            clear_range(bits, here.run[i].start, here.run[i].end);
}

/* Mark the pieces that reach a border of the volume, or of their slice; all where it has none. */
static void mark_open(const lob_run_table *holes, const lob_row_runs *row, void *user)
{
    const hole_search *search = user;
    const bool *along = search->along;
    const int64_t ny = holes->dims.ny, y = row->row % ny, z = row->row / ny;
    const bool border = !(along[0] || along[1] || along[2]) ||
                        (along[1] && (y == 0 || y == ny - 1)) ||
                        (along[2] && (z == 0 || z == holes->dims.nz - 1));
    for (int64_t i = 0; i < row->count; i++) {
        const bool end = row->run[i].start == 0 || row->run[i].end == holes->dims.nx;
        if (border || (along[0] && end))
            __atomic_store_n(&search->open[holes->number[row->first_piece + row->piece[i]]], 1,
                             __ATOMIC_RELAXED);
    }
}

/*
 * Count the faces between the holes of a row and the labels of a row beside it. With ends, the
 * other row is the row itself, where a run of a hole and a run of a label touch at their ends.
 */
static void contacts_of_rows(hole_search *search, const lob_run_table *holes,
                             const lob_row_runs *row, int64_t other, bool ends)
{
    const int t = omp_get_thread_num();
    thread_memory *mine = &search->thread[t];
    const lob_run_table *labels = search->labels;
    const lob_row_runs there = lob_run_table_row(mine->run, labels, other);
    for (int64_t i = 0, k = 0; i < row->count && k < there.count;) {
        const lob_run hole = row->run[i], run = there.run[k];
        const uint32_t from = hole.start > run.start ? hole.start : run.start;
        const uint32_t to = hole.end < run.end ? hole.end : run.end;
        const int64_t faces = ends ? from == to : from < to ? (int64_t)(to - from) : 0;
        const uint32_t number = holes->number[row->first_piece + row->piece[i]];
        const uint32_t label = labels->number[there.first_piece + there.piece[k]];
        if (faces > 0 && label && !search->open[number] && mine->status == LOB_OK)
            mine->status = lob_pair_add(&search->faces[t], number, label, faces);
        if (run.end <= hole.end)
            k++;
        else
            i++;
    }
}

static void find_contacts(const lob_run_table *holes, const lob_row_runs *row, void *user)
{
    hole_search *search = user;
    const int64_t ny = holes->dims.ny;
    bool closed = false;
    for (int64_t i = 0; i < row->count && !closed; i++)
        closed = !search->open[holes->number[row->first_piece + row->piece[i]]];
    if (!closed) return;
    /* A hole itself lies at no border, but another piece of its row may. */
    const int64_t y = row->row % ny, z = row->row / ny;
    if (search->along[0]) contacts_of_rows(search, holes, row, row->row, true);
    if (search->along[1] && y > 0) contacts_of_rows(search, holes, row, row->row - 1, false);
    if (search->along[1] && y + 1 < ny) contacts_of_rows(search, holes, row, row->row + 1, false);
    if (search->along[2] && z > 0) contacts_of_rows(search, holes, row, row->row - ny, false);
    if (search->along[2] && z + 1 < holes->dims.nz)
        contacts_of_rows(search, holes, row, row->row + ny, false);
}

/* The faces of all threads, in the table of the first. */
static lob_status merge_faces(hole_search *search, int threads)
{
    lob_status st = LOB_OK;
    for (int t = 0; t < threads && st == LOB_OK; t++) st = search->thread[t].status;
    if (st == LOB_OK) st = lob_pair_tables_join(search->faces, threads);
    return st == LOB_OK ? st : lob_fail(search->error, st, "no memory to count the faces of holes");
}

/* The label of each hole: that with the largest number of faces; of equal ones the smallest. */
static lob_status choose_labels(lob_run_table *holes, const hole_search *search)
{
    const lob_pair_table *faces = search->faces;
    uint32_t *chosen;
    LOB_TRY(lob_budget_calloc(holes->budget, &chosen, holes->components, sizeof *chosen,
                              search->error));
    for (int64_t i = 0; i < faces->slot_count; i++) {
        const lob_pair pair = faces->slots[i];
        if (!pair.count) continue;
        const int64_t most = lob_pair_count(faces, pair.a, chosen[pair.a]);
        if (pair.count > most || (pair.count == most && pair.b < chosen[pair.a]))
            chosen[pair.a] = pair.b;
    }
    for (int64_t i = 0; i < holes->pieces; i++) holes->number[i] = chosen[holes->number[i]];
    lob_budget_free(holes->budget, chosen, holes->components, sizeof *chosen);
    return LOB_OK;
}

static lob_status search_holes(lob_run_table *holes, hole_search *search, const double share[2])
{
    const double width = share[1] - share[0];
    const double parts[2] = {share[0] + 0.2 * width, share[0] + 0.6 * width};
    lob_budget *budget = holes->budget;
    LOB_TRY(lob_label_runs(holes, parts, search->error));
    LOB_TRY(lob_budget_calloc(budget, &search->open, holes->components, 1, search->error));
    LOB_TRY(lob_run_table_visit(holes, mark_open, search, share[0] + 0.7 * width, search->error));
    LOB_TRY(lob_run_table_visit(holes, find_contacts, search, share[1], search->error));
    LOB_TRY(merge_faces(search, holes->threads));
    return choose_labels(holes, search);
}

lob_status lob_components_holes(lob_run_table *holes, const lob_run_table *labels, bool removed,
                                const double share[2], lob_error *error)
{
    const int threads = labels->threads;
    const int64_t row_runs = labels->max_row_runs;
    lob_budget *budget = labels->budget;
    hole_search search = {.labels = labels, .removed = removed, .error = error};
    for (int a = 0; a < 3; a++)
        search.along[a] = a != labels->slice_axis && lob_side(labels->dims, a) > 1;
    *holes = (lob_run_table){.dims = labels->dims,
                             .join = LOB_JOIN_ANY,
                             .neighbours = lob_components_around(labels->neighbours),
                             .slice_axis = labels->slice_axis,
                             .threads = threads,
                             .budget = budget,
                             .stages = labels->stages,
                             .make_bits = make_bits,
                             .user = &search};
    lob_run *runs;
    lob_status st = lob_budget_alloc(budget, &runs, row_runs * threads, sizeof *runs, error);
    if (st == LOB_OK)
        st = lob_budget_calloc(budget, &search.thread, threads, sizeof *search.thread, error);
    if (st == LOB_OK) st = lob_pair_tables_make(&search.faces, threads, budget, error);
    for (int t = 0; st == LOB_OK && t < threads; t++) search.thread[t].run = runs + t * row_runs;
    if (st == LOB_OK) st = search_holes(holes, &search, share);
    lob_pair_tables_free(search.faces, threads, budget);
    lob_budget_free(budget, search.open, holes->components, 1);
    lob_budget_free(budget, search.thread, threads, sizeof *search.thread);
    lob_budget_free(budget, runs, row_runs * threads, sizeof *runs);
    return st;
}
