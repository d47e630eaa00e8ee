/*
 * Heights of maxima: from each one the voxels above m - h are visited, the highest first, until one
 * is higher than the maximum itself, or none is left. Summits of maxima that stay do not overlap,
 * but for those of equal value; the others are left soon, since the way leads upwards.
 *
 * Ranks visit their own planes, and tell the rank beside them where a visit goes on that has met
 * nothing higher so far. What they have seen they keep until all visits have come to an end.
 */
#include "kernels/maxima/maxima_steps.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double value;
    int64_t voxel;
} step;

/* A hash table of voxels, at most half full. */
typedef struct {
    int64_t *of; /* voxel + 1; 0: free */
    int64_t count, size;
} voxel_set;

/* What a thread visits: a heap of voxels to go on from, those seen, and those of other ranks. */
typedef struct {
    step *heap;
    int64_t waiting, room;
    voxel_set seen;
    int64_t *beyond;
    int64_t crossings;
} visit;

static bool push(visit *v, step s)
{
    if (v->waiting == v->room) {
        if (!lob_grow(&v->heap, v->room, sizeof *v->heap)) return false;
        v->room = v->room ? 2 * v->room : 1;
    }
    int64_t at = v->waiting++;
    for (; at > 0 && v->heap[(at - 1) / 2].value < s.value; at = (at - 1) / 2)
        v->heap[at] = v->heap[(at - 1) / 2];
    v->heap[at] = s;
    return true;
}

static step pop(visit *v)
{
    const step top = v->heap[0], last = v->heap[--v->waiting];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child + 1 < v->waiting && v->heap[child + 1].value > v->heap[child].value) child++;
        if (child >= v->waiting || v->heap[child].value <= last.value) break;
        v->heap[at] = v->heap[child];
        at = child;
    }
    v->heap[at] = last;
    return top;
}

static int64_t *place_of(const voxel_set *set, int64_t voxel)
{
    uint64_t at = (uint64_t)voxel * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    for (;; at++) {
        int64_t *const place = &set->of[at & (uint64_t)(set->size - 1)];
        if (*place == 0 || *place == voxel + 1) return place;
    }
}

/* A copy in a table of so many places, a power of two. */
static bool copy_set(voxel_set *copy, const voxel_set *set, int64_t size)
{
    *copy = (voxel_set){calloc((size_t)size, sizeof *copy->of), set->count, size};
    if (!copy->of) return false;
    for (int64_t i = 0; i < set->size; i++)
        if (set->of[i]) *place_of(copy, set->of[i] - 1) = set->of[i];
    return true;
}

/* Remember a voxel. Returns 1 when it is new, 0 when not, -1 without memory. */
static int see(voxel_set *set, int64_t voxel)
{
    enum { FIRST_SIZE = 1024 };
    if (2 * set->count >= set->size) {
        voxel_set larger;
        if (!copy_set(&larger, set, set->size ? 2 * set->size : FIRST_SIZE)) return -1;
        free(set->of);
        *set = larger;
    }
    int64_t *const place = place_of(set, voxel);
    if (*place) return 0;
    *place = voxel + 1;
    set->count++;
    return 1;
}

/* Does a new voxel, above the floor, have room among those to go on from? */
static bool enter(visit *v, const lob_maxima_call *c, int64_t voxel, double value)
{
    const int is_new = see(&v->seen, voxel);
    if (is_new < 1) return is_new == 0;
    if (voxel >= c->first && voxel < c->end) return push(v, (step){value, voxel});
    if (!lob_grow(&v->beyond, v->crossings, sizeof *v->beyond)) return false;
    v->beyond[v->crossings++] = voxel;
    return true;
}

/* Visit all that this rank has. Returns 1 where nothing is higher than the maximum, 0 where
 * something is, -1 without memory. */
static int go_on(visit *v, const lob_maxima_call *c, double top)
{
    const double floor_value = top - c->options->height;
    while (v->waiting > 0) {
        int64_t neighbour[LOB_MOST_NEIGHBOURS];
        const int n = lob_maxima_neighbours(neighbour, c, pop(v).voxel);
        for (int k = 0; k < n; k++) {
            const double value = lob_maxima_value(c, neighbour[k]);
            if (!(value > floor_value)) continue;
            if (value > top) return 0;
            if (!enter(v, c, neighbour[k], value)) return -1;
        }
    }
    return 1;
}

/* ---- visits of several ranks ---- */

/* Where the visit of a maximum goes on: a voxel of the whole volume. */
typedef struct {
    int64_t maximum, voxel;
} visit_entry;

typedef struct {
    lob_maxima_call *call;
    const lob_maximum *maxima;
    uint8_t *keep;
    voxel_set *left;       /* of each maximum: what this rank has seen, for other ranks to go on;
                              NULL: there are none */
    visit_entry *tells[2]; /* to the rank before and the one behind */
    int64_t told[2];
} heights;

/* Tell the ranks beside this one where a visit goes on. */
static bool tell(heights *h, int64_t maximum, const visit *v)
{
    const lob_maxima_call *const c = h->call;
    bool ok = true;
#pragma omp critical(lob_maxima_tell)
    for (int64_t i = 0; i < v->crossings && ok; i++) {
        const int side = v->beyond[i] >= c->end;
        ok = lob_grow(&h->tells[side], h->told[side], sizeof **h->tells);
        if (ok) h->tells[side][h->told[side]++] = (visit_entry){maximum, v->beyond[i] + c->origin};
    }
    return ok;
}

/* What has been seen stays where others may go on. */
static bool leave(voxel_set *left, const voxel_set *seen)
{
    int64_t size = 4;
    while (size <= 2 * seen->count) size *= 2;
    return copy_set(left, seen, size);
}

/* Visit a maximum from n entries. */
static bool visit_one(heights *h, visit *v, const visit_entry *entries, int64_t n)
{
    const lob_maxima_call *const c = h->call;
    const int64_t m = entries->maximum;
    const double top = h->maxima[m].value;
    voxel_set *const left = h->left ? &h->left[m] : NULL, own = v->seen;
    const bool again = left && left->of;
    if (!h->keep[m]) return true;
    v->waiting = v->crossings = 0;
    if (again) {
        v->seen = *left;
    } else if (v->seen.count > 0) {
        memset(v->seen.of, 0, (size_t)v->seen.size * sizeof *v->seen.of);
        v->seen.count = 0;
    }
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        const int64_t voxel = entries[i].voxel - c->origin;
        ok = enter(v, c, voxel, lob_maxima_value(c, voxel));
    }
    const int high = ok ? go_on(v, c, top) : -1;
    h->keep[m] = high == 1;
    if (again) {
        if (high != 1) free(v->seen.of); /* nobody goes on from it */
        *left = high == 1 ? v->seen : (voxel_set){0};
        v->seen = own;
    }
    if (high != 1 || v->crossings == 0) return high >= 0;
    return tell(h, m, v) && (again || leave(left, &v->seen));
}

/* Visit from all entries, which are in the order of maxima. */
static lob_status visit_all(heights *h, const visit_entry *entries, int64_t n)
{
    atomic_int failed = 0;
#pragma omp parallel num_threads(h->call->context->threads)
    {
        visit v = {0};
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < n; i++) {
            int64_t end = i + 1;
            if (i > 0 && entries[i - 1].maximum == entries[i].maximum) continue;
            if (atomic_load_explicit(&failed, memory_order_relaxed)) continue;
            while (end < n && entries[end].maximum == entries[i].maximum) end++;
            if (!visit_one(h, &v, entries + i, end - i)) atomic_store(&failed, 1);
        }
        LOB_FREE(v.heap, v.seen.of, v.beyond);
    }
    if (!failed) return LOB_OK;
    return lob_fail(h->call->error, LOB_ENOMEM, "no memory for the heights of maxima");
}

/* The maxima that this rank begins with: those of its own planes. The highest needs no visit. */
static int64_t begin(const heights *h, visit_entry *entries, int64_t count)
{
    const lob_maxima_call *const c = h->call;
    double highest = -INFINITY;
    int64_t n = 0;
    for (int64_t m = 0; m < count; m++) highest = fmax(highest, h->maxima[m].value);
    for (int64_t m = 0; m < count; m++) {
        const int64_t first = h->maxima[m].first, here = first - c->origin;
        if (h->keep[m] && h->maxima[m].value != highest && here >= c->first && here < c->end)
            entries[n++] = (visit_entry){m, first};
    }
    return n;
}

/* Tell and hear where visits go on; entries become what is heard. any: whether somebody told. */
static lob_status swap(heights *h, visit_entry **entries, int64_t *n, bool *any)
{
    lob_team *const team = h->call->team;
    lob_team_news news[2];
    for (int k = 0; k < 2; k++)
        news[k] = (lob_team_news){.is_there = k ? lob_team_rank(team) + 1 < lob_team_size(team)
                                                : lob_team_rank(team) > 0,
                                  .tells = h->tells[k],
                                  .told = h->told[k]};
    lob_status st = lob_team_swap(news, sizeof **entries, any, team, NULL, h->call->error);
    h->told[0] = h->told[1] = 0;
    LOB_FREE(h->tells[0], h->tells[1], *entries);
    h->tells[0] = h->tells[1] = NULL;
    *n = st == LOB_OK ? news[0].heard + news[1].heard : 0;
    *entries = malloc((size_t)*n * sizeof **entries + 1);
    if (st == LOB_OK && !*entries)
        st = lob_fail(h->call->error, LOB_ENOMEM, "no memory for the heights of maxima");
    for (int64_t k = 0, at = 0; k < 2 && st == LOB_OK && *any; at += news[k++].heard)
        if (news[k].heard > 0)
            memcpy(*entries + at, news[k].hears, (size_t)news[k].heard * sizeof **entries);
    LOB_FREE(news[0].hears, news[1].hears);
    if (*n > 0 && st == LOB_OK) qsort(*entries, (size_t)*n, sizeof **entries, lob_by_int64);
    return st;
}

lob_status lob_maxima_heights(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out)
{
    const int64_t count = out->count, sets = c->team ? count : 0;
    heights h = {.call = c, .maxima = out->maxima, .keep = keep};
    visit_entry *entries = malloc((size_t)count * sizeof *entries + 1);
    bool any = c->team != NULL;
    lob_status st =
        entries ? LOB_OK : lob_fail(c->error, LOB_ENOMEM, "no memory for the heights of maxima");
    if (st == LOB_OK && c->team)
        st = lob_budget_calloc(&c->budget, &h.left, sets, sizeof *h.left, c->error);
    int64_t n = st == LOB_OK ? begin(&h, entries, count) : 0;
    if (st == LOB_OK) st = visit_all(&h, entries, n);
    while (st == LOB_OK && any) {
        st = swap(&h, &entries, &n, &any);
        if (st == LOB_OK && any) st = visit_all(&h, entries, n);
    }
    for (int64_t m = 0; h.left && m < sets; m++) free(h.left[m].of);
    lob_budget_free(&c->budget, h.left, sets, sizeof *h.left);
    LOB_FREE(entries, h.tells[0], h.tells[1]);
    return st;
}
