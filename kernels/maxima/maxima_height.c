/*
 * Heights of maxima: from each one the voxels above m - h are visited, the highest first, until one
 * is higher than the maximum itself, or none is left. Summits of maxima that stay do not overlap,
 * but for those of equal value: these have one summit, so that a visit ends at the first voxel of
 * such a maximum with a smaller number, and follows it. The others are left soon, since the way
 * leads upwards.
 *
 * Ranks visit their own planes, and tell the rank beside them where a visit goes on that has met
 * nothing higher so far. What they have seen they keep until all visits have come to an end.
 */
#include "kernels/maxima/maxima_steps.h"
#include "volumes/lists.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double value;
    int64_t voxel;
} step;

/* A hash table of voxels, at most half full, of FIRST_SIZE or more places in a visit. */
enum { FIRST_SIZE = 1024 };

typedef struct {
    int64_t *of; /* voxel + 1; 0: free */
    int64_t count, size;
} voxel_set;

/* What a thread visits: a heap of voxels to go on from, those seen, and those of other ranks. */
typedef struct {
    lob_maxima_call *call;
    step *heap;
    int64_t waiting, room;
    voxel_set seen;
    int64_t *beyond;
    int64_t crossings, beyond_room;
} visit;

/* ---- memory, which all threads count in the call's budget ---- */

/* All bytes are 0. */
static bool take(lob_maxima_call *c, void *block, int64_t count, size_t each)
{
    lob_status st;
#pragma omp critical(lob_maxima_memory)
    st = lob_budget_calloc(&c->budget, block, count, each, c->error);
    return st == LOB_OK;
}

static void give(lob_maxima_call *c, void *block, int64_t count, size_t each)
{
#pragma omp critical(lob_maxima_memory)
    lob_budget_free(&c->budget, block, count, each);
}

/* Room for one more than count elements of a list. */
static bool make_room(lob_maxima_call *c, void *list, int64_t count, int64_t *room, size_t each)
{
    enum { FIRST_ROOM = 64 };
    const int64_t more = *room ? 2 * *room : FIRST_ROOM;
    void **const of = list, *larger;
    if (count < *room) return true;
    if (!take(c, &larger, more, each)) return false;
    if (count > 0) memcpy(larger, *of, (size_t)count * each);
    give(c, *of, *room, each);
    *of = larger;
    *room = more;
    return true;
}

/* ---- a visit ---- */

static bool push(visit *v, step s)
{
    if (!make_room(v->call, &v->heap, v->waiting, &v->room, sizeof *v->heap)) return false;
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
static bool copy_set(voxel_set *copy, const voxel_set *set, int64_t size, lob_maxima_call *c)
{
    *copy = (voxel_set){.count = set->count, .size = size};
    if (!take(c, &copy->of, size, sizeof *copy->of)) return false;
    for (int64_t i = 0; i < set->size; i++)
        if (set->of[i]) *place_of(copy, set->of[i] - 1) = set->of[i];
    return true;
}

static void free_set(voxel_set *set, lob_maxima_call *c)
{
    give(c, set->of, set->size, sizeof *set->of);
    *set = (voxel_set){0};
}

/* Remember a voxel. Returns 1 when it is new, 0 when not, -1 without memory. */
static int see(visit *v, int64_t voxel)
{
    voxel_set *const set = &v->seen;
    if (2 * set->count >= set->size) {
        voxel_set larger;
        if (!copy_set(&larger, set, set->size ? 2 * set->size : FIRST_SIZE, v->call)) return -1;
        free_set(set, v->call);
        *set = larger;
    }
    int64_t *const place = place_of(set, voxel);
    if (*place) return 0;
    *place = voxel + 1;
    set->count++;
    return 1;
}

/* Does a new voxel, above the floor, have room among those to go on from? */
static bool enter(visit *v, int64_t voxel, double value)
{
    const lob_maxima_call *const c = v->call;
    const int is_new = see(v, voxel);
    if (is_new < 1) return is_new == 0;
    if (voxel >= c->first && voxel < c->end) return push(v, (step){value, voxel});
    if (!make_room(v->call, &v->beyond, v->crossings, &v->beyond_room, sizeof *v->beyond))
        return false;
    v->beyond[v->crossings++] = voxel;
    return true;
}

/* ---- visits of several ranks ---- */

/* Where the visit of a maximum goes on: a voxel of the whole volume. */
typedef struct {
    int64_t maximum, voxel;
} visit_entry;

typedef struct {
    lob_maxima_call *call;
    const lob_maximum *maxima;
    int64_t count;
    uint8_t *keep;
    int32_t *follows;     /* as lob_maxima_visit */
    voxel_set *left;      /* of each maximum: what this rank has seen, for other ranks to go on;
                             NULL: there are none */
    visit_entry *entries; /* where visits begin or go on */
    int64_t entered, room;
    visit_entry *tells[2]; /* to the rank before and the one behind */
    int64_t told[2], tell_room[2];
} heights;

/* The maximum, counted from 1, that begins with a voxel of the whole volume; 0: none. */
static int32_t begins_with(const heights *h, int64_t voxel)
{
    int64_t low = 0, high = h->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (h->maxima[middle].first < voxel)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->count && h->maxima[low].first == voxel ? (int32_t)low + 1 : 0;
}

/* Visit all that this rank has. Returns 1 where nothing is higher than the maximum, 0 where
 * something is or another maximum knows, -1 without memory. */
static int go_on(heights *h, visit *v, int64_t m)
{
    const lob_maxima_call *const c = v->call;
    const double top = h->maxima[m].value, floor_value = top - c->options->height;
    while (v->waiting > 0) {
        int64_t neighbour[LOB_MOST_NEIGHBOURS];
        const int n = lob_maxima_neighbours(neighbour, c, pop(v).voxel);
        for (int k = 0; k < n; k++) {
            const double value = lob_maxima_value(c, neighbour[k]);
            const int64_t voxel = neighbour[k] + c->origin;
            if (!(value > floor_value)) continue;
            if (value > top) h->keep[m] = 0;
            if (value == top && voxel < h->maxima[m].first) h->follows[m] = begins_with(h, voxel);
            if (!h->keep[m] || h->follows[m]) return 0;
            if (!enter(v, neighbour[k], value)) return -1;
        }
    }
    return 1;
}

/* Tell the ranks beside this one where a visit goes on. */
static bool tell(heights *h, int64_t maximum, const visit *v)
{
    lob_maxima_call *const c = h->call;
    bool ok = true;
#pragma omp critical(lob_maxima_tell)
    for (int64_t i = 0; i < v->crossings && ok; i++) {
        const int side = v->beyond[i] >= c->end;
        ok = make_room(c, &h->tells[side], h->told[side], &h->tell_room[side], sizeof **h->tells);
        if (ok) h->tells[side][h->told[side]++] = (visit_entry){maximum, v->beyond[i] + c->origin};
    }
    return ok;
}

/* What has been seen stays where others may go on. */
static bool leave(voxel_set *left, const voxel_set *seen, lob_maxima_call *c)
{
    int64_t size = 4;
    while (size <= 2 * seen->count) size *= 2;
    return copy_set(left, seen, size, c);
}

/* Visit a maximum from n entries. */
static bool visit_one(heights *h, visit *v, const visit_entry *entries, int64_t n)
{
    lob_maxima_call *const c = h->call;
    const int64_t m = entries->maximum;
    voxel_set *const left = h->left ? &h->left[m] : NULL, own = v->seen;
    const bool again = left && left->of;
    if (!h->keep[m] || h->follows[m]) return true;
    v->waiting = v->crossings = 0;
    if (again) {
        v->seen = *left;
    } else if (v->seen.size > FIRST_SIZE) {
        free_set(&v->seen, c); /* a far visit is rare, and clearing its table is not cheap */
    } else if (v->seen.count > 0) {
        memset(v->seen.of, 0, (size_t)v->seen.size * sizeof *v->seen.of);
        v->seen.count = 0;
    }
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        const int64_t voxel = entries[i].voxel - c->origin;
        ok = enter(v, voxel, lob_maxima_value(c, voxel));
    }
    const int on = ok ? go_on(h, v, m) : -1;
    if (again) {
        if (on != 1) free_set(&v->seen, c); /* nobody goes on from it */
        *left = v->seen;
        v->seen = own;
    }
    if (on != 1 || v->crossings == 0) return on >= 0;
    return tell(h, m, v) && (again || leave(left, &v->seen, c));
}

/* Visit from all entries, which are in the order of maxima. */
static lob_status visit_all(heights *h)
{
    const visit_entry *const entries = h->entries;
    const int64_t n = h->entered;
    atomic_int failed = 0;
#pragma omp parallel num_threads(h->call->context->threads)
    {
        visit v = {.call = h->call};
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < n; i++) {
            int64_t end = i + 1;
            if (i > 0 && entries[i - 1].maximum == entries[i].maximum) continue;
            if (atomic_load_explicit(&failed, memory_order_relaxed)) continue;
            while (end < n && entries[end].maximum == entries[i].maximum) end++;
            if (!visit_one(h, &v, entries + i, end - i)) atomic_store(&failed, 1);
        }
        give(h->call, v.heap, v.room, sizeof *v.heap);
        give(h->call, v.beyond, v.beyond_room, sizeof *v.beyond);
        free_set(&v.seen, h->call);
    }
    return failed ? LOB_ENOMEM : LOB_OK;
}

/* The maxima that this rank begins with: those of its own planes. The highest needs no visit. */
static void begin(heights *h, int64_t count)
{
    const lob_maxima_call *const c = h->call;
    double highest = -INFINITY;
    for (int64_t m = 0; m < count; m++) highest = fmax(highest, h->maxima[m].value);
    for (int64_t m = 0; m < count; m++) {
        const int64_t first = h->maxima[m].first, here = first - c->origin;
        if (h->keep[m] && h->maxima[m].value != highest && here >= c->first && here < c->end)
            h->entries[h->entered++] = (visit_entry){m, first};
    }
}

/* Entries become what is heard. */
static lob_status enter_heard(heights *h, const lob_team_news news[2])
{
    lob_maxima_call *const c = h->call;
    const int64_t n = news[0].heard + news[1].heard;
    visit_entry *to;
    h->entered = 0;
    if (n == 0) return LOB_OK;
    if (n > h->room) {
        give(c, h->entries, h->room, sizeof *h->entries);
        h->entries = NULL;
        h->room = 0;
        LOB_TRY(lob_budget_alloc(&c->budget, &h->entries, n, sizeof *h->entries, c->error));
        h->room = n;
    }
    to = h->entries;
    for (int k = 0; k < 2; to += news[k++].heard)
        if (news[k].heard > 0) memcpy(to, news[k].hears, (size_t)news[k].heard * sizeof *to);
    h->entered = n;
    qsort(h->entries, (size_t)n, sizeof *h->entries, lob_by_int64);
    return LOB_OK;
}

/* Tell and hear where visits go on. any: whether somebody told. */
static lob_status swap(heights *h, bool *any)
{
    lob_maxima_call *const c = h->call;
    lob_team *const team = c->team;
    lob_team_news news[2];
    for (int k = 0; k < 2; k++)
        news[k] = (lob_team_news){.is_there = k ? lob_team_rank(team) + 1 < lob_team_size(team)
                                                : lob_team_rank(team) > 0,
                                  .tells = h->tells[k],
                                  .told = h->told[k],
                                  .budget = &c->budget};
    lob_status st = lob_team_swap(news, sizeof *h->entries, any, team, NULL, c->error);
    h->told[0] = h->told[1] = 0;
    if (st == LOB_OK && *any) st = enter_heard(h, news);
    for (int k = 0; k < 2; k++) give(c, news[k].hears, news[k].heard, sizeof *h->entries);
    return st;
}

lob_status lob_maxima_visit(lob_maxima_call *c, uint8_t *keep, int32_t *follows,
                            const lob_maxima_output *out)
{
    const int64_t count = out->count, sets = c->team ? count : 0;
    heights h = {.call = c,
                 .maxima = out->maxima,
                 .count = count,
                 .keep = keep,
                 .follows = follows,
                 .room = count};
    bool any = c->team != NULL;
    lob_status st = lob_budget_alloc(&c->budget, &h.entries, count, sizeof *h.entries, c->error);
    if (st == LOB_OK && c->team)
        st = lob_budget_calloc(&c->budget, &h.left, sets, sizeof *h.left, c->error);
    if (st == LOB_OK) begin(&h, count);
    if (st == LOB_OK) st = visit_all(&h);
    while (st == LOB_OK && any) {
        st = swap(&h, &any);
        if (st == LOB_OK && any) st = visit_all(&h);
    }
    for (int64_t m = 0; h.left && m < sets; m++) free_set(&h.left[m], c);
    lob_budget_free(&c->budget, h.left, sets, sizeof *h.left);
    for (int k = 0; k < 2; k++) give(c, h.tells[k], h.tell_room[k], sizeof *h.tells[k]);
    give(c, h.entries, h.room, sizeof *h.entries);
    return st;
}

lob_status lob_maxima_heights(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out)
{
    int32_t *follows = NULL;
    LOB_TRY(lob_budget_calloc(&c->budget, &follows, out->count, sizeof *follows, c->error));
    const lob_status st = lob_maxima_visit(c, keep, follows, out);
    for (int64_t m = 0; m < out->count; m++)
        if (follows[m]) keep[m] &= keep[follows[m] - 1];
    lob_budget_free(&c->budget, follows, out->count, sizeof *follows);
    return st;
}
