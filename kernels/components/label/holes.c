/* Holes: pieces of the background that reach no border, and the label that surrounds each most. */
#include "kernels/components/join/join_slabs.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* So many faces of a hole touch this label. */
typedef struct {
    uint32_t hole;
    int32_t label;
    int64_t faces;
} touch;

enum { OWN_TOUCHES = 1024 };

/* What a thread needs of its own. */
typedef struct {
    lob_run *run; /* of a row of labels */
    int64_t touches;
    touch touch[OWN_TOUCHES];
} worker;

typedef struct {
    const lob_pieces *labels;
    bool dropped;
    bool along[3]; /* axes with neighbours and borders: of several voxels, and not across slices */
    worker *worker;
    uint8_t *open; /* holes->found: it reaches a border */
    touch *touch;  /* of all holes, with room for more */
    int64_t touches, room;
    lob_status status;
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

/* The background of a row: what no run with a label covers. */
static void mark_row(lob_pieces *holes, int64_t row, void *user)
{
    const hole_search *search = user;
    const lob_pieces *labels = search->labels;
    const uint64_t *filled = labels->filled + row * labels->words;
    uint64_t *bits = holes->filled + row * holes->words;
    const int64_t tail = holes->dims.nx % 64;
    for (int64_t w = 0; w < holes->words; w++) bits[w] = search->dropped ? UINT64_MAX : ~filled[w];
    if (tail) bits[holes->words - 1] &= (UINT64_C(1) << tail) - 1;
    if (!search->dropped) return;
    const lob_piece_row here =
        lob_pieces_row(search->worker[omp_get_thread_num()].run, labels, row);
    for (int64_t i = 0; i < here.count; i++)
        if (labels->number[here.base + here.piece[i]])
            clear_range(bits, here.run[i].start, here.run[i].end);
}

/* Pieces that reach a border of the volume, or of their slice; all, where there is none. */
static void find_open(const lob_pieces *holes, const lob_piece_row *row, void *user)
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
            __atomic_store_n(&search->open[holes->number[row->base + row->piece[i]]], 1,
                             __ATOMIC_RELAXED);
    }
}

static int by_hole_and_label(const void *a, const void *b)
{
    const touch *s = a, *t = b;
    if (s->hole != t->hole) return s->hole < t->hole ? -1 : 1;
    return (s->label > t->label) - (s->label < t->label);
}

/* Put touches in order and add up those of the same hole and label. */
static void add_up(hole_search *search)
{
    int64_t kept = 0;
    if (search->touches > 0)
        qsort(search->touch, (size_t)search->touches, sizeof *search->touch, by_hole_and_label);
    for (int64_t i = 0; i < search->touches; i++) {
        const touch t = search->touch[i];
        if (kept > 0 && by_hole_and_label(&search->touch[kept - 1], &t) == 0)
            search->touch[kept - 1].faces += t.faces;
        else
            search->touch[kept++] = t;
    }
    search->touches = kept;
}

/* Make room for another thread's touches: by adding up, and where that is not enough, by growing.
 */
static lob_status make_room(hole_search *search, lob_budget *budget)
{
    if (search->touches + OWN_TOUCHES <= search->room) return LOB_OK;
    add_up(search);
    if (search->touches + OWN_TOUCHES <= search->room / 2) return LOB_OK;
    const int64_t room = 2 * search->room + 2 * OWN_TOUCHES;
    touch *grown;
    const lob_status st = lob_budget_alloc(budget, &grown, room, sizeof *grown, search->error);
    if (st != LOB_OK) return st;
    if (search->touches > 0) memcpy(grown, search->touch, (size_t)search->touches * sizeof *grown);
    lob_budget_free(budget, search->touch, search->room, sizeof *grown);
    search->touch = grown;
    search->room = room;
    return LOB_OK;
}

static void hand_in(hole_search *search, worker *mine, lob_budget *budget)
{
#pragma omp critical(lob_hole_touches)
    {
        if (search->status == LOB_OK) search->status = make_room(search, budget);
        if (search->status == LOB_OK && mine->touches > 0)
            memcpy(search->touch + search->touches, mine->touch,
                   (size_t)mine->touches * sizeof *mine->touch);
        if (search->status == LOB_OK) search->touches += mine->touches;
    }
    mine->touches = 0;
}

static void add_touch(hole_search *search, worker *mine, lob_budget *budget, touch t)
{
    touch *last = mine->touches > 0 ? &mine->touch[mine->touches - 1] : NULL;
    if (last && last->hole == t.hole && last->label == t.label) {
        last->faces += t.faces;
        return;
    }
    if (mine->touches == OWN_TOUCHES) hand_in(search, mine, budget);
    mine->touch[mine->touches++] = t;
}

/*
 * Faces between a row's holes and the labels of a row beside it or, with ends, of the row itself:
 * there a run of labels touches a hole where one ends and the other begins.
 */
static void touch_row(hole_search *search, const lob_pieces *holes, const lob_piece_row *row,
                      int64_t other, bool ends)
{
    worker *mine = &search->worker[omp_get_thread_num()];
    const lob_pieces *labels = search->labels;
    const lob_piece_row there = lob_pieces_row(mine->run, labels, other);
    for (int64_t i = 0, k = 0; i < row->count && k < there.count;) {
        const lob_run hole = row->run[i], run = there.run[k];
        const uint32_t from = hole.start > run.start ? hole.start : run.start;
        const uint32_t to = hole.end < run.end ? hole.end : run.end;
        const int64_t faces = ends ? from == to : from < to ? (int64_t)(to - from) : 0;
        const uint32_t number = holes->number[row->base + row->piece[i]];
        const int32_t label = (int32_t)labels->number[there.base + there.piece[k]];
        if (faces > 0 && label && !search->open[number])
            add_touch(search, mine, holes->budget, (touch){number, label, faces});
        if (run.end <= hole.end)
            k++;
        else
            i++;
    }
}

static void find_touches(const lob_pieces *holes, const lob_piece_row *row, void *user)
{
    hole_search *search = user;
    const int64_t ny = holes->dims.ny;
    bool closed = false;
    for (int64_t i = 0; i < row->count && !closed; i++)
        closed = !search->open[holes->number[row->base + row->piece[i]]];
    if (!closed) return;
    /* A closed hole is at no border that counts, but others in its row may be. */
    const int64_t y = row->row % ny, z = row->row / ny;
    if (search->along[0]) touch_row(search, holes, row, row->row, true);
    if (search->along[1] && y > 0) touch_row(search, holes, row, row->row - 1, false);
    if (search->along[1] && y + 1 < ny) touch_row(search, holes, row, row->row + 1, false);
    if (search->along[2] && z > 0) touch_row(search, holes, row, row->row - ny, false);
    if (search->along[2] && z + 1 < holes->dims.nz)
        touch_row(search, holes, row, row->row + ny, false);
}

/* The label of each hole: most faces, then the smallest, which comes first. */
static lob_status choose_labels(lob_pieces *holes, hole_search *search)
{
    uint32_t *label;
    const lob_status st =
        lob_budget_alloc(holes->budget, &label, holes->found, sizeof *label, search->error);
    if (st != LOB_OK) return st;
    memset(label, 0, (size_t)holes->found * sizeof *label);
    int64_t most = 0;
    for (int64_t i = 0; i < search->touches; i++) {
        const touch t = search->touch[i];
        if (i == 0 || search->touch[i - 1].hole != t.hole) most = 0;
        if (t.faces > most) label[t.hole] = (uint32_t)t.label;
        if (t.faces > most) most = t.faces;
    }
    for (int64_t i = 0; i < holes->total; i++) holes->number[i] = label[holes->number[i]];
    lob_budget_free(holes->budget, label, holes->found, sizeof *label);
    return LOB_OK;
}

static lob_status search_holes(lob_pieces *holes, hole_search *search, const double share[2])
{
    const double width = share[1] - share[0];
    const double parts[2] = {share[0] + 0.2 * width, share[0] + 0.6 * width};
    lob_budget *budget = holes->budget;
    lob_status st = lob_pieces_find(holes, parts, search->error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &search->open, holes->found, 1, search->error);
    if (st != LOB_OK) return st;
    memset(search->open, 0, (size_t)holes->found);
    st = lob_pieces_visit(holes, find_open, search, share[0] + 0.7 * width, search->error);
    if (st == LOB_OK) st = lob_pieces_visit(holes, find_touches, search, share[1], search->error);
    for (int t = 0; st == LOB_OK && t < holes->threads; t++)
        hand_in(search, &search->worker[t], budget);
    if (st == LOB_OK) st = search->status;
    if (st != LOB_OK) return st;
    add_up(search);
    return choose_labels(holes, search);
}

lob_status lob_components_holes(lob_pieces *holes, const lob_pieces *labels, bool dropped,
                                const double share[2], lob_error *error)
{
    const int n = labels->neighbours, threads = labels->threads;
    const int64_t longest = labels->longest;
    lob_budget *budget = labels->budget;
    hole_search search = {.labels = labels, .dropped = dropped, .error = error};
    for (int a = 0; a < 3; a++)
        search.along[a] = a != labels->slice_axis && lob_side(labels->dims, a) > 1;
    *holes = (lob_pieces){.dims = labels->dims,
                          .join = LOB_JOIN_ANY,
                          .neighbours = n == 4   ? 8
                                        : n == 8 ? 4
                                        : n == 6 ? 26
                                                 : 6,
                          .slice_axis = labels->slice_axis,
                          .threads = threads,
                          .budget = budget,
                          .stages = labels->stages,
                          .mark = mark_row,
                          .user = &search};
    lob_run *runs;
    lob_status st = lob_budget_alloc(budget, &runs, longest * threads, sizeof *runs, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(budget, &search.worker, threads, sizeof *search.worker, error);
    for (int t = 0; st == LOB_OK && t < threads; t++) {
        search.worker[t].run = runs + t * longest;
        search.worker[t].touches = 0;
    }
    if (st == LOB_OK) st = search_holes(holes, &search, share);
    lob_budget_free(budget, search.touch, search.room, sizeof *search.touch);
    lob_budget_free(budget, search.open, holes->found, 1);
    lob_budget_free(budget, search.worker, threads, sizeof *search.worker);
    lob_budget_free(budget, runs, longest * threads, sizeof *runs);
    return st;
}
