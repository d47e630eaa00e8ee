/*
 * Tiles of the majority.
 *
 * Before it, a warp finds the least and the largest label of four bricks of 8x8x8 voxels. A tile
 * whose bricks around it hold one label has that label. Any other takes the least label. If several
 * others are left then, they are listed with the rows and the planes that hold them and taken in
 * turn, those with most voxels near the tile first, until no voxel can change any more. Where more
 * labels occur than a list holds, they are taken in ascending order, and the whole neighbourhood is
 * read for each. For a label its part of the neighbourhood goes through three passes, a group of
 * planes at a time:
 *
 *   along x  a warp reads rows; which of their voxels hold the label are the bits of words, and
 *            tables give the weight of 8 bits at a time
 *   along y  a thread sums 2 radius + 1 rows for its column
 *   along z  and adds the sum to those of its 16 voxels that the plane is within reach of
 */
#include "kernels/device/arena.cuh"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "kernels/labels/majority/majority_list.cuh"
#include "kernels/labels/majority/majority_tiles.cuh"
#include "kernels/labels/majority/majority_voxel.h"

#include <stdlib.h>
#include <string.h>

namespace lob::labels
{

enum {
    BRICK = 8,
    CHUNK = 8,                /* weights along x that one table holds */
    TABLE = 1 << CHUNK,       /* its entries: sums of weights by bits */
    ROWS_AT_ONCE = 4,         /* that a warp reads before it looks at them */
    PLANES_AT_ONCE = 2,       /* that a thread sums along y and z */
    MAX_GROUP = 64,           /* planes: a bit for each two */
    ENOUGH_SHARED = 40 * 1024 /* bytes that a block takes for planes where it could take more; at
                                 the largest radius two planes alone make 72 KiB */
};

static_assert((int)MAX_GROUP == 32 * (int)PLANES_AT_ONCE, "a word has a bit for each two planes");

typedef struct {
    tiled_labels v;
    int32_t radius[3];
    int32_t bricks[3];
    int32_t chunks; /* tables along x */
    int32_t words;  /* of a row of the neighbourhood's bits */
    int32_t rows;   /* of a plane of the neighbourhood, filled up to ROWS_AT_ONCE */
    int32_t planes; /* of the neighbourhood */
    int32_t group;  /* of them at a time */
    bool prefers_own;
    label_range *ranges;       /* of each brick */
    const uint32_t *before[3]; /* sums of weights, as in lob_majority */
    const uint32_t *weight_y;  /* 2 radius + 1 */
    const uint32_t *weight_z;  /* TILE - 1 zeros, 2 radius + 1 weights, TILE zeros */
    const uint16_t *table;     /* chunks * TABLE */
} tile_params;

/* Of a block, in dynamic shared memory. */
typedef struct {
    uint32_t *weight_z, *weight_y;
    uint32_t *bits;        /* [TILE_WARPS][ROWS_AT_ONCE][words] */
    uint32_t *planes_with; /* bit i: planes 2i or 2i + 1 of the group hold the label */
    uint16_t *table;
    uint16_t *rows; /* [group][rows][TILE], sums along x */
} tile_memory;

static __host__ __device__ int32_t depth_of(const tile_params *p)
{
    return p->planes + TILE;
}

static __host__ __device__ int64_t lay_out(tile_memory *t, const tile_params *p, void *memory)
{
    t->weight_z = (uint32_t *)memory; /* which is read by pairs */
    t->weight_y = t->weight_z + depth_of(p);
    t->bits = t->weight_y + p->rows;
    t->planes_with = t->bits + TILE_WARPS * ROWS_AT_ONCE * p->words;
    t->table = (uint16_t *)(t->planes_with + 1);
    t->rows = t->table + p->chunks * TABLE;
    const int64_t words = depth_of(p) + p->rows + TILE_WARPS * ROWS_AT_ONCE * p->words + 1;
    const int64_t halves = p->chunks * TABLE + (int64_t)p->group * p->rows * TILE;
    return words * (int64_t)sizeof(uint32_t) + halves * (int64_t)sizeof(uint16_t);
}

template <typename T> static __device__ int32_t label_at(const tile_params &p, int64_t i)
{
    return ((const T *)p.v.in)[i];
}

/* ---- bricks ---- */

/* A warp takes 32 voxels along x. */
template <typename T> static __global__ void brick_kernel(tile_params p)
{
    enum { BRICKS = WARP / BRICK };
    const int lane = (int)threadIdx.x % WARP;
    const int64_t across = (p.bricks[0] + BRICKS - 1) / BRICKS;
    const int64_t warps = across * p.bricks[1] * p.bricks[2];
    for (int64_t i = grid_first() / WARP; i < warps; i += grid_step() / WARP) {
        const int32_t x = (int32_t)(i % across) * WARP + lane;
        const int32_t by = (int32_t)(i / across % p.bricks[1]);
        const int32_t bz = (int32_t)(i / across / p.bricks[1]);
        const int32_t ny = min(BRICK, p.v.side[1] - by * BRICK);
        const int32_t nz = min(BRICK, p.v.side[2] - bz * BRICK);
        label_range r = {INT32_MAX, 0};
        for (int32_t k = 0; x < p.v.side[0] && k < nz; k++)
#pragma unroll
            for (int32_t j = 0; j < BRICK; j++) {
                const int32_t y = by * BRICK + min(j, ny - 1);
                const int32_t label = label_at<T>(p, voxel_of(p.v, x, y, bz * BRICK + k));
                r.low = min(r.low, label);
                r.high = max(r.high, label);
            }
        for (int apart = BRICK / 2; apart > 0; apart /= 2) {
            r.low = min(r.low, __shfl_xor_sync(ALL_LANES, r.low, apart));
            r.high = max(r.high, __shfl_xor_sync(ALL_LANES, r.high, apart));
        }
        if (lane % BRICK == 0 && x < p.v.side[0])
            p.ranges[((int64_t)bz * p.bricks[1] + by) * p.bricks[0] + x / BRICK] = r;
    }
}

/* The range of the bricks that the neighbourhood of a tile touches. */
static __device__ label_range range_around(const tile_params &p, const tile_place &tile)
{
    int32_t low[3], count[3];
    for (int a = 0; a < 3; a++) {
        low[a] = max(tile.first[a] - p.radius[a], 0) / BRICK;
        const int32_t last = min(tile.first[a] + TILE - 1 + p.radius[a], p.v.side[a] - 1);
        count[a] = last / BRICK - low[a] + 1;
    }
    label_range range = {INT32_MAX, 0};
    for (int32_t i = (int32_t)threadIdx.x; i < count[0] * count[1] * count[2]; i += TILE_THREADS) {
        const int32_t x = low[0] + i % count[0], y = low[1] + i / count[0] % count[1];
        const int32_t z = low[2] + i / count[0] / count[1];
        const label_range its = p.ranges[((int64_t)z * p.bricks[1] + y) * p.bricks[0] + x];
        range.low = min(range.low, its.low);
        range.high = max(range.high, its.high);
    }
    return range_of_block(range);
}

/* ---- the weight of one label ---- */

/* What is asked of a neighbourhood. */
typedef struct {
    int32_t label;
    label_span span;   /* where the label is looked for */
    label_range other; /* the least label above this one, and the largest, as a thread saw it */
} label_search;

/* A lane's voxels of word w of ROWS_AT_ONCE rows of a plane; -1 is outside. */
template <typename T>
static __device__ void read_word(int32_t its[ROWS_AT_ONCE], const tile_params &p,
                                 const int32_t first[3], int32_t w, int32_t row, int32_t plane)
{
    const int32_t x = first[0] - p.radius[0] + w * WARP + (int)threadIdx.x % WARP;
    const int32_t z = first[2] - p.radius[2] + plane;
    const int32_t last_y = first[1] + TILE - 1 + p.radius[1];
    const bool here = x <= first[0] + TILE - 1 + p.radius[0];
#pragma unroll
    for (int q = 0; q < ROWS_AT_ONCE; q++) {
        const int32_t y = first[1] - p.radius[1] + row + q;
        its[q] = -1;
        if (here && y <= last_y && in_volume(p.v, x, y, z))
            its[q] = label_at<T>(p, voxel_of(p.v, x, y, z));
    }
}

/*
 * A warp: which voxels of ROWS_AT_ONCE rows of a plane hold the label, into t.bits. Returns whether
 * any does.
 */
template <typename T>
static __device__ bool find_bits(const tile_memory &t, const tile_params &p, const int32_t first[3],
                                 int32_t row, int32_t plane, label_search *search)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    uint32_t any = 0;
    for (int w = 0; w < p.words; w++) {
        int32_t its[ROWS_AT_ONCE];
        read_word<T>(its, p, first, w, row, plane);
#pragma unroll
        for (int q = 0; q < ROWS_AT_ONCE; q++) {
            const uint32_t bits = __ballot_sync(ALL_LANES, its[q] == search->label);
            if (lane == q) t.bits[(warp * ROWS_AT_ONCE + q) * p.words + w] = bits;
            if (its[q] > search->label) search->other.low = min(search->other.low, its[q]);
            search->other.high = max(search->other.high, its[q]);
            any |= bits;
        }
    }
    return any != 0;
}

/* A warp: the sums along x of the rows that are in t.bits, half a warp each. */
static __device__ void sum_bits(const tile_memory &t, const tile_params &p, uint16_t *rows)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int q = lane / TILE; q < ROWS_AT_ONCE; q += WARP / TILE) {
        const uint32_t *bits = t.bits + (warp * ROWS_AT_ONCE + q) * p.words;
        uint32_t sum = 0;
        for (int c = 0, at = lane % TILE; c < p.chunks; c++, at += CHUNK) {
            const int w = at / WARP;
            const uint32_t high = w + 1 < p.words ? bits[w + 1] : 0;
            const uint32_t window = __funnelshift_r(bits[w], high, at % WARP);
            sum += t.table[c * TABLE + (window & (TABLE - 1))];
        }
        rows[q * TILE + lane % TILE] = (uint16_t)sum;
    }
}

/* The sums along x of a group of planes up to `end`, a warp each, in the rows of the span; notes
 * which of them hold the label. */
template <typename T>
static __device__ void sum_along_x(const tile_memory &t, const tile_params &p,
                                   const int32_t first[3], int32_t plane, int32_t end,
                                   label_search *search)
{
    const int n = min(p.group, end - plane);
    const int32_t *const rows = search->span.row;
    for (int k = (int)threadIdx.x / WARP; k < n; k += TILE_WARPS) {
        bool any = false;
        for (int row = rows[0] / ROWS_AT_ONCE * ROWS_AT_ONCE; row <= rows[1]; row += ROWS_AT_ONCE) {
            any |= find_bits<T>(t, p, first, row, plane + k, search);
            __syncwarp();
            sum_bits(t, p, t.rows + (k * p.rows + row) * TILE);
            __syncwarp();
        }
        if (any && threadIdx.x % WARP == 0) atomicOr(t.planes_with, 1u << k / PLANES_AT_ONCE);
    }
}

/* Sum the group's rows of the span along y for the thread's column, and add that to its voxels. */
static __device__ void sum_along_y_z(uint32_t sum[TILE], const tile_memory &t, const tile_params &p,
                                     int32_t plane, const label_span &span)
{
    const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    const int from = max(span.row[0] - y, 0), to = min(span.row[1] - y, 2 * p.radius[1]);
    for (uint32_t with = *t.planes_with; with; with &= with - 1) {
        const int k = (__ffs((int)with) - 1) * PLANES_AT_ONCE;
        const uint16_t *one = t.rows + (k * p.rows + y) * TILE + x, *two = one + p.rows * TILE;
        uint32_t of_one = 0, of_two = 0;
        for (int j = from; j <= to; j++) {
            of_one += t.weight_y[j] * one[j * TILE];
            of_two += t.weight_y[j] * two[j * TILE];
        }
        uint32_t weight[TILE + 2];
#pragma unroll
        for (int i = 0; i < TILE + 2; i += 2) {
            const uint2 pair = *(const uint2 *)(t.weight_z + plane + k + i);
            weight[i] = pair.x;
            weight[i + 1] = pair.y;
        }
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum[i] += weight[TILE - 1 - i] * of_one + weight[TILE - i] * of_two;
    }
}

/* The label's weight at the thread's voxels. */
template <typename T>
static __device__ void sum_label(uint32_t sum[TILE], const tile_memory &t, const tile_params &p,
                                 const int32_t first[3], label_search *search)
{
    const label_span &span = search->span;
    /* Planes go by twos, and there is an even number of them. */
    const int32_t end = (span.plane[1] | 1) + 1;
    for (int32_t plane = span.plane[0] & ~1; plane < end; plane += p.group) {
        __syncthreads();
        if (threadIdx.x == 0) *t.planes_with = 0;
        __syncthreads();
        sum_along_x<T>(t, p, first, plane, end, search);
        __syncthreads();
        sum_along_y_z(sum, t, p, plane, span);
    }
}

/* ---- tiles ---- */

/* The best label so far of the thread's voxels. */
typedef struct {
    uint32_t left[TILE], best[TILE];
    int32_t label[TILE];
    int32_t inside; /* so many of them lie in the volume, and come first */
} column;

/* Before any label was looked at, every label's weight is to come. */
static __device__ void begin_column(column &c, const tile_params &p, const tile_place &tile)
{
    const uint32_t across = lob_majority_inside(p.before[0], p.radius[0], tile.at[0], p.v.side[0]) *
                            lob_majority_inside(p.before[1], p.radius[1], tile.at[1], p.v.side[1]);
    c.inside = column_length(p.v, tile);
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        c.left[i] =
            across * lob_majority_inside(p.before[2], p.radius[2], tile.at[2] + i, p.v.side[2]);
        c.best[i] = 0;
        c.label[i] = 0;
    }
}

/* Let a label compete; with `last`, all that is left is its. Of equal weights the smallest label
 * wins, whichever is looked at first. Returns whether a voxel may change. */
template <typename T>
static __device__ bool compete(column &c, const uint32_t sum[TILE], bool last, int32_t label,
                               const tile_params &p, const tile_place &tile)
{
    bool open = false;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        const uint32_t weight = last ? c.left[i] : sum[i];
        const bool own =
            p.prefers_own && i < c.inside && c.left[i] > 0 &&
            label_at<T>(p, voxel_of(p.v, tile.at[0], tile.at[1], tile.at[2] + i)) == label;
        const uint32_t key = lob_majority_key(weight, own);
        if (key > c.best[i] || (key == c.best[i] && label < c.label[i])) {
            c.best[i] = key;
            c.label[i] = label;
        }
        c.left[i] -= weight;
        open |= i < c.inside && lob_majority_open(c.left[i], c.best[i], p.prefers_own);
    }
    return open;
}

template <typename T>
static __device__ void write_column(const tile_params &p, const tile_place &tile,
                                    const int32_t label[TILE])
{
    const int32_t inside = column_length(p.v, tile);
#pragma unroll
    for (int i = 0; i < TILE; i++)
        if (i < inside)
            ((T *)p.v.out)[voxel_of(p.v, tile.at[0], tile.at[1], tile.at[2] + i)] = (T)label[i];
}

/* Did a voxel of the column have another label before, which is not the background? */
template <typename T>
static __device__ bool loses_label(const tile_params &p, const tile_place &tile, const column &c)
{
    bool loses = false;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        if (i >= c.inside) continue;
        const int32_t before =
            label_at<T>(p, voxel_of(p.v, tile.at[0], tile.at[1], tile.at[2] + i));
        loses |= before != 0 && before != c.label[i];
    }
    return loses;
}

/* Is row or plane i of an axis of the neighbourhood near the tile? */
static __device__ bool near_tile(int32_t i, int32_t radius)
{
    return i >= radius / 2 && i < TILE + radius + (radius + 1) / 2;
}

/* List the labels of the neighbourhood above one. */
template <typename T>
static __device__ void list_labels(label_list &list, const tile_params &p, const int32_t first[3],
                                   int32_t above)
{
    label_met mine = nothing_met();
    begin_list(list);
    __syncthreads();
    for (int plane = (int)threadIdx.x / WARP; plane < p.planes; plane += TILE_WARPS) {
        const bool near = near_tile(plane, p.radius[2]);
        for (int row = 0; row < p.rows; row += ROWS_AT_ONCE)
            for (int w = 0; w < p.words; w++) {
                int32_t its[ROWS_AT_ONCE];
                read_word<T>(its, p, first, w, row, plane);
#pragma unroll
                for (int q = 0; q < ROWS_AT_ONCE; q++)
                    meet_labels(list, mine, its[q], above, row + q, plane,
                                near && near_tile(row + q, p.radius[1]));
            }
    }
    add_to_list(list, mine);
    __syncthreads();
}

/* Let the labels of a tile compete. The bricks reach further than the neighbourhood: that there is
 * no label above the least one of them is known for sure when the neighbourhood was looked at. */
template <typename T>
static __device__ void choose_labels(column &c, label_list &list, const tile_memory &t,
                                     const tile_params &p, const tile_place &tile,
                                     const label_range &around)
{
    label_turn turn = {
        around.low, false, false, {{0, p.rows - 1}, {0, p.planes - 1}}
    };
    int32_t mine = -1;
    for (enum {FIRST, LISTED_ONES, ASCENDING} now = FIRST;;) {
        uint32_t sum[TILE] = {};
        label_search search = {
            turn.label, turn.span, {INT32_MAX, 0}
        };
        if (!turn.last) sum_label<T>(sum, t, p, tile.first, &search);
        const bool open = compete<T>(c, sum, turn.last, turn.label, p, tile);
        if (turn.last || !__syncthreads_or(open)) return;
        if (now != LISTED_ONES) {
            const label_range other = range_of_block(search.other);
            if (other.low == INT32_MAX) return;
            const int32_t before = turn.label;
            turn.label = other.low;
            turn.last = other.low == other.high;
            if (turn.last || now == ASCENDING) continue;
            list_labels<T>(list, p, tile.first, before);
            now = list.full ? ASCENDING : LISTED_ONES;
            if (now == ASCENDING) continue;
            mine = mine_of_list(list);
        }
        turn = next_of_list(list, &mine);
        if (turn.none) return;
    }
}

static __device__ void load_tables(const tile_memory &t, const tile_params &p)
{
    const int first = (int)threadIdx.x;
    for (int i = first; i < p.chunks * TABLE; i += TILE_THREADS) t.table[i] = p.table[i];
    for (int i = first; i <= 2 * p.radius[1]; i += TILE_THREADS) t.weight_y[i] = p.weight_y[i];
    for (int i = first; i < depth_of(&p); i += TILE_THREADS) t.weight_z[i] = p.weight_z[i];
}

template <typename T>
static __global__ void __launch_bounds__(TILE_THREADS, 2) tile_kernel(tile_params p)
{
    extern __shared__ uint2 memory[];
    __shared__ label_list list;
    const tile_place tile = tile_of_block(p.v);
    const label_range around = range_around(p, tile);
    column c;
    bool lost = false;
    if (around.low == around.high) {
#pragma unroll
        for (int i = 0; i < TILE; i++) c.label[i] = around.low;
        write_column<T>(p, tile, c.label);
    } else {
        tile_memory t;
        lay_out(&t, &p, memory);
        load_tables(t, p); /* a barrier is in sum_label, before they are read */
        begin_column(c, p, tile);
        choose_labels<T>(c, list, t, p, tile, around);
        write_column<T>(p, tile, c.label);
        lost = p.v.lost && loses_label<T>(p, tile, c);
    }
    if (!p.v.lost) return;
    lost = __syncthreads_or(lost);
    if (threadIdx.x == 0) p.v.lost[tile.number] = lost;
}

/* ---- the host's part ---- */

/* Weights and tables in one block that is uploaded at once. */
typedef struct {
    uint32_t *before[3], *weight_y, *weight_z;
    uint16_t *table;
} weight_tables;

static int64_t lay_out_weights(weight_tables *w, const tile_params *p, void *block)
{
    arena memory(block);
    for (int a = 0; a < 3; a++) w->before[a] = memory.take<uint32_t>(2 * p->radius[a] + 2);
    w->weight_y = memory.take<uint32_t>(2 * p->radius[1] + 1);
    w->weight_z = memory.take<uint32_t>(depth_of(p));
    w->table = memory.take<uint16_t>((int64_t)p->chunks * TABLE);
    return memory.used;
}

static void fill_weights(const weight_tables *w, const tile_params *p, const lob_majority *m)
{
    for (int a = 0; a < 3; a++)
        memcpy(w->before[a], m->before[a], (size_t)(2 * m->radius[a] + 2) * sizeof *w->before[a]);
    memcpy(w->weight_y, m->weight[1], (size_t)(2 * m->radius[1] + 1) * sizeof *w->weight_y);
    memcpy(w->weight_z + TILE - 1, m->weight[2],
           (size_t)(2 * m->radius[2] + 1) * sizeof *w->weight_z);
    for (int i = 0; i < p->chunks * TABLE; i++) {
        uint32_t sum = 0;
        for (int bit = 0; bit < CHUNK; bit++) {
            const int k = i / TABLE * CHUNK + bit;
            if (i >> bit & 1 && k <= 2 * m->radius[0]) sum += m->weight[0][k];
        }
        w->table[i] = (uint16_t)sum;
    }
}

/* Upload the tables and point the parameters at them. */
static lob_status send_weights(tile_params *p, lob_device *device, const lob_majority *m,
                               void *work, lob_error *error)
{
    weight_tables there, here;
    const int64_t bytes = lay_out_weights(&there, p, work);
    void *block = calloc(1, (size_t)bytes);
    if (!block) return lob_fail(error, LOB_ENOMEM, "no memory for weights");
    lay_out_weights(&here, p, block);
    fill_weights(&here, p, m);
    const lob_status st = lob_device_upload(device, work, block, bytes, error);
    free(block);
    for (int a = 0; a < 3; a++) p->before[a] = there.before[a];
    p->weight_y = there.weight_y;
    p->weight_z = there.weight_z;
    p->table = there.table;
    return st;
}

static int32_t parts(int32_t n, int32_t size)
{
    return (n + size - 1) / size;
}

/* All but the addresses of labels and weights. */
static tile_params plan_of(lob_dims dims, const lob_majority *m)
{
    tile_params p = {};
    for (int a = 0; a < 3; a++) {
        p.v.side[a] = (int32_t)lob_side(dims, a);
        p.v.tiles[a] = parts(p.v.side[a], TILE);
        p.bricks[a] = parts(p.v.side[a], BRICK);
        p.radius[a] = m->radius[a];
    }
    p.chunks = parts(2 * p.radius[0] + 1, CHUNK);
    p.words = parts(TILE + 2 * p.radius[0], WARP);
    p.rows = parts(TILE + 2 * p.radius[1], ROWS_AT_ONCE) * ROWS_AT_ONCE;
    p.planes = TILE + 2 * p.radius[2];
    p.prefers_own = m->prefers_own;
    tile_memory unused;
    p.group = PLANES_AT_ONCE;
    while (p.group < min(p.planes, MAX_GROUP) && lay_out(&unused, &p, NULL) < ENOUGH_SHARED)
        p.group += PLANES_AT_ONCE;
    return p;
}

/* What majority works with, in one block. */
typedef struct {
    void *weights;
    unsigned char *thin;
} work_memory;

static int64_t lay_out_work(work_memory *w, tile_params *p, const lob_majority *m, void *block)
{
    weight_tables unused;
    arena memory(block);
    w->weights = memory.take<unsigned char>(lay_out_weights(&unused, p, NULL));
    p->ranges = memory.take<label_range>((int64_t)p->bricks[0] * p->bricks[1] * p->bricks[2]);
    if (!m->keeps_thin) return memory.used;
    p->v.lost = memory.take<uint8_t>(tile_count(p->v));
    w->thin = memory.take<unsigned char>(thin_bytes(tile_count(p->v)));
    return memory.used;
}

template <typename T>
static lob_status filter_tiles(lob_device *device, const tile_params &p, lob_error *error)
{
    tile_memory unused;
    const size_t shared = (size_t)lay_out(&unused, &p, NULL);
    const int64_t lanes = (int64_t)parts(p.v.side[0], WARP) * WARP * p.bricks[1] * p.bricks[2];
    LOB_TRY(lob_allow_shared(tile_kernel<T>, shared, error));
    LOB_TRY(lob_launch_over(device, brick_kernel<T>, "the range of labels", lanes, TILE_THREADS, p,
                            error));
    return lob_launch(device, tile_kernel<T>, "the majority of labels", tile_count(p.v),
                      TILE_THREADS, shared, p, error);
}

int64_t majority_bytes(lob_dims dims, const lob_majority *m)
{
    work_memory unused;
    tile_params p = plan_of(dims, m);
    return lay_out_work(&unused, &p, m, NULL);
}

lob_status majority(lob_device *device, void *out, const void *in, lob_type type, lob_dims dims,
                    const lob_majority *m, void *work, lob_error *error)
{
    work_memory memory;
    tile_params p = plan_of(dims, m);
    if (lob_product(p.v.tiles[0], p.v.tiles[1], p.v.tiles[2], 1) > INT32_MAX)
        return lob_device_too_large(error);
    lay_out_work(&memory, &p, m, work);
    p.v.out = out;
    p.v.in = in;
    LOB_TRY(send_weights(&p, device, m, memory.weights, error));
    LOB_TRY(type == LOB_U8    ? filter_tiles<uint8_t>(device, p, error)
            : type == LOB_I16 ? filter_tiles<int16_t>(device, p, error)
                              : filter_tiles<int32_t>(device, p, error));
    return m->keeps_thin ? keep_thin(device, p.v, type, m->reach, memory.thin, error) : LOB_OK;
}

} /* namespace lob::labels */
