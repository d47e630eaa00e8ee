/* Joining small pieces with the neighbours most like them, in rounds whose order cannot matter. */
#include "kernels/supervoxels/supervoxels_pieces.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * Pieces and sets by number from 1; a set has its lowest piece's number. A noisy image has a piece
 * for every few voxels, so what is kept of one is kept small: voxels are counted in 32 bits, which
 * no cluster outgrows, as the plan has seen to.
 */
typedef struct {
    const lob_supervoxel_rule *rule;
    int32_t *labels;
    int64_t nx, ny, nz, pieces;
    int threads;
    int32_t *set;           /* pieces + 1: of each piece */
    _Atomic int32_t *pick;  /* pieces + 1: the best of a small set's neighbours so far; 0: none */
    _Atomic uint32_t *size; /* pieces + 1: voxels of sets */
    _Atomic uint64_t *sums; /* pieces + 1, channels each: levels of sets */
    lob_stages *stages;
    uint8_t *busy; /* rows: 0 where no small set has a voxel. It stays so: a set that is small yet
                      is made of sets that were */
} joiner;

#define GET(atomic)        atomic_load_explicit(&(atomic), memory_order_relaxed)
#define SET(atomic, value) atomic_store_explicit(&(atomic), value, memory_order_relaxed)
#define ADD(atomic, value) atomic_fetch_add_explicit(&(atomic), value, memory_order_relaxed)

/* The piece number 0 is no piece, and is never small. */
static bool is_small(const joiner *j, int32_t set)
{
    return set != 0 && GET(j->size[set]) < j->rule->small;
}

static void add_row(const joiner *j, const uint16_t *levels, int64_t row)
{
    const int32_t *labels = j->labels + row * j->nx;
    const int channels = j->rule->channels;
    for (int64_t x = 0, end; x < j->nx; x = end) {
        const int32_t piece = labels[x];
        end = lob_label_run_end(labels, x, j->nx);
        if (piece == 0) continue;
        ADD(j->size[piece], (uint32_t)(end - x));
        for (int c = 0; c < channels; c++) {
            uint64_t sum = 0;
            for (int64_t i = x; i < end; i++) sum += levels[c * j->nx + i];
            ADD(j->sums[(int64_t)piece * channels + c], sum);
        }
    }
}

/* Measure all pieces. false: no memory for rows of levels. */
static bool add_rows(const joiner *j, const lob_level_rows *source)
{
    const int64_t rows = j->ny * j->nz;
    bool fits = true;
#pragma omp parallel num_threads(j->threads) reduction(&& : fits)
    {
        uint16_t *levels = malloc((size_t)(j->rule->channels * j->nx) * sizeof *levels);
        fits = levels != NULL;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            if (!levels || lob_stages_stopped(j->stages)) continue;
            if (row % LOB_PIECES_TOLD == 0) lob_stages_tell(j->stages, LOB_PIECES_TOLD);
            source->levels(source->user, levels, row);
            add_row(j, levels, row);
        }
        free(levels);
    }
    return fits;
}

static uint64_t key_of(const joiner *j, int32_t set, int32_t other)
{
    const int channels = j->rule->channels;
    uint64_t apart = 0;
    for (int c = 0; c < channels; c++) {
        const int64_t a = (int64_t)GET(j->sums[(int64_t)set * channels + c]);
        const int64_t b = (int64_t)GET(j->sums[(int64_t)other * channels + c]);
        apart += lob_piece_apart(lob_piece_mean(a, GET(j->size[set])),
                                 lob_piece_mean(b, GET(j->size[other])));
    }
    return lob_piece_key(apart, (uint32_t)other);
}

static void offer(const joiner *j, int32_t set, int32_t other)
{
    int32_t best = GET(j->pick[set]);
    if (other == best) return;
    const uint64_t key = key_of(j, set, other);
    while (best == 0 || key < key_of(j, set, best))
        if (atomic_compare_exchange_weak_explicit(&j->pick[set], &best, other, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
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
        end = lob_label_run_end(labels, x, nx);
        const int32_t set = j->set[piece];
        if (!is_small(j, set)) continue;
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
    const int channels = j->rule->channels;
    lob_stages *stages = j->stages;
    bool any = false;
    for (int64_t p = 1; p <= j->pieces; p++) SET(j->pick[p], 0);
    lob_stages_next(stages, rows, stages->to + (1.0 - stages->to) / 2);
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t row = 0; row < rows; row++) {
        if (lob_stages_stopped(stages)) continue;
        if (row % LOB_PIECES_TOLD == 0) lob_stages_tell(stages, LOB_PIECES_TOLD);
        if (j->busy[row]) j->busy[row] = meet_neighbours(j, row);
    }
    if (lob_stages_stopped(stages)) return false;

    for (int64_t p = 1; p <= j->pieces; p++) {
        const int32_t pick = GET(j->pick[p]);
        if (pick == 0) continue;
        const int32_t a = lowest_of(j->set, (int32_t)p), b = lowest_of(j->set, pick);
        if (a < b)
            j->set[b] = a;
        else
            j->set[a] = b;
        any = true;
    }
    for (int64_t p = 1; p <= j->pieces; p++) {
        const int32_t set = lowest_of(j->set, (int32_t)p);
        j->set[p] = set;
        if (set == p) continue;
        ADD(j->size[set], GET(j->size[p]));
        SET(j->size[p], 0);
        for (int c = 0; c < channels; c++) {
            ADD(j->sums[(int64_t)set * channels + c], GET(j->sums[p * channels + c]));
            SET(j->sums[p * channels + c], 0);
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

lob_status lob_pieces_join(int32_t *labels, int64_t *count, int64_t pieces,
                           const lob_level_rows *rows, const lob_supervoxel_rule *rule, int threads,
                           lob_budget *budget, lob_stages *stages, lob_error *error)
{
    *count = pieces;
    if (rule->small <= 1) return LOB_OK;
    joiner j = {.rule = rule,
                .labels = labels,
                .nx = rule->side[0],
                .ny = rule->side[1],
                .nz = rule->side[2],
                .pieces = pieces,
                .threads = threads,
                .stages = stages};
    const size_t n = (size_t)pieces + 1, sums = (size_t)rule->channels * sizeof *j.sums;
    const size_t lines = (size_t)(j.ny * j.nz);
    const int64_t bytes =
        (int64_t)(n * (sizeof *j.set + sizeof *j.pick + sizeof *j.size + sums) + lines);
    lob_status st = lob_budget_take(budget, bytes, error);
    if (st != LOB_OK) return st;
    st = LOB_ENOMEM;
    j.set = malloc(n * sizeof *j.set);
    j.pick = malloc(n * sizeof *j.pick);
    j.size = calloc(n, sizeof *j.size);
    j.sums = calloc(n, sums);
    j.busy = malloc(lines);
    if (!j.set || !j.pick || !j.size || !j.sums || !j.busy) goto out;

    memset(j.busy, 1, lines);
    for (size_t p = 0; p < n; p++) j.set[p] = (int32_t)p;
    lob_stages_next(stages, j.ny * j.nz, 0.95);
    if (!add_rows(&j, rows)) goto out;
    while (!lob_stages_stopped(stages) && join_round(&j)) continue;
    st = lob_stages_stopped(stages) ? LOB_ECANCEL : LOB_OK;
    if (st == LOB_OK) *count = number_sets(&j);
out:
    lob_budget_give(budget, bytes);
    free(j.set);
    free(j.pick);
    free(j.size);
    free(j.sums);
    free(j.busy);
    return st;
}
