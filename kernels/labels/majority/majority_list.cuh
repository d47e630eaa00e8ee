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

/* A label that a warp has met, and where; a lane has one of them. */
typedef struct {
    int32_t label; /* -1: none */
    label_span span;
    int32_t near;
} label_met;

static __device__ label_met nothing_met()
{
    return {
        -1, {{INT32_MAX, -1}, {INT32_MAX, -1}},
         0
    };
}

static __device__ void add_to_list(label_list &list, const label_met &met)
{
    uint32_t at = (uint32_t)met.label * 2654435761u >> 24;
    for (int probe = 0; met.label >= 0 && probe < MOST_PROBES; probe++, at = (at + 1) % LISTED) {
        const int32_t there = atomicCAS(&list.label[at], -1, met.label);
        if (there != -1 && there != met.label) continue;
        atomicMin(&list.span[at].row[0], met.span.row[0]);
        atomicMax(&list.span[at].row[1], met.span.row[1]);
        atomicMin(&list.span[at].plane[0], met.span.plane[0]);
        atomicMax(&list.span[at].plane[1], met.span.plane[1]);
        atomicAdd(&list.near[at], met.near);
        return;
    }
    if (met.label >= 0) atomicOr(&list.full, 1);
}

/* A warp has read a row, or 32 voxels of it: take in the labels above one. Lane n has the label
 * that was met last of those that are n beyond a multiple of 32; what was before goes into the
 * list. */
static __device__ void meet_labels(label_list &list, label_met &mine, int32_t its, int32_t above,
                                   int32_t row, int32_t plane, bool near)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t left = __ballot_sync(ALL_LANES, its > above);
    while (left) {
        const int32_t label = __shfl_sync(ALL_LANES, its, __ffs((int)left) - 1);
        const uint32_t holds = __ballot_sync(ALL_LANES, its == label);
        left &= ~holds;
        if (lane != label % WARP) continue;
        if (mine.label != label) {
            add_to_list(list, mine);
            mine = nothing_met();
            mine.label = label;
        }
        mine.span.row[0] = min(mine.span.row[0], row);
        mine.span.row[1] = max(mine.span.row[1], row);
        mine.span.plane[0] = min(mine.span.plane[0], plane);
        mine.span.plane[1] = max(mine.span.plane[1], plane);
        if (near) mine.near += __popc(holds);
    }
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
