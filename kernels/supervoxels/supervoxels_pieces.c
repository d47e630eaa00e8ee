/* Numbering connected pieces in place, by runs along rows and a union-find over them. */
#include "kernels/supervoxels/supervoxels_pieces.h"

#include "volumes/bytes.h"

#include <stdlib.h>

lob_status lob_budget_take(lob_budget *budget, int64_t bytes, lob_error *error)
{
    char needed[LOB_BYTES_TEXT], allowed[LOB_BYTES_TEXT];
    budget->held += bytes;
    if (budget->held > budget->peak) budget->peak = budget->held;
    if (budget->limit == 0 || budget->held <= budget->limit) return LOB_OK;
    return lob_fail(error, LOB_ENOMEM,
                    "supervoxels need %s of working memory, more than the %s allowed",
                    lob_bytes_text(needed, budget->held), lob_bytes_text(allowed, budget->limit));
}

void lob_budget_give(lob_budget *budget, int64_t bytes)
{
    budget->held -= bytes;
}

/*
 * A slab is a stretch of rows that one thread scans. It numbers what looks like a new piece from 0;
 * runs that turn out to meet an older piece make the younger number point at the older. A number is
 * always older, and so lower, the earlier in raster order the piece was met: the root of a tree is
 * the number that its piece's first voxel was given.
 */
typedef struct {
    int64_t first, end; /* rows, counted through y then z */
    int32_t *parent;    /* found: a lower number of the same piece, or itself */
    int32_t *label;     /* found: of the piece */
    int64_t found, room;
    int64_t base; /* numbers found by the slabs before */
} slab;

typedef struct {
    int32_t *labels;
    int64_t nx, ny, nz;
    bool along[3]; /* are neighbours along an axis connected? */
} grid;

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

static bool resize(slab *s, int64_t room)
{
    int32_t *parent = realloc(s->parent, (size_t)room * sizeof *parent);
    if (parent) s->parent = parent;
    int32_t *label = realloc(s->label, (size_t)room * sizeof *label);
    if (label) s->label = label;
    if (!parent || !label) return false;
    s->room = room;
    return true;
}

static int32_t new_number(slab *s, int32_t label)
{
    if (s->found == s->room) {
        const int64_t room = s->room ? s->room + s->room / 2 : 256;
        if (room > INT32_MAX) return -1;
        if (!resize(s, room)) return -1;
    }
    s->parent[s->found] = (int32_t)s->found;
    s->label[s->found] = label;
    return (int32_t)s->found++;
}

/*
 * The piece that voxels x..end-1 of a row meet in a row before, which holds numbers plus 1 already;
 * joined to `number` where that is not -1. Returns number or the piece met, the lower.
 */
static int32_t meet(slab *s, const int32_t *before, int64_t x, int64_t end, int32_t label,
                    int32_t number)
{
    for (int32_t last = 0; x < end; x++) {
        const int32_t other = before[x];
        if (other == last) continue;
        last = other;
        if (other == 0 || s->label[other - 1] != label) continue;
        number = number < 0 ? root_of(s->parent, other - 1) : join(s->parent, number, other - 1);
    }
    return number;
}

static bool scan_row(const grid *g, slab *s, int64_t row)
{
    const int64_t y = row % g->ny, nx = g->nx;
    int32_t *labels = g->labels + row * nx;
    const bool above = g->along[1] && y > 0 && row - 1 >= s->first;
    const bool behind = g->along[2] && row - g->ny >= s->first;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int32_t label = labels[x];
        end = g->along[0] || label == 0 ? lob_label_run_end(labels, x, nx) : x + 1;
        if (label == 0) continue;
        int32_t number = -1;
        if (above) number = meet(s, labels - nx, x, end, label, number);
        if (behind) number = meet(s, labels - g->ny * nx, x, end, label, number);
        if (number < 0) number = new_number(s, label);
        if (number < 0) return false;
        for (int64_t i = x; i < end; i++) labels[i] = number + 1;
    }
    return true;
}

static const slab *slab_of(const slab *slabs, int64_t row)
{
    while (row >= slabs->end) slabs++;
    return slabs;
}

/* Join across the border between rows of two slabs, all numbers now counted through all slabs. */
static void join_rows(const grid *g, int32_t *parent, const slab *a, int64_t row_a, const slab *b,
                      int64_t row_b)
{
    const int32_t *in_a = g->labels + row_a * g->nx, *in_b = g->labels + row_b * g->nx;
    for (int64_t x = 0; x < g->nx; x++) {
        if (in_a[x] == 0 || in_b[x] == 0 || a->label[in_a[x] - 1] != b->label[in_b[x] - 1])
            continue;
        join(parent, (int32_t)(a->base + in_a[x] - 1), (int32_t)(b->base + in_b[x] - 1));
    }
}

static void join_slabs(const grid *g, int32_t *parent, const slab *slabs, int count)
{
    for (int i = 1; i < count; i++) {
        const slab *s = &slabs[i];
        if (g->along[1] && s->first % g->ny > 0)
            join_rows(g, parent, s, s->first, &slabs[i - 1], s->first - 1);
        for (int64_t row = s->first; g->along[2] && row < s->end && row < s->first + g->ny; row++)
            if (row >= g->ny)
                join_rows(g, parent, s, row, slab_of(slabs, row - g->ny), row - g->ny);
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

static void replace_labels(const grid *g, const slab *slabs, int count, const int32_t *table)
{
#pragma omp parallel for schedule(static, 1) num_threads(count)
    for (int i = 0; i < count; i++) {
        const int32_t *piece = table + slabs[i].base;
        for (int64_t v = slabs[i].first * g->nx; v < slabs[i].end * g->nx; v++)
            if (g->labels[v]) g->labels[v] = piece[g->labels[v] - 1];
    }
}

lob_status lob_pieces_number(int32_t *labels, int64_t *pieces, const lob_supervoxel_rule *rule,
                             int threads, lob_budget *budget, lob_stages *stages, lob_error *error)
{
    grid g = {.labels = labels, .nx = rule->side[0], .ny = rule->side[1], .nz = rule->side[2]};
    const int64_t rows = g.ny * g.nz;
    const int count = (int)(rows < threads ? rows : threads);
    int64_t found = 0, bytes = 0;
    int32_t *table = NULL;
    bool fits = true;
    for (int a = 0; a < 3; a++) g.along[a] = a != rule->slice_axis;
    slab *slabs = calloc((size_t)count, sizeof *slabs);
    if (!slabs) return LOB_ENOMEM;
    for (int i = 0; i < count; i++) {
        slabs[i].first = rows * i / count;
        slabs[i].end = rows * (i + 1) / count;
    }

    lob_stages_next(stages, rows, 0.93);
#pragma omp parallel for schedule(static, 1) num_threads(count) reduction(&& : fits)
    for (int i = 0; i < count; i++)
        for (int64_t row = slabs[i].first; row < slabs[i].end && fits; row++) {
            if (row % LOB_PIECES_TOLD == 0 && lob_stages_tell(stages, LOB_PIECES_TOLD)) break;
            fits = scan_row(&g, &slabs[i], row);
        }

    lob_status st = !fits ? LOB_ENOMEM : lob_stages_stopped(stages) ? LOB_ECANCEL : LOB_OK;
    for (int i = 0; i < count; i++) {
        if (fits && slabs[i].found > 0) resize(&slabs[i], slabs[i].found);
        slabs[i].base = found;
        found += slabs[i].found;
        bytes += slabs[i].room * (int64_t)(2 * sizeof *table);
    }
    bytes += found * (int64_t)sizeof *table;
    if (st == LOB_OK && found > INT32_MAX - 1)
        st = lob_fail(error, LOB_EDATA,
                      "the supervoxels fall into more pieces than an int32 "
                      "numbers; ask for larger ones");
    if (st == LOB_OK) st = lob_budget_take(budget, bytes, error);
    if (st == LOB_OK) {
        table = malloc((size_t)(found ? found : 1) * sizeof *table);
        if (!table) st = LOB_ENOMEM;
    }
    if (st == LOB_OK) {
        for (int i = 0; i < count; i++)
            for (int64_t k = 0; k < slabs[i].found; k++)
                table[slabs[i].base + k] = (int32_t)(slabs[i].base + slabs[i].parent[k]);
        join_slabs(&g, table, slabs, count);
        *pieces = number_roots(table, found);
        replace_labels(&g, slabs, count, table);
        lob_budget_give(budget, bytes);
    }
    for (int i = 0; i < count; i++) free(slabs[i].parent), free(slabs[i].label);
    free(slabs);
    free(table);
    return st;
}
