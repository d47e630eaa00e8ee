/* Numbering connected pieces in place, by runs along rows and a union-find over them. */
#include "kernels/supervoxels/connect/fragments.h"

#include "volumes/bytes.h"

#include <stdlib.h>
#include <string.h>

/*
 * A slab is a stretch of rows that one thread scans. It numbers what looks like a new piece from 0;
 * runs that turn out to meet an older piece make the younger number point at the older. A number is
 * always older, and so lower, the earlier in raster order the piece was met: the root of a tree is
 * the number that its piece's first voxel was given.
 *
 * Numbers overwrite labels, which are asked for once more where a later row touches them: a slab
 * keeps those of its latest rows, and those of its first, which the slab before touches.
 */
typedef struct {
    int64_t first, end; /* rows, counted through y then z */
    int32_t *latest;    /* kept rows: labels of the latest, row number r in place r % kept */
    int32_t *start;     /* reach rows: labels of the first; NULL in slab 0 */
    int32_t *parent;    /* found: a lower number of the same piece, or itself */
    int64_t found, room;
    int64_t base; /* numbers found by the slabs before */
    lob_status status;
} slab;

typedef struct {
    int32_t *labels;
    int64_t nx, ny, nz;
    bool along[3]; /* are neighbours along an axis connected? */
    int64_t reach; /* rows back to the farthest neighbour */
    int64_t kept;  /* latest rows of a slab: those within reach, and the one being scanned */
    slab *slabs;
    int count, threads;
    int32_t *rows; /* of all slabs: latest and start */
    lob_budget *budget;
    lob_error *error;
} grid;

static int32_t *latest(const grid *g, const slab *s, int64_t row)
{
    return s->latest + row % g->kept * g->nx;
}

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]]; /* halve the way for the next who asks */
        i = parent[i];
    }
    return i;
}

/* Join two trees; the lower root stays. Returns it. */
static int32_t join(int32_t *parent, int32_t a, int32_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) {
        parent[b] = a;
        return a;
    }
    parent[a] = b;
    return b;
}

/* Give a slab's numbers another room, at least 1. Several threads may, each for its own slab. */
static lob_status resize(const grid *g, slab *s, int64_t room)
{
    lob_status st;
#pragma omp critical(lob_pieces_budget)
    st = lob_budget_hold(g->budget, (room - s->room) * (int64_t)sizeof *s->parent, g->error);
    if (st != LOB_OK) return st;
    int32_t *parent = realloc(s->parent, (size_t)room * sizeof *parent);
    if (!parent) return LOB_ENOMEM;
    s->parent = parent;
    s->room = room;
    return LOB_OK;
}

static lob_status too_many(lob_error *error)
{
    return lob_fail(error, LOB_EDATA,
                    "the supervoxels fall into more pieces than an int32 "
                    "numbers; ask for larger ones");
}

/* -1, and the reason in the slab's status, where there is no room for another. */
static int32_t new_number(const grid *g, slab *s)
{
    if (s->found == s->room) {
        const int64_t most = INT32_MAX, more = s->room ? s->room + s->room / 4 : 256;
        s->status = s->room == most ? LOB_EDATA : resize(g, s, more < most ? more : most);
        if (s->status != LOB_OK) return -1;
    }
    s->parent[s->found] = (int32_t)s->found;
    return (int32_t)s->found++;
}

/*
 * The piece that voxels x..end-1 of a row meet in a row before, of which numbers plus 1 and labels
 * are given; joined to `number` where that is not -1. Returns number or the piece met, the lower.
 */
static int32_t meet(slab *s, const int32_t *before, const int32_t *labels, int64_t x, int64_t end,
                    int32_t label, int32_t number)
{
    for (int32_t last = 0; x < end; x++) {
        const int32_t other = before[x];
        if (other == last) continue;
        last = other;
        if (labels[x] != label) continue;
        number = number < 0 ? root_of(s->parent, other - 1) : join(s->parent, number, other - 1);
    }
    return number;
}

/* false: the slab's status says why not. */
static bool scan_row(const grid *g, slab *s, int64_t row)
{
    const int64_t y = row % g->ny, nx = g->nx;
    const size_t bytes = (size_t)nx * sizeof *g->labels;
    int32_t *numbers = g->labels + row * nx, *labels = latest(g, s, row);
    const bool above = g->along[1] && y > 0 && row - 1 >= s->first;
    const bool behind = g->along[2] && row - g->ny >= s->first;
    memcpy(labels, numbers, bytes);
    if (s->start && row - s->first < g->reach)
        memcpy(s->start + (row - s->first) * nx, labels, bytes);
    const int32_t *labels_above = above ? latest(g, s, row - 1) : NULL;
    const int32_t *labels_behind = behind ? latest(g, s, row - g->ny) : NULL;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int32_t label = labels[x];
        end = g->along[0] || label == 0 ? lob_label_run_end(labels, x, nx) : x + 1;
        if (label == 0) continue;
        int32_t number = -1;
        if (above) number = meet(s, numbers - nx, labels_above, x, end, label, number);
        if (behind) number = meet(s, numbers - g->ny * nx, labels_behind, x, end, label, number);
        if (number < 0) number = new_number(g, s);
        if (number < 0) return false;
        for (int64_t i = x; i < end; i++) numbers[i] = number + 1;
    }
    return true;
}

/*
 * Slabs of rows, few enough that the rows they keep are small beside the volume: where there are
 * several, each has at least 8 times the rows within reach, and keeps at most twice those and one.
 */
static lob_status lay_slabs(grid *g)
{
    const int64_t rows = g->ny * g->nz;
    g->reach = g->along[2] && g->nz > 1 ? g->ny : 1;
    g->kept = g->reach + 1 < rows ? g->reach + 1 : rows;
    const int64_t most = rows / (8 * g->reach) > 1 ? rows / (8 * g->reach) : 1;
    g->count = (int)(most < g->threads ? most : g->threads);
    const int64_t bytes =
        (g->count * g->kept + (g->count - 1) * g->reach) * g->nx * (int64_t)sizeof *g->rows;
    const lob_status st = lob_budget_hold(g->budget, bytes, g->error);
    if (st != LOB_OK) return st;
    g->rows = malloc((size_t)bytes);
    g->slabs = calloc((size_t)g->count, sizeof *g->slabs);
    if (!g->rows || !g->slabs) return LOB_ENOMEM;
    int32_t *next = g->rows;
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        s->first = rows * i / g->count;
        s->end = rows * (i + 1) / g->count;
        s->latest = next;
        next += g->kept * g->nx;
        if (i == 0) continue;
        s->start = next;
        next += g->reach * g->nx;
    }
    return LOB_OK;
}

static lob_status scan_slabs(grid *g, lob_progress *stages)
{
#pragma omp parallel for schedule(static, 1) num_threads(g->count)
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        for (int64_t row = s->first; row < s->end; row++) {
            if (row % LOB_PIECES_TOLD == 0 && lob_progress_report(stages, LOB_PIECES_TOLD)) break;
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
 * Put the numbers of all slabs one behind the other into slab 0's array, from here on counted
 * through all slabs. It grows by a slab at a time, and that one's array goes.
 */
static lob_status gather(const grid *g, int64_t *found)
{
    slab *all = &g->slabs[0];
    lob_status st = LOB_OK;
    *found = 0;
    for (int i = 0; i < g->count; i++) {
        slab *s = &g->slabs[i];
        s->base = *found;
        *found += s->found;
        if (s->found < s->room) st = resize(g, s, s->found > 0 ? s->found : 1);
        if (st != LOB_OK) return st;
    }
    if (*found > INT32_MAX - 1) return too_many(g->error);
    for (int i = 1; i < g->count; i++) {
        slab *s = &g->slabs[i];
        if (s->found == 0) continue;
        st = resize(g, all, s->base + s->found);
        if (st != LOB_OK) return st;
        for (int64_t k = 0; k < s->found; k++)
            all->parent[s->base + k] = (int32_t)(s->base + s->parent[k]);
        free(s->parent);
        lob_budget_release(g->budget, s->room * (int64_t)sizeof *s->parent);
        s->parent = NULL;
        s->room = 0;
    }
    return LOB_OK;
}

/* Join across the border before a slab: its row number k with the row `back` rows before that. */
static void join_rows(const grid *g, int32_t *parent, const slab *before, const slab *s, int64_t k,
                      int64_t back)
{
    const int64_t row = s->first + k;
    const int32_t *in = g->labels + row * g->nx, *labels = s->start + k * g->nx;
    const int32_t *other = in - back * g->nx, *other_labels = latest(g, before, row - back);
    for (int64_t x = 0; x < g->nx; x++) {
        if (labels[x] != other_labels[x] || labels[x] == 0) continue;
        if (x > 0 && in[x] == in[x - 1] && other[x] == other[x - 1]) continue;
        join(parent, (int32_t)(before->base + other[x] - 1), (int32_t)(s->base + in[x] - 1));
    }
}

/* Trees reach no farther than the slabs that are joined already: first each odd one with the one
 * before it, then pairs of slabs, and so on, threads never meet in a tree. */
static void join_slabs(const grid *g)
{
    int32_t *parent = g->slabs[0].parent;
    for (int half = 1; half < g->count; half *= 2) {
#pragma omp parallel for schedule(static) num_threads(g->threads)
        for (int i = half; i < g->count; i += 2 * half) {
            const slab *s = &g->slabs[i];
            if (g->along[1] && s->first % g->ny > 0) join_rows(g, parent, s - 1, s, 0, 1);
            for (int64_t k = 0; g->along[2] && g->nz > 1 && k < g->reach; k++)
                join_rows(g, parent, s - 1, s, k, g->ny);
        }
    }
}

/* Turn trees into numbers of pieces, from 1, in place. Returns how many there are. */
static int64_t number_roots(int32_t *parent, int64_t n)
{
    int64_t pieces = 0;
    for (int64_t i = 0; i < n; i++) /* Parents are lower: theirs is a number of a piece by now. */
        parent[i] = parent[i] == i ? (int32_t)++pieces : parent[parent[i]];
    return pieces;
}

static void replace_labels(const grid *g)
{
    const int32_t *piece = g->slabs[0].parent;
    for (int i = 0; i < g->count; i++) {
        const slab *s = &g->slabs[i];
#pragma omp parallel for schedule(static) num_threads(g->threads)
        for (int64_t v = s->first * g->nx; v < s->end * g->nx; v++)
            if (g->labels[v]) g->labels[v] = piece[s->base + g->labels[v] - 1];
    }
}

lob_status lob_pieces_number(int32_t *labels, int64_t *pieces, const lob_supervoxels_rule *rule,
                             int threads, lob_budget *budget, lob_progress *stages,
                             lob_error *error)
{
    grid g = {.labels = labels,
              .nx = rule->side[0],
              .ny = rule->side[1],
              .nz = rule->side[2],
              .threads = threads,
              .budget = budget,
              .error = error};
    const int64_t held = budget->held;
    int64_t found = 0;
    for (int a = 0; a < 3; a++) g.along[a] = a != rule->slice_axis;

    lob_progress_stage(stages, g.ny * g.nz, 0.93);
    lob_status st = lay_slabs(&g);
    if (st == LOB_OK) st = scan_slabs(&g, stages);
    if (st == LOB_OK) st = gather(&g, &found);
    if (st == LOB_OK) {
        join_slabs(&g);
        *pieces = number_roots(g.slabs[0].parent, found);
        replace_labels(&g);
    }
    for (int i = 0; g.slabs && i < g.count; i++) free(g.slabs[i].parent);
    free(g.slabs);
    free(g.rows);
    lob_budget_release(budget, budget->held - held);
    return st;
}
