/* Joining small pieces with the neighbours most like them, in rounds whose order cannot matter. */
#include "kernels/supervoxels/connect/fragments.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * Pieces and sets by number from 1; a set has its lowest piece's number. A noisy image has a piece
 * for every few voxels, so what is kept of one is kept small: voxels are counted in 32 bits, which
 * no cluster outgrows, as the plan has seen to, and their levels, of 16 bits, add up to no more
 * than 48.
 */
typedef struct {
    const lob_supervoxels_rule *rule;
    int32_t *labels;
    int64_t nx, ny, nz, pieces;
    int threads;
    int readers; /* threads that have a row of levels */
    /* pieces + 1: above 0, a lower piece of the same set. Otherwise the piece is its set's lowest,
     * and this is less the set's pick, the best of a small set's neighbours so far; 0: none */
    _Atomic int32_t *link;
    /* pieces + 1, 1 + channels each: voxels of sets, and their sums of levels below 32 bits */
    _Atomic uint32_t *size_and_low;
    _Atomic uint16_t *high; /* pieces + 1, channels each: these sums above 32 bits */
    lob_progress *stages;
    uint8_t *busy; /* rows: 0 where no small set has a voxel. It stays so: a set that is small yet
                      is made of sets that were */
} joiner;

#define GET(atomic)        atomic_load_explicit(&(atomic), memory_order_relaxed)
#define SET(atomic, value) atomic_store_explicit(&(atomic), value, memory_order_relaxed)
#define ADD(atomic, value) atomic_fetch_add_explicit(&(atomic), value, memory_order_relaxed)

/* ---- what is known of pieces and sets ---- */

static inline _Atomic uint32_t *size_at(const joiner *j, int64_t piece)
{
    return &j->size_and_low[piece * (1 + j->rule->channels)];
}

static inline _Atomic uint32_t *low_at(const joiner *j, int64_t piece, int channel)
{
    return size_at(j, piece) + 1 + channel;
}

static inline _Atomic uint16_t *high_at(const joiner *j, int64_t piece, int channel)
{
    return &j->high[piece * j->rule->channels + channel];
}

static inline uint64_t sum_of(const joiner *j, int64_t piece, int channel)
{
    return (uint64_t)GET(*high_at(j, piece, channel)) << 32 | GET(*low_at(j, piece, channel));
}

/* Whoever brings the low bits over their top carries into the high ones. */
static inline void add_sum(const joiner *j, int64_t piece, int channel, uint64_t sum)
{
    const uint32_t low = (uint32_t)sum, before = ADD(*low_at(j, piece, channel), low);
    const uint64_t high = (sum >> 32) + ((uint64_t)before + low > UINT32_MAX);
    if (high) ADD(*high_at(j, piece, channel), (uint16_t)high);
}

/* Between rounds, when every piece points at its set's lowest. Piece 0 is none, and set 0. */
static inline int32_t set_of(const joiner *j, int32_t piece)
{
    const int32_t link = GET(j->link[piece]);
    return link > 0 ? link : piece;
}

/* Number 0 is never small. */
static inline bool is_small(const joiner *j, int32_t set)
{
    return set != 0 && GET(*size_at(j, set)) < j->rule->small;
}

static void add_row(const joiner *j, const uint16_t *levels, int64_t row)
{
    const int32_t *labels = j->labels + row * j->nx;
    const int channels = j->rule->channels;
    for (int64_t x = 0, end; x < j->nx; x = end) {
        const int32_t piece = labels[x];
        end = lob_label_run_end(labels, x, j->nx);
        if (piece == 0) continue;
        ADD(*size_at(j, piece), (uint32_t)(end - x));
        for (int c = 0; c < channels; c++) {
            uint64_t sum = 0;
            for (int64_t i = x; i < end; i++) sum += levels[c * j->nx + i];
            add_sum(j, piece, c, sum);
        }
    }
}

/* Measure all pieces. false: no memory for rows of levels. */
static bool add_rows(const joiner *j, const lob_level_rows *source)
{
    const int64_t rows = j->ny * j->nz;
    bool fits = true;
#pragma omp parallel num_threads(j->readers) reduction(&& : fits)
    {
        uint16_t *levels = malloc((size_t)(j->rule->channels * j->nx) * sizeof *levels);
        fits = levels != NULL;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            if (!levels || lob_progress_stopped(j->stages)) continue;
            if (row % LOB_PIECES_TOLD == 0) lob_progress_report(j->stages, LOB_PIECES_TOLD);
            source->levels(source->user, levels, row);
            add_row(j, levels, row);
        }
        free(levels);
    }
    return fits;
}

/* ---- picking ---- */

/* A run of a small set's voxels, and the best of what it meets and the set has picked so far. */
typedef struct {
    int32_t set, pick; /* 0: none yet */
    int32_t found;     /* the set's link when the run began */
    bool measured;     /* are key and mean known? */
    uint64_t key;      /* of pick */
    uint32_t mean[LOB_SUPERVOXELS_MAX_CHANNELS];
} suitor;

static inline uint32_t mean_of(const joiner *j, int32_t set, int channel)
{
    return lob_fragment_mean((int64_t)sum_of(j, set, channel), GET(*size_at(j, set)));
}

static inline uint64_t key_of(const joiner *j, const suitor *s, int32_t other)
{
    uint64_t apart = 0;
    for (int c = 0; c < j->rule->channels; c++)
        apart += lob_fragment_difference(s->mean[c], mean_of(j, other, c));
    return lob_fragment_key(apart, (uint32_t)other);
}

static inline void consider(const joiner *j, suitor *s, int32_t other)
{
    if (other == s->pick || other == s->set || other == 0) return;
    if (!s->measured) {
        s->measured = true;
        for (int c = 0; c < j->rule->channels; c++) s->mean[c] = mean_of(j, s->set, c);
        s->key = s->pick ? key_of(j, s, s->pick) : UINT64_MAX;
    }
    const uint64_t key = key_of(j, s, other);
    if (key >= s->key) return;
    s->key = key;
    s->pick = other;
}

/* Make its pick the set's, unless another thread has brought a better one. */
static inline void offer(const joiner *j, const suitor *s)
{
    int32_t link = s->found;
    if (s->pick == -link) return;
    while (link == 0 || s->key < key_of(j, s, -link))
        if (atomic_compare_exchange_weak_explicit(&j->link[s->set], &link, -s->pick,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
}

/* Consider whatever lies beyond voxels x..end-1, which a neighbouring row holds. */
static inline void meet_row(const joiner *j, suitor *s, const int32_t *beside, int64_t x,
                            int64_t end)
{
    for (int32_t last = 0; x < end; x++) {
        if (beside[x] == last) continue;
        last = beside[x];
        consider(j, s, set_of(j, last));
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
        const int32_t set = set_of(j, piece);
        if (!is_small(j, set)) continue;
        any = true;
        suitor s;
        s.set = set;
        s.found = GET(j->link[set]);
        s.pick = -s.found;
        s.measured = false;
        if (slice_axis != 0 && x > 0) meet_row(j, &s, labels, x - 1, x);
        if (slice_axis != 0 && end < nx) meet_row(j, &s, labels, end, end + 1);
        if (slice_axis != 1 && y > 0) meet_row(j, &s, labels - nx, x, end);
        if (slice_axis != 1 && y + 1 < j->ny) meet_row(j, &s, labels + nx, x, end);
        if (slice_axis != 2 && row >= j->ny) meet_row(j, &s, labels - plane, x, end);
        if (slice_axis != 2 && row + j->ny < j->ny * j->nz) meet_row(j, &s, labels + plane, x, end);
        offer(j, &s);
    }
    return any;
}

/* ---- joining ---- */

static int32_t lowest_of(const joiner *j, int32_t piece)
{
    for (int32_t lower; (lower = GET(j->link[piece])) > 0; piece = lower) {
        const int32_t next = GET(j->link[lower]);
        if (next > 0) SET(j->link[piece], next); /* halve the way for the next who asks */
    }
    return piece;
}

/* A set's pick, which it then has no more; 0: none. */
static int32_t take_pick(const joiner *j, int32_t piece)
{
    const int32_t link = GET(j->link[piece]);
    if (link >= 0) return 0;
    SET(j->link[piece], 0);
    return -link;
}

/* Join what picked with what was picked; the lowest piece stays a set's. Returns whether any did.
 */
static bool join_picks(const joiner *j)
{
    bool any = false;
    for (int64_t p = 1; p <= j->pieces; p++) {
        int32_t pick = take_pick(j, (int32_t)p);
        any |= pick != 0;
        /* The lower of two lowest pieces is at most p: its pick is taken. A higher one's place is
         * to hold another link, so its pick comes next, and is the whole set's by then. */
        while (pick != 0) {
            const int32_t a = lowest_of(j, (int32_t)p), b = lowest_of(j, pick);
            if (a == b) break;
            const int32_t low = a < b ? a : b, high = a < b ? b : a;
            pick = take_pick(j, high);
            SET(j->link[high], low);
        }
    }
    return any;
}

/* Let every piece point at its set's lowest, and hand on what was measured of it. */
static void gather_sets(const joiner *j)
{
    const int channels = j->rule->channels;
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t p = 1; p <= j->pieces; p++) {
        const int32_t first = GET(j->link[p]);
        if (first <= 0) continue;
        int32_t lowest = first;
        for (int32_t lower; (lower = GET(j->link[lowest])) > 0;) lowest = lower;
        if (lowest != first) SET(j->link[p], lowest);
        const uint32_t size = GET(*size_at(j, p));
        if (size == 0) continue; /* handed on in a round before */
        SET(*size_at(j, p), 0);
        ADD(*size_at(j, lowest), size);
        for (int c = 0; c < channels; c++) add_sum(j, lowest, c, sum_of(j, p, c));
    }
}

/* Every small set picks, and what picked joins what was picked. Returns whether any did. */
static bool join_round(const joiner *j)
{
    const int64_t rows = j->ny * j->nz;
    lob_progress *stages = j->stages;
    lob_progress_stage(stages, rows, stages->to + (1.0 - stages->to) / 2);
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t row = 0; row < rows; row++) {
        if (lob_progress_stopped(stages)) continue;
        if (row % LOB_PIECES_TOLD == 0) lob_progress_report(stages, LOB_PIECES_TOLD);
        if (j->busy[row]) j->busy[row] = meet_neighbours(j, row);
    }
    if (lob_progress_stopped(stages) || !join_picks(j)) return false;
    gather_sets(j);
    return true;
}

static int64_t number_sets(joiner *j)
{
    int64_t count = 0;
    for (int64_t p = 1; p <= j->pieces; p++) {
        /* A set's lowest piece comes first: its link is a label by now. */
        const int32_t lowest = GET(j->link[p]);
        SET(j->link[p], lowest > 0 ? GET(j->link[lowest]) : (int32_t)++count);
    }
    const int64_t voxels = j->nx * j->ny * j->nz;
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (int64_t v = 0; v < voxels; v++) j->labels[v] = GET(j->link[j->labels[v]]);
    return count;
}

lob_status lob_pieces_join(int32_t *labels, int64_t *count, int64_t pieces,
                           const lob_level_rows *rows, const lob_supervoxels_rule *rule,
                           int threads, lob_budget *budget, lob_progress *stages, lob_error *error)
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
    const size_t n = (size_t)pieces + 1, channels = (size_t)rule->channels;
    const size_t low = (1 + channels) * sizeof *j.size_and_low, high = channels * sizeof *j.high;
    const size_t lines = (size_t)(j.ny * j.nz);
    /* more than one take no more than a fourth of a byte a voxel */
    const int64_t readers = (int64_t)(lines / (8 * channels));
    j.readers = readers < 1 ? 1 : readers < threads ? (int)readers : threads;
    const size_t levels = (size_t)j.readers * channels * (size_t)j.nx * sizeof(uint16_t);
    const int64_t bytes = (int64_t)(n * (sizeof *j.link + low + high) + lines + levels);
    lob_status st = lob_budget_hold(budget, bytes, error);
    if (st != LOB_OK) return st;
    st = LOB_ENOMEM;
    j.link = calloc(n, sizeof *j.link);
    j.size_and_low = calloc(n, low);
    j.high = calloc(n, high);
    j.busy = malloc(lines);
    if (!j.link || !j.size_and_low || !j.high || !j.busy) goto out;

    memset(j.busy, 1, lines);
    lob_progress_stage(stages, j.ny * j.nz, 0.95);
    if (!add_rows(&j, rows)) goto out;
    while (!lob_progress_stopped(stages) && join_round(&j)) continue;
    st = lob_progress_stopped(stages) ? LOB_ECANCEL : LOB_OK;
    if (st == LOB_OK) *count = number_sets(&j);
out:
    lob_budget_release(budget, bytes);
    free(j.link);
    free(j.size_and_low);
    free(j.high);
    free(j.busy);
    return st;
}
