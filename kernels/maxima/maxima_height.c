/*
 * Heights of maxima: from each one the voxels above m - h are visited, the highest first, until one
 * is higher than the maximum itself, or none is left. Summits of maxima that stay do not overlap,
 * but for those of equal value; the others are left soon, since the way leads upwards.
 */
#include "kernels/maxima/maxima_steps.h"
#include "volumes/free.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double value;
    int64_t voxel;
} step;

/* What a thread visits: a heap of voxels to go on from, and a hash table of those seen. */
typedef struct {
    step *heap;
    int64_t waiting, heap_size;
    int64_t *seen; /* voxel + 1; 0: free */
    int64_t count, seen_size;
} visit;

enum { FIRST_SIZE = 1024 };

/* Make room for one more in the heap. */
static bool grow_heap(visit *v)
{
    if (v->waiting < v->heap_size) return true;
    const int64_t size = v->heap_size ? 2 * v->heap_size : FIRST_SIZE;
    step *const larger = realloc(v->heap, (size_t)size * sizeof *larger);
    if (!larger) return false;
    v->heap = larger;
    v->heap_size = size;
    return true;
}

static bool push(visit *v, step s)
{
    if (!grow_heap(v)) return false;
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

static int64_t *place_of(const visit *v, int64_t voxel)
{
    uint64_t at = (uint64_t)voxel * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    for (;; at++) {
        int64_t *const place = &v->seen[at & (uint64_t)(v->seen_size - 1)];
        if (*place == 0 || *place == voxel + 1) return place;
    }
}

/* A table at most half full. */
static bool grow_seen(visit *v)
{
    visit larger = *v;
    if (2 * v->count < v->seen_size) return true;
    larger.seen_size = v->seen_size ? 2 * v->seen_size : FIRST_SIZE;
    larger.seen = calloc((size_t)larger.seen_size, sizeof *larger.seen);
    if (!larger.seen) return false;
    for (int64_t i = 0; i < v->seen_size; i++)
        if (v->seen[i]) *place_of(&larger, v->seen[i] - 1) = v->seen[i];
    free(v->seen);
    *v = larger;
    return true;
}

/* Remember a voxel. Returns 1 when it is new, 0 when not, -1 without memory. */
static int see(visit *v, int64_t voxel)
{
    if (!grow_seen(v)) return -1;
    int64_t *const place = place_of(v, voxel);
    if (*place) return 0;
    *place = voxel + 1;
    v->count++;
    return 1;
}

/* Returns 1 when the maximum is high enough, 0 when not, -1 without memory. */
static int is_high(visit *v, const lob_maxima_call *c, const lob_maximum *m)
{
    const double floor_value = m->value - c->options->height;
    v->waiting = 0;
    if (v->count > 0) memset(v->seen, 0, (size_t)v->seen_size * sizeof *v->seen);
    v->count = 0;
    if (see(v, m->first) < 0 || !push(v, (step){m->value, m->first})) return -1;
    while (v->waiting > 0) {
        int64_t neighbour[LOB_MOST_NEIGHBOURS];
        const int n = lob_maxima_neighbours(neighbour, c, pop(v).voxel);
        for (int k = 0; k < n; k++) {
            const double value = lob_maxima_value(c, neighbour[k]);
            if (!(value > floor_value)) continue;
            if (value > m->value) return 0;
            const int is_new = see(v, neighbour[k]);
            if (is_new < 0 || (is_new && !push(v, (step){value, neighbour[k]}))) return -1;
        }
    }
    return 1;
}

lob_status lob_maxima_heights(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out)
{
    const lob_maximum *const maxima = out->maxima;
    const int64_t count = out->count;
    double highest = -INFINITY;
    atomic_int failed = 0;
    for (int64_t m = 0; m < count; m++) highest = fmax(highest, maxima[m].value);
#pragma omp parallel num_threads(c->context->threads)
    {
        visit v = {0};
#pragma omp for schedule(dynamic, 64)
        for (int64_t m = 0; m < count; m++) {
            if (atomic_load_explicit(&failed, memory_order_relaxed)) continue;
            const int high = maxima[m].value == highest ? 1 : is_high(&v, c, &maxima[m]);
            if (high < 0) atomic_store(&failed, 1);
            keep[m] = high == 1;
        }
        LOB_FREE(v.heap, v.seen);
    }
    if (failed) return lob_fail(c->error, LOB_ENOMEM, "no memory for the heights of maxima");
    return LOB_OK;
}
