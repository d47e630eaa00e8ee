/*
 * Joining small fragments on the CPU by Boruvka's algorithm. In each phase every small set picks
 * its cheapest edge (pick_from_rows), then picked edges are contracted (contract_picks, flatten).
 * Neither depends on the order of rows, sets or threads: the cheapest edge is a minimum, and a
 * set's root is its lowest fragment.
 */
#include "kernels/supervoxels/connect/fragments.h"

#include "kernels/supervoxels/assign/assign_levels.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * A noisy image has a fragment for every few voxels, so little is stored for each: voxels are
 * counted in 32 bits, which no cluster exceeds (supervoxels_plan.c makes sure), and the sum of
 * their 16-bit levels takes 48.
 */
typedef struct {
    const lob_fragments *all;
    const lob_supervoxels_rule *rule;
    int32_t *labels;    /* fragments */
    int32_t *beside[2]; /* those of the planes before and behind; NULL: there is none */
    int64_t nx, ny, nz, fragments;
    int threads;
    int readers; /* threads that have a row of levels */
    /* fragments + 1: above 0 the parent, a lower fragment of the same set; at a root, minus the
     * other end of the cheapest edge so far, or 0 */
    _Atomic int32_t *link;
    /* fragments + 1, 1 + channels each: voxels of a set, and low 32 bits of its sums of levels */
    _Atomic uint32_t *size_and_low;
    _Atomic uint16_t *high; /* fragments + 1, channels each: high 16 bits of these sums */
    uint8_t *has_small;     /* per row: does a small set have a voxel there? A row without one never
                               gets one, since a set that is small is made of small ones */
    lob_progress *stages;
} forest;

enum { REPORT = LOB_FRAGMENTS_REPORT_ROWS };

#define GET(atomic)        atomic_load_explicit(&(atomic), memory_order_relaxed)
#define SET(atomic, value) atomic_store_explicit(&(atomic), value, memory_order_relaxed)
#define ADD(atomic, value) atomic_fetch_add_explicit(&(atomic), value, memory_order_relaxed)

/* ---- sets ---- */

static inline _Atomic uint32_t *size_at(const forest *f, int64_t set)
{
    return &f->size_and_low[set * (1 + f->rule->channels)];
}

static inline _Atomic uint32_t *low_at(const forest *f, int64_t set, int channel)
{
    return size_at(f, set) + 1 + channel;
}

static inline _Atomic uint16_t *high_at(const forest *f, int64_t set, int channel)
{
    return &f->high[set * f->rule->channels + channel];
}

static inline uint64_t sum_of(const forest *f, int64_t set, int channel)
{
    return (uint64_t)GET(*high_at(f, set, channel)) << 32 | GET(*low_at(f, set, channel));
}

/* The thread whose addition overflows the low bits carries into the high ones. */
static inline void add_sum(const forest *f, int64_t set, int channel, uint64_t sum)
{
    const uint32_t low = (uint32_t)sum, before = ADD(*low_at(f, set, channel), low);
    const uint64_t high = (sum >> 32) + ((uint64_t)before + low > UINT32_MAX);
    if (high) ADD(*high_at(f, set, channel), (uint16_t)high);
}

static inline uint32_t mean_of(const forest *f, int32_t set, int channel)
{
    return lob_fragment_mean((int64_t)sum_of(f, set, channel), GET(*size_at(f, set)));
}

/* The set of a fragment, while trees are flat: between phases. That of 0, no fragment, is 0. */
static inline int32_t set_of(const forest *f, int32_t fragment)
{
    const int32_t link = GET(f->link[fragment]);
    return link > 0 ? link : fragment;
}

/* 0 is never small. */
static inline bool is_small(const forest *f, int32_t set)
{
    return set != 0 && GET(*size_at(f, set)) < f->rule->small;
}

/* Add to the size and the sums of a fragment. */
static void add_voxels(const forest *f, int64_t fragment, uint32_t size, const uint64_t *sums)
{
    ADD(*size_at(f, fragment), size);
    for (int c = 0; c < f->rule->channels; c++) add_sum(f, fragment, c, sums[c]);
}

static void add_row(const forest *f, const uint16_t *levels, int64_t row)
{
    const int32_t *labels = f->labels + row * f->nx;
    const int channels = f->rule->channels;
    for (int64_t x = 0, end; x < f->nx; x = end) {
        const int32_t fragment = labels[x];
        end = lob_label_run_end(labels, x, f->nx);
        if (fragment == 0) continue;
        uint64_t sums[LOB_SUPERVOXELS_MAX_CHANNELS] = {0};
        for (int c = 0; c < channels; c++)
            for (int64_t i = x; i < end; i++) sums[c] += levels[c * f->nx + i];
        add_voxels(f, fragment, (uint32_t)(end - x), sums);
    }
}

/* Sizes and sums of all fragments. false: no memory for rows of levels. */
static bool add_rows(const forest *f)
{
    const int64_t rows = f->ny * f->nz;
    bool fits = true;
#pragma omp parallel num_threads(f->readers) reduction(&& : fits)
    {
        uint16_t *levels = malloc((size_t)(f->rule->channels * f->nx) * sizeof *levels);
        fits = levels != NULL;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            if (!levels || lob_progress_stopped(f->stages)) continue;
            if (row % REPORT == 0) lob_progress_report(f->stages, REPORT);
            lob_assign_levels(levels, f->nx, f->all->plan, f->all->image, f->labels + row * f->nx,
                              row * f->nx, f->nx);
            add_row(f, levels, row);
        }
        free(levels);
    }
    return fits;
}

/* From sizes and sums of this rank's voxels to those of all ranks'. */
static lob_status share_sums(const forest *f, lob_error *error)
{
    const int channels = f->rule->channels, words = 2 + channels; /* fragment, size, sums */
    lob_budget *const budget = f->all->budget;
    int64_t mine = 0, bytes = 0, n = 0;
    uint64_t *own = NULL;
    void *all = NULL;
    if (lob_team_size(f->all->team) == 1) return LOB_OK;
    for (int64_t p = 1; p <= f->fragments; p++) mine += GET(*size_at(f, p)) > 0;
    lob_status st = lob_budget_alloc(budget, &own, mine * words, sizeof *own, error);
    for (int64_t p = 1; st == LOB_OK && p <= f->fragments; p++) {
        const uint32_t size = GET(*size_at(f, p));
        if (size == 0) continue;
        uint64_t *const word = own + words * n++;
        word[0] = (uint64_t)p;
        word[1] = size;
        for (int c = 0; c < channels; c++) {
            word[2 + c] = sum_of(f, p, c);
            SET(*low_at(f, p, c), 0);
            SET(*high_at(f, p, c), 0);
        }
        SET(*size_at(f, p), 0);
    }
    const int64_t each = words * (int64_t)sizeof *own;
    if (st == LOB_OK) st = lob_fragments_share(f->all, &all, &bytes, own, mine * each, error);
    lob_budget_free(budget, own, mine * words, sizeof *own);
    for (const uint64_t *word = all; st == LOB_OK && word < (uint64_t *)all + bytes / 8;
         word += words)
        add_voxels(f, (int64_t)word[0], (uint32_t)word[1], word + 2);
    lob_budget_free(budget, all, bytes, 1);
    return st;
}

/* ---- picking the cheapest edge ---- */

/* The cheapest edge of a small set that is known to the thread that scans a run of the set. */
typedef struct {
    int32_t set, other; /* other: 0: none yet */
    int32_t link;       /* the set's link when the run began */
    bool measured;      /* are key and mean known? */
    uint64_t key;       /* of other */
    uint32_t mean[LOB_SUPERVOXELS_MAX_CHANNELS];
} edge;

static inline uint64_t key_of(const forest *f, const edge *e, int32_t other)
{
    uint64_t difference = 0;
    for (int c = 0; c < f->rule->channels; c++)
        difference += lob_fragment_difference(e->mean[c], mean_of(f, other, c));
    return lob_fragment_key(difference, (uint32_t)other);
}

static inline void compare_edge(const forest *f, edge *e, int32_t other)
{
    if (other == e->other || other == e->set || other == 0) return;
    if (!e->measured) {
        e->measured = true;
        for (int c = 0; c < f->rule->channels; c++) e->mean[c] = mean_of(f, e->set, c);
        e->key = e->other ? key_of(f, e, e->other) : UINT64_MAX;
    }
    const uint64_t key = key_of(f, e, other);
    if (key >= e->key) return;
    e->key = key;
    e->other = other;
}

/* Compare the edges to voxels x..end-1 of a row. */
static inline void compare_row(const forest *f, edge *e, const int32_t *row, int64_t x, int64_t end)
{
    for (int32_t latest = 0; x < end; x++) {
        if (row[x] == latest) continue;
        latest = row[x];
        compare_edge(f, e, set_of(f, latest));
    }
}

/* Store the edge as the set's pick, unless another thread has stored a cheaper one. */
static inline void store_pick(const forest *f, const edge *e)
{
    int32_t link = e->link;
    if (e->other == -link) return;
    while (link == 0 || e->key < key_of(f, e, -link))
        if (atomic_compare_exchange_weak_explicit(&f->link[e->set], &link, -e->other,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
}

/* A row of labels, of the planes beside too; NULL: there is none. */
static const int32_t *row_at(const forest *f, int64_t row)
{
    const int64_t rows = f->ny * f->nz;
    if (row < 0) return f->beside[0] ? f->beside[0] + (row + f->ny) * f->nx : NULL;
    if (row >= rows) return f->beside[1] ? f->beside[1] + (row - rows) * f->nx : NULL;
    return f->labels + row * f->nx;
}

/* Compare the edges of all small sets at the row's voxels. Returns whether there is a small set. */
static bool pick_from_row(const forest *f, int64_t row)
{
    const int64_t y = row % f->ny, nx = f->nx;
    const int32_t *labels = f->labels + row * nx;
    const int slice_axis = f->rule->slice_axis;
    const int32_t *before = slice_axis == 2 ? NULL : row_at(f, row - f->ny);
    const int32_t *behind = slice_axis == 2 ? NULL : row_at(f, row + f->ny);
    bool any = false;
    for (int64_t x = 0, end; x < nx; x = end) {
        end = lob_label_run_end(labels, x, nx);
        const int32_t set = set_of(f, labels[x]);
        if (!is_small(f, set)) continue;
        any = true;
        edge e;
        e.set = set;
        e.link = GET(f->link[set]);
        e.other = -e.link;
        e.measured = false;
        if (slice_axis != 0 && x > 0) compare_row(f, &e, labels, x - 1, x);
        if (slice_axis != 0 && end < nx) compare_row(f, &e, labels, end, end + 1);
        if (slice_axis != 1 && y > 0) compare_row(f, &e, labels - nx, x, end);
        if (slice_axis != 1 && y + 1 < f->ny) compare_row(f, &e, labels + nx, x, end);
        if (before) compare_row(f, &e, before, x, end);
        if (behind) compare_row(f, &e, behind, x, end);
        store_pick(f, &e);
    }
    return any;
}

static void pick_from_rows(const forest *f)
{
    const int64_t rows = f->ny * f->nz;
#pragma omp parallel for schedule(static) num_threads(f->threads)
    for (int64_t row = 0; row < rows; row++) {
        if (lob_progress_stopped(f->stages)) continue;
        if (row % REPORT == 0) lob_progress_report(f->stages, REPORT);
        if (f->has_small[row]) f->has_small[row] = pick_from_row(f, row);
    }
}

/* Keep the cheapest picks of all ranks. */
static lob_status share_picks(const forest *f, lob_error *error)
{
    lob_budget *const budget = f->all->budget;
    int64_t mine = 0, bytes = 0, n = 0;
    int32_t *own = NULL;
    void *all = NULL;
    if (lob_team_size(f->all->team) == 1) return LOB_OK;
    for (int64_t p = 1; p <= f->fragments; p++) mine += 2 * (GET(f->link[p]) < 0);
    lob_status st = lob_budget_alloc(budget, &own, mine, sizeof *own, error);
    for (int64_t p = 1; st == LOB_OK && p <= f->fragments; p++) {
        const int32_t link = GET(f->link[p]);
        if (link >= 0) continue;
        own[n++] = (int32_t)p;
        own[n++] = -link;
    }
    const int64_t each = sizeof *own;
    if (st == LOB_OK) st = lob_fragments_share(f->all, &all, &bytes, own, mine * each, error);
    lob_budget_free(budget, own, mine, sizeof *own);
    const int32_t *const picks = all;
    for (int64_t i = 0; st == LOB_OK && i < bytes / each; i += 2) {
        edge e = {.set = picks[i], .link = GET(f->link[picks[i]])};
        e.other = -e.link;
        compare_edge(f, &e, picks[i + 1]);
        store_pick(f, &e);
    }
    lob_budget_free(budget, all, bytes, 1);
    return st;
}

/* ---- contracting picked edges ---- */

/* With path halving. */
static int32_t find_root(const forest *f, int32_t fragment)
{
    for (int32_t parent; (parent = GET(f->link[fragment])) > 0; fragment = parent) {
        const int32_t next = GET(f->link[parent]);
        if (next > 0) SET(f->link[fragment], next);
    }
    return fragment;
}

/* Take a root's pick away; 0: it has none. */
static int32_t take_pick(const forest *f, int32_t root)
{
    const int32_t link = GET(f->link[root]);
    if (link >= 0) return 0;
    SET(f->link[root], 0);
    return -link;
}

/* Join both ends of every picked edge; the lower root stays. Returns whether anything picked. */
static bool contract_picks(const forest *f)
{
    bool any = false;
    for (int64_t p = 1; p <= f->fragments; p++) {
        int32_t pick = take_pick(f, (int32_t)p);
        any |= pick != 0;
        /* The lower of the two roots is at most p, so its pick has been taken. The link of the
         * higher one becomes its parent, so its pick is taken now and contracted next. */
        while (pick != 0) {
            const int32_t a = find_root(f, (int32_t)p), b = find_root(f, pick);
            if (a == b) break;
            const int32_t low = a < b ? a : b, high = a < b ? b : a;
            pick = take_pick(f, high);
            SET(f->link[high], low);
        }
    }
    return any;
}

/* Make every tree flat, and add the sizes and sums of its fragments at the root. */
static void flatten(const forest *f)
{
    const int channels = f->rule->channels;
#pragma omp parallel for schedule(static) num_threads(f->threads)
    for (int64_t p = 1; p <= f->fragments; p++) {
        const int32_t parent = GET(f->link[p]);
        if (parent <= 0) continue;
        int32_t root = parent;
        for (int32_t next; (next = GET(f->link[root])) > 0;) root = next;
        if (root != parent) SET(f->link[p], root);
        const uint32_t size = GET(*size_at(f, p));
        if (size == 0) continue; /* added in an earlier phase */
        SET(*size_at(f, p), 0);
        ADD(*size_at(f, root), size);
        for (int c = 0; c < channels; c++) add_sum(f, root, c, sum_of(f, p, c));
    }
}

/* *any: did any set pick? */
static lob_status run_phase(const forest *f, bool *any, lob_error *error)
{
    lob_progress *stages = f->stages;
    lob_progress_stage(stages, f->ny * f->nz, stages->to + (1.0 - stages->to) / 2);
    pick_from_rows(f);
    if (lob_progress_stopped(stages)) return LOB_ECANCEL;
    LOB_TRY(share_picks(f, error));
    *any = contract_picks(f);
    if (*any) flatten(f);
    return LOB_OK;
}

static int64_t number_sets(forest *f)
{
    int64_t count = 0;
    for (int64_t p = 1; p <= f->fragments; p++) {
        /* A root comes before the rest of its set: its link is a label by now. */
        const int32_t root = GET(f->link[p]);
        SET(f->link[p], root > 0 ? GET(f->link[root]) : (int32_t)++count);
    }
    const int64_t voxels = f->nx * f->ny * f->nz;
#pragma omp parallel for schedule(static) num_threads(f->threads)
    for (int64_t v = 0; v < voxels; v++) f->labels[v] = GET(f->link[f->labels[v]]);
    return count;
}

static lob_status join(forest *f, lob_error *error)
{
    memset(f->has_small, 1, (size_t)(f->ny * f->nz));
    if (f->all->team) LOB_TRY(lob_fragments_beside(f->all, f->beside[0], f->beside[1], error));
    lob_progress_stage(f->stages, f->ny * f->nz, 0.95);
    if (!add_rows(f)) return LOB_ENOMEM;
    if (lob_progress_stopped(f->stages)) return LOB_ECANCEL;
    LOB_TRY(share_sums(f, error));
    for (bool any = true; any;) LOB_TRY(run_phase(f, &any, error));
    return LOB_OK;
}

lob_status lob_fragments_join(const lob_fragments *all, int64_t *count, lob_error *error)
{
    const lob_supervoxels_rule *const rule = all->rule;
    *count = all->count;
    if (rule->small <= 1) return LOB_OK;
    forest f = {.all = all,
                .rule = rule,
                .labels = all->labels,
                .nx = rule->side[0],
                .ny = rule->side[1],
                .nz = all->planes,
                .fragments = all->count,
                .threads = all->threads,
                .stages = all->stages};
    const int rank = lob_team_rank(all->team), last = lob_team_size(all->team) - 1;
    const size_t n = (size_t)all->count + 1, channels = (size_t)rule->channels;
    const size_t low = (1 + channels) * sizeof *f.size_and_low, high = channels * sizeof *f.high;
    const size_t row_count = (size_t)(f.ny * f.nz), plane = (size_t)(f.nx * f.ny);
    /* the rows of several readers take at most 1/4 byte per voxel */
    const int64_t readers = (int64_t)(row_count / (8 * channels));
    f.readers = readers < 1 ? 1 : readers < all->threads ? (int)readers : all->threads;
    const int64_t levels =
        (int64_t)((size_t)f.readers * channels * (size_t)f.nx * sizeof(uint16_t));
    const size_t beside = (size_t)((rank > 0) + (rank < last)) * plane * sizeof(int32_t);
    const size_t bytes = beside + n * (sizeof *f.link + low + high) + row_count;
    int32_t *memory;
    LOB_TRY(lob_budget_hold(all->budget, levels, error));
    lob_status st = lob_budget_calloc(all->budget, &memory, 1, bytes, error);
    if (st == LOB_OK) {
        if (rank > 0) f.beside[0] = memory;
        if (rank < last) f.beside[1] = memory + (rank > 0 ? plane : 0);
        f.link = (_Atomic int32_t *)((char *)memory + beside);
        f.size_and_low = (_Atomic uint32_t *)(f.link + n);
        f.high = (_Atomic uint16_t *)(f.size_and_low + n * (1 + channels));
        f.has_small = (uint8_t *)(f.high + n * channels);
        st = join(&f, error);
    }
    if (st == LOB_OK) *count = number_sets(&f);
    lob_budget_free(all->budget, memory, 1, bytes);
    lob_budget_release(all->budget, levels);
    return st;
}
