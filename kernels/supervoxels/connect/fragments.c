/* Numbering fragments on the CPU: runs of rows get provisional numbers, a union-find joins these.
 */
#include "kernels/supervoxels/connect/fragments.h"

#include <stdlib.h>
#include <string.h>

/*
 * A slab is a range of rows that one thread scans. A run gets the number of a run that it touches
 * in the row above or in the slice behind, or else a new provisional number, counted from 0; where
 * it touches several, their numbers are joined. A parent is always lower than its child, so the
 * root of a tree is the number that was given to the fragment's first voxel.
 *
 * Numbers (plus 1) overwrite labels. The labels are needed again where a later row touches them: a
 * slab keeps the labels of its latest rows in a ring, and those of its first rows, which border on
 * the slab before.
 */
typedef struct {
    int64_t first, end;      /* rows, counted through y then z */
    int32_t *ring;           /* labels of the latest ring_rows rows; row r lies at r % ring_rows */
    int32_t *start;          /* labels of the first reach rows; NULL in slab 0 */
    int32_t *parent;         /* a lower number of the same fragment, or itself */
    int64_t count, capacity; /* numbers given, and entries of parent */
    int64_t base;            /* numbers of the slabs before */
    lob_status status;
} slab;

typedef struct {
    int32_t *labels;
    int64_t nx, ny, nz;
    bool connected[3]; /* neighbours along an axis */
    int64_t reach;     /* rows back to the farthest neighbour */
    int64_t ring_rows; /* those within reach, and the row that is scanned */
    slab *slabs;
    int count, threads;
    int32_t *rows; /* memory of all rings and starts */
    lob_budget *budget;
    lob_error *error;
} numbering;

static int32_t *ring_row(const numbering *g, const slab *s, int64_t row)
{
    return s->ring + row % g->ring_rows * g->nx;
}

/* With path halving. */
static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Join two trees; the lower root stays. Returns it. */
static int32_t join(int32_t *parent, int32_t a, int32_t b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b) {
        parent[b] = a;
        return a;
    }
    parent[a] = b;
    return b;
}

/* Give a slab's parents another capacity, at least 1. Threads may do so at once, each for its own
 * slab. On failure lob_fragments_number releases what is held. */
static lob_status resize(const numbering *g, slab *s, int64_t capacity)
{
    lob_status st;
#pragma omp critical(lob_fragments_budget)
    st =
        lob_budget_hold(g->budget, (capacity - s->capacity) * (int64_t)sizeof *s->parent, g->error);
    if (st != LOB_OK) return st;
    int32_t *parent = realloc(s->parent, (size_t)capacity * sizeof *parent);
    if (!parent) return LOB_ENOMEM;
    s->parent = parent;
    s->capacity = capacity;
    return LOB_OK;
}

static lob_status too_many(lob_error *error)
{
    return lob_fail(error, LOB_EDATA,
                    "the supervoxels fall into more than 2147483646 connected parts; ask for "
                    "larger ones");
}

/* -1 if there can be no more; the slab's status says why. */
static int32_t new_number(const numbering *g, slab *s)
{
    if (s->count == s->capacity) {
        const int64_t max = INT32_MAX, more = s->capacity ? s->capacity + s->capacity / 4 : 256;
        s->status = s->capacity == max ? LOB_EDATA : resize(g, s, more < max ? more : max);
        if (s->status != LOB_OK) return -1;
    }
    s->parent[s->count] = (int32_t)s->count;
    return (int32_t)s->count++;
}

/*
 * Join a run, voxels x..end-1, with what it touches in an earlier row, whose numbers (plus 1) and
 * labels are given. number: of the run; -1: none yet. Returns the run's number.
 */
static int32_t join_run(slab *s, const int32_t *numbers, const int32_t *labels, int64_t x,
                        int64_t end, int32_t label, int32_t number)
{
    for (int32_t latest = 0; x < end; x++) {
        const int32_t other = numbers[x];
        if (other == latest) continue;
        latest = other;
        if (labels[x] != label) continue;
        number = number < 0 ? find_root(s->parent, other - 1) : join(s->parent, number, other - 1);
    }
    return number;
}

/* false: the slab's status says why not. */
static bool scan_row(const numbering *g, slab *s, int64_t row)
{
    const int64_t y = row % g->ny, nx = g->nx;
    const size_t bytes = (size_t)nx * sizeof *g->labels;
    int32_t *numbers = g->labels + row * nx, *labels = ring_row(g, s, row);
    const bool above = g->connected[1] && y > 0 && row - 1 >= s->first;
    const bool behind = g->connected[2] && row - g->ny >= s->first;
    memcpy(labels, numbers, bytes);
    if (s->start && row - s->first < g->reach)
        memcpy(s->start + (row - s->first) * nx, labels, bytes);
    const int32_t *labels_above = above ? ring_row(g, s, row - 1) : NULL;
    const int32_t *labels_behind = behind ? ring_row(g, s, row - g->ny) : NULL;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int32_t label = labels[x];
        end = g->connected[0] || label == 0 ? lob_label_run_end(labels, x, nx) : x + 1;
        if (label == 0) continue;
        int32_t number = -1;
        if (above) number = join_run(s, numbers - nx, labels_above, x, end, label, number);
        if (behind)
            number = join_run(s, numbers - g->ny * nx, labels_behind, x, end, label, number);
        if (number < 0) number = new_number(g, s);
        if (number < 0) return false;
        for (int64_t i = x; i < end; i++) numbers[i] = number + 1;
    }
    return true;
}

/*
 * Divide the rows into slabs, at most one per thread. If there are several, each has at least 8
 * times the rows within reach, so that the labels it keeps, at most twice those rows and one, are
 * a small share of the volume.
 */
static lob_status make_slabs(numbering *g)
{
    const int64_t rows = g->ny * g->nz;
    g->reach = g->connected[2] && g->nz > 1 ? g->ny : 1;
    g->ring_rows = g->reach + 1 < rows ? g->reach + 1 : rows;
    const int64_t max = rows / (8 * g->reach) > 1 ? rows / (8 * g->reach) : 1;
    g->count = (int)(max < g->threads ? max : g->threads);
    const int64_t bytes =
        (g->count * g->ring_rows + (g->count - 1) * g->reach) * g->nx * (int64_t)sizeof *g->rows;
    LOB_TRY(lob_budget_hold(g->budget, bytes, g->error));
    g->rows = malloc((size_t)bytes);
    g->slabs = calloc((size_t)g->count, sizeof *g->slabs);
    if (!g->rows || !g->slabs) return LOB_ENOMEM;
    int32_t *next = g->rows;
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        s->first = rows * i / g->count;
        s->end = rows * (i + 1) / g->count;
        s->ring = next;
        next += g->ring_rows * g->nx;
        if (i == 0) continue;
        s->start = next;
        next += g->reach * g->nx;
    }
    return LOB_OK;
}

static lob_status scan_slabs(numbering *g, lob_progress *stages)
{
    enum { REPORT = LOB_FRAGMENTS_REPORT_ROWS };
#pragma omp parallel for schedule(static, 1) num_threads(g->count)
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        for (int64_t row = s->first; row < s->end; row++) {
            if (row % REPORT == 0 && lob_progress_report(stages, REPORT)) break;
            if (!scan_row(g, s, row)) break;
        }
    }
    if (lob_progress_stopped(stages)) return LOB_ECANCEL;
    for (int i = 0; i < g->count; i++) {
        const slab *s = &g->slabs[i];
        if (s->status == LOB_EDATA) return too_many(g->error);
        if (s->status != LOB_OK) return s->status;
    }
    return LOB_OK;
}

/*
 * Append the parents of all slabs to those of slab 0; from here on numbers count through all slabs.
 * One slab at a time, whose own array is then freed.
 */
static lob_status gather(const numbering *g, int64_t *count)
{
    slab *all = &g->slabs[0];
    lob_status st = LOB_OK;
    *count = 0;
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        s->base = *count;
        *count += s->count;
        if (s->count < s->capacity) st = resize(g, s, s->count > 0 ? s->count : 1);
        if (st != LOB_OK) return st;
    }
    if (*count > INT32_MAX - 1) return too_many(g->error);
    for (int i = 1; i < g->count; i++) {
        slab *s = &g->slabs[i];
        if (s->count == 0) continue;
        st = resize(g, all, s->base + s->count);
        if (st != LOB_OK) return st;
        for (int64_t k = 0; k < s->count; k++)
            all->parent[s->base + k] = (int32_t)(s->base + s->parent[k]);
        free(s->parent);
        lob_budget_release(g->budget, s->capacity * (int64_t)sizeof *s->parent);
        s->parent = NULL;
        s->capacity = 0;
    }
    return LOB_OK;
}

/* Join row number k of a slab with the row `back` rows before it, which the slab before has. */
static void join_rows(const numbering *g, int32_t *parent, const slab *before, const slab *s,
                      int64_t k, int64_t back)
{
    const int64_t row = s->first + k;
    const int32_t *numbers = g->labels + row * g->nx, *labels = s->start + k * g->nx;
    const int32_t *other = numbers - back * g->nx, *other_labels = ring_row(g, before, row - back);
    for (int64_t x = 0; x < g->nx; x++) {
        if (labels[x] != other_labels[x] || labels[x] == 0) continue;
        if (x > 0 && numbers[x] == numbers[x - 1] && other[x] == other[x - 1]) continue;
        join(parent, (int32_t)(before->base + other[x] - 1), (int32_t)(s->base + numbers[x] - 1));
    }
}

/* Join the slabs in pairs, then the pairs, and so on. A tree never reaches beyond the slabs that
 * are joined already, so no two threads change one tree. */
static void join_slabs(const numbering *g)
{
    int32_t *parent = g->slabs[0].parent;
    for (int half = 1; half < g->count; half *= 2) {
#pragma omp parallel for schedule(static) num_threads(g->threads)
        for (int i = half; i < g->count; i += 2 * half) {
            const slab *s = &g->slabs[i];
            if (g->connected[1] && s->first % g->ny > 0) join_rows(g, parent, s - 1, s, 0, 1);
            for (int64_t k = 0; g->connected[2] && g->nz > 1 && k < g->reach; k++)
                join_rows(g, parent, s - 1, s, k, g->ny);
        }
    }
}

/* Replace parents by the numbers of fragments, from 1. Returns how many there are. */
static int64_t number_roots(int32_t *parent, int64_t n)
{
    int64_t fragments = 0;
    for (int64_t i = 0; i < n; i++) /* a parent is lower, so its entry is a fragment already */
        parent[i] = parent[i] == i ? (int32_t)++fragments : parent[parent[i]];
    return fragments;
}

static void replace_labels(const numbering *g)
{
    const int32_t *fragment = g->slabs[0].parent;
    for (int i = 0; i < g->count; i++) {
        const slab *s = &g->slabs[i];
#pragma omp parallel for schedule(static) num_threads(g->threads)
        for (int64_t v = s->first * g->nx; v < s->end * g->nx; v++)
            if (g->labels[v]) g->labels[v] = fragment[s->base + g->labels[v] - 1];
    }
}

lob_status lob_fragments_number(int32_t *labels, int64_t *fragments,
                                const lob_supervoxels_rule *rule, int threads, lob_budget *budget,
                                lob_progress *stages, lob_error *error)
{
    numbering g = {.labels = labels,
                   .nx = rule->side[0],
                   .ny = rule->side[1],
                   .nz = rule->side[2],
                   .threads = threads,
                   .budget = budget,
                   .error = error};
    const int64_t held = budget->held;
    int64_t count = 0;
    for (int a = 0; a < 3; a++) g.connected[a] = a != rule->slice_axis;

    lob_progress_stage(stages, g.ny * g.nz, 0.93);
    lob_status st = make_slabs(&g);
    if (st == LOB_OK) st = scan_slabs(&g, stages);
    if (st == LOB_OK) st = gather(&g, &count);
    if (st == LOB_OK) {
        join_slabs(&g);
        *fragments = number_roots(g.slabs[0].parent, count);
        replace_labels(&g);
    }
    for (int i = 0; g.slabs && i < g.count; i++) free(g.slabs[i].parent);
    free(g.slabs);
    free(g.rows);
    lob_budget_release(budget, budget->held - held);
    return st;
}
