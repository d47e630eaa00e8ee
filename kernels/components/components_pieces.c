/* Joining runs into pieces, slab by slab, and pieces into components along the seams. */
#include "kernels/components/components_pieces.h"

#include "volumes/bytes.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Slabs a thread, so that those with little in them even out, and the least rows of one. */
enum { SLABS_A_THREAD = 4, SLAB_VOXELS = 1 << 15 };

lob_status lob_ledger_take(lob_ledger *ledger, void *block, int64_t count, size_t size,
                           lob_error *error)
{
    void **out = block;
    const int64_t bytes = lob_product(count, (int64_t)size, 1, 1);
    char asked[LOB_BYTES_TEXT], allowed[LOB_BYTES_TEXT];
    *out = NULL;
    if (bytes < 0 || bytes > INT64_MAX - ledger->now) return LOB_ENOMEM;
    if (ledger->most > 0 && ledger->now + bytes > ledger->most)
        return lob_fail(
            error, LOB_ENOMEM, "components need %s of working memory, more than the %s allowed",
            lob_bytes_text(asked, ledger->now + bytes), lob_bytes_text(allowed, ledger->most));
    *out = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (!*out)
        return lob_fail(error, LOB_ENOMEM, "no memory for components: %s more were asked for",
                        lob_bytes_text(asked, bytes));
    ledger->now += bytes;
    if (ledger->now > ledger->peak) ledger->peak = ledger->now;
    return LOB_OK;
}

void lob_ledger_give(lob_ledger *ledger, void *block, int64_t count, size_t size)
{
    if (block) ledger->now -= count * (int64_t)size;
    free(block);
}

void lob_stages_next(lob_stages *stages, int64_t rows, double to)
{
    stages->from = stages->to;
    stages->to = to;
    stages->rows = rows;
    atomic_store(&stages->done, 0);
}

bool lob_stages_tell(lob_stages *stages, int64_t rows)
{
    const int64_t done =
        atomic_fetch_add_explicit(&stages->done, rows, memory_order_relaxed) + rows;
    const lob_context *context = stages->context;
    if (omp_get_thread_num() == 0 && context->progress) {
        const double share = done < stages->rows ? (double)done / (double)stages->rows : 1.0;
        if (context->progress(context->user, stages->from + share * (stages->to - stages->from)))
            atomic_store(&stages->stop, 1);
    }
    return atomic_load_explicit(&stages->stop, memory_order_relaxed);
}

/* Rows before a row, in the order of the scan: 6, 18, 26; 4 and 8 leave out what crosses slices. */
static void list_before(lob_pieces *p)
{
    static const lob_before all[4] = {
        {-1, 0,  0},
        {0,  -1, 0},
        {-1, -1, 0},
        {1,  -1, 0}
    };
    const int axis = p->slice_axis;
    const int most = p->neighbours == 6 || p->neighbours == 4 ? 1 : p->neighbours == 26 ? 3 : 2;
    p->befores = 0;
    for (int i = 0; i < 4; i++) {
        lob_before b = all[i];
        const int apart = (b.dy != 0) + (b.dz != 0);
        if (apart > most || (axis == 1 && b.dy) || (axis == 2 && b.dz)) continue;
        b.reach = axis != 0 && apart < most;
        p->before[p->befores++] = b;
    }
}

/* The row that comes before this one, or -1 where the volume ends. */
static int64_t row_before(const lob_pieces *p, int64_t row, const lob_before *b)
{
    const int64_t ny = p->dims.ny, y = row % ny + b->dy;
    if (y < 0 || y >= ny || row / ny + b->dz < 0) return -1;
    return row + b->dy + b->dz * ny;
}

/* How many rows back the farthest of them is. */
static int64_t rows_back(const lob_pieces *p)
{
    int64_t back = 0;
    for (int i = 0; i < p->befores; i++) {
        const int64_t rows = -(p->before[i].dy + p->before[i].dz * p->dims.ny);
        if (rows > back) back = rows;
    }
    return back;
}

static int64_t row_nodes(const lob_pieces *p, const lob_slab *slab, int64_t row)
{
    return (row + 1 < slab->row_end ? p->first[row + 1] : slab->nodes) - p->first[row];
}

static lob_status cut(lob_pieces *p, lob_error *error)
{
    const int64_t nx = p->dims.nx, rows = p->dims.ny * p->dims.nz;
    const int64_t most = UINT32_MAX / nx; /* a slab's nodes are counted in 32 bits */
    p->rows = rows;
    p->words = lob_bit_words(nx);
    p->slab_rows = rows / ((int64_t)p->threads * SLABS_A_THREAD) + 1;
    if (p->threads == 1) p->slab_rows = rows;
    if (p->slab_rows < SLAB_VOXELS / nx + 1) p->slab_rows = SLAB_VOXELS / nx + 1;
    if (p->slab_rows > most) p->slab_rows = most;
    if (p->slab_rows > rows) p->slab_rows = rows;
    p->slabs = (rows + p->slab_rows - 1) / p->slab_rows;
    lob_status st = lob_ledger_take(p->ledger, &p->slab, p->slabs, sizeof *p->slab, error);
    if (st == LOB_OK) st = lob_ledger_take(p->ledger, &p->first, rows, sizeof *p->first, error);
    if (st == LOB_OK)
        st = lob_ledger_take(p->ledger, &p->filled, rows, (size_t)p->words * 8, error);
    if (st == LOB_OK && p->slice_axis == 0)
        p->starts = p->filled; /* every voxel a run of its own */
    else if (st == LOB_OK && p->join != LOB_JOIN_ANY)
        st = lob_ledger_take(p->ledger, &p->starts, rows, (size_t)p->words * 8, error);
    for (int64_t s = 0; st == LOB_OK && s < p->slabs; s++) {
        const int64_t end = (s + 1) * p->slab_rows;
        p->slab[s] = (lob_slab){.row = s * p->slab_rows, .row_end = end < rows ? end : rows};
    }
    return st;
}

static int64_t count_starts(const lob_pieces *p, int64_t row)
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

static lob_status mark(lob_pieces *p, double share)
{
    lob_stages_next(p->stages, p->rows, share);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int64_t s = 0; s < p->slabs; s++) {
        lob_slab *slab = &p->slab[s];
        int64_t nodes = 0;
        for (int64_t row = slab->row; row < slab->row_end; row++) {
            p->mark(p, row, p->user);
            p->first[row] = (uint32_t)nodes;
            nodes += count_starts(p, row);
            if (row % TOLD == 0 && lob_stages_tell(p->stages, TOLD)) break;
        }
        slab->nodes = nodes;
    }
    p->nodes = 0;
    for (int64_t s = 0; s < p->slabs; s++) {
        p->slab[s].node = p->nodes;
        p->nodes += p->slab[s].nodes;
    }
    p->longest = 0;
    for (int64_t row = 0; row < p->rows; row++) {
        const int64_t count = row_nodes(p, &p->slab[row / p->slab_rows], row);
        if (count > p->longest) p->longest = count;
    }
    return atomic_load(&p->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

/* The runs of one row with what unions need of them. */
typedef struct {
    int64_t row, count;
    const lob_run *run;
    const uint32_t *key;   /* of equal: see lob_run_keys */
    const uint32_t *piece; /* at a seam: their pieces, from base; else nodes count up from base */
    uint32_t base;
} row_list;

/* Where unions are made: nodes by one thread, or pieces by all of them. */
typedef struct {
    const lob_pieces *p;
    uint32_t *parent; /* of a smaller or equal number */
    bool exact_keys;
    uint64_t *scratch; /* tolerance: 5 * words */
} joiner;

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
    if (parent[a] == parent[b]) return;
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Another thread may hang a root under a smaller one at any time; a node stays a node for ever. */
static uint32_t shared_root(uint32_t *parent, uint32_t i)
{
    for (;;) {
        const uint32_t up = __atomic_load_n(&parent[i], __ATOMIC_RELAXED);
        if (up == i) return i;
        i = up;
    }
}

static void unite_shared(uint32_t *parent, uint32_t a, uint32_t b)
{
    for (;;) {
        a = shared_root(parent, a);
        b = shared_root(parent, b);
        if (a == b) return;
        uint32_t high = a < b ? b : a;
        const uint32_t low = a < b ? a : b;
        if (__atomic_compare_exchange_n(&parent[high], &high, low, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}

/* The kind of a merge is constant where it is called: each gets a loop of its own. */
#define EACH_KIND static inline __attribute__((always_inline))

EACH_KIND void meet(const joiner *j, const row_list *a, int64_t i, const row_list *b, int64_t k,
                    bool keyed, bool seam)
{
    if (keyed && a->key[i] != b->key[k]) return;
    if (keyed && !j->exact_keys) {
        const int64_t nx = j->p->dims.nx;
        if (!lob_voxels_equal(j->p->image, a->row * nx + a->run[i].start,
                              b->row * nx + b->run[k].start))
            return;
    }
    if (seam)
        unite_shared(j->parent, a->base + a->piece[i], b->base + b->piece[k]);
    else
        unite(j->parent, a->base + (uint32_t)i, b->base + (uint32_t)k);
}

/*
 * Join the runs of two rows that touch: share a column or, with reach 1, have neighbouring ones.
 * Keyed runs may abut. Where two end at the same column, each may then touch the other's next.
 */
EACH_KIND void merge(const joiner *j, const row_list *a, const row_list *b, uint32_t reach,
                     bool keyed, bool seam)
{
    int64_t i = 0, k = 0;
    while (i < a->count && k < b->count) {
        const lob_run m = a->run[i], n = b->run[k];
        if (m.start < n.end + reach && n.start < m.end + reach) meet(j, a, i, b, k, keyed, seam);
        if (keyed && reach && m.end == n.end) {
            if (i + 1 < a->count && a->run[i + 1].start == n.end)
                meet(j, a, i + 1, b, k, keyed, seam);
            if (k + 1 < b->count && b->run[k + 1].start == m.end)
                meet(j, a, i, b, k + 1, keyed, seam);
        }
        i += m.end <= n.end;
        k += n.end <= m.end;
    }
}

/* Join the runs of the columns x and x + dx for every bit x. */
EACH_KIND void merge_bits(const joiner *j, const row_list *a, const row_list *b,
                          const uint64_t *bits, int dx, bool seam)
{
    int64_t i = 0, k = 0;
    for (int64_t w = 0; w < j->p->words; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1) {
            const uint32_t x = (uint32_t)(w * 64 + __builtin_ctzll(left));
            while (a->run[i].end <= x) i++;
            while (b->run[k].end <= x + (uint32_t)dx) k++;
            meet(j, a, i, b, k, false, seam);
        }
}

/* Bit rows moved along x: word w of bits << 1 and of bits >> 1. */
static uint64_t up(const uint64_t *bits, int64_t w)
{
    return bits[w] << 1 | (w > 0 ? bits[w - 1] >> 63 : 0);
}

static uint64_t down(const uint64_t *bits, int64_t w, int64_t words)
{
    return bits[w] >> 1 | (w + 1 < words ? bits[w + 1] << 63 : 0);
}

/*
 * Tolerance: pairs of columns that are within it, less those that follow from a pair beside them
 * and a run that holds both columns of a row.
 */
EACH_KIND void merge_within(const joiner *j, const row_list *a, const row_list *b, int reach,
                            bool seam)
{
    const lob_pieces *p = j->p;
    const int64_t words = p->words;
    const uint64_t *filled_a = p->filled + a->row * words, *filled_b = p->filled + b->row * words;
    const uint64_t *starts_a = p->starts + a->row * words, *starts_b = p->starts + b->row * words;
    uint64_t *same = j->scratch, *back = same + words, *ahead = back + words;
    uint64_t *joined_a = ahead + words, *joined_b = joined_a + words;
    lob_bits_within(same, p->image, p->rule, a->row, b->row, 0);
    for (int64_t w = 0; w < words; w++) {
        same[w] &= filled_a[w] & filled_b[w];
        joined_a[w] = filled_a[w] & ~starts_a[w]; /* to the column before */
        joined_b[w] = filled_b[w] & ~starts_b[w];
    }
    if (reach) {
        lob_bits_within(back, p->image, p->rule, a->row, b->row, -1);
        lob_bits_within(ahead, p->image, p->rule, a->row, b->row, 1);
        for (int64_t w = 0; w < words; w++) {
            back[w] &= filled_a[w] & up(filled_b, w);
            back[w] &= ~(same[w] & joined_b[w]) & ~(up(same, w) & joined_a[w]);
            ahead[w] &= filled_a[w] & down(filled_b, w, words);
            ahead[w] &= ~(same[w] & down(joined_b, w, words)) &
                        ~(down(same, w, words) & down(joined_a, w, words));
        }
        merge_bits(j, a, b, back, -1, seam);
        merge_bits(j, a, b, ahead, 1, seam);
    }
    for (int64_t w = words - 1; w >= 0; w--) same[w] &= ~(up(same, w) & joined_a[w] & joined_b[w]);
    merge_bits(j, a, b, same, 0, seam);
}

EACH_KIND void merge_kind(const joiner *j, const row_list *a, const row_list *b, int reach,
                          bool seam)
{
    if (a->count == 0 || b->count == 0) return;
    if (j->p->join == LOB_JOIN_TOLERANCE)
        merge_within(j, a, b, reach, seam);
    else if (j->p->join == LOB_JOIN_EQUAL && reach)
        merge(j, a, b, 1, true, seam);
    else if (j->p->join == LOB_JOIN_EQUAL)
        merge(j, a, b, 0, true, seam);
    else if (reach)
        merge(j, a, b, 1, false, seam);
    else
        merge(j, a, b, 0, false, seam);
}

/* The runs of the last rows, in a ring in which no row is split. */
typedef struct {
    lob_run *run;
    uint32_t *key;     /* of equal */
    int64_t *place;    /* of a row's first run: rows_back + 1 */
    uint64_t *scratch; /* of tolerance */
    int64_t capacity, next, rows;
} window;

static row_list window_row(const window *win, const lob_pieces *p, const lob_slab *slab,
                           int64_t row)
{
    const int64_t place = win->place[row % win->rows];
    return (row_list){.row = row,
                      .count = row_nodes(p, slab, row),
                      .run = win->run + place,
                      .key = win->key ? win->key + place : NULL,
                      .base = p->first[row]};
}

static void window_push(window *win, joiner *j, const lob_slab *slab, int64_t row)
{
    const lob_pieces *p = j->p;
    const int64_t count = row_nodes(p, slab, row);
    if (win->next + count > win->capacity) win->next = 0;
    win->place[row % win->rows] = win->next;
    if (count == 0) return;
    lob_pieces_runs(win->run + win->next, p, row);
    if (win->key)
        j->exact_keys =
            lob_run_keys(win->key + win->next, win->run + win->next, count, p->image, row);
    win->next += count;
}

static void join_slab(lob_pieces *p, lob_slab *slab, window *win)
{
    joiner j = {.p = p, .parent = p->node + slab->node, .scratch = win->scratch};
    for (int64_t i = 0; i < slab->nodes; i++) j.parent[i] = (uint32_t)i;
    win->next = 0;
    for (int64_t row = slab->row; row < slab->row_end; row++) {
        window_push(win, &j, slab, row);
        const row_list here = window_row(win, p, slab, row);
        for (int i = 0; here.count > 0 && i < p->befores; i++) {
            const int64_t other = row_before(p, row, &p->before[i]);
            if (other < slab->row) continue;
            const row_list there = window_row(win, p, slab, other);
            merge_kind(&j, &here, &there, p->before[i].reach, false);
        }
        if (row % TOLD == 0 && lob_stages_tell(p->stages, TOLD)) return;
    }
    /* A parent comes before its children: one pass from the front numbers the pieces. */
    uint32_t pieces = 0;
    for (int64_t i = 0; i < slab->nodes; i++)
        j.parent[i] = j.parent[i] == i ? pieces++ : j.parent[j.parent[i]];
    slab->pieces = pieces;
}

/* Runs that a window must hold: those of the rows back from any row, and room to break off. */
static int64_t window_runs(const lob_pieces *p, int64_t back)
{
    int64_t most = 0;
    for (int64_t s = 0; s < p->slabs; s++) {
        const lob_slab *slab = &p->slab[s];
        for (int64_t row = slab->row; row < slab->row_end; row++) {
            const int64_t begin = row - back > slab->row ? p->first[row - back] : 0;
            const int64_t count = p->first[row] + row_nodes(p, slab, row) - begin;
            if (count > most) most = count;
        }
    }
    return most + p->longest;
}

/* The windows of all threads, or of one. */
static lob_status windows_take(lob_pieces *p, window *win, int count, int64_t capacity,
                               int64_t rows, lob_error *error)
{
    lob_status st = LOB_OK;
    for (int t = 0; st == LOB_OK && t < count; t++) {
        win[t].capacity = capacity;
        win[t].rows = rows;
        st = lob_ledger_take(p->ledger, &win[t].run, capacity, sizeof *win[t].run, error);
        if (st == LOB_OK)
            st = lob_ledger_take(p->ledger, &win[t].place, rows, sizeof *win[t].place, error);
        if (st == LOB_OK && p->join == LOB_JOIN_EQUAL)
            st = lob_ledger_take(p->ledger, &win[t].key, capacity, sizeof *win[t].key, error);
        if (st == LOB_OK && p->join == LOB_JOIN_TOLERANCE)
            st = lob_ledger_take(p->ledger, &win[t].scratch, p->words * 5, sizeof *win[t].scratch,
                                 error);
    }
    return st;
}

static void windows_give(lob_pieces *p, window *win, int count)
{
    for (int t = 0; t < count; t++) {
        lob_ledger_give(p->ledger, win[t].run, win[t].capacity, sizeof *win[t].run);
        lob_ledger_give(p->ledger, win[t].place, win[t].rows, sizeof *win[t].place);
        lob_ledger_give(p->ledger, win[t].key, win[t].capacity, sizeof *win[t].key);
        lob_ledger_give(p->ledger, win[t].scratch, p->words * 5, sizeof *win[t].scratch);
    }
}

static row_list seam_row(lob_pieces *p, int64_t row, lob_run *run, uint32_t *key, joiner *j)
{
    row_list list = {.row = row, .run = run, .key = key};
    const lob_piece_row known = lob_pieces_row(run, p, row);
    list.count = known.count;
    list.piece = known.piece;
    list.base = known.base;
    if (key) j->exact_keys = lob_run_keys(key, run, list.count, p->image, row);
    return list;
}

/* Join a slab's first rows with those before them, in other slabs. */
static void join_seam(lob_pieces *p, const lob_slab *slab, window *win, int64_t back)
{
    const int64_t room = p->longest;
    joiner j = {.p = p, .parent = p->number, .scratch = win->scratch};
    uint32_t *const key = win->key, *const other_key = key ? key + room : NULL;
    for (int64_t row = slab->row; row < slab->row_end && row < slab->row + back; row++) {
        const row_list here = seam_row(p, row, win->run, key, &j);
        for (int i = 0; here.count > 0 && i < p->befores; i++) {
            const int64_t other = row_before(p, row, &p->before[i]);
            if (other < 0 || other >= slab->row) continue;
            const row_list there = seam_row(p, other, win->run + room, other_key, &j);
            merge_kind(&j, &here, &there, p->before[i].reach, true);
        }
    }
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
        lob_ledger_take(p->ledger, &p->number, p->total, sizeof *p->number, error);
    for (int64_t i = 0; st == LOB_OK && i < p->total; i++) p->number[i] = (uint32_t)i;
    return st;
}

static lob_status join_seams(lob_pieces *p, int64_t back, lob_error *error)
{
    window *win = NULL;
    const int count = p->threads < p->slabs ? p->threads : (int)p->slabs;
    lob_status st = lob_ledger_take(p->ledger, &win, count, sizeof *win, error);
    if (st != LOB_OK) return st;
    memset(win, 0, (size_t)count * sizeof *win);
    st = windows_take(p, win, count, 2 * p->longest, 1, error);
    if (st == LOB_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
        for (int64_t s = 1; s < p->slabs; s++)
            join_seam(p, &p->slab[s], &win[omp_get_thread_num()], back);
    }
    windows_give(p, win, count);
    lob_ledger_give(p->ledger, win, count, sizeof *win);
    return st;
}

static lob_status join_slabs(lob_pieces *p, int64_t back, double share, lob_error *error)
{
    window *win = NULL;
    const int count = p->threads < p->slabs ? p->threads : (int)p->slabs;
    lob_stages_next(p->stages, p->rows, share);
    lob_status st = lob_ledger_take(p->ledger, &p->node, p->nodes, sizeof *p->node, error);
    if (st == LOB_OK) st = lob_ledger_take(p->ledger, &win, count, sizeof *win, error);
    if (st != LOB_OK) return st;
    memset(win, 0, (size_t)count * sizeof *win);
    st = windows_take(p, win, count, window_runs(p, back), back + 1, error);
    if (st == LOB_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
        for (int64_t s = 0; s < p->slabs; s++)
            if (!atomic_load_explicit(&p->stages->stop, memory_order_relaxed))
                join_slab(p, &p->slab[s], &win[omp_get_thread_num()]);
        if (atomic_load(&p->stages->stop)) st = LOB_ECANCEL;
    }
    windows_give(p, win, count);
    lob_ledger_give(p->ledger, win, count, sizeof *win);
    return st;
}

lob_status lob_pieces_find(lob_pieces *p, const double share[2], lob_error *error)
{
    list_before(p);
    const int64_t back = rows_back(p);
    lob_status st = cut(p, error);
    if (st == LOB_OK) st = mark(p, share[0]);
    if (st == LOB_OK) st = join_slabs(p, back, share[1], error);
    if (st == LOB_OK) st = number_pieces(p, error);
    if (st == LOB_OK && p->slabs > 1) st = join_seams(p, back, error);
    if (st != LOB_OK) return st;
    uint32_t found = 0;
    for (int64_t i = 0; i < p->total; i++)
        p->number[i] = p->number[i] == i ? found++ : p->number[p->number[i]];
    p->found = found;
    return LOB_OK;
}

lob_status lob_pieces_visit(const lob_pieces *p, lob_row_visit *visit, void *user, double share,
                            lob_error *error)
{
    const int count = p->threads < p->slabs ? p->threads : (int)p->slabs;
    lob_run *runs;
    lob_stages_next(p->stages, p->rows, share);
    lob_status st = lob_ledger_take(p->ledger, &runs, p->longest * count, sizeof *runs, error);
    if (st != LOB_OK) return st;
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
    for (int64_t s = 0; s < p->slabs; s++) {
        lob_run *const mine = runs + omp_get_thread_num() * p->longest;
        for (int64_t row = p->slab[s].row; row < p->slab[s].row_end; row++) {
            const lob_piece_row here = lob_pieces_row(mine, p, row);
            visit(p, &here, user);
            if (row % TOLD == 0 && lob_stages_tell(p->stages, TOLD)) break;
        }
    }
    lob_ledger_give(p->ledger, runs, p->longest * count, sizeof *runs);
    return atomic_load(&p->stages->stop) ? LOB_ECANCEL : LOB_OK;
}

void lob_pieces_free(lob_pieces *p)
{
    const size_t row_bytes = (size_t)p->words * 8;
    if (p->starts != p->filled) lob_ledger_give(p->ledger, p->starts, p->rows, row_bytes);
    lob_ledger_give(p->ledger, p->filled, p->rows, row_bytes);
    lob_ledger_give(p->ledger, p->first, p->rows, sizeof *p->first);
    lob_ledger_give(p->ledger, p->slab, p->slabs, sizeof *p->slab);
    lob_ledger_give(p->ledger, p->node, p->nodes, sizeof *p->node);
    lob_ledger_give(p->ledger, p->number, p->total, sizeof *p->number);
    p->starts = p->filled = NULL;
    p->first = p->node = p->number = NULL;
    p->slab = NULL;
}
