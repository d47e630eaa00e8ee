/* Joining small pieces with the neighbours most like them, in rounds whose order cannot matter. */
#include "kernels/supervoxels/supervoxels_pieces.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Pieces and sets by number from 1; a set has its lowest piece's number. */
typedef struct {
    const lob_supervoxel_rule *rule;
    const uint16_t *planes;
    int32_t *labels;
    int64_t nx, ny, nz, pieces;
    int threads;
    int32_t *set;          /* pieces + 1: of each piece */
    _Atomic int64_t *sums; /* pieces + 1, each 1 + channels: voxels, levels; of sets */
    _Atomic uint64_t *key; /* pieces + 1: the best of a small set's neighbours so far */
    uint8_t *small;        /* pieces + 1: 1 of a small set */
    uint8_t *busy; /* rows: 0 where no small set has a voxel. It stays so: a set that is small yet
                      is made of sets that were */
} joiner;

#define NO_NEIGHBOUR UINT64_MAX

static _Atomic int64_t *sums_of(const joiner *j, int32_t set)
{
    return j->sums + (int64_t)set * (1 + j->rule->channels);
}

static int64_t get(_Atomic int64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_relaxed);
}

static void add(_Atomic int64_t *sum, int64_t value)
{
    atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static void add_row(const joiner *j, int64_t row)
{
    const int32_t *labels = j->labels + row * j->nx;
    const int64_t voxels = j->nx * j->ny * j->nz;
    for (int64_t x = 0, end; x < j->nx; x = end) {
        const int32_t piece = labels[x];
        end = x + 1;
        while (end < j->nx && labels[end] == piece) end++;
        if (piece == 0) continue;
        _Atomic int64_t *sums = sums_of(j, piece);
        add(&sums[0], end - x);
        for (int c = 0; c < j->rule->channels; c++) {
            const uint16_t *plane = j->planes + c * voxels + row * j->nx;
            int64_t sum = 0;
            for (int64_t i = x; i < end; i++) sum += plane[i];
            add(&sums[1 + c], sum);
        }
    }
}

static uint64_t key_of(const joiner *j, int32_t set, int32_t other)
{
    _Atomic int64_t *a = sums_of(j, set), *b = sums_of(j, other);
    uint64_t apart = 0;
    for (int c = 0; c < j->rule->channels; c++)
        apart += lob_piece_apart(lob_piece_mean(get(&a[1 + c]), get(&a[0])),
                                 lob_piece_mean(get(&b[1 + c]), get(&b[0])));
    return lob_piece_key(apart, (uint32_t)other);
}

static void offer(const joiner *j, int32_t set, int32_t other)
{
    const uint64_t key = key_of(j, set, other);
    uint64_t best = atomic_load_explicit(&j->key[set], memory_order_relaxed);
    while (key < best && !atomic_compare_exchange_weak_explicit(
                             &j->key[set], &best, key, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Offer a small set whatever lies beyond voxels x..end-1, which a neighbouring row holds. */
static void meet_row(const joiner *j, int32_t set, const int32_t *beside, int64_t x, int64_t end)
{
    for (int32_t last = 0; x < end; x++) {
        if (beside[x] == last) continue;
        last = beside[x];
        const int32_t other = j->set[last];
        if (other != 0 && other != set) offer(j, set, other);
    }
}

/* Every small set that the row holds voxels of meets its neighbours. Returns whether there is one.
 */
static bool meet_neighbours(const joiner *j, int64_t row)
{
    const int64_t y = row % j->ny, plane = j->ny * j->nx, nx = j->nx;
    const int32_t *labels = j->labels + row * nx;
    const int slice_axis = j->rule->slice_axis;
    bool any = false;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int32_t piece = labels[x];
        end = x + 1;
        while (end < nx && labels[end] == piece) end++;
        const int32_t set = j->set[piece];
        if (!j->small[set]) continue;
        any = true;
        if (slice_axis != 0 && x > 0) meet_row(j, set, labels, x - 1, x);
        if (slice_axis != 0 && end < nx) meet_row(j, set, labels, end, end + 1);
        if (slice_axis != 1 && y > 0) meet_row(j, set, labels - nx, x, end);
        if (slice_axis != 1 && y + 1 < j->ny) meet_row(j, set, labels + nx, x, end);
        if (slice_axis != 2 && row >= j->ny) meet_row(j, set, labels - plane, x, end);
        if (slice_axis != 2 && row + j->ny < j->ny * j->nz)
            meet_row(j, set, labels + plane, x, end);
    }
    return any;
}

static int32_t lowest_of(int32_t *set, int32_t i)
{
    while (set[i] != i) i = set[i] = set[set[i]];
    return i;
}

/* Every small set picks, and what picked joins what was picked. Returns whether any did. */
static bool join_round(const joiner *j)
{
    const int64_t rows = j->ny * j->nz;
    bool any = false;
    for (int64_t p = 1; p <= j->pieces; p++) {
        j->small[p] = j->set[p] == p && get(sums_of(j, (int32_t)p)) < j->rule->small;
        atomic_store_explicit(&j->key[p], NO_NEIGHBOUR, memory_order_relaxed);
    }
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t row = 0; row < rows; row++)
        if (j->busy[row]) j->busy[row] = meet_neighbours(j, row);

    for (int64_t p = 1; p <= j->pieces; p++) {
        const uint64_t key = atomic_load_explicit(&j->key[p], memory_order_relaxed);
        if (key == NO_NEIGHBOUR) continue;
        const int32_t a = lowest_of(j->set, (int32_t)p);
        const int32_t b = lowest_of(j->set, (int32_t)(uint32_t)key);
        if (a < b)
            j->set[b] = a;
        else
            j->set[a] = b;
        any = true;
    }
    for (int64_t p = 1; p <= j->pieces; p++) {
        const int32_t set = lowest_of(j->set, (int32_t)p);
        j->set[p] = set;
        _Atomic int64_t *from = sums_of(j, (int32_t)p), *to = sums_of(j, set);
        for (int c = 0; set != p && c <= j->rule->channels; c++) {
            add(&to[c], get(&from[c]));
            atomic_store_explicit(&from[c], 0, memory_order_relaxed);
        }
    }
    return any;
}

static int64_t number_sets(joiner *j)
{
    int64_t count = 0;
    for (int64_t p = 1; p <= j->pieces; p++)
        /* A set's lowest piece comes first: its entry is a label by now. */
        j->set[p] = j->set[p] == p ? (int32_t)++count : j->set[j->set[p]];
    const int64_t voxels = j->nx * j->ny * j->nz;
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t v = 0; v < voxels; v++) j->labels[v] = j->set[j->labels[v]];
    return count;
}

lob_status lob_pieces_join(int32_t *labels, int64_t *count, int64_t pieces, const uint16_t *planes,
                           const lob_supervoxel_rule *rule, int threads, lob_budget *budget,
                           lob_error *error)
{
    *count = pieces;
    if (rule->small <= 1) return LOB_OK;
    joiner j = {.rule = rule,
                .planes = planes,
                .labels = labels,
                .nx = rule->side[0],
                .ny = rule->side[1],
                .nz = rule->side[2],
                .pieces = pieces,
                .threads = threads};
    const size_t n = (size_t)pieces + 1, sums = (size_t)rule->channels + 1;
    const int64_t rows = j.ny * j.nz;
    const int64_t bytes =
        (int64_t)(n * (sizeof *j.set + sums * sizeof *j.sums + sizeof *j.key + 1)) + rows;
    lob_status st = lob_budget_take(budget, bytes, error);
    if (st != LOB_OK) return st;
    st = LOB_ENOMEM;
    j.set = malloc(n * sizeof *j.set);
    j.sums = calloc(n, sums * sizeof *j.sums);
    j.key = malloc(n * sizeof *j.key);
    j.small = calloc(n, 1);
    j.busy = malloc((size_t)rows);
    if (!j.set || !j.sums || !j.key || !j.small || !j.busy) goto out;

    st = LOB_OK;
    memset(j.busy, 1, (size_t)rows);
    for (size_t p = 0; p < n; p++) j.set[p] = (int32_t)p;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) add_row(&j, row);
    while (join_round(&j))
        ;
    *count = number_sets(&j);
out:
    lob_budget_give(budget, bytes);
    free(j.set);
    free(j.sums);
    free(j.key);
    free(j.small);
    free(j.busy);
    return st;
}
