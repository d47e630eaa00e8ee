/* Unions of runs, a word of 64 columns at a time. */
#include "kernels/components/join/join_rows.h"

#include <string.h>

/* How many rows before a row its farthest neighbour row is. */
static int64_t max_rows_back(const lob_run_table *t)
{
    int64_t back = 0;
    for (int i = 0; i < 4; i++) {
        if (t->earlier[i].reach < 0) continue;
        const int64_t rows = -(t->earlier[i].dy + t->earlier[i].dz * t->dims.ny);
        if (rows > back) back = rows;
    }
    return back;
}

/* Joining rule and connectivity are constants where these are called, so each has its own loop. */
#define SPECIALISED static inline __attribute__((always_inline))

/* A row's bits, and for each word the number of the row's runs before it. */
typedef struct {
    int64_t row;
    const uint64_t *foreground;
    const uint64_t *starts; /* as in lob_run_table */
    const uint32_t *ranks;
    const uint32_t *piece; /* at a seam: the pieces of the row's runs; else NULL */
    uint32_t first;        /* node of the row's first run; at a seam of the slab's first piece */
} bit_row;

/* The union-find that rows are joined in. Its nodes are the runs of a slab, united by one thread,
 * or at a seam the pieces of the volume, united by all threads. */
typedef struct {
    const lob_run_table *t;
    uint32_t *parent; /* at most the node itself */
    const lob_join_scratch *scratch;
    bool seam;
} union_find;

/* Another thread may hang a root under a smaller one at any time, but never takes a node out. */
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

/* Bit x of same, back and ahead stands for x, x - 1 and x + 1 in a row. */
typedef struct {
    uint64_t same, back, ahead;
} neighbour_bits;

static inline neighbour_bits bits_around(const uint64_t *bits, int64_t w, int64_t words)
{
    const uint64_t same = bits[w];
    return (neighbour_bits){same, same << 1 | (w > 0 ? bits[w - 1] >> 63 : 0),
                            same >> 1 | (w + 1 < words ? bits[w + 1] << 63 : 0)};
}

/* stored: whether rows have starts, a constant where the caller knows. */
SPECIALISED uint64_t starts_at(const bit_row *row, int64_t w, bool stored)
{
    return lob_bits_starts(row->foreground, stored ? row->starts : NULL, w);
}

/* The node of the run that holds column x of word w; until has the bits 0..x. */
SPECIALISED uint32_t node_at(const bit_row *row, int64_t w, uint64_t starts, uint64_t until)
{
    const uint32_t run = row->ranks[w] + (uint32_t)__builtin_popcountll(starts & until) - 1;
    return row->first + (row->piece ? row->piece[run] : run);
}

/* For every bit x of word w unite the runs of a[x] and b[x + dx]. */
SPECIALISED void unite_bits(const union_find *u, const bit_row *a, const bit_row *b, int64_t w,
                            uint64_t bits, int dx, bool stored)
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
        if (u->seam)
            unite_shared(u->parent, m, n);
        else
            lob_unite(u->parent, m, n);
    }
}

/* Neighbours across faces: 6 and 4; across edges too: 18; across corners too: 26 and 8. */
typedef enum { FACES, EDGES, CORNERS } connectivity;

/*
 * Join word w of row a to the four rows before it, for the rules any and equal. Under these rules
 * neighbours that are both joined with a third voxel are joined with each other.
 *
 *   in  in  same: foreground of a; back, ahead: joined with the voxel before, the voxel after
 *   r   in  for each row before: a[x] is joined with its voxels x (same), x - 1 (back), x + 1
 *           (ahead)
 *
 * A pair is left out where it follows from the pair beside it through a run of each row, or from
 * two pairs with a third row:
 *
 *     plane z-1   row[2]  row[1]  row[3]        at y-1, y, y+1
 *     plane z     row[0]    a
 *
 * A pair with row[1] is never left out for a third row. A pair with row[0] is left out for a pair
 * with row[1], for row[1] and row[0] were joined when row[0] was. That join in turn may have been
 * left out for row[2], and so on. Each step leads to an earlier row, so no two pairs are left out
 * for each other.
 */
SPECIALISED void join_word(const union_find *u, const bit_row *a, const bit_row row[4], int64_t w,
                           neighbour_bits in, const neighbour_bits r[4], connectivity near,
                           bool stored)
{
    uint64_t same[4], back[4], ahead[4];
    for (int i = 0; i < 4; i++) {
        same[i] = in.same & r[i].same & ~(in.back & r[i].back);
        back[i] = in.same & r[i].back & ~r[i].same & ~in.back;
        ahead[i] = in.same & r[i].ahead & ~r[i].same & ~in.ahead;
    }
    const uint64_t any0 = r[0].same | r[0].back | r[0].ahead;
    const uint64_t any1 = r[1].same | r[1].back | r[1].ahead;
    if (near == FACES) {
        same[0] &= ~(r[1].same & r[2].same);
    } else if (near == EDGES) {
        same[0] &= ~r[1].same;
        back[0] &= ~r[1].back;
        ahead[0] &= ~r[1].ahead;
        same[2] &= ~any1 & ~any0;
        same[3] &= ~any1;
    } else {
        const uint64_t back1 = r[1].same | r[1].back, ahead1 = r[1].same | r[1].ahead;
        same[0] &= ~any1;
        back[0] &= ~back1;
        ahead[0] &= ~ahead1;
        same[2] &= ~any1 & ~any0;
        back[2] &= ~back1 & ~(r[0].same | r[0].back);
        ahead[2] &= ~ahead1 & ~(r[0].same | r[0].ahead);
        same[3] &= ~any1;
        back[3] &= ~back1;
        ahead[3] &= ~ahead1;
    }
    for (int i = 0; i < (near == FACES ? 2 : 4); i++) {
        unite_bits(u, a, &row[i], w, same[i], 0, stored);
        if (near == FACES || (near == EDGES && i >= 2)) continue;
        unite_bits(u, a, &row[i], w, back[i], -1, stored);
        unite_bits(u, a, &row[i], w, ahead[i], 1, stored);
    }
}

/* The rule any. Rows that have starts are not joined along x: each voxel is a run. */
SPECIALISED void join_any(const union_find *u, const bit_row *a, const bit_row row[4],
                          connectivity near, bool stored)
{
    const int64_t words = u->t->words;
    for (int64_t w = 0; w < words; w++) {
        if (!a->foreground[w]) continue;
        neighbour_bits in = bits_around(a->foreground, w, words), r[4];
        if (stored) in.back = in.ahead = 0;
        for (int i = 0; i < 4; i++) {
            r[i] = bits_around(row[i].foreground, w, words);
            if (stored) r[i].back = r[i].ahead = 0;
        }
        join_word(u, a, row, w, in, r, near, stored);
    }
}

/* Rows of bits in the scratch: no voxel; voxels joined with the one before; same, back and ahead
 * of the pairs with four rows. */
enum { EMPTY, JOINED, PAIRS, SCRATCH_ROWS = PAIRS + 4 * 3 };

/*
 * Find the pairs of row a with each row before it, as r of join_word. Rows whose voxels are no
 * neighbours have none, except row `through`, which other pairs are left out for.
 */
static void find_pairs(const union_find *u, const bit_row *a, const bit_row row[4], int through)
{
    const lob_run_table *t = u->t;
    const int64_t words = t->words;
    uint64_t *joined = u->scratch->bits + JOINED * words;
    for (int64_t w = 0; w < words; w++) joined[w] = a->foreground[w] & ~a->starts[w];
    for (int i = 0; i < 4; i++) {
        static const int dx[3] = {0, -1, 1};
        uint64_t *pairs = u->scratch->bits + (PAIRS + 3 * i) * words;
        const bool there = row[i].row >= 0 && (t->earlier[i].reach >= 0 || i == through);
        const int used = !there ? 0 : t->earlier[i].reach > 0 ? 3 : 1;
        for (int k = 0; k < used; k++) {
            if (t->join == LOB_JOIN_EQUAL)
                lob_bits_equal(pairs + k * words, t->image, a->row, row[i].row, dx[k]);
            else
                lob_bits_within(pairs + k * words, t->image, t->rule, a->row, row[i].row, dx[k]);
        }
        memset(pairs + used * words, 0, (size_t)((3 - used) * words) * sizeof *pairs);
        for (int64_t w = 0; used && w < words; w++) {
            const neighbour_bits other = bits_around(row[i].foreground, w, words);
            pairs[w] &= a->foreground[w] & other.same;
            pairs[words + w] &= a->foreground[w] & other.back;
            pairs[2 * words + w] &= a->foreground[w] & other.ahead;
        }
    }
}

/* Word w of the pairs with row i. */
SPECIALISED neighbour_bits pairs_at(const union_find *u, int i, int64_t w)
{
    const int64_t words = u->t->words;
    const uint64_t *pairs = u->scratch->bits + (PAIRS + 3 * i) * words + w;
    return (neighbour_bits){pairs[0], pairs[words], pairs[2 * words]};
}

SPECIALISED void join_equal(const union_find *u, const bit_row *a, const bit_row row[4],
                            connectivity near)
{
    const int64_t words = u->t->words;
    const uint64_t *joined = u->scratch->bits + JOINED * words;
    find_pairs(u, a, row, near == FACES ? 2 : -1);
    for (int64_t w = 0; w < words; w++) {
        if (!a->foreground[w]) continue;
        const neighbour_bits run = bits_around(joined, w, words);
        const neighbour_bits in = {a->foreground[w], run.same, run.ahead};
        neighbour_bits r[4];
        for (int i = 0; i < 4; i++) {
            r[i] = pairs_at(u, i, w);
            if (u->t->earlier[i].reach > 0) continue;
            const neighbour_bits same =
                bits_around(u->scratch->bits + (PAIRS + 3 * i) * words, w, words);
            r[i].back = same.back & in.back; /* not compared, but follows */
            r[i].ahead = same.ahead & in.ahead;
        }
        join_word(u, a, row, w, in, r, near, true);
    }
}

/* The rule tolerance. A pair is left out where it follows from the pair beside it and the run that
 * holds both columns. */
SPECIALISED void join_within(const union_find *u, const bit_row *a, const bit_row row[4])
{
    const int64_t words = u->t->words;
    const uint64_t *joined = u->scratch->bits + JOINED * words;
    find_pairs(u, a, row, -1);
    for (int64_t w = 0; w < words; w++) {
        const neighbour_bits in = bits_around(joined, w, words);
        for (int i = 0; i < 4 && a->foreground[w]; i++) {
            const neighbour_bits r = pairs_at(u, i, w);
            if (!(r.same | r.back | r.ahead)) continue;
            const neighbour_bits same =
                bits_around(u->scratch->bits + (PAIRS + 3 * i) * words, w, words);
            const neighbour_bits starts = bits_around(row[i].starts, w, words);
            /* b[x] is joined with b[x - 1]; with b[x + 1]. */
            const uint64_t b = ~starts.same, b_next = ~starts.ahead;
            unite_bits(u, a, &row[i], w, r.same & ~(same.back & in.same & b), 0, true);
            unite_bits(u, a, &row[i], w, r.back & ~(r.same & b) & ~(same.back & in.same), -1, true);
            unite_bits(u, a, &row[i], w, r.ahead & ~(r.same & b_next) & ~(same.ahead & in.ahead), 1,
                       true);
        }
    }
}

SPECIALISED void join_row(const union_find *u, const bit_row *a, const bit_row row[4])
{
    const lob_run_table *t = u->t;
    const connectivity near = t->neighbours == 26 || t->neighbours == 8 ? CORNERS
                              : t->neighbours == 18                     ? EDGES
                                                                        : FACES;
    if (t->join == LOB_JOIN_TOLERANCE)
        join_within(u, a, row);
    else if (t->join == LOB_JOIN_EQUAL && near == CORNERS)
        join_equal(u, a, row, CORNERS);
    else if (t->join == LOB_JOIN_EQUAL && near == EDGES)
        join_equal(u, a, row, EDGES);
    else if (t->join == LOB_JOIN_EQUAL)
        join_equal(u, a, row, FACES);
    else if (near == EDGES)
        join_any(u, a, row, EDGES, false);
    else if (near == CORNERS && !t->starts)
        join_any(u, a, row, CORNERS, false);
    else if (near == CORNERS)
        join_any(u, a, row, CORNERS, true);
    else if (!t->starts)
        join_any(u, a, row, FACES, false);
    else
        join_any(u, a, row, FACES, true);
}

/* For each word count the row's runs before it. Returns the number of runs. */
SPECIALISED uint32_t count_ranks(const lob_run_table *t, const lob_join_scratch *scratch,
                                 int64_t row)
{
    const uint64_t *bits = t->foreground + row * t->words, *stored = lob_run_table_starts(t, row);
    uint32_t *ranks = scratch->ranks + (row & (scratch->slots - 1)) * t->words, count = 0;
    for (int64_t w = 0; w < t->words; w++) {
        ranks[w] = count;
        count += (uint32_t)__builtin_popcountll(lob_bits_starts(bits, stored, w));
    }
    return count;
}

SPECIALISED bit_row bits_of(const union_find *u, int64_t row)
{
    const lob_run_table *t = u->t;
    bit_row bits = {.row = row,
                    .foreground = t->foreground + row * t->words,
                    .starts = lob_run_table_starts(t, row),
                    .ranks = u->scratch->ranks + (row & (u->scratch->slots - 1)) * t->words,
                    .first = t->row_run[row]};
    if (!u->seam) return bits;
    const lob_slab *slab = lob_run_table_slab(t, row);
    bits.piece = t->run_piece + slab->first_run + t->row_run[row];
    bits.first = (uint32_t)slab->first_piece;
    return bits;
}

/* Join rows [row, end) with those before them that lie in [low, high). */
LOB_SIMD_CLONES(bool, join_rows, (u, row, end, low, high), const union_find *u, int64_t row,
                int64_t end, int64_t low, int64_t high)
{
    const lob_run_table *t = u->t;
    const int64_t ny = t->dims.ny, words = t->words;
    const bit_row empty = {.row = -1, .foreground = u->scratch->bits + EMPTY * words};
    for (int64_t y = row % ny; row < end; row++, y = y + 1 < ny ? y + 1 : 0) {
        const bit_row here = bits_of(u, row);
        bit_row other[4] = {empty, empty, empty, empty};
        const uint32_t runs = count_ranks(t, u->scratch, row);
        for (uint32_t i = 0; !u->seam && i < runs; i++) u->parent[here.first + i] = here.first + i;
        for (int i = 0; i < 4; i++) {
            const lob_earlier_row *e = &t->earlier[i];
            const int64_t there = row + e->dy + e->dz * ny;
            const bool across = (e->dy && t->slice_axis == 1) || (e->dz && t->slice_axis == 2);
            if (!across && there >= low && there < high && y + e->dy >= 0 && y + e->dy < ny)
                other[i] = bits_of(u, there);
        }
        join_row(u, &here, other);
        if (!u->seam && row % LOB_REPORT_ROWS == 0 &&
            lob_progress_report(t->stages, LOB_REPORT_ROWS))
            return false;
    }
    return true;
}

void lob_join_slab(lob_run_table *t, lob_slab *slab, const lob_join_scratch *scratch)
{
    uint32_t *const parent = t->run_piece + slab->first_run;
    const union_find u = {.t = t, .parent = parent, .scratch = scratch};
    if (!join_rows(&u, slab->row, slab->row_end, slab->row, slab->row_end)) return;
    /* A parent comes before its children: one pass from the front numbers the pieces. */
    uint32_t pieces = 0;
    for (int64_t i = 0; i < slab->runs; i++)
        parent[i] = parent[i] == i ? pieces++ : parent[parent[i]];
    slab->pieces = pieces;
}

void lob_join_seam(lob_run_table *t, lob_slab *slab, const lob_join_scratch *scratch)
{
    const union_find u = {.t = t, .parent = t->number, .scratch = scratch, .seam = true};
    const int64_t back = max_rows_back(t), end = slab->row + back;
    for (int64_t row = slab->row > back ? slab->row - back : 0; row < slab->row; row++)
        count_ranks(t, scratch, row);
    join_rows(&u, slab->row, end < slab->row_end ? end : slab->row_end, 0, slab->row);
}

lob_status lob_join_scratch_alloc(lob_run_table *t, lob_join_scratch *scratch, int count,
                                  lob_error *error)
{
    const int64_t back = max_rows_back(t);
    for (int i = 0; i < count; i++) {
        lob_join_scratch *s = &scratch[i];
        for (s->slots = 1; s->slots < back + 1;) s->slots *= 2;
        s->bit_words = t->words * (t->join == LOB_JOIN_ANY ? EMPTY + 1 : SCRATCH_ROWS);
        LOB_TRY(lob_budget_alloc(t->budget, &s->bits, s->bit_words, sizeof *s->bits, error));
        LOB_TRY(
            lob_budget_alloc(t->budget, &s->ranks, s->slots * t->words, sizeof *s->ranks, error));
        memset(s->bits + EMPTY * t->words, 0, (size_t)t->words * sizeof *s->bits);
    }
    return LOB_OK;
}

void lob_join_scratch_free(lob_run_table *t, lob_join_scratch *scratch, int count)
{
    for (int i = 0; i < count; i++) {
        lob_join_scratch *s = &scratch[i];
        lob_budget_free(t->budget, s->bits, s->bit_words, sizeof *s->bits);
        lob_budget_free(t->budget, s->ranks, s->slots * t->words, sizeof *s->ranks);
    }
}
