/* Unions of runs, by whole words of columns. */
#include "kernels/components/join/join_rows.h"

#include <string.h>

enum { TOLD = 64 }; /* rows between tellings of progress */

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

/* The kind of a merge is constant where it is called: each gets a loop of its own. */
#define EACH_KIND static inline __attribute__((always_inline))

/* A row's bits, and its runs before each word; nodes count from first. */
typedef struct {
    int64_t row;
    const uint64_t *filled;
    const uint64_t *starts; /* NULL: where filled follows not filled */
    const uint32_t *ranks;
    const uint32_t *piece; /* at a seam: pieces of the row's runs, from first; else NULL */
    uint32_t first;
} bit_row;

/* Where unions are made: nodes by one thread, or at a seam pieces by all of them. */
typedef struct {
    const lob_pieces *p;
    uint32_t *parent; /* of a smaller or equal number */
    const lob_window *window;
    bool seam;
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

/* stored is constant where it is known that rows have starts, or have not. */
EACH_KIND uint64_t starts_at(const bit_row *row, int64_t w, bool stored)
{
    return lob_bits_starts(row->filled, stored ? row->starts : NULL, w);
}

/* The node, or at a seam the piece, of the run that holds the highest bit of `until`, in word w. */
EACH_KIND uint32_t node_at(const bit_row *row, int64_t w, uint64_t starts, uint64_t until)
{
    const uint32_t run = row->ranks[w] + (uint32_t)__builtin_popcountll(starts & until) - 1;
    return row->first + (row->piece ? row->piece[run] : run);
}

/* A new run is in no set but its own; of any run nothing is known. */
typedef enum { ANY_RUN, NEW_RUN } run_state;

/* Unite the runs of columns x and x + dx for every bit x of word w; stored: rows have starts. */
EACH_KIND void unite_bits(const joiner *j, const bit_row *a, const bit_row *b, int64_t w,
                          uint64_t bits, int dx, bool stored, run_state state)
{
    if (!bits) return;
    const uint64_t starts = starts_at(a, w, stored);
    const uint64_t others = dx ? 0 : starts_at(b, w, stored);
    for (; bits; bits &= bits - 1) {
        const uint64_t until = bits ^ (bits - 1);
        const uint32_t m = node_at(a, w, starts, until);
        uint32_t n;
        if (dx) {
            const int64_t x = w * 64 + __builtin_ctzll(bits) + dx;
            n = node_at(b, x / 64, starts_at(b, x / 64, stored), UINT64_MAX >> (63 - x % 64));
        } else {
            n = node_at(b, w, others, until);
        }
        if (state == NEW_RUN)
            j->parent[m] = j->parent[n];
        else if (j->seam)
            unite_shared(j->parent, m, n);
        else
            lob_unite(j->parent, m, n);
    }
}

/* Which voxels join beyond faces: 6 and 4; 18; 26 and 8. */
typedef enum { TO_FACES, TO_EDGES, TO_CORNERS } extent;

/*
 * Of pairs straight across unite each run's first, and take it out, of runs that start in this
 * word: these are new, and take the other's parent without a search. Most pairs are of this kind.
 */
EACH_KIND void adopt_bits(const joiner *j, const bit_row *a, const bit_row row[4], int64_t w,
                          trio in, uint64_t same[4], bool stored)
{
    const uint64_t through = in.same & in.up, earlier = through & ~(through + 1);
    if (j->seam) return;
    uint64_t first = (same[0] | same[1]) & ~earlier;
    /* Adding carries each run's first pair through the rest of the run. */
    const uint64_t after = first << 1 & through;
    first &= ~((((after + through) ^ through) & through) | after);
    const uint64_t below = same[1] & first, beside = first ^ below;
    unite_bits(j, a, &row[1], w, below, 0, stored, NEW_RUN);
    unite_bits(j, a, &row[0], w, beside, 0, stored, NEW_RUN);
    same[1] ^= below;
    same[0] ^= beside;
}

/*
 * Any and equal, where what two voxels are joined with is joined, too: word w of a row against the
 * rows before it.
 *
 *   in  in  voxels of the row; joined with the one before; with the one after
 *   r   in  of each row before: voxels of the row joined with x, x - 1 and x + 1 of the other
 *
 * A pair of columns is left out where it follows from one beside it, through a run of each row, or
 * from pairs with a third row:
 *
 *     plane z-1   row[2]  row[1]  row[3]        y-1  y  y+1; those with row[1], straight below,
 *     plane z     row[0]    a                   are never left out for a third row
 *
 * So row[0] may lead through row[1] because row[1] and row[0] meet too, by the time that row[0] has
 * been joined; in doing so row[0] may have gone through row[2], and so on, always on to what lies
 * further down, so that no two pairs stand in for each other.
 */
EACH_KIND void join_word(const joiner *j, const bit_row *a, const bit_row row[4], int64_t w,
                         trio in, const trio r[4], extent reach, bool stored)
{
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
    adopt_bits(j, a, row, w, in, same, stored);
    for (int i = 0; i < (reach == TO_FACES ? 2 : 4); i++) {
        unite_bits(j, a, &row[i], w, same[i], 0, stored, ANY_RUN);
        if (reach == TO_FACES || (reach == TO_EDGES && i >= 2)) continue;
        unite_bits(j, a, &row[i], w, up[i], -1, stored, ANY_RUN);
        unite_bits(j, a, &row[i], w, down[i], 1, stored, ANY_RUN);
    }
}

/* Any: what is filled is joined; not along x where every voxel is a run. */
EACH_KIND void join_filled(const joiner *j, const bit_row *a, const bit_row row[4], extent reach,
                           bool stored)
{
    const int64_t words = j->p->words;
    for (int64_t w = 0; w < words; w++) {
        if (!a->filled[w]) continue;
        trio in = trio_at(a->filled, w, words), r[4];
        if (stored) in.up = in.down = 0;
        for (int i = 0; i < 4; i++) {
            r[i] = trio_at(row[i].filled, w, words);
            if (stored) r[i].up = r[i].down = 0;
        }
        join_word(j, a, row, w, in, r, reach, stored);
    }
}

/* What a window's scratch holds: bits of no voxel, joined along x, and pairs with four rows. */
enum { NOTHING, JOINED, PAIRS, SCRATCH_ROWS = PAIRS + 4 * 3 };

/*
 * Compare row a with each row before it: bits of pairs that are joined, as `r` of join_word. Where
 * a row is out of reach nothing is, but for `through`, which pairs may lead through.
 */
static void find_pairs(const joiner *j, const bit_row *a, const bit_row row[4], int through)
{
    const lob_pieces *p = j->p;
    const int64_t words = p->words;
    uint64_t *joined = j->window->scratch + JOINED * words;
    for (int64_t w = 0; w < words; w++) joined[w] = a->filled[w] & ~a->starts[w];
    for (int i = 0; i < 4; i++) {
        static const int dx[3] = {0, -1, 1};
        uint64_t *pairs = j->window->scratch + (PAIRS + 3 * i) * words;
        const bool there = row[i].row >= 0 && (p->before[i].reach >= 0 || i == through);
        const int used = !there ? 0 : p->before[i].reach > 0 ? 3 : 1;
        for (int k = 0; k < used; k++) {
            if (p->join == LOB_JOIN_EQUAL)
                lob_bits_equal(pairs + k * words, p->image, a->row, row[i].row, dx[k]);
            else
                lob_bits_within(pairs + k * words, p->image, p->rule, a->row, row[i].row, dx[k]);
        }
        memset(pairs + used * words, 0, (size_t)((3 - used) * words) * sizeof *pairs);
        for (int64_t w = 0; used && w < words; w++) {
            const trio other = trio_at(row[i].filled, w, words);
            pairs[w] &= a->filled[w] & other.same;
            pairs[words + w] &= a->filled[w] & other.up;
            pairs[2 * words + w] &= a->filled[w] & other.down;
        }
    }
}

/* Pairs of word w with row i before. */
EACH_KIND trio pairs_at(const joiner *j, int i, int64_t w)
{
    const int64_t words = j->p->words;
    const uint64_t *pairs = j->window->scratch + (PAIRS + 3 * i) * words + w;
    return (trio){pairs[0], pairs[words], pairs[2 * words]};
}

EACH_KIND void join_equal(const joiner *j, const bit_row *a, const bit_row row[4], extent reach)
{
    const int64_t words = j->p->words;
    const uint64_t *joined = j->window->scratch + JOINED * words;
    find_pairs(j, a, row, reach == TO_FACES ? 2 : -1);
    for (int64_t w = 0; w < words; w++) {
        if (!a->filled[w]) continue;
        const trio run = trio_at(joined, w, words);
        const trio in = {a->filled[w], run.same, run.down};
        trio r[4];
        for (int i = 0; i < 4; i++) {
            r[i] = pairs_at(j, i, w);
            if (j->p->before[i].reach > 0) continue;
            const trio same = trio_at(j->window->scratch + (PAIRS + 3 * i) * words, w, words);
            r[i].up = same.up & in.up; /* not compared; equal to what is equal */
            r[i].down = same.down & in.down;
        }
        join_word(j, a, row, w, in, r, reach, true);
    }
}

/*
 * Tolerance: of pairs that are within it, leave out those that follow from a pair beside them and a
 * run that holds both columns of a row.
 */
EACH_KIND void join_within(const joiner *j, const bit_row *a, const bit_row row[4])
{
    const int64_t words = j->p->words;
    const uint64_t *joined = j->window->scratch + JOINED * words;
    find_pairs(j, a, row, -1);
    for (int64_t w = 0; w < words; w++) {
        const trio in = trio_at(joined, w, words);
        for (int i = 0; i < 4 && a->filled[w]; i++) {
            const trio r = pairs_at(j, i, w);
            if (!(r.same | r.up | r.down)) continue;
            const trio same = trio_at(j->window->scratch + (PAIRS + 3 * i) * words, w, words);
            const trio starts = trio_at(row[i].starts, w, words);
            const uint64_t b = ~starts.same, b_next = ~starts.down; /* where a pair holds it */
            unite_bits(j, a, &row[i], w, r.same & ~(same.up & in.same & b), 0, true, ANY_RUN);
            unite_bits(j, a, &row[i], w, r.up & ~(r.same & b) & ~(same.up & in.same), -1, true,
                       ANY_RUN);
            unite_bits(j, a, &row[i], w, r.down & ~(r.same & b_next) & ~(same.down & in.down), 1,
                       true, ANY_RUN);
        }
    }
}

EACH_KIND void join_row(const joiner *j, const bit_row *a, const bit_row row[4])
{
    const lob_pieces *p = j->p;
    const extent reach = p->neighbours == 26 || p->neighbours == 8 ? TO_CORNERS
                         : p->neighbours == 18                     ? TO_EDGES
                                                                   : TO_FACES;
    if (p->join == LOB_JOIN_TOLERANCE)
        join_within(j, a, row);
    else if (p->join == LOB_JOIN_EQUAL && reach == TO_CORNERS)
        join_equal(j, a, row, TO_CORNERS);
    else if (p->join == LOB_JOIN_EQUAL && reach == TO_EDGES)
        join_equal(j, a, row, TO_EDGES);
    else if (p->join == LOB_JOIN_EQUAL)
        join_equal(j, a, row, TO_FACES);
    else if (reach == TO_EDGES)
        join_filled(j, a, row, TO_EDGES, false);
    else if (reach == TO_CORNERS && !p->starts)
        join_filled(j, a, row, TO_CORNERS, false);
    else if (reach == TO_CORNERS)
        join_filled(j, a, row, TO_CORNERS, true);
    else if (!p->starts)
        join_filled(j, a, row, TO_FACES, false);
    else
        join_filled(j, a, row, TO_FACES, true);
}

/* Count a row's runs before each word; returns how many there are. */
EACH_KIND uint32_t count_ranks(const lob_pieces *p, const lob_window *win, int64_t row)
{
    const uint64_t *filled = p->filled + row * p->words, *stored = lob_pieces_starts(p, row);
    uint32_t *ranks = win->ranks + (row & (win->slots - 1)) * p->words, count = 0;
    uint64_t before = 0;
    for (int64_t w = 0; w < p->words; w++) {
        const uint64_t starts = stored ? stored[w] : filled[w] & ~(filled[w] << 1 | before);
        ranks[w] = count;
        count += (uint32_t)__builtin_popcountll(starts);
        before = filled[w] >> 63;
    }
    return count;
}

EACH_KIND bit_row bits_of(const joiner *j, int64_t row)
{
    const lob_pieces *p = j->p;
    bit_row bits = {.row = row,
                    .filled = p->filled + row * p->words,
                    .starts = lob_pieces_starts(p, row),
                    .ranks = j->window->ranks + (row & (j->window->slots - 1)) * p->words,
                    .first = p->first[row]};
    if (!j->seam) return bits;
    const lob_slab *slab = lob_pieces_slab(p, row);
    bits.piece = p->node + slab->node + p->first[row];
    bits.first = (uint32_t)slab->piece;
    return bits;
}

/* Join rows [row, end) with those before them that lie in [low, high). */
LOB_SIMD_CLONES static bool join_rows(const joiner *j, int64_t row, int64_t end, int64_t low,
                                      int64_t high)
{
    const lob_pieces *p = j->p;
    const int64_t ny = p->dims.ny, words = p->words;
    const bit_row empty = {.row = -1, .filled = j->window->scratch + NOTHING * words};
    for (int64_t y = row % ny; row < end; row++, y = y + 1 < ny ? y + 1 : 0) {
        const bit_row here = bits_of(j, row);
        bit_row other[4] = {empty, empty, empty, empty};
        const uint32_t runs = count_ranks(p, j->window, row);
        for (uint32_t i = 0; !j->seam && i < runs; i++) j->parent[here.first + i] = here.first + i;
        for (int i = 0; i < 4; i++) {
            const lob_before *b = &p->before[i];
            const int64_t there = row + b->dy + b->dz * ny;
            const bool across = (b->dy && p->slice_axis == 1) || (b->dz && p->slice_axis == 2);
            if (!across && there >= low && there < high && y + b->dy >= 0 && y + b->dy < ny)
                other[i] = bits_of(j, there);
        }
        join_row(j, &here, other);
        if (!j->seam && row % TOLD == 0 && lob_progress_report(p->stages, TOLD)) return false;
    }
    return true;
}

void lob_join_slab(lob_pieces *p, lob_slab *slab, const lob_window *win)
{
    uint32_t *const parent = p->node + slab->node;
    const joiner j = {.p = p, .parent = parent, .window = win};
    if (!join_rows(&j, slab->row, slab->row_end, slab->row, slab->row_end)) return;
    /* A parent comes before its children: one pass from the front numbers the pieces. */
    uint32_t pieces = 0;
    for (int64_t i = 0; i < slab->nodes; i++)
        parent[i] = parent[i] == i ? pieces++ : parent[parent[i]];
    slab->pieces = pieces;
}

void lob_join_seam(lob_pieces *p, lob_slab *slab, const lob_window *win)
{
    const joiner j = {.p = p, .parent = p->number, .window = win, .seam = true};
    const int64_t back = rows_back(p), end = slab->row + back;
    for (int64_t row = slab->row > back ? slab->row - back : 0; row < slab->row; row++)
        count_ranks(p, win, row);
    join_rows(&j, slab->row, end < slab->row_end ? end : slab->row_end, 0, slab->row);
}

static lob_status window_take(lob_pieces *p, lob_window *win, lob_error *error)
{
    const int64_t back = rows_back(p);
    for (win->slots = 1; win->slots < back + 1;) win->slots *= 2;
    win->scratch_words = p->words * (p->join == LOB_JOIN_ANY ? NOTHING + 1 : SCRATCH_ROWS);
    lob_status st =
        lob_budget_alloc(p->budget, &win->scratch, win->scratch_words, sizeof *win->scratch, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(p->budget, &win->ranks, win->slots * p->words, sizeof *win->ranks,
                              error);
    if (st == LOB_OK)
        memset(win->scratch + NOTHING * p->words, 0, (size_t)p->words * sizeof *win->scratch);
    return st;
}

lob_status lob_windows_take(lob_pieces *p, lob_window *windows, int count, lob_error *error)
{
    lob_status st = LOB_OK;
    for (int t = 0; st == LOB_OK && t < count; t++) st = window_take(p, &windows[t], error);
    return st;
}

void lob_windows_give(lob_pieces *p, lob_window *windows, int count)
{
    for (int t = 0; t < count; t++) {
        lob_window *win = &windows[t];
        lob_budget_free(p->budget, win->scratch, win->scratch_words, sizeof *win->scratch);
        lob_budget_free(p->budget, win->ranks, win->slots * p->words, sizeof *win->ranks);
    }
}
