/* The labels of a tile's neighbourhood and where they are, listed by the block that filters it. */
#ifndef LOB_MAJORITY_LIST_CUH
#define LOB_MAJORITY_LIST_CUH

#include "kernels/labels/majority/majority_tiles.cuh"

namespace lob::labels
{

enum {
    LISTED = TILE_THREADS,     /* places of a list: each is a thread's */
    MOST_PROBES = 32,          /* for a label's place */
    MOST_NEAR = (1 << 22) - 1, /* voxels of a label that count in its turn */
};

/* Rows and planes of the neighbourhood that hold a label: the first and the last. */
typedef struct {
    int32_t row[2], plane[2];
} label_span;

/* The labels of a neighbourhood, hashed; in shared memory. */
typedef struct {
    int32_t label[LISTED]; /* -1: none */
    label_span span[LISTED];
    int32_t near[LISTED]; /* voxels in rows that are near the tile */
    int32_t full;         /* a label found no place */
} label_list;

/* A thread takes its place of the list. A barrier has to follow. */
static __device__ void begin_list(label_list &list)
{
    const int i = (int)threadIdx.x;
    list.label[i] = -1;
    list.span[i] = {
        {INT32_MAX, -1},
        {INT32_MAX, -1}
    };
    list.near[i] = 0;
    if (i == 0) list.full = 0;
}

/* Add n voxels of a label in a row of a plane. */
static __device__ void add_to_list(label_list &list, int32_t label, int32_t row, int32_t plane,
                                   int32_t n)
{
    uint32_t at = (uint32_t)label * 2654435761u >> 24;
    for (int probe = 0; probe < MOST_PROBES; probe++, at = (at + 1) % LISTED) {
        const int32_t there = atomicCAS(&list.label[at], -1, label);
        if (there != -1 && there != label) continue;
        atomicMin(&list.span[at].row[0], row);
        atomicMax(&list.span[at].row[1], row);
        atomicMin(&list.span[at].plane[0], plane);
        atomicMax(&list.span[at].plane[1], plane);
        if (n > 0) atomicAdd(&list.near[at], n);
        return;
    }
    atomicOr(&list.full, 1);
}

/* A warp adds what its lanes have read of a row, but for one label; -1 is outside. */
static __device__ void list_row(label_list &list, int32_t its, int32_t but, int32_t row,
                                int32_t plane, bool near)
{
    const int lane = (int)threadIdx.x % WARP;
    const int32_t before = __shfl_up_sync(ALL_LANES, its, 1);
    const bool begins = lane == 0 || before != its;
    const uint32_t beginnings = __ballot_sync(ALL_LANES, begins);
    if (!begins || its == but || its < 0) return;
    const uint32_t later = lane == WARP - 1 ? 0 : beginnings >> (lane + 1);
    add_to_list(list, its, row, plane, near ? later ? __ffs((int)later) : WARP - lane : 0);
}

/* The labels of a tile, in turn. */
typedef struct {
    int32_t label;
    bool last; /* no other is left */
    bool none; /* nothing was left before */
    label_span span;
} label_turn;

/*
 * The next label of the list. `mine`, of each thread: how often the label at its place occurs near
 * the tile and the place itself, in one number; -1 if there is none, or its turn is over.
 */
static __device__ label_turn next_of_list(const label_list &list, int32_t *mine)
{
    label_range r = {INT32_MAX, -1};
    if (*mine >= 0) r = {*mine, *mine};
    r = range_of_block(r);
    label_turn next = {};
    next.none = r.high < 0;
    if (next.none) return next;
    const int place = r.high % LISTED;
    next.label = list.label[place];
    next.span = list.span[place];
    next.last = r.low == r.high;
    if ((int)threadIdx.x == place) *mine = -1;
    return next;
}

static __device__ int32_t mine_of_list(const label_list &list)
{
    const int i = (int)threadIdx.x;
    return list.label[i] < 0 ? -1 : min(list.near[i], (int32_t)MOST_NEAR) * LISTED + i;
}

} /* namespace lob::labels */

#endif
