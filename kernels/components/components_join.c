/* Unions of runs, by whole words of columns or run by run. */
#include "kernels/components/components_join.h"

#include <string.h>

enum { TOLD = 64 }; /* rows between tellings of progress */

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
    for (int i = 0; i < 4; i++) {
        if (p->before[i].reach < 0) continue;
        const int64_t rows = -(p->before[i].dy + p->before[i].dz * p->dims.ny);
        if (rows > back) back = rows;
    }
    return back;
}

/* The runs of one row with what unions need of them. */
typedef struct {
    int64_t row, count;
    const lob_run *run;
    const uint32_t *key;   /* of equal: see lob_run_keys */
    const uint32_t *piece; /* at a seam: their pieces, from base; else nodes count up from base */
    uint32_t base;
} row_list;

/* The kind of a merge is constant where it is called: each gets a loop of its own. */
#define EACH_KIND static inline __attribute__((always_inline))

/* Where unions are made: nodes by one thread, or pieces by all of them. */
typedef struct {
    const lob_pieces *p;
    uint32_t *parent; /* of a smaller or equal number */
    uint64_t *scratch;
    bool exact_keys;
} joiner;

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
        lob_unite(j->parent, a->base + (uint32_t)i, b->base + (uint32_t)k);
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

/* Word w of a bit row, and of the row moved to x + 1 and to x - 1. */
typedef struct {
    uint64_t same, up, down;
} trio;

static inline trio trio_at(const uint64_t *bits, int64_t w, int64_t words)
{
    const uint64_t same = bits[w];
    return (trio){same, same << 1 | (w > 0 ? bits[w - 1] >> 63 : 0),
                  same >> 1 | (w + 1 < words ? bits[w + 1] << 63 : 0)};
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
            const trio in_b = trio_at(filled_b, w, words), pair = trio_at(same, w, words);
            const uint64_t next_a = trio_at(joined_a, w, words).down;
            const uint64_t next_b = trio_at(joined_b, w, words).down;
            back[w] &= filled_a[w] & in_b.up & ~(same[w] & joined_b[w]) & ~(pair.up & joined_a[w]);
            ahead[w] &= filled_a[w] & in_b.down & ~(same[w] & next_b) & ~(pair.down & next_a);
        }
        merge_bits(j, a, b, back, -1, seam);
        merge_bits(j, a, b, ahead, 1, seam);
    }
    for (int64_t w = words - 1; w >= 0; w--)
        same[w] &= ~(trio_at(same, w, words).up & joined_a[w] & joined_b[w]);
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

/* A row's bits, and its runs before each word; nodes count from first. */
typedef struct {
    const uint64_t *filled;
    const uint32_t *ranks;
    uint32_t first;
} bit_row;

/* The node of the run that holds bit x of a row. */
EACH_KIND uint32_t node_at(const bit_row *row, int64_t x, bool chain)
{
    const int64_t w = x / 64;
    const uint64_t here = row->filled[w], before = w > 0 ? row->filled[w - 1] >> 63 : 0;
    const uint64_t starts = chain ? here & ~(here << 1 | before) : here;
    const uint64_t until = UINT64_MAX >> (63 - x % 64);
    return row->first + row->ranks[w] + (uint32_t)__builtin_popcountll(starts & until) - 1;
}

/* Unite the runs of columns x and x + dx for every bit x of word w. */
EACH_KIND void unite_bits(const joiner *j, const bit_row *a, const bit_row *b, int64_t w,
                          uint64_t bits, int dx, bool chain)
{
    for (; bits; bits &= bits - 1) {
        const int64_t x = w * 64 + __builtin_ctzll(bits);
        lob_unite(j->parent, node_at(a, x, chain), node_at(b, x + dx, chain));
    }
}

/* Which voxels join beyond faces: 6 and 4; 18; 26 and 8. */
typedef enum { TO_FACES, TO_EDGES, TO_CORNERS } extent;

/*
 * Any: word w of a row against the rows before it. A pair of columns is left out where it follows
 * from one beside it, through a run of each row, or from pairs with a third row:
 *
 *     plane z-1   row[2]  row[1]  row[3]        y-1  y  y+1; those with row[1], straight below,
 *     plane z     row[0]    a                   are never left out for a third row
 *
 * So row[0] may lead through row[1] because row[1] and row[0] meet too, by the time that row[0] has
 * been joined; in doing so row[0] may have gone through row[2], and so on, always on to what lies
 * further down, so that no two pairs stand in for each other.
 */
EACH_KIND void join_word(const joiner *j, const bit_row *a, const bit_row row[4], int64_t w,
                         extent reach, bool chain)
{
    const int64_t words = j->p->words;
    trio in = trio_at(a->filled, w, words), r[4];
    for (int i = 0; i < 4; i++) {
        r[i] = trio_at(row[i].filled, w, words);
        if (!chain) r[i].up = r[i].down = 0;
    }
    if (!chain) in.up = in.down = 0;
    uint64_t same[4], up[4], down[4];
    for (int i = 0; i < 4; i++) {
        same[i] = in.same & r[i].same & ~(in.up & r[i].up);
        up[i] = in.same & r[i].up & ~r[i].same & ~in.up;
        down[i] = in.same & r[i].down & ~r[i].same & ~in.down;
    }
    const uint64_t wide0 = r[0].same | r[0].up | r[0].down;
    const uint64_t wide1 = r[1].same | r[1].up | r[1].down;
    if (reach == TO_FACES) {
        same[0] &= ~(r[1].same & r[2].same);
    } else if (reach == TO_EDGES) {
        same[0] &= ~r[1].same;
        up[0] &= ~r[1].up;
        down[0] &= ~r[1].down;
        same[2] &= ~wide1 & ~wide0;
        same[3] &= ~wide1;
    } else {
        const uint64_t up1 = r[1].same | r[1].up, down1 = r[1].same | r[1].down;
        same[0] &= ~wide1;
        up[0] &= ~up1;
        down[0] &= ~down1;
        same[2] &= ~wide1 & ~wide0;
        up[2] &= ~up1 & ~(r[0].same | r[0].up);
        down[2] &= ~down1 & ~(r[0].same | r[0].down);
        same[3] &= ~wide1;
        up[3] &= ~up1;
        down[3] &= ~down1;
    }
    for (int i = 0; i < (reach == TO_FACES ? 2 : 4); i++) {
        unite_bits(j, a, &row[i], w, same[i], 0, chain);
        if (reach == TO_FACES || (reach == TO_EDGES && i >= 2)) continue;
        unite_bits(j, a, &row[i], w, up[i], -1, chain);
        unite_bits(j, a, &row[i], w, down[i], 1, chain);
    }
}

EACH_KIND void join_words(const joiner *j, const bit_row *a, const bit_row row[4], extent reach,
                          bool chain)
{
    for (int64_t w = 0; w < j->p->words; w++)
        if (a->filled[w]) join_word(j, a, row, w, reach, chain);
}

EACH_KIND void join_bit_row(const joiner *j, const bit_row *a, const bit_row row[4])
{
    const int n = j->p->neighbours;
    const bool chain = j->p->slice_axis != 0;
    if (n == 26 || (n == 8 && chain))
        join_words(j, a, row, TO_CORNERS, true);
    else if (n == 18)
        join_words(j, a, row, TO_EDGES, true);
    else if (n == 8)
        join_words(j, a, row, TO_CORNERS, false);
    else if (chain)
        join_words(j, a, row, TO_FACES, true);
    else
        join_words(j, a, row, TO_FACES, false);
}

/* Runs before each word of a row. */
EACH_KIND void count_ranks(uint32_t *ranks, const uint64_t *filled, int64_t words, bool chain)
{
    uint32_t count = 0;
    uint64_t before = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t starts = chain ? filled[w] & ~(filled[w] << 1 | before) : filled[w];
        ranks[w] = count;
        count += (uint32_t)__builtin_popcountll(starts);
        before = filled[w] >> 63;
    }
}

static bit_row bits_of(const lob_pieces *p, const lob_window *win, int64_t row)
{
    return (bit_row){.filled = p->filled + row * p->words,
                     .ranks = win->ranks + (row & (win->slots - 1)) * p->words,
                     .first = p->first[row]};
}

/* Foreground alone decides: all by bits. */
LOB_CLONES static bool join_bit_rows(lob_pieces *p, const lob_slab *slab, const joiner *j,
                                     lob_window *win)
{
    const int64_t ny = p->dims.ny;
    const bit_row empty = {.filled = win->scratch};
    memset(win->scratch, 0, (size_t)p->words * sizeof *win->scratch);
    for (int64_t row = slab->row, y = row % ny; row < slab->row_end;
         row++, y = y + 1 < ny ? y + 1 : 0) {
        const bit_row here = bits_of(p, win, row);
        bit_row other[4] = {empty, empty, empty, empty};
        count_ranks(win->ranks + (row & (win->slots - 1)) * p->words, here.filled, p->words,
                    p->slice_axis != 0);
        for (int i = 0; i < 4; i++) {
            const int64_t there = row + p->before[i].dy + p->before[i].dz * ny;
            const bool across =
                (p->before[i].dy && p->slice_axis == 1) || (p->before[i].dz && p->slice_axis == 2);
            if (!across && there >= slab->row && y + p->before[i].dy >= 0 &&
                y + p->before[i].dy < ny)
                other[i] = bits_of(p, win, there);
        }
        join_bit_row(j, &here, other);
        if (row % TOLD == 0 && lob_stages_tell(p->stages, TOLD)) return false;
    }
    return true;
}

static row_list window_row(const lob_window *win, const lob_pieces *p, const lob_slab *slab,
                           int64_t row)
{
    const int64_t place = win->place[row & (win->slots - 1)];
    return (row_list){.row = row,
                      .count = lob_slab_runs(p, slab, row),
                      .run = win->run + place,
                      .key = win->key ? win->key + place : NULL,
                      .base = p->first[row]};
}

static void window_push(lob_window *win, joiner *j, const lob_slab *slab, int64_t row)
{
    const lob_pieces *p = j->p;
    const int64_t count = lob_slab_runs(p, slab, row);
    if (win->next + count > win->capacity) win->next = 0;
    win->place[row & (win->slots - 1)] = win->next;
    if (count == 0) return;
    lob_pieces_runs(win->run + win->next, p, row);
    if (win->key)
        j->exact_keys =
            lob_run_keys(win->key + win->next, win->run + win->next, count, p->image, row);
    win->next += count;
}

static bool join_run_rows(lob_pieces *p, const lob_slab *slab, joiner *j, lob_window *win)
{
    win->next = 0;
    for (int64_t row = slab->row; row < slab->row_end; row++) {
        window_push(win, j, slab, row);
        const row_list here = window_row(win, p, slab, row);
        for (int i = 0; here.count > 0 && i < 4; i++) {
            if (p->before[i].reach < 0) continue;
            const int64_t other = row_before(p, row, &p->before[i]);
            if (other < slab->row) continue;
            const row_list there = window_row(win, p, slab, other);
            merge_kind(j, &here, &there, p->before[i].reach, false);
        }
        if (row % TOLD == 0 && lob_stages_tell(p->stages, TOLD)) return false;
    }
    return true;
}

void lob_join_slab(lob_pieces *p, lob_slab *slab, lob_window *win)
{
    joiner j = {.p = p, .parent = p->node + slab->node, .scratch = win->scratch};
    for (int64_t i = 0; i < slab->nodes; i++) j.parent[i] = (uint32_t)i;
    if (!(p->join == LOB_JOIN_ANY ? join_bit_rows(p, slab, &j, win)
                                  : join_run_rows(p, slab, &j, win)))
        return;
    /* A parent comes before its children: one pass from the front numbers the pieces. */
    uint32_t pieces = 0;
    for (int64_t i = 0; i < slab->nodes; i++)
        j.parent[i] = j.parent[i] == i ? pieces++ : j.parent[j.parent[i]];
    slab->pieces = pieces;
}

static row_list seam_row(const lob_pieces *p, int64_t row, lob_run *run, uint32_t *key, joiner *j)
{
    const lob_piece_row known = lob_pieces_row(run, p, row);
    if (key) j->exact_keys = lob_run_keys(key, run, known.count, p->image, row);
    return (row_list){.row = row,
                      .count = known.count,
                      .run = run,
                      .key = key,
                      .piece = known.piece,
                      .base = known.base};
}

void lob_join_seam(lob_pieces *p, lob_slab *slab, lob_window *win)
{
    const int64_t back = rows_back(p);
    joiner j = {.p = p, .parent = p->number, .scratch = win->scratch};
    uint32_t *const key = win->key, *const other_key = key ? key + p->longest : NULL;
    for (int64_t row = slab->row; row < slab->row_end && row < slab->row + back; row++) {
        const row_list here = seam_row(p, row, win->run, key, &j);
        for (int i = 0; here.count > 0 && i < 4; i++) {
            if (p->before[i].reach < 0) continue;
            const int64_t other = row_before(p, row, &p->before[i]);
            if (other < 0 || other >= slab->row) continue;
            const row_list there = seam_row(p, other, win->run + p->longest, other_key, &j);
            merge_kind(&j, &here, &there, p->before[i].reach, true);
        }
    }
}

/* Runs that a window must hold: those of the rows back from any row, and room to break off. */
static int64_t window_runs(const lob_pieces *p, int64_t back)
{
    int64_t most = 0;
    for (int64_t s = 0; s < p->slabs; s++) {
        const lob_slab *slab = &p->slab[s];
        for (int64_t row = slab->row; row < slab->row_end; row++) {
            const int64_t begin = row - back > slab->row ? p->first[row - back] : 0;
            const int64_t count = p->first[row] + lob_slab_runs(p, slab, row) - begin;
            if (count > most) most = count;
        }
    }
    return most + p->longest;
}

static lob_status window_take(lob_pieces *p, lob_window *win, bool seams, lob_error *error)
{
    const bool by_bits = p->join == LOB_JOIN_ANY && !seams;
    const int64_t back = rows_back(p);
    lob_ledger *ledger = p->ledger;
    lob_status st = LOB_OK;
    for (win->slots = 1; win->slots < back + 1;) win->slots *= 2;
    win->capacity = by_bits ? 0 : seams ? 2 * p->longest : window_runs(p, back);
    win->scratch_words = p->join == LOB_JOIN_TOLERANCE ? 5 * p->words : by_bits ? p->words : 0;
    st = lob_ledger_take(ledger, &win->scratch, win->scratch_words, sizeof *win->scratch, error);
    if (st == LOB_OK && by_bits)
        return lob_ledger_take(ledger, &win->ranks, win->slots * p->words, sizeof *win->ranks,
                               error);
    if (st == LOB_OK)
        st = lob_ledger_take(ledger, &win->run, win->capacity, sizeof *win->run, error);
    if (st == LOB_OK && p->join == LOB_JOIN_EQUAL)
        st = lob_ledger_take(ledger, &win->key, win->capacity, sizeof *win->key, error);
    if (st == LOB_OK && !seams)
        st = lob_ledger_take(ledger, &win->place, win->slots, sizeof *win->place, error);
    return st;
}

lob_status lob_windows_take(lob_pieces *p, lob_window *windows, int count, bool seams,
                            lob_error *error)
{
    lob_status st = LOB_OK;
    for (int t = 0; st == LOB_OK && t < count; t++) st = window_take(p, &windows[t], seams, error);
    return st;
}

void lob_windows_give(lob_pieces *p, lob_window *windows, int count)
{
    for (int t = 0; t < count; t++) {
        lob_window *win = &windows[t];
        lob_ledger_give(p->ledger, win->scratch, win->scratch_words, sizeof *win->scratch);
        lob_ledger_give(p->ledger, win->ranks, win->slots * p->words, sizeof *win->ranks);
        lob_ledger_give(p->ledger, win->run, win->capacity, sizeof *win->run);
        lob_ledger_give(p->ledger, win->key, win->capacity, sizeof *win->key);
        lob_ledger_give(p->ledger, win->place, win->slots, sizeof *win->place);
    }
}
